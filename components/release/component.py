"""Component release."""

from kfp import dsl

from components._image import IMAGE


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def release(run_id: str, job_name: str, volume: str = "") -> str:
    """End what still runs and give up what is still held, however the run ended.

    Args:
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.

    Returns:
        How the gang ended; empty if it was never asked for.
    """
    from gangplan.steps.release import release as step

    return step(run_id=run_id, job_name=job_name, volume=volume)
