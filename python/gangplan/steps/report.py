"""report: placement, timeline, curves, confusion matrix and model on one page, or the reason of the failure."""

import json
import logging
from pathlib import Path
from typing import Any

from gangplan.config import Settings
from gangplan.documents import decode, encode, to_builtins, write_atomic
from gangplan.plan import Plan
from gangplan.report import figures
from gangplan.report.explanation import explain
from gangplan.report.page import Block, Figure, Page, Section, Table, as_markdown, render, section
from gangplan.runtime import JobStatus
from gangplan.snapshot import Snapshot
from gangplan.steps.outcome import SUCCEEDED
from gangplan.steps.place import place_of
from gangplan.steps.process import step
from gangplan.steps.result import RunResult, training_history
from gangplan.steps.run import Run, clock, open_run

log = logging.getLogger(__name__)


@step
def report(
    *,
    run_id: str,
    job_name: str,
    volume: str,
    outcome: str,
    reason: str,
    dataset: str,
    snapshot: str,
    plan: str,
    status: str,
    model: str,
    evaluation: str,
    page: str,
    text: str,
) -> None:
    """Write the report, and the run's result for programs, whatever became of the job.

    Args:
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.
        outcome: Outcome of launch_tfjob.
        reason: Its reason.
        dataset: Path of the data set's description.
        snapshot: Path of the snapshot that was decided on.
        plan: Path of the plan.
        status: Path of the job's status.
        model: Path of the model's description.
        evaluation: Path of what evaluate found.
        page: Path to write: the report, one HTML file.
        text: Path to write: the report in a few lines, in Markdown.
    """
    run = open_run(run_id, job_name, volume)
    seen = decode(Path(snapshot).read_bytes(), Snapshot)
    decided = decode(Path(plan).read_bytes(), Plan)
    ended = decode(Path(status).read_bytes(), JobStatus)
    found = _object(evaluation)
    whole = Page(
        title=f"Training run {run.name}",
        subtitle=f"{outcome}: {reason}" if reason else outcome,
        facts=_facts(found, _object(dataset)),
        sections=tuple(
            part
            for part in (
                _placement(ended.name, seen, decided),
                _timeline(run),
                _training(run, found),
                _evaluation(found),
                _model(_object(model)),
                _replicas(ended),
            )
            if part is not None
        ),
    )
    html = render(whole).encode("utf-8", "replace")
    write_atomic(Path(page), html)
    write_atomic(Path(text), as_markdown(whole).encode("utf-8", "replace"))
    run.folder.mkdir(parents=True, exist_ok=True)
    write_atomic(run.report, html)
    write_atomic(run.page, encode(whole))
    result = RunResult(
        run_id=run_id,
        gang=run.name,
        outcome=outcome,
        reason=reason,
        accuracy=found.get("accuracy"),
        replicas=tuple(to_builtins(replica) for replica in ended.replicas),
        model=_existing(run.trained / "model", outcome),
        events=_existing(run.events, outcome),
        report=str(run.report),
        plan=to_builtins(decided),
    )
    write_atomic(run.summary, encode(result, indent=2))
    log.info("report: %s", run.report)


def _existing(path: Path, outcome: str) -> str | None:
    """What a succeeded job left; a job of the user's own need not leave a model."""
    return str(path) if outcome == SUCCEEDED and path.exists() else None


def sections_of_run(result: RunResult, chosen: Settings) -> tuple[Section, ...]:
    """The sections of a run's report, for a page that holds more; none if the run did not come to it."""
    page = chosen.volume / result.gang / "page.json"
    return decode(page.read_bytes(), Page).sections if result.gang and page.is_file() else ()


def _object(path: str) -> dict[str, Any]:
    """A JSON object that another step wrote; empty if it had nothing to write."""
    file = Path(path)
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return found


def _facts(found: dict[str, Any], data: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    facts = [
        (
            "data set",
            f"{data.get('name')}, {data.get('train_images')} to train, {data.get('test_images')} to test",
        )
    ]
    if "accuracy" in found:
        facts.insert(0, ("accuracy on unseen images", f"{found['accuracy']:.4f}"))
    return tuple(facts)


def _placement(gang: str, seen: Snapshot, decided: Plan) -> Section | None:
    if gang not in {*decided.placements, *decided.rejections}:
        return None
    drawn = figures.placement_map(seen, decided.placements, f"Placement of {gang}")
    shown = (Figure(svg=drawn, caption="Nodes by topology, with the replicas that the plan puts on them."),)
    return section(explain(gang, seen, decided), title="Admission and placement", figures=shown)


def _timeline(run: Run) -> Section:
    with place_of(run) as place:
        # This step runs only when those before it have published what they found.
        place.published()
        drawn = figures.timeline(place.records(), clock())
    caption = "When each gang waited, held room and ran."
    return Section(title="Gangs over time", figures=(Figure(svg=drawn, caption=caption),))


def _training(run: Run, found: dict[str, Any]) -> Section | None:
    if not (history := training_history(run)):
        return None
    drawn = figures.curves(history, test_accuracy=found.get("accuracy"))
    return Section(
        title="Training", figures=(Figure(svg=drawn, caption="Loss and accuracy while training."),)
    )


def _evaluation(found: dict[str, Any]) -> Section | None:
    if not found:
        return None
    matrix = found["confusion"]
    names = [str(label) for label in range(len(matrix))]
    return Section(
        title="Evaluation",
        paragraphs=(
            f"{found['accuracy']:.2%} of {found['images']} images that were never trained on are right.",
        ),
        figures=(
            Figure(
                svg=figures.confusion(matrix, names), caption="What was seen as what: rows are the truth."
            ),
            Figure(
                svg=figures.roc(_curve(found["roc"])),
                caption="Right against wrong alarms, all classes together.",
            ),
        ),
    )


def _curve(points: list[dict[str, float]]) -> list[tuple[float, float]]:
    return [(point["false_positive_rate"], point["true_positive_rate"]) for point in points]


def _model(facts: dict[str, Any]) -> Section | None:
    rows = tuple((name, str(value)) for name, value in sorted(facts.items()))
    if not rows:
        return None
    return Section(title="Model", tables=(Table(header=("name", "value"), rows=rows),))


def _replicas(ended: JobStatus) -> Section | None:
    if not ended.replicas:
        return None
    rows = tuple(
        (
            item.name,
            item.node or "–",
            item.state,
            "–" if item.exit_code is None else str(item.exit_code),
            str(item.restarts),
        )
        for item in ended.replicas
    )
    failed = tuple(
        Block(title=f"Last lines of {item.name}", text="\n".join(item.last_lines))
        for item in ended.replicas
        if item.last_lines
    )
    table = Table(header=("replica", "node", "state", "exit code", "restarts"), rows=rows)
    if ended.events:
        failed += (Block(title="Events", text="\n".join(ended.events)),)
    return Section(title="Replicas", tables=(table,), blocks=failed)
