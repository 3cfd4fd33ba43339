"""Inventory: what a snapshot holds, counted for people: capacity, domains, queues, gangs and what runs."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gangplan.moments import Moment
from gangplan.request import Amounts, held_by, requests_of
from gangplan.snapshot import Gang, Queue, Running, Snapshot
from gangplan.solver import format_quantity, parse_quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceUse:
    """One resource of the whole cluster. Amounts are Kubernetes quantities.

    Attributes:
        name: The resource.
        allocatable: What all nodes have.
        used: What is held on them, reservations included; what is leaving holds nothing.
    """

    name: str
    allocatable: str
    used: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUse:
    """One node.

    Attributes:
        name: Its name.
        state: ``ready``, ``cordoned`` or ``not ready``.
        allocatable: What it has, by resource name.
        used: What is held on it.
    """

    name: str
    state: str
    allocatable: Mapping[str, str]
    used: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A level of the topology.

    Attributes:
        name: The level.
        domains: How many domains it has.
        outside: Nodes that are in none of them.
    """

    name: str
    domains: int
    outside: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueUse:
    """A queue. What it uses includes what all queues below it use.

    Attributes:
        queue: The queue.
        used: What its gangs and pods hold, by resource name.
        waiting: Names of its own gangs that wait.
        running: Names of its own gangs that hold all that they ask for.
    """

    queue: Queue
    used: Mapping[str, str]
    waiting: tuple[str, ...]
    running: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GangUse:
    """A gang.

    Attributes:
        name: Its name.
        queue: Its queue.
        asked: Role → replicas.
        running: Role → replicas that hold a place.
        reserved: How many of those hold it by a reservation only.
    """

    name: str
    queue: str | None
    asked: Mapping[str, int]
    running: Mapping[str, int]
    reserved: int

    @property
    def waits(self) -> bool:
        """Whether a replica has no place yet."""
        return any(self.running.get(role, 0) < count for role, count in self.asked.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """All of it, each sequence by name.

    Attributes:
        now: The moment, in seconds since 1970; None: not known.
        nodes: The nodes.
        resources: The resources that a node has or somebody holds.
        levels: The topology from coarse to fine.
        queues: The queues.
        gangs: The gangs.
        others: Pods of no gang that hold a place.
        terminating: Replicas and pods that are leaving.
    """

    now: Moment | None
    nodes: tuple[NodeUse, ...]
    resources: tuple[ResourceUse, ...]
    levels: tuple[Level, ...]
    queues: tuple[QueueUse, ...]
    gangs: tuple[GangUse, ...]
    others: int
    terminating: int


def take_stock(snapshot: Snapshot) -> Inventory:
    """Count what a sound snapshot holds."""
    roles = {(gang.name, role.name): requests_of(role) for gang in snapshot.gangs for role in gang.roles}
    staying = [(holder, held_by(holder, roles)) for holder in snapshot.running if not holder.terminating]
    on_node: dict[str, Counter[str]] = defaultdict(Counter)
    for holder, amounts in staying:
        on_node[holder.node].update(amounts)
    nodes = sorted(snapshot.nodes, key=lambda node: node.name)
    there = {node.name: _parsed(node.allocatable) for node in nodes}
    gangs = _gangs(snapshot.gangs, [holder for holder, _ in staying])
    return Inventory(
        now=snapshot.now or None,
        nodes=tuple(
            NodeUse(
                name=node.name,
                state="not ready" if not node.ready else "cordoned" if node.unschedulable else "ready",
                allocatable=_texts(there[node.name]),
                used=_texts(on_node[node.name]),
            )
            for node in nodes
        ),
        resources=_resources(there.values(), on_node.values()),
        levels=_levels(snapshot),
        queues=_queues(snapshot, staying, gangs),
        gangs=gangs,
        others=sum(holder.gang is None for holder, _ in staying),
        terminating=len(snapshot.running) - len(staying),
    )


def _resources(there: Iterable[Amounts], held: Iterable[Amounts]) -> tuple[ResourceUse, ...]:
    allocatable, used = Counter[str](), Counter[str]()
    for amounts in there:
        allocatable.update(amounts)
    for amounts in held:
        used.update(amounts)
    return tuple(
        ResourceUse(
            name=name,
            allocatable=format_quantity(name, allocatable[name]),
            used=format_quantity(name, used[name]),
        )
        for name in sorted({*allocatable, *used})
    )


def _levels(snapshot: Snapshot) -> tuple[Level, ...]:
    """A domain is the tuple of values down to its level; a node that lacks one of all labels is in none."""
    whole = [
        tuple(node.labels[key] for key in snapshot.topology)
        for node in snapshot.nodes
        if all(key in node.labels for key in snapshot.topology)
    ]
    return tuple(
        Level(
            name=key,
            domains=len({values[: place + 1] for values in whole}),
            outside=len(snapshot.nodes) - len(whole),
        )
        for place, key in enumerate(snapshot.topology)
    )


def _gangs(gangs: Iterable[Gang], running: Iterable[Running]) -> tuple[GangUse, ...]:
    held: dict[str, Counter[str]] = defaultdict(Counter)
    reserved = Counter[str]()
    for holder in running:
        if holder.gang is not None and holder.role is not None:
            held[holder.gang][holder.role] += 1
            reserved[holder.gang] += holder.reserved
    return tuple(
        GangUse(
            name=gang.name,
            queue=gang.queue,
            asked={role.name: role.replicas for role in gang.roles},
            running=dict(sorted(held[gang.name].items())),
            reserved=reserved[gang.name],
        )
        for gang in sorted(gangs, key=lambda gang: gang.name)
    )


def _queues(
    snapshot: Snapshot, staying: Iterable[tuple[Running, Amounts]], gangs: Iterable[GangUse]
) -> tuple[QueueUse, ...]:
    queue_of = {gang.name: gang.queue for gang in snapshot.gangs}
    parent_of = {queue.name: queue.parent for queue in snapshot.queues}
    used: dict[str, Counter[str]] = defaultdict(Counter)
    for holder, amounts in staying:
        queue = holder.queue if holder.gang is None else queue_of[holder.gang]
        while queue is not None:
            used[queue].update(amounts)
            queue = parent_of[queue]
    waiting: dict[str | None, list[str]] = defaultdict(list)
    running: dict[str | None, list[str]] = defaultdict(list)
    for gang in gangs:
        (waiting if gang.waits else running)[gang.queue].append(gang.name)
    return tuple(
        QueueUse(
            queue=queue,
            used=_texts(used[queue.name]),
            waiting=tuple(waiting[queue.name]),
            running=tuple(running[queue.name]),
        )
        for queue in sorted(snapshot.queues, key=lambda queue: queue.name)
    )


def _parsed(quantities: Mapping[str, str]) -> Amounts:
    return {name: parse_quantity(name, text, round_up=False) for name, text in quantities.items()}


def _texts(amounts: Mapping[str, int]) -> dict[str, str]:
    return {name: format_quantity(name, amount) for name, amount in sorted(amounts.items())}
