"""release: the exit handler; whatever became of the run, its gang holds nothing afterwards."""

import logging

from gangplan.steps.place import place_of
from gangplan.steps.process import step
from gangplan.steps.run import open_run

log = logging.getLogger(__name__)


@step
def release(*, run_id: str, job_name: str, volume: str) -> str:
    """End what still runs and give up what is still held; may be called any number of times.

    It decides from the gang's record and from what runs, never from the status that KFP passes.

    Args:
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.

    Returns:
        How the gang ended; empty if it was never asked for.
    """
    with place_of(open_run(run_id, job_name, volume)) as place:
        record = place.release()
    if record is None:
        return ""
    log.info("%s: %s: %s", record.name, record.outcome, record.reason)
    return record.outcome or ""
