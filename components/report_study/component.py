"""Component report_study."""

from kfp import dsl

from components._image import IMAGE


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def report_study(
    study: dsl.Input[dsl.Artifact],
    page: dsl.Output[dsl.HTML],
    table: dsl.Output[dsl.Markdown],
    metrics: dsl.Output[dsl.Metrics],
    run_id: str,
    job_name: str,
    volume: str = "",
):
    """Put what a run with several gangs found out on one page, in a table, and in figures for comparing runs.

    Args:
        study: What was found out.
        page: The report, one HTML file with charts.
        table: The result as a table, and the report without its charts.
        metrics: The figures.
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.
    """
    from gangplan.steps.report_study import report_study as step

    step(
        run_id=run_id,
        job_name=job_name,
        volume=volume,
        study=study.path,
        page=page.path,
        table=table.path,
        metrics=metrics,
    )
