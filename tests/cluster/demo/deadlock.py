"""Deadlock: two jobs of four one-GPU workers each, and four GPUs."""

import time
from dataclasses import dataclass
from typing import Any

from cluster.bed.image import PROJECT
from cluster.bed.kwok import GPU
from cluster.demo.stage import NAMESPACE, Stage, say_title
from cluster.manifests import gang_of_workers
from gangplan.record import GangRecord
from gangplan.report import figures
from gangplan.report.page import Figure, Section, Table

WORKERS = 4
WATCH_S = 6.0
"""Seconds for which the stuck jobs are watched."""
PROGRAM = "python -m gangplan.train.classifier --data digits --out /tmp/out --strategy mirrored --epochs 2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What happened.

    Attributes:
        stuck: Who lay where with the default scheduler.
        blocked: Whether both jobs held GPUs that the other needed.
        records: The gangs at the end.
        waited: Why the second had to wait.
    """

    stuck: Table
    blocked: bool
    records: tuple[GangRecord, ...]
    waited: str

    @property
    def solved(self) -> bool:
        """Whether both jobs succeeded as gangs, one after the other."""
        moments = sorted(
            ({event.phase: event.at for event in record.history} for record in self.records),
            key=lambda found: found.get("Bound", 0.0),
        )
        return [record.outcome for record in self.records] == ["Succeeded", "Succeeded"] and moments[0][
            "Finished"
        ] <= moments[1]["Bound"]

    def table(self) -> Table:
        """How long each waited and ran as a gang."""
        rows = []
        for record in self.records:
            at = {event.phase: event.at for event in record.history}
            begun = record.history[0].at
            reserved, finished = at.get("Reserved", begun), at.get("Finished", begun)
            name, outcome = record.gang.name.removeprefix(f"{NAMESPACE}/"), record.outcome or record.phase
            rows.append((name, f"{reserved - begun:.0f} s", f"{finished - reserved:.0f} s", outcome))
        return Table(caption="Through gangplan", header=("job", "waited", "ran", "outcome"), rows=tuple(rows))

    def section(self) -> Section:
        """For the report."""
        end = max(event.at for record in self.records for event in record.history)
        drawn = figures.timeline(self.records, end, title="The two jobs as gangs")
        stuck = (
            "With the default scheduler each job got a part of the GPUs. Its workers ran and waited for peers that "
            f"could not start, for as long as they were watched ({WATCH_S:.0f} s) and for ever."
        )
        return Section(
            title="Deadlock: two jobs of 4 workers, 4 GPUs",
            paragraphs=(
                stuck if self.blocked else "With the default scheduler one job happened to get all GPUs.",
                f"Through gangplan one ran whole; the other was told: {self.waited}",
            ),
            tables=(self.stuck, self.table()),
            figures=(Figure(svg=drawn, caption="One waits while the other runs."),),
        )


def play(stage: Stage) -> Told:
    """Tell the story."""
    jobs: list[dict[str, Any]] = [
        gang_of_workers(
            name, ["sh", "-c", f"trap exit TERM; {PROGRAM}"], image=PROJECT, workers=WORKERS, gpu=GPU
        )
        for name in ("job-a", "job-b")
    ]
    say_title("1 of 4: deadlock, the default scheduler alone: two jobs of 4 one-GPU workers, 4 GPUs")
    stage.create(jobs, by_turns=True)
    stage.tell("both jobs are created, their pods came by turns")
    stage.wait(
        "the workers that have a GPU run",
        lambda: sum(pod["status"].get("phase") == "Running" for pod in stage.pods().values()) == WORKERS,
    )
    counts = [
        sum(bool(node) for nodes in roles.values() for node in nodes)
        for roles in stage.nodes_of(jobs).values()
    ]
    blocked = all(0 < count < WORKERS for count in counts)
    stuck = stage.who_lies_where(jobs, "With the default scheduler")
    stage.show(stuck)
    if blocked:
        stage.tell(f"job-a has {counts[0]} GPUs and job-b {counts[1]}: each waits for what the other holds")
        _watch(stage)
    stage.clear()
    say_title("2 of 4: the same two jobs, through gangplan submit at the same moment")
    said = stage.submit(jobs)
    records = stage.records()
    # As `gangplan submit` has told it: NAME: Pending at position 1: REASON.
    waited = next((line for line in said if " at position " in line), "both had room at once")
    told = Told(stuck=stuck, blocked=blocked, records=records, waited=waited)
    stage.show(told.table())
    stage.tell(f"one ran whole, then the other, which had been told: {waited}")
    stage.clear()
    return told


def _watch(stage: Stage) -> None:
    before = {name: pod["spec"].get("nodeName") for name, pod in stage.pods().items()}
    begun = time.monotonic()
    with stage.telling("watching them wait for each other"):
        while time.monotonic() - begun < WATCH_S:
            now = {name: pod["spec"].get("nodeName") for name, pod in stage.pods().items()}
            if now != before:
                stage.tell("something has changed")
                return
            time.sleep(0.5)
    stage.tell(
        f"nothing has changed in {WATCH_S:.0f} s, and nothing ever will: neither trains, 4 GPUs are lost"
    )
