"""release: the exit handler; whatever became of the run, its gang holds nothing afterwards."""

import logging

from gangplan import admission
from gangplan.local.survivors import end_survivors
from gangplan.steps.process import step
from gangplan.steps.run import clock, cluster_view, open_run

log = logging.getLogger(__name__)


@step
def release(*, run_id: str, job_name: str, volume: str) -> str:
    """End what still runs and give up what is still held; may be called any number of times.

    It decides from the gang's record and the processes of the machine, never from the status that KFP passes.

    Args:
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Mount path of the shared volume; empty: the local one.

    Returns:
        How the gang ended; empty if it was never asked for.
    """
    run = open_run(run_id, job_name, volume)
    if ended := end_survivors(run_id):
        log.warning("ended %s processes that the run left behind", ended)
    store = run.store()
    with store.leadership():
        # A gang whose launch step was killed has failed; it was not canceled.
        admission.run_settle(store, cluster_view(store).gone, now=clock(), terms=run.settings.terms)
    record = admission.finish(
        run.store(), run.name, run_id=run_id, outcome="Canceled", reason="the run ended first", now=clock()
    )
    if record is None:
        return ""
    log.info("%s: %s: %s", record.name, record.outcome, record.reason)
    return record.outcome or ""
