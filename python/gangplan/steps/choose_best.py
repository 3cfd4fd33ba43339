"""choose_best: which model of a sweep is the best, on images that none of them saw, and why the others are not."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gangplan.documents import decode, encode, write_atomic
from gangplan.report import figures
from gangplan.report.charts import Chart
from gangplan.report.page import Figure, Section, Table
from gangplan.steps.gangs import Ended
from gangplan.steps.launch_tfjob import model_facts
from gangplan.steps.outcome import SUCCEEDED, Outcome
from gangplan.steps.process import step
from gangplan.steps.result import training_result
from gangplan.steps.run import Run, clock, one_of, open_run
from gangplan.steps.study import Study, write_study
from gangplan.steps.sweep_request import in_words
from gangplan.steps.train_all import Trials

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One trial, judged.

    Attributes:
        index: Which one, from 0.
        trial: In what it differs.
        ended: How its gang ended.
        outcome: ``Succeeded`` if there is a model, else how it ended.
        reason: Why there is none.
        figures: Accuracy, loss, images a second; empty if there is no model.
    """

    index: int
    trial: str
    ended: Ended
    outcome: str
    reason: str
    figures: dict[str, float]


@step
def choose_best(
    *,
    run_id: str,
    job_name: str,
    volume: str,
    metric: str,
    trials: str,
    study: str,
    model: str,
    model_metadata: dict[str, Any],
) -> Outcome:
    """Judge the models of all trials and publish the best.

    Args:
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.
        metric: One of :data:`gangplan.steps.sweep_request.METRICS`.
        trials: Path of what became of the trials.
        study: Path to write: what was found out.
        model: Path to write: a JSON object that says where the best model lies.
        model_metadata: Metadata of the model artifact, filled.

    Returns:
        ``Succeeded`` if there is a best model, else the outcome of the first trial, and its reason.
    """
    run = open_run(run_id, job_name, volume)
    found = decode(Path(trials).read_bytes(), Trials)
    judged = [
        _judged(run, index, in_words(trial), ended)
        for index, (trial, ended) in enumerate(zip(found.differ, found.ended, strict=True))
    ]
    having = [each for each in judged if metric in each.figures]
    least = metric == "loss"
    best = min(having, key=lambda each: each.figures[metric] * (1 if least else -1), default=None)
    facts = {} if best is None else _facts(run, best, metric)
    model_metadata.update(facts)
    write_atomic(Path(model), encode(facts, indent=2))
    ended_as = _outcome(judged, best)
    log.info(
        "best: %s", ended_as.reason if best is None else f"trial {best.index}: {best.trial} {best.figures}"
    )
    drawn = figures.timeline(found.records, clock())
    caption = "When each gang waited, held room and ran."
    over_time = Section(title="Gangs over time", figures=(Figure(svg=drawn, caption=caption),))
    write_study(
        study,
        Study(
            title=f"Sweep {run.name}",
            outcome=ended_as.outcome,
            reason=ended_as.reason,
            facts=() if best is None else (("best trial", f"{best.index}: {best.trial}"),),
            table=_table(judged, best),
            charts=(_chart(judged, metric),),
            metrics=_metrics(judged, best),
            sections=(over_time,),
            model=str(facts.get("path", "")),
            events=str(facts.get("events", "")),
            replicas=tuple(
                item for each in judged if each.ended.status for item in each.ended.status.replicas
            ),
        ),
    )
    return ended_as


def _judged(run: Run, index: int, trial: str, ended: Ended) -> Judged:
    own = one_of(run, index)
    outcome, reason = ended.outcome, ended.reason
    measured: dict[str, float] = {}
    if outcome == SUCCEEDED and not (own.trained / "model").exists():
        outcome, reason = "Failed", f"it left no model in {own.trained}"
    elif outcome == SUCCEEDED:
        from gangplan.train.data import load
        from gangplan.train.evaluate import evaluate

        seen = evaluate(own.trained / "model", load(str(run.data)))
        speed = training_result(own).get("images_per_s", 0.0)
        measured = {"accuracy": seen.accuracy, "loss": seen.loss, "images_per_s": speed}
        reason = ""
    return Judged(index=index, trial=trial, ended=ended, outcome=outcome, reason=reason, figures=measured)


def _facts(run: Run, best: Judged, metric: str) -> dict[str, Any]:
    """Flat metadata: the UI shows strings and numbers."""
    assert best.ended.status is not None, "it has a model, so it ran"
    facts = model_facts(one_of(run, best.index), best.ended.status)
    chosen = {"trial": best.index, "trial_parameters": best.trial, "chosen_by": metric}
    return {**facts, **chosen, **{f"test_{name}": value for name, value in best.figures.items()}}


def _outcome(judged: list[Judged], best: Judged | None) -> Outcome:
    without = [each for each in judged if each.outcome != SUCCEEDED]
    if best is None:
        first = judged[0]
        return Outcome(
            first.outcome, f"no trial has trained a model; trial 0: {first.reason or first.outcome}"
        )
    if without:
        numbers = ", ".join(str(each.index) for each in without)
        return Outcome(SUCCEEDED, f"{len(without)} of {len(judged)} trials have no model: {numbers}")
    return Outcome(SUCCEEDED, "")


def _table(judged: list[Judged], best: Judged | None) -> Table:
    rows = tuple(
        (
            f"{each.index}{' (best)' if each is best else ''}",
            each.trial or "–",
            each.outcome,
            *(
                format(each.figures[name], form) if name in each.figures else "–"
                for name, form in (("accuracy", ".4f"), ("loss", ".4f"), ("images_per_s", ",.0f"))
            ),
            f"{each.ended.waited_s:.1f}",
            f"{each.ended.ran_s:.1f}",
            each.reason,
        )
        for each in judged
    )
    header = (
        "trial",
        "differs in",
        "outcome",
        "accuracy",
        "loss",
        "images/s",
        "waited, s",
        "ran, s",
        "reason",
    )
    return Table(
        caption="Accuracy and loss are on images that were never trained on.", header=header, rows=rows
    )


def _chart(judged: list[Judged], metric: str) -> Chart:
    return Chart(
        title=f"{metric} of each trial",
        caption=f"{metric}, by which the best model was chosen; – where there is no model.",
        x="trial",
        y=metric,
        ticks=tuple(str(each.index) for each in judged),
        series={metric: tuple(each.figures.get(metric) for each in judged)},
    )


def _metrics(judged: list[Judged], best: Judged | None) -> dict[str, float]:
    found: dict[str, float] = {
        "trials": len(judged),
        "models": sum(bool(each.figures) for each in judged),
    }
    if best is not None:
        found |= {f"best_{name}": round(value, 6) for name, value in best.figures.items()}
        found["best_trial"] = best.index
    return found
