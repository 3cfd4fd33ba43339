"""Component release_all."""

from kfp import dsl

from components._image import IMAGE


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def release_all(run_id: str, job_name: str, volume: str = "") -> int:
    """End what still runs and give up what is still held of all gangs of the run, however it ended.

    Args:
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.

    Returns:
        How many gangs there were.
    """
    from gangplan.steps.release_all import release_all as step

    return step(run_id=run_id, job_name=job_name, volume=volume)
