"""How near a gang's traffic comes to the best known: fourteen gangs, each on a fragmented cluster of 80 nodes."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from gangplan.options import SolveOptions
from gangplan.snapshot import Gang, Node, Role, Snapshot, Traffic
from gangplan.solver import solve

NODES, NODES_IN_RACK, RACKS_IN_BLOCK = 80, 8, 5
BEST_KNOWN = (425, 570, 686, 120, 1128, 639, 174, 391, 445, 597, 147, 462, 105, 398)
"""Traffic of each instance as a constraint model found it; see ``tests/exactness/test_traffic.py``."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A cluster as it is, and one gang of parameter servers and workers that talk to each other.

    Attributes:
        free: Cores and GPUs that each node has left; eight nodes are a rack, five racks a block.
        servers: How many parameter servers, and the cores of one.
        workers: How many workers, the cores and the GPUs of one.
    """

    free: tuple[tuple[int, int], ...]
    servers: tuple[int, int]
    workers: tuple[int, int, int]

    def snapshot(self) -> Snapshot:
        """The instance as a snapshot; the gang may lie anywhere."""
        nodes = tuple(
            Node(
                name=f"n{place:02d}",
                labels={
                    "block": f"b{place // (NODES_IN_RACK * RACKS_IN_BLOCK)}",
                    "rack": f"r{place // NODES_IN_RACK}",
                },
                allocatable={"cpu": str(cores), "nvidia.com/gpu": str(gpus)},
            )
            for place, (cores, gpus) in enumerate(self.free)
        )
        (servers, server), (workers, cores, gpus) = self.servers, self.workers
        roles = (
            Role(name="ps", replicas=servers, requests={"cpu": str(server)}),
            Role(name="worker", replicas=workers, requests={"cpu": str(cores), "nvidia.com/gpu": str(gpus)}),
        )
        gang = Gang(name="gang", roles=roles, traffic=(Traffic(a="ps", b="worker"),))
        return Snapshot(topology=("block", "rack"), nodes=nodes, gangs=(gang,))


def instances(count: int = 14) -> tuple[Instance, ...]:
    """The same ones every time."""
    return tuple(_instance(random.Random(f"traffic {seed}")) for seed in range(count))  # noqa: S311  # chance, not secrets


def _instance(chance: random.Random) -> Instance:
    free = tuple(
        (64, 8) if chance.random() < 0.1 else (chance.randint(2, 40), chance.randint(0, 5))
        for _ in range(NODES)
    )
    return Instance(
        free=free,
        servers=(chance.randint(4, 14), chance.randint(5, 12)),
        workers=(chance.randint(16, 56), chance.randint(4, 9), chance.randint(1, 2)),
    )


def reached() -> Sequence[int]:
    """Traffic of each instance as the solver places it.

    Raises:
        KeyError: A gang was refused; each of them can be placed.
    """
    options = SolveOptions(changes=False)
    return [solve(instance.snapshot(), options).traffic["gang"] for instance in instances()]


def over_best_known() -> float:
    """Traffic of all instances together, over the best known."""
    return sum(reached()) / sum(BEST_KNOWN)
