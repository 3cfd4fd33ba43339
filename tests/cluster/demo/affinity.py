"""Affinity: two jobs of one parameter server and two workers each, and two nodes."""

import itertools
import json
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.bed.image import PROJECT
from cluster.bed.kwok import GPU
from cluster.demo.stage import Nodes, Stage, say_title
from cluster.manifests import tfjob
from gangplan import solver
from gangplan.report import figures
from gangplan.report.page import Figure, Section, Table
from gangplan.snapshot import Snapshot

JOBS = ("job-a", "job-b")
PROGRAM = (
    "python -m gangplan.train.classifier --data digits --out /volume --strategy ps --epochs 2 --log-every 5"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The jobs as one way of scheduling has placed them.

    Attributes:
        nodes: Where they lie.
        traffic: Job → cost: pairs of parameter server and worker, times the levels (node, rack) that part them.
        speed: Job → steps a second.
    """

    nodes: Nodes
    traffic: Mapping[str, int]
    speed: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What happened: with the default scheduler, and through us."""

    snapshot: Snapshot
    alone: Part
    ours: Part

    @property
    def solved(self) -> bool:
        """Whether each job lay on one node."""
        return all(len(_nodes(roles)) == 1 for roles in self.ours.nodes.values())

    def table(self) -> Table:
        """Both ways side by side."""
        rows = tuple(
            (
                name,
                *(
                    cell
                    for part in (self.alone, self.ours)
                    for cell in (
                        ", ".join(_nodes(part.nodes[name])),
                        str(part.traffic[name]),
                        f"{part.speed[name]:.0f}",
                    )
                ),
            )
            for name in JOBS
        )
        header = ("job", "default scheduler", "traffic", "steps/s", "gangplan", "traffic", "steps/s")
        return Table(caption="Two jobs of 1 parameter server and 2 workers each", header=header, rows=rows)

    def section(self) -> Section:
        """For the report."""
        drawn = tuple(
            Figure(
                svg=figures.placement_map(self.snapshot, part.nodes, title),
                caption=f"{title}: traffic {sum(part.traffic.values())}.",
            )
            for title, part in (("Default scheduler", self.alone), ("gangplan", self.ours))
        )
        text = "Traffic counts the pairs of parameter server and worker, times the levels (node, rack) that part them."
        note = (
            "Steps a second were measured, but both nodes are this one machine: what crosses from one to the other here "
            "never touches a network, and the figures differ by chance only."
        )
        return Section(
            title="Affinity: parameter servers beside their workers",
            paragraphs=(text,),
            tables=(self.table(),),
            figures=drawn,
            notes=(note,),
        )


def play(stage: Stage) -> Told:
    """Tell the story."""
    say_title(
        "3 of 4: affinity, the default scheduler alone: two jobs of 1 parameter server and 2 workers, 2 nodes"
    )
    jobs = [_job(name, stage.home / "alone" / name) for name in JOBS]
    stage.create(jobs, by_turns=False)
    stage.show(stage.who_lies_where(jobs, "With the default scheduler"))
    snapshot = stage.snapshot(jobs)
    nodes = stage.nodes_of(jobs)
    stage.wait("both have trained to their ends", lambda: all(stage.is_over(job) for job in jobs))
    alone = Part(nodes=nodes, traffic=solver.traffic(snapshot, nodes), speed=_speed(stage.home / "alone"))
    stage.tell(f"traffic {sum(alone.traffic.values())}: workers and their parameter server lie apart")
    stage.clear()
    say_title("4 of 4: the same two jobs, through gangplan submit at the same moment")
    jobs = [_job(name, stage.home / "ours" / name) for name in JOBS]
    stage.submit(jobs)
    nodes = stage.nodes_of(jobs)
    stage.show(stage.who_lies_where(jobs, "Through gangplan"))
    ours = Part(nodes=nodes, traffic=solver.traffic(snapshot, nodes), speed=_speed(stage.home / "ours"))
    told = Told(snapshot=snapshot, alone=alone, ours=ours)
    stage.show(told.table())
    stage.clear()
    return told


def _job(name: str, out: Path) -> dict[str, Any]:
    out.mkdir(parents=True)
    job = tfjob(name, PROGRAM.split(), image=PROJECT, workers=2, gpus=0)
    specs = job["spec"]["tfReplicaSpecs"]
    del specs["Chief"]  # the first worker leads
    for kind, replicas in specs.items():
        spec = replicas["template"]["spec"]
        (container,) = spec["containers"]
        limits = container["resources"]["limits"] | ({GPU: "1"} if kind == "Worker" else {})
        resources = container["resources"] | {"limits": limits}
        mounts = [{"name": "volume", "mountPath": "/volume"}]
        replicas["template"] = {
            "spec": spec
            | {
                "volumes": [{"name": "volume", "hostPath": {"path": str(out)}}],
                "containers": [container | {"resources": resources, "volumeMounts": mounts}],
            }
        }
    return job


def _speed(folder: Path) -> dict[str, float]:
    """Job → steps a second, by the median of the stretches between two points of its history."""
    found = {}
    for name in JOBS:
        points = json.loads((folder / name / "history.json").read_text())
        pairs = list(itertools.pairwise(points))
        found[name] = statistics.median(
            (after["step"] - before["step"]) / max(after["seconds"] - before["seconds"], 1e-3)
            for before, after in pairs
        )
    return found


def _nodes(roles: Mapping[str, tuple[str, ...]]) -> list[str]:
    return sorted({node for placed in roles.values() for node in placed})
