"""How a step ended, as its two output parameters; a step that could not do its work says why instead of failing."""

from typing import NamedTuple

from gangplan.errors import JobCanceled, JobFailed, JobTimedOut

ADMITTED = "Admitted"
NOT_ADMITTED = "NotAdmitted"
SUCCEEDED = "Succeeded"


class Outcome(NamedTuple):
    """What a step says to the next ones.

    Attributes:
        outcome: ``Admitted``, ``NotAdmitted``, ``Succeeded``, ``Failed``, ``Canceled`` or ``TimedOut``.
        reason: Why, in a sentence or a few lines.
    """

    outcome: str
    reason: str


def as_error(outcome: str, reason: str) -> Exception | None:
    """The error that a run ends with, if its outcome is none to be glad of."""
    if outcome == SUCCEEDED:
        return None
    kind = {"Canceled": JobCanceled, "TimedOut": JobTimedOut}.get(outcome, JobFailed)
    return kind(f"{outcome}: {reason}")
