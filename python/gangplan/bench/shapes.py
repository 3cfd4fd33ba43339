"""The workloads: what they consist of, and how they are made from a seed."""

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gangplan.bench.workload import GangRow, NodeRow, RoleRow, Workload

NODES_IN_RACK, RACKS_IN_BLOCK = 16, 10
NODES_IN_BLOCK = NODES_IN_RACK * RACKS_IN_BLOCK
GPUS = 8
CORE, GIB = 1000, 1024
ONE_GPU = RoleRow(name="worker", count=1, cpu=8 * CORE, memory=64 * GIB, gpu=1)

Shape = Callable[["Site"], list[GangRow]]


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster of equal nodes in racks of 16 and blocks of 10 racks, and the chance that fills it.

    Attributes:
        nodes: How many nodes.
        closeness: Required and preferred level of the gangs that wait; both empty if they ask for none.
        chance: The seeded stream.
    """

    nodes: int
    closeness: tuple[str, str]
    chance: random.Random

    def waiting(self, name: str, roles: Iterable[RoleRow], priority: int = 0) -> GangRow:
        """A gang that waits, as close as the site's gangs want to be."""
        required, preferred = self.closeness
        return GangRow(
            name=name, priority=priority, required=required, preferred=preferred, roles=tuple(roles)
        )


def running(name: str, role: RoleRow, places: list[int], priority: int = 0) -> GangRow:
    """A gang of one role that runs on the nodes at these positions."""
    return GangRow(name=name, priority=priority, roles=(sized(role, len(places)),), running=(tuple(places),))


def sized(role: RoleRow, count: int) -> RoleRow:
    """The role with this many replicas."""
    return RoleRow(name=role.name, count=count, cpu=role.cpu, memory=role.memory, gpu=role.gpu)


def chunks(places: list[int], size: int) -> list[list[int]]:
    """Cut into pieces of ``size``; the last may be shorter."""
    return [places[start : start + size] for start in range(0, len(places), size)]


def stream(count: int) -> Shape:
    """Gangs of ten one-GPU workers come to an empty cluster."""

    def shape(site: Site) -> list[GangRow]:
        return [site.waiting(f"g{number:05d}", [sized(ONE_GPU, 10)]) for number in range(count)]

    return shape


def large(site: Site) -> list[GangRow]:
    """One gang of 512 workers and 64 parameter servers comes to a cluster of which 30% of the GPUs are in use."""
    free = [GPUS] * site.nodes
    places: dict[int, list[int]] = {1: [], 2: [], 4: [], 8: []}
    missing = site.nodes * GPUS * 30 // 100
    while missing > 0:
        gpus, node = site.chance.choice(tuple(places)), site.chance.randrange(site.nodes)
        if free[node] >= gpus:
            free[node] -= gpus
            missing -= gpus
            places[gpus].append(node)
    busy = [
        running(f"run-{gpus}g-{number:04d}", _of_gpus(gpus), part)
        for gpus, where in places.items()
        for number, part in enumerate(chunks(where, 16))
    ]
    servers = RoleRow(name="ps", count=64, cpu=8 * CORE, memory=32 * GIB, gpu=0)
    return [*busy, site.waiting("big", [sized(ONE_GPU, 512), servers])]


def _of_gpus(gpus: int) -> RoleRow:
    return RoleRow(name="worker", count=1, cpu=8 * CORE * gpus, memory=64 * GIB * gpus, gpu=gpus)


def refusals(site: Site) -> list[GangRow]:
    """A thousand gangs come to a cluster with a few single GPUs left: too few for any of them where it may stand."""
    if site.closeness[0]:
        left = {
            node
            for first in range(0, site.nodes, NODES_IN_BLOCK)
            for node in site.chance.sample(range(first, min(first + NODES_IN_BLOCK, site.nodes)), 8)
        }
    else:
        left = set(site.chance.sample(range(site.nodes), 12))
    slots = [node for node in range(site.nodes) for _ in range(GPUS - (node in left))]
    full = [
        running(f"run-{number:05d}", ONE_GPU, part, priority=1)
        for number, part in enumerate(chunks(slots, 16))
    ]
    chance = site.chance
    return full + [
        site.waiting(
            f"g{number:05d}",
            [
                RoleRow(
                    name="worker",
                    count=chance.randint(16, 40),
                    cpu=CORE * chance.randint(1, 8),
                    memory=64 * GIB,
                    gpu=1,
                )
            ],
            priority=1,
        )
        for number in range(1000)
    ]


