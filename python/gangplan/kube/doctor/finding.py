"""Finding: one thing that was looked at, how it is, and what to do about it."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "note", "warning", "fault"]
"""``fault``: a job would fail. ``warning``: some jobs would, or slowly. ``note``: could not be seen, or good to know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a check has found.

    Attributes:
        check: Name of the check.
        level: How grave it is.
        what: What is so.
        why: Why it matters; empty where nothing is wrong.
        cure: The command that mends it, or the place that tells how; empty where nothing is wrong.
    """

    check: str
    level: Level
    what: str
    why: str = ""
    cure: str = ""


def ok(check: str, what: str) -> Finding:
    """Something is as it should be."""
    return Finding(check=check, level="ok", what=what)


def note(check: str, what: str, *, why: str = "", cure: str = "") -> Finding:
    """Something could not be seen, or is good to know."""
    return Finding(check=check, level="note", what=what, why=why, cure=cure)


def warning(check: str, what: str, *, why: str, cure: str) -> Finding:
    """Something will trouble some jobs."""
    return Finding(check=check, level="warning", what=what, why=why, cure=cure)


def fault(check: str, what: str, *, why: str, cure: str) -> Finding:
    """Something makes a job fail."""
    return Finding(check=check, level="fault", what=what, why=why, cure=cure)
