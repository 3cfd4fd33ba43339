"""Component report."""

from kfp import dsl

from components._image import IMAGE


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def report(
    dataset: dsl.Input[dsl.Dataset],
    snapshot: dsl.Input[dsl.Artifact],
    plan: dsl.Input[dsl.Artifact],
    status: dsl.Input[dsl.Artifact],
    model: dsl.Input[dsl.Model],
    evaluation: dsl.Input[dsl.Artifact],
    page: dsl.Output[dsl.HTML],
    summary: dsl.Output[dsl.Markdown],
    run_id: str,
    job_name: str,
    outcome: str,
    reason: str,
    volume: str = "",
):
    """Put everything on one page: placement, timeline, curves, confusion matrix, model, or the reason of the failure.

    Args:
        dataset: The prepared data set.
        snapshot: The cluster as it was decided on.
        plan: The plan.
        status: The job's status.
        model: The model.
        evaluation: What evaluate found.
        page: The report, one HTML file.
        summary: The report in a few lines.
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.
        outcome: Outcome of launch_tfjob.
        reason: Its reason.
    """
    from gangplan.steps.report import report as step

    step(
        run_id=run_id,
        job_name=job_name,
        volume=volume,
        outcome=outcome,
        reason=reason,
        dataset=dataset.path,
        snapshot=snapshot.path,
        plan=plan.path,
        status=status.path,
        model=model.path,
        evaluation=evaluation.path,
        page=page.path,
        text=summary.path,
    )
