"""Affinity: two jobs of one parameter server and two workers each.

Pod by pod they are scattered; as gangs each lies on one node.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gangplan import solver
from gangplan.config import Settings
from gangplan.demo.stage import Play, Stage, Tell
from gangplan.documents import to_builtins
from gangplan.kube.manifest import RoleSize
from gangplan.record import GangRecord
from gangplan.report import figures
from gangplan.report.page import Figure, Section, Table
from gangplan.sim.policies import pod_by_pod
from gangplan.snapshot import Node, Snapshot

JOBS = ("job-a", "job-b")
ROLES = {
    "ps": RoleSize(replicas=1, cpu="1", memory="1Gi"),
    "worker": RoleSize(replicas=2, cpu="1", memory="1Gi"),
}
TRAINING = ("--strategy", "ps", "--epochs", "2")
RACKS, NODES_PER_RACK = 2, 2

Nodes = Mapping[str, Mapping[str, tuple[str, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One way to place the jobs.

    Attributes:
        nodes: Job → role → nodes by index.
        traffic: Job → cost: pairs of parameter server and worker, times the levels (node, rack) that part them.
    """

    nodes: Nodes
    traffic: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Both parts, how the jobs ended, and what the report draws."""

    baseline: Part
    ours: Part
    outcomes: Mapping[str, str]
    seconds: float
    snapshot: Snapshot

    @property
    def solved(self) -> bool:
        """Whether each of our jobs lies on one node, and succeeded there."""
        together = all(
            len({node for role in job.values() for node in role}) == 1 for job in self.ours.nodes.values()
        )
        return together and set(self.outcomes.values()) == {"Succeeded"}

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        return {
            "baseline": to_builtins(self.baseline),
            "ours": {**to_builtins(self.ours), "outcomes": dict(self.outcomes), "seconds": self.seconds},
        }

    def table(self) -> Table:
        """Both parts side by side."""
        rows = tuple(
            (
                name,
                _where(self.baseline.nodes[name]),
                str(self.baseline.traffic[name]),
                _where(self.ours.nodes[name]),
                str(self.ours.traffic[name]),
            )
            for name in JOBS
        )
        return Table(
            caption="Two jobs of 1 parameter server and 2 workers each",
            header=("job", "pod by pod", "traffic", "with gangplan", "traffic"),
            rows=rows,
        )

    def picture(self) -> str:
        """Both placements as a small picture of nodes, for a terminal."""
        blocks = []
        for title, part in (("pod by pod", self.baseline), ("with gangplan", self.ours)):
            blocks.append(f"{title} (traffic {sum(part.traffic.values())})")
            for node in self.snapshot.nodes:
                names = [
                    f"{job[-1]}:{role}-{index}"
                    for job, roles in part.nodes.items()
                    for role, placed in roles.items()
                    for index, host in enumerate(placed)
                    if host == node.name
                ]
                blocks.append(f"  {node.labels['rack']}/{node.name}  [{'  '.join(names) or 'empty'}]")
        return "\n".join(blocks)

    def sections(self) -> tuple[Section, ...]:
        """For the report."""
        drawn = tuple(
            Figure(
                svg=figures.placement_map(self.snapshot, part.nodes, title),
                caption=f"{title}: traffic {sum(part.traffic.values())}.",
            )
            for title, part in (("Pod by pod", self.baseline), ("With gangplan", self.ours))
        )
        text = "Traffic counts the pairs of parameter server and worker, times the levels (node, rack) that part them."
        return (Section(title="Demo: affinity", paragraphs=(text,), tables=(self.table(),), figures=drawn),)


def run(chosen: Settings, *, tell: Tell) -> Result:
    """Place the jobs both ways, and run them our way with real TensorFlow processes.

    Args:
        chosen: The settings.
        tell: Gets a line for each thing that happens.
    """
    cluster = Snapshot(
        topology=("rack",),
        nodes=tuple(
            Node(
                name=f"node-{rack}{place}",
                labels={"rack": f"rack-{rack}"},
                allocatable={"cpu": "4", "memory": "16Gi", "pods": "110"},
            )
            for rack in range(RACKS)
            for place in range(NODES_PER_RACK)
        ),
    )
    stage = Stage(chosen, "affinity", cluster)
    plays = tuple(stage.tfjob(name, ROLES, TRAINING) for name in JOBS)
    waiting = replace(cluster, gangs=tuple(play.gang(place) for place, play in enumerate(plays)))
    scattered: Nodes = {
        gang: {role: tuple(node for node in placed if node) for role, placed in roles.items()}
        for gang, roles in pod_by_pod(waiting).items()
    }
    baseline = Part(nodes=scattered, traffic=solver.traffic(waiting, scattered))
    tell(f"pod by pod: traffic {sum(baseline.traffic.values())}")
    return _as_gangs(stage, plays, waiting, baseline, tell)


def _as_gangs(stage: Stage, plays: tuple[Play, ...], waiting: Snapshot, baseline: Part, tell: Tell) -> Result:
    placed: dict[str, Mapping[str, tuple[str, ...]]] = {}

    def watch(record: GangRecord) -> None:
        tell(f"as gangs: {record.name}: {record.phase}: {record.reason}")
        if record.reservation is not None:
            placed[record.name] = record.reservation.placement

    begun = time.monotonic()
    ended, _ = stage.run(plays, watch)
    ours = Part(nodes=placed, traffic=solver.traffic(waiting, placed))
    return Result(
        baseline=baseline,
        ours=ours,
        outcomes={name: ended[name].state for name in JOBS},
        seconds=round(time.monotonic() - begun, 1),
        snapshot=waiting,
    )


def _where(roles: Mapping[str, tuple[str, ...]]) -> str:
    return ", ".join(sorted({node for placed in roles.values() for node in placed}))
