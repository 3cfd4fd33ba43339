"""Moments: seconds since 1970 inside; in texts as RFC 3339 has them, in UTC, as Kubernetes writes them too."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, get_args

Moment = Annotated[float, "seconds since 1970"]
"""The type of a field that is a moment: :func:`told` tells it as a text. Documents count in plain numbers."""


def text(seconds: float) -> str:
    """``2026-11-30T11:22:33.123456Z``: the form of a Lease's times."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def short(seconds: float) -> str:
    """``2026-11-30T11:22:33Z``: the form in which results are printed."""
    return datetime.fromtimestamp(int(seconds), UTC).isoformat().replace("+00:00", "Z")


def seconds(text: str) -> float:
    """Read a moment.

    Raises:
        ValueError: It is none.
    """
    return datetime.fromisoformat(text).timestamp()


def told(value: Any) -> Any:
    """A value as it is printed for programs: dataclasses as mappings, every :data:`Moment` and ``datetime`` as a text.

    Args:
        value: Dataclasses, mappings and sequences, in each other; what else is in them stays as it is.
    """
    if is_dataclass(value) and not isinstance(value, type):
        of = _moments(type(value))
        found = {field.name: getattr(value, field.name) for field in fields(value)}
        return {
            name: short(item) if name in of and item is not None else told(item)
            for name, item in found.items()
        }
    if isinstance(value, Mapping):
        return {key: told(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [told(item) for item in value]
    if isinstance(value, datetime):
        return short(value.timestamp())
    return value


@cache
def _moments(kind: Any) -> frozenset[str]:
    """Fields of a dataclass that are moments."""
    return frozenset(field.name for field in fields(kind) if Moment in {field.type, *get_args(field.type)})
