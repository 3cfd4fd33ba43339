"""Component prepare_data."""

from kfp import dsl

from components._image import IMAGE


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def prepare_data(
    dataset: dsl.Output[dsl.Dataset],
    run_id: str,
    job_name: str,
    source: str = "digits",
    split: str = "",
    seed: int = 0,
    volume: str = "",
):
    """Check a data set, split it, and put it on the volume.

    Args:
        dataset: Where the data lie, with digest, sizes and classes.
        run_id: Id of the run.
        job_name: Readable name of the job.
        source: "digits" (bundled), a folder of MNIST-format IDX files, or an .npz file.
        split: Training and test images as "8000/2000", for a source that is one set; empty means four to one.
        seed: Seed of the split.
        volume: Where pods mount the shared volume; on one machine not looked at.
    """
    from gangplan.steps.prepare_data import prepare_data as step

    step(
        run_id=run_id,
        job_name=job_name,
        source=source,
        split=split,
        seed=seed,
        volume=volume,
        dataset=dataset.path,
        metadata=dataset.metadata,
    )
