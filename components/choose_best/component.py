"""Component choose_best."""

from typing import NamedTuple

from kfp import dsl

from components._image import IMAGE


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def choose_best(
    trained: dsl.Input[dsl.Artifact],
    study: dsl.Output[dsl.Artifact],
    model: dsl.Output[dsl.Model],
    run_id: str,
    job_name: str,
    volume: str = "",
    metric: str = "accuracy",
) -> NamedTuple("Outcome", [("outcome", str), ("reason", str)]):
    """Judge the models of all trials on images that they never saw, and publish the best.

    Ends green also when there is no model: conclude makes the run red.

    Args:
        trained: What became of the trials.
        study: What was found out: table, chart, figures.
        model: Where the best model lies, with its trial, figures, signature and placement.
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.
        metric: By what the best is chosen: "accuracy", "loss" or "images_per_s".

    Returns:
        outcome ("Succeeded" if there is a model) and reason.
    """
    from gangplan.steps.choose_best import choose_best as step

    return step(
        run_id=run_id,
        job_name=job_name,
        volume=volume,
        metric=metric,
        trials=trained.path,
        study=study.path,
        model=model.path,
        model_metadata=model.metadata,
    )