def victims(site: Site) -> list[GangRow]:
    """A gang of 64 of high priority comes to nodes full of gangs of 16 that each share four nodes of a rack."""
    low: list[GangRow] = []
    for first in range(0, site.nodes, NODES_IN_RACK):
        halves = [node for node in range(first, min(first + NODES_IN_RACK, site.nodes)) for _ in range(2)]
        site.chance.shuffle(halves)
        for part in chunks(halves, 4):
            places = [node for node in part for _ in range(4)]
            low.append(running(f"low-{len(low):04d}", ONE_GPU, places, priority=1))
    return [*low, site.waiting("high", [sized(ONE_GPU, 64)], priority=100)]


def full(site: Site) -> list[GangRow]:
    """Nobody waits: ten replicas on each node, to measure how long it takes to take the cluster in."""
    on_cores = RoleRow(name="worker", count=1, cpu=8 * CORE, memory=32 * GIB, gpu=0)
    rows: list[GangRow] = []
    for number, part in enumerate(chunks(list(range(site.nodes)), 5)):
        rows.append(running(f"run-{number:05d}", ONE_GPU, [node for node in part for _ in range(GPUS)]))
        rows.append(running(f"cpu-{number:05d}", on_cores, [node for node in part for _ in range(2)]))
    return rows


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a workload is made."""

    shape: Shape
    nodes: int
    close: bool = False


RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        "W1-1250": Recipe(stream(1000), 1250),
        "W1t-1250": Recipe(stream(1000), 1250, close=True),
        "W1-10000": Recipe(stream(1000), 10_000),
        "W1t-10000": Recipe(stream(1000), 10_000, close=True),
        "W2-1250": Recipe(large, 1250, close=True),
        "W2-10000": Recipe(large, 10_000, close=True),
        "W3-1250": Recipe(refusals, 1250),
        "W3t-1250": Recipe(refusals, 1250, close=True),
        "W4-500": Recipe(victims, 500),
        "W4t-500": Recipe(victims, 500, close=True),
        "W5-1000": Recipe(full, 1000),
        "W5-5000": Recipe(full, 5000),
        "W5-10000": Recipe(full, 10_000),
    }
)
"""Name → recipe; the number is that of the nodes, ``t`` means that the gangs want to be close."""


def make(name: str, seed: int = 7) -> Workload:
    """Make a workload; equal names and seeds give equal ones.

    Raises:
        KeyError: There is no such workload.
    """
    recipe = RECIPES[name]
    closeness = ("block", "rack") if recipe.close else ("", "")
    site = Site(recipe.nodes, closeness, random.Random(f"{name} {seed}"))  # noqa: S311  # chance, not secrets
    nodes = tuple(_node(number) for number in range(recipe.nodes))
    return Workload(workload=name, seed=seed, nodes=nodes, gangs=tuple(recipe.shape(site)))


def crowd(gangs: int) -> Workload:
    """As many gangs of ten one-GPU workers as are asked for, on as many nodes as just hold them."""
    nodes = -(-gangs * 10 // GPUS)
    site = Site(nodes, ("", ""), random.Random(0))  # noqa: S311  # nothing is left to chance
    rows = tuple(_node(number) for number in range(nodes))
    return Workload(workload=f"crowd-{gangs}", seed=0, nodes=rows, gangs=tuple(stream(gangs)(site)))


def _node(number: int) -> NodeRow:
    return NodeRow(
        name=f"n{number:05d}",
        cpu=128 * CORE,
        memory=1024 * GIB,
        gpu=GPUS,
        pods=110,
        block=f"b{number // NODES_IN_BLOCK:03d}",
        rack=f"r{number // NODES_IN_RACK:04d}",
    )
