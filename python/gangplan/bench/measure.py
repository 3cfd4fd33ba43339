"""The figures of a workload: how long a decision takes, and how good it is."""

import time
from dataclasses import dataclass
from statistics import fmean, median
from typing import TypeVar

from gangplan.bench.door import Door, Places
from gangplan.bench.workload import GangRow, Workload

Rows = TypeVar("Rows")
State = TypeVar("State")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What one runner did with one workload; the line that every runner prints.

    Attributes:
        runner: Who decided.
        workload: Name of the workload.
        total_ms: Wall time from rows in memory to the answer, the median of the runs.
        min_ms: The shortest.
        cpu_ms: Processor time of this process for the same, user and system, the median.
        runs: How many runs.
        open_ms: The part in which the state was built, the median.
        act_ms: The part in which it was decided, the median.
        gangs_placed: Gangs that got a place.
        pods_placed: Replicas that got a place.
        racks_per_gang: Racks that a placed gang lies in, on average; 0 if none was placed.
        ps_racks_without_workers: Racks, summed over the placed gangs, that hold a PS and none of the gang's workers.
        gangs_hit: Gangs that lost a replica.
        pods_evicted: Replicas that were evicted.
    """

    runner: str = "gangplan"
    workload: str
    total_ms: float
    min_ms: float
    cpu_ms: float
    runs: int
    open_ms: float
    act_ms: float
    gangs_placed: int
    pods_placed: int
    racks_per_gang: float
    ps_racks_without_workers: int
    gangs_hit: int = 0
    pods_evicted: int = 0


def measure(workload: Workload, door: Door[Rows, State], runs: int = 5) -> Figures:
    """Decide on a workload several times, each time from its rows in memory."""
    rows = door.read(workload)
    opened, acted, totals, cpu = [], [], [], []
    for _ in range(runs):
        begin_cpu, begin = time.process_time(), time.perf_counter()
        state = door.open(rows)
        middle = time.perf_counter()
        answer = door.act(state)
        end, end_cpu = time.perf_counter(), time.process_time()
        opened.append(middle - begin)
        acted.append(end - middle)
        totals.append(end - begin)
        cpu.append(end_cpu - begin_cpu)
        places = door.places(workload, answer)
        # What was built is taken apart here, not in the next run's time.
        del state, answer
    racks = [_racks(workload, gang, places) for gang in workload.waiting if gang.name in places]
    return Figures(
        workload=workload.workload,
        total_ms=_ms(median(totals)),
        min_ms=_ms(min(totals)),
        cpu_ms=_ms(median(cpu)),
        runs=runs,
        open_ms=_ms(median(opened)),
        act_ms=_ms(median(acted)),
        gangs_placed=len(places),
        pods_placed=sum(len(where) for gang in places.values() for where in gang),
        racks_per_gang=round(fmean(len(everywhere) for everywhere, _ in racks), 4) if racks else 0.0,
        ps_racks_without_workers=sum(alone for _, alone in racks),
    )


def _racks(workload: Workload, gang: GangRow, places: Places) -> tuple[set[str], int]:
    """The racks of a placed gang, and how many of them hold a PS but no worker."""
    of_role = {
        role.name: {workload.nodes[place].rack for place in where}
        for role, where in zip(gang.roles, places[gang.name], strict=True)
    }
    alone = of_role.get("ps", set()) - of_role.get("worker", set())
    return set().union(*of_role.values()), len(alone)


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
