"""conclude: the one step that makes a run red, with the reason as its error."""

import logging

from gangplan.steps.outcome import NOT_ADMITTED, as_error
from gangplan.steps.process import step

log = logging.getLogger(__name__)


@step
def conclude(*, outcome: str, reason: str, skip_if_not_admitted: bool = False) -> str:
    """End green after a success, else raise the reason.

    Args:
        outcome: Outcome of launch_tfjob.
        reason: Its reason.
        skip_if_not_admitted: End green where the gang was not admitted: a run that is tried again later anyway.

    Returns:
        The outcome: ``Succeeded``, or ``NotAdmitted`` where that is to end green.

    Raises:
        JobFailed: The job failed, or was not admitted.
        JobCanceled: Somebody ended it.
        JobTimedOut: It passed its deadline.
    """
    if skip_if_not_admitted and outcome == NOT_ADMITTED:
        log.warning("skipped: %s: %s", outcome, reason)
        return outcome
    if (error := as_error(outcome, reason)) is not None:
        log.error(
            "This run is red because of its job. To try again clone the run: Retry repeats only this step."
        )
        raise error
    return outcome
