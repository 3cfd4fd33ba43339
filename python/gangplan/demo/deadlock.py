"""Deadlock: two jobs of four workers each, four GPUs.

Pod by pod both get half and wait for ever; as gangs both finish.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gangplan.config import Settings
from gangplan.demo.stage import Play, Stage, Tell
from gangplan.documents import to_builtins
from gangplan.errors import InvalidInput, Problem
from gangplan.kube.manifest import RoleSize
from gangplan.plan import Plan
from gangplan.record import GangRecord
from gangplan.report import figures
from gangplan.report.explanation import explain
from gangplan.report.page import Figure, Section, Table, section
from gangplan.runtime import FINAL
from gangplan.sim.policies import pod_by_pod
from gangplan.snapshot import Node, Snapshot

GPU = "nvidia.com/gpu"
WORKERS = 4
GPUS_PER_NODE = 2
JOBS = ("job-a", "job-b")
TRAINING = ("--strategy", "mirrored", "--epochs", "2")
STARTING_S = 60.0
"""Seconds that replicas may take to come up before they count as stuck; they take about six."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Pod by pod.

    Attributes:
        running: Job → replicas that got a GPU and run, or have run to their end.
        waiting: Job → replicas without one.
        pids: Job → process ids of its running replicas.
        finished: Jobs that finished.
        outcomes: Job → its state when it finished or was stopped.
        stuck_s: Seconds that the jobs were watched to wait for each other; 0 if none had to.
    """

    running: Mapping[str, int]
    waiting: Mapping[str, int]
    pids: Mapping[str, tuple[int, ...]]
    finished: tuple[str, ...]
    outcomes: Mapping[str, str]
    stuck_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Why the second gang waited.

    Attributes:
        gang: The gang.
        needs: GPUs that it needs.
        has: GPUs that were free.
        message: The reason in a sentence.
        changes: What would have helped, as tried by the solver.
    """

    gang: str
    needs: int
    has: int
    message: str
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """As gangs.

    Attributes:
        first: The job that was admitted first.
        rejection: Why the other had to wait; None if both started at once.
        outcomes: Job → how it ended.
        seconds: How long both took together.
    """

    first: str
    rejection: Refused | None
    outcomes: Mapping[str, str]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Both parts, and what the report draws."""

    baseline: Baseline
    ours: Ours
    stage: Stage
    explanation: Section | None
    records: tuple[GangRecord, ...]

    @property
    def solved(self) -> bool:
        """Whether both jobs finished as gangs."""
        return set(self.ours.outcomes.values()) == {"Succeeded"}

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        return {"baseline": to_builtins(self.baseline), "ours": to_builtins(self.ours)}

    def table(self) -> Table:
        """Both parts side by side."""
        rows = [
            (
                name,
                f"{self.baseline.running[name]} of {WORKERS} run, {self.baseline.waiting[name]} wait",
                self.baseline.outcomes[name]
                if name in self.baseline.finished
                else "never: waits for its peers",
                self.ours.outcomes[name],
            )
            for name in JOBS
        ]
        caption = f"Two jobs of {WORKERS} one-GPU workers each"
        return Table(
            caption=caption, header=("job", "pod by pod", "finishes", "with gangplan"), rows=tuple(rows)
        )

    def _story(self) -> tuple[str, ...]:
        if self.ours.rejection is None:
            return ("There are GPUs for both jobs: both run at once, pod by pod and as gangs.",)
        stuck = (
            "Pod by pod, both jobs started a part of their workers and none could train: each held GPUs that the "
            f"other needed. They were watched for {self.baseline.stuck_s:.0f} s, then stopped."
        )
        ours = f"As gangs, {self.ours.first} ran whole; the other waited, was told why, and ran when there was room."
        return stuck, ours

    def sections(self) -> tuple[Section, ...]:
        """For the report."""
        first = Section(
            title="Demo: deadlock",
            paragraphs=self._story(),
            tables=(self.table(),),
            figures=(
                Figure(
                    svg=figures.timeline(self.records, time.time(), title="The two jobs as gangs"),
                    caption="Both jobs as gangs: one waits while the other runs.",
                ),
            ),
        )
        return (first,) if self.explanation is None else (first, self.explanation)


def nodes(gpus: int) -> Snapshot:
    """Virtual nodes of two GPUs each.

    Raises:
        InvalidInput: So many GPUs cannot be divided, or no job fits.
    """
    if gpus < WORKERS or gpus % GPUS_PER_NODE:
        message = f"must be a multiple of {GPUS_PER_NODE} and at least {WORKERS}, not {gpus}"
        raise InvalidInput([Problem("--gpus", "OUT_OF_RANGE", message)], "arguments")
    count = gpus // GPUS_PER_NODE
    return Snapshot(
        nodes=tuple(
            Node(name=f"node-{place}", allocatable={GPU: str(GPUS_PER_NODE), "cpu": "16", "memory": "64Gi"})
            for place in range(count)
        )
    )


def run(chosen: Settings, *, gpus: int, stuck_s: float, tell: Tell) -> Result:
    """Play both parts with real TensorFlow processes.

    Args:
        chosen: The settings.
        gpus: Virtual GPUs of the cluster.
        stuck_s: Seconds to watch the stuck jobs.
        tell: Gets a line for each thing that happens.

    Raises:
        InvalidInput: ``gpus`` cannot be used.
    """
    stage = Stage(chosen, "deadlock", nodes(gpus))
    workers = {"worker": RoleSize(replicas=WORKERS, gpus=1)}
    plays = tuple(stage.tfjob(name, workers, TRAINING) for name in JOBS)
    baseline = _pod_by_pod(stage, plays, stuck_s, tell)
    return _as_gangs(stage, plays, baseline, tell)


def _pod_by_pod(stage: Stage, plays: tuple[Play, ...], stuck_s: float, tell: Tell) -> Baseline:
    gangs = tuple(play.gang(place) for place, play in enumerate(plays))
    placements = pod_by_pod(Snapshot(nodes=stage.cluster.nodes, gangs=gangs))
    placed = {name: [node for node in placements[name]["worker"] if node] for name in JOBS}
    for name in JOBS:
        tell(f"pod by pod: {name} gets {len(placed[name])} of {WORKERS} GPUs")
    with stage.runtime("baseline") as runtime:
        for play in plays:
            runtime.submit(stage.job(play, placements[play.name]))
        deadline = time.monotonic() + STARTING_S
        while time.monotonic() < deadline:
            states = [runtime.status(name) for name in JOBS]
            up = all(
                replica.pid is not None for status in states for replica in status.replicas if replica.node
            )
            if up or any(status.state in FINAL for status in states):
                break
            time.sleep(0.2)
        running = {
            # On a busy machine the first may have ended before the last has begun.
            name: tuple(
                item for item in runtime.status(name).replicas if item.state in {"Running", "Succeeded"}
            )
            for name in JOBS
        }
        tell(f"pod by pod: {sum(map(len, running.values()))} processes run")
        whole = all(len(placed[name]) == WORKERS for name in JOBS)
        if whole:
            tell("pod by pod: all have a GPU; waiting for them to finish")
            outcomes = {name: runtime.wait(name).state for name in JOBS}
        else:
            tell(f"pod by pod: each waits for peers that have no GPU; watching them for {stuck_s:.0f} s")
            time.sleep(stuck_s)
            outcomes = {name: runtime.status(name).state for name in JOBS}
        finished = tuple(name for name in JOBS if outcomes[name] in FINAL)
        tell(f"pod by pod: {len(finished)} of {len(JOBS)} jobs finished{'' if whole else '; stopped'}")
    return Baseline(
        running={name: len(items) for name, items in running.items()},
        waiting={name: WORKERS - len(placed[name]) for name in JOBS},
        pids={
            name: tuple(item.pid for item in items if item.pid is not None) for name, items in running.items()
        },
        finished=finished,
        stuck_s=0.0 if whole else stuck_s,
        outcomes=outcomes,
    )


def _as_gangs(stage: Stage, plays: tuple[Play, ...], baseline: Baseline, tell: Tell) -> Result:
    order: list[str] = []
    waits: list[GangRecord] = []

    def watch(record: GangRecord) -> None:
        tell(f"as gangs: {record.name}: {record.phase}: {record.reason}")
        if record.phase == "Bound" and record.name not in order:
            order.append(record.name)
        if record.phase == "Pending" and record.rejection is not None:
            waits.append(record)

    begun = time.monotonic()
    ended, records = stage.run(plays, watch)
    refused = waits[0] if waits else None
    ours = Ours(
        first=order[0] if order else "",
        rejection=_refused(refused) if refused else None,
        outcomes={name: ended[name].state for name in JOBS},
        seconds=round(time.monotonic() - begun, 1),
    )
    told = _explained(stage, plays, refused) if refused else None
    return Result(baseline=baseline, ours=ours, stage=stage, explanation=told, records=records)


def _refused(record: GangRecord) -> Refused:
    rejection = record.rejection
    assert rejection is not None, "only refused records come here"
    return Refused(
        gang=record.name,
        needs=int(rejection.needs or 0),
        has=int(rejection.has or 0),
        message=rejection.message,
        changes=tuple(change.text for change in rejection.changes),
    )


def _explained(stage: Stage, plays: tuple[Play, ...], record: GangRecord) -> Section:
    assert record.rejection is not None, "only refused records come here"
    snapshot = Snapshot(nodes=stage.cluster.nodes, gangs=tuple(play.gang(0) for play in plays))
    plan = Plan(rejections={record.name: record.rejection})
    return section(explain(record.name, snapshot, plan), title=f"Why {record.name} had to wait")
