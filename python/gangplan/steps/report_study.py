"""report_study: what a run with several gangs found out, on one page, as a table, and as figures for comparing runs."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

from gangplan.documents import encode, to_builtins, write_atomic
from gangplan.report import markdown
from gangplan.report.charts import chart
from gangplan.report.page import Figure, Page, Section, Table, as_markdown, render
from gangplan.steps.process import step
from gangplan.steps.result import Found, RunResult
from gangplan.steps.run import open_run
from gangplan.steps.study import Study, read_study

log = logging.getLogger(__name__)


@step
def report_study(
    *, run_id: str, job_name: str, volume: str, study: str, page: str, table: str, metrics: Any
) -> None:
    """Write the report, and the run's result for programs, whatever became of the gangs.

    Args:
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.
        study: Path of what was found out.
        page: Path to write: the report, one HTML file.
        table: Path to write: the result as a table, in Markdown.
        metrics: KFP's Metrics artifact; gets the figures.
    """
    run = open_run(run_id, job_name, volume)
    found = read_study(study)
    whole = _page(found)
    html = render(whole).encode("utf-8", "replace")
    write_atomic(Path(page), html)
    write_atomic(Path(table), _markdown(found, whole).encode("utf-8", "replace"))
    for name, value in found.metrics.items():
        metrics.log_metric(name, value)
    run.folder.mkdir(parents=True, exist_ok=True)
    write_atomic(run.report, html)
    write_atomic(run.page, encode(whole))
    result = RunResult(
        run_id=run_id,
        gang=run.name,
        outcome=found.outcome,
        reason=found.reason,
        replicas=tuple(to_builtins(replica) for replica in found.replicas),
        model=found.model or None,
        events=found.events or None,
        report=str(run.report),
        found=Found(header=found.table.header, rows=found.table.rows, metrics=found.metrics),
    )
    write_atomic(run.summary, encode(result, indent=2))
    log.info("report: %s", run.report)


def _page(found: Study) -> Page:
    drawn = tuple(Figure(svg=chart(each), caption=each.caption) for each in found.charts)
    result = Section(title="Result", tables=_tables(found.table), figures=drawn)
    return Page(
        title=found.title,
        subtitle=f"{found.outcome}: {found.reason}" if found.reason else found.outcome,
        facts=found.facts,
        sections=(result, *found.sections),
    )


def _tables(table: Table) -> tuple[Table, ...]:
    """The result; reasons, which are long, in a table of their own."""
    if table.header[-1] != "reason":
        return (table,)
    rest = replace(table, header=table.header[:-1], rows=tuple(row[:-1] for row in table.rows))
    told = tuple((row[0], row[-1]) for row in table.rows if row[-1])
    return (rest, Table(header=(table.header[0], "reason"), rows=told)) if told else (rest,)


def _markdown(found: Study, whole: Page) -> str:
    """The table first: it is what is looked for in the run view; then the rest of the page."""
    return f"{markdown.table(found.table.header, found.table.rows)}\n\n{as_markdown(whole)}"
