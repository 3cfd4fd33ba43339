"""release_all: the exit handler of a run with several gangs; whatever became of it, none of them holds anything."""

import logging
import time

from gangplan.steps.place import place_of
from gangplan.steps.process import step
from gangplan.steps.run import MOST_GANGS, one_of, open_run

log = logging.getLogger(__name__)


@step
def release_all(*, run_id: str, job_name: str, volume: str) -> int:
    """End what still runs and give up what is still held; may be called any number of times.

    Each gang that the run may have is asked for by its name: nothing that other steps wrote is needed for that.

    Args:
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.

    Returns:
        How many gangs there were.
    """
    run = open_run(run_id, job_name, volume)
    found = 0
    with place_of(run) as place:
        for index in range(MOST_GANGS):
            record = place.of(one_of(run, index), sleep=time.sleep).release()
            if record is not None:
                found += 1
                log.info("%s: %s: %s", record.name, record.outcome, record.reason)
    return found
