"""The tour: the training pipeline, then both demos, then one report of all three."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gangplan.config import Settings
from gangplan.demo import affinity, deadlock
from gangplan.demo.stage import Tell
from gangplan.documents import to_builtins, write_atomic
from gangplan.pipeline import packaged
from gangplan.report.page import Page, render
from gangplan.steps.local_run import run_pipeline
from gangplan.steps.outcome import SUCCEEDED
from gangplan.steps.report import sections_of_run
from gangplan.steps.result import RunResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """All three parts.

    Attributes:
        training: The training pipeline.
        deadlock: The first demo; None if it was not reached.
        affinity: The second demo; None if it was not reached.
        report: The report.
    """

    training: RunResult
    deadlock: deadlock.Result | None
    affinity: affinity.Result | None
    report: Path

    @property
    def solved(self) -> bool:
        """Whether everything went as it should."""
        demos = (self.deadlock, self.affinity)
        return self.training.outcome == SUCCEEDED and all(demo is not None and demo.solved for demo in demos)

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        return {
            "training": to_builtins(self.training),
            "deadlock": self.deadlock.as_data() if self.deadlock else None,
            "affinity": self.affinity.as_data() if self.affinity else None,
            "report": str(self.report),
        }

    def facts(self) -> Sequence[tuple[str, str]]:
        """The summary, a line each."""
        facts = [("training", self.training.outcome)]
        if self.training.accuracy is not None:
            facts.append(("accuracy on unseen images", f"{self.training.accuracy:.4f}"))
        if self.deadlock is not None:
            facts.append(("deadlock", "solved" if self.deadlock.solved else "not solved"))
        if self.affinity is not None:
            before, after = (
                sum(part.traffic.values()) for part in (self.affinity.baseline, self.affinity.ours)
            )
            facts.append(("affinity", f"traffic {before} → {after}"))
        return [*facts, ("report", str(self.report))]


def run(chosen: Settings, *, stuck_s: float, tell: Tell, tell_pipeline: Tell) -> Result:
    """Run all three parts; a failed training is told and the demos go on.

    Args:
        chosen: The settings.
        stuck_s: Seconds to watch the stuck jobs.
        tell: Gets a line for each thing that happens.
        tell_pipeline: Gets each line that a step prints.
    """
    tell("— 1 of 3: the training pipeline: prepare data, admit, launch a gang, evaluate, report")
    training = run_pipeline(packaged("train"), {}, chosen=chosen, tell=tell_pipeline)
    tell("— 2 of 3: deadlock: two jobs of 4 workers, 4 GPUs")
    first = deadlock.run(chosen, gpus=4, stuck_s=stuck_s, tell=tell)
    tell("— 3 of 3: affinity: two jobs of 1 parameter server and 2 workers")
    second = affinity.run(chosen, tell=tell)
    report = chosen.home / "report.html"
    result = Result(training=training, deadlock=first, affinity=second, report=report)
    page = Page(
        title="gangplan: training run and demos",
        subtitle="Whole gangs or nothing, close together, with a reason.",
        facts=tuple(result.facts()),
        sections=(*sections_of_run(training, chosen), *first.sections(), *second.sections()),
    )
    write_atomic(report, render(page).encode("utf-8", "replace"))
    return result
