"""measure_scaling: gangs of 1, 2, 4 … workers one after another, and how many images a second each trains."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gangplan.documents import write_atomic
from gangplan.report.page import Section, Table
from gangplan.report.wording import count
from gangplan.runtime import ReplicaStatus
from gangplan.steps import scaling
from gangplan.steps.admit import mounts_of
from gangplan.steps.gangs import Ended, place_of_many, run_gang
from gangplan.steps.launch_tfjob import log_tails
from gangplan.steps.outcome import NOT_ADMITTED, SUCCEEDED, Outcome
from gangplan.steps.process import step
from gangplan.steps.run import one_of, open_run
from gangplan.steps.scaling_request import EACH_WORKER, OWN, ScalingRequest, asked
from gangplan.steps.study import Study, write_study

log = logging.getLogger(__name__)


@step
def measure_scaling(
    *, run_id: str, job_name: str, volume: str, volume_claim: str, study: str, logs: str, **given: Any
) -> Outcome:
    """Run the gangs one after another, each through admission like any other job, and measure them.

    A gang that is not admitted or fails is told in the table, and ends the repeats of its size alone.

    Args:
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.
        volume_claim: On a cluster, the claim that every replica mounts there; empty: none, which is enough for ours.
        study: Path to write: what was found out.
        logs: Path to write: the last lines of every replica.
        **given: What :func:`asked` takes.

    Returns:
        ``Succeeded`` if every gang was measured, else the outcome of the first that was not, and its reason.

    Raises:
        InvalidInput: Parameters are wrong; all of them are named, and nothing was asked for.
    """
    run = open_run(run_id, job_name, volume)
    wanted = asked(run, given, mounts=mounts_of(volume, volume_claim))
    measured: list[scaling.Measured] = []
    told: list[str] = []
    replicas: list[ReplicaStatus] = []
    with place_of_many(run) as place:
        for index, workers, repeat in wanted.gangs():
            if any(item.workers == workers and item.outcome == NOT_ADMITTED for item in measured):
                continue
            manifest = wanted.manifest(one_of(run, index), workers)
            ended = run_gang(place, run, index, manifest, patience=wanted.patience, tell=log.info)
            found = _measured(ended, workers, repeat, wanted)
            measured.append(found)
            size = f"{count(workers, 'worker')}, repeat {repeat}"
            log.info("%s: %s images/s", size, found.images_per_s or "no")
            if ended.status is not None:
                told += [f"######## {ended.gang}", *log_tails(ended.status)]
                replicas += ended.status.replicas
    ended_as = scaling.outcome(measured)
    points = scaling.points(measured, wanted.counts, wanted.repeats)
    write_atomic(Path(logs), "\n".join(told).encode("utf-8", "replace"))
    write_study(
        study,
        Study(
            title=f"Scaling study {run.name}",
            outcome=ended_as.outcome,
            reason=ended_as.reason,
            facts=_facts(wanted),
            table=scaling.table(points),
            charts=scaling.charts(points),
            metrics=scaling.metrics(points),
            sections=(_every_gang(measured),),
            replicas=tuple(replicas),
        ),
    )
    return ended_as


def _measured(ended: Ended, workers: int, repeat: int, wanted: ScalingRequest) -> scaling.Measured:
    found = scaling.Measured(
        workers=workers, repeat=repeat, outcome=ended.outcome, reason=ended.reason or ended.outcome
    )
    if ended.outcome != SUCCEEDED or ended.status is None:
        return found
    value = scaling.throughput(ended.status, wanted.pattern, wanted.told_of)
    if value is None:
        whom = "each worker" if wanted.told_of == EACH_WORKER else "chief or worker"
        reason = f"no line in the log of {whom} has a figure where {wanted.pattern.pattern!r} looks for it"
        return scaling.Measured(workers=workers, repeat=repeat, outcome="Failed", reason=reason)
    return scaling.Measured(workers=workers, repeat=repeat, outcome=SUCCEEDED, images_per_s=value)


def _facts(wanted: ScalingRequest) -> tuple[tuple[str, str], ...]:
    values = wanted.values
    facts = [("trainer", values["trainer"]), ("repeats", str(wanted.repeats))]
    if values["trainer"] != OWN:
        facts.append(("images in one step of one worker", str(int(values["batch_size"]))))
        facts.append(("threads of each replica", str(int(values["threads"]) or "as many as it finds")))
    return tuple(facts)


def _every_gang(measured: Sequence[scaling.Measured]) -> Section:
    rows = tuple(
        (
            str(item.workers),
            str(item.repeat),
            item.outcome,
            "–" if item.images_per_s is None else f"{item.images_per_s:,.1f}",
            item.reason,
        )
        for item in measured
    )
    header = ("workers", "repeat", "outcome", "images/s", "reason")
    return Section(title="Every gang", tables=(Table(header=header, rows=rows),))
