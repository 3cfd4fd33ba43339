"""conclude: the one step that makes a run red, with the reason as its error."""

import logging

from gangplan.steps.outcome import as_error
from gangplan.steps.process import step

log = logging.getLogger(__name__)


@step
def conclude(*, outcome: str, reason: str) -> str:
    """End green after a success, else raise the reason.

    Args:
        outcome: Outcome of launch_tfjob.
        reason: Its reason.

    Returns:
        The outcome, which is ``Succeeded``.

    Raises:
        JobFailed: The job failed, or was not admitted.
        JobCanceled: Somebody ended it.
        JobTimedOut: It passed its deadline.
    """
    if (error := as_error(outcome, reason)) is not None:
        log.error(
            "This run is red because of its job. To try again clone the run: Retry repeats only this step."
        )
        raise error
    return outcome
