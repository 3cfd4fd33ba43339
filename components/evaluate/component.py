"""Component evaluate."""

from kfp import dsl

from components._image import IMAGE


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def evaluate(
    model: dsl.Input[dsl.Model],
    metrics: dsl.Output[dsl.Metrics],
    classes: dsl.Output[dsl.ClassificationMetrics],
    evaluation: dsl.Output[dsl.Artifact],
    run_id: str,
    job_name: str,
    trained: str,
    volume: str = "",
) -> float:
    """Judge the trained model on images that it never saw.

    Args:
        model: The model.
        metrics: Accuracy, loss and number of images.
        classes: Confusion matrix and ROC curve.
        evaluation: All of it as JSON.
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.
        trained: Outcome of launch_tfjob; there is nothing to judge after any other than "Succeeded".

    Returns:
        The accuracy from 0 to 1; -1 if there was nothing to judge.
    """
    from gangplan.steps.evaluate import evaluate as step

    return step(
        run_id=run_id,
        job_name=job_name,
        volume=volume,
        trained=trained,
        metrics=metrics,
        classes=classes,
        evaluation=evaluation.path,
    )
