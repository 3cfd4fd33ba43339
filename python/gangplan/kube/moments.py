"""Moments: seconds since 1970 ↔ the texts of RFC 3339 that Kubernetes writes."""

from datetime import UTC, datetime


def text(seconds: float) -> str:
    """``2026-11-30T11:22:33.123456Z``: the form of a Lease's times."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def seconds(text: str) -> float:
    """Read a moment.

    Raises:
        ValueError: It is none.
    """
    return datetime.fromisoformat(text).timestamp()
