"""Holdings: what is held of nodes and queues now and by whom, and what is left, counted for people."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from gangplan.moments import Moment
from gangplan.node_kinds import KINDS, Kind, is_virtual
from gangplan.record import HOLDING, GangRecord
from gangplan.request import Amounts, held_by, requests_of
from gangplan.snapshot import Node, Running, Snapshot
from gangplan.solver import format_quantity, parse_quantity


def is_gpu(resource: str) -> bool:
    """Whether a resource is GPUs, whoever makes them: ``nvidia.com/gpu``, ``gpu.intel.com/i915``."""
    return "gpu" in resource.replace(".", "/").split("/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One resource of a node, or of all that are ready. Amounts are Kubernetes quantities.

    Attributes:
        resource: The resource.
        capacity: What there is.
        used: What replicas and pods that run hold.
        reserved: What is kept for replicas that do not run yet.
        free: What is left.
    """

    resource: str
    capacity: str
    used: str
    reserved: str
    free: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLoad:
    """One node.

    Attributes:
        name: Its name.
        kind: Whether it is a machine, or a virtual node behind which a cloud makes one for each pod.
        state: What is free on a node that is not ready or cordoned is of no use.
        shares: Its resources, by name.
    """

    name: str
    kind: Kind
    state: Literal["ready", "cordoned", "not ready"]
    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesLoad:
    """All nodes.

    Attributes:
        ready: Resources of the machines that are ready together.
        ready_virtual: Resources of the virtual ones that are ready together: what a cloud promises.
        nodes: Each, by name.
    """

    ready: tuple[Share, ...]
    ready_virtual: tuple[Share, ...]
    nodes: tuple[NodeLoad, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLoad:
    """What a gang holds, or all pods together that belong to none.

    Attributes:
        name: Its name; None: pods of no gang.
        queue: Its queue.
        state: Whether all of it runs, or places of it are only kept.
        replicas: Replicas or pods that hold a place.
        held: Amounts by resource.
        gpus: How many GPUs of whatever kind.
        since: Seconds since 1970 from which it holds room; None: not known.
    """

    name: str | None
    queue: str | None
    state: Literal["runs", "reserved"]
    replicas: int
    held: Mapping[str, str]
    gpus: int
    since: Moment | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueShare:
    """One resource of a queue; None: nothing is said about it.

    Attributes:
        resource: The resource.
        used: What the queue and those below it hold, reservations included.
        guarantee: What is kept free for it.
        deserved: What it gets first.
        limit: What it never passes.
    """

    resource: str
    used: str
    guarantee: str | None
    deserved: str | None
    limit: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLoad:
    """A queue.

    Attributes:
        name: Its name.
        open: Whether it admits.
        shares: Its resources, by name.
        waiting: How many of its own gangs wait.
        running: How many of them hold all that they ask for.
    """

    name: str
    open: bool
    shares: tuple[QueueShare, ...]
    waiting: int
    running: int


def of_nodes(snapshot: Snapshot) -> NodesLoad:
    """Count what is held on each node of a sound snapshot."""
    used: dict[str, Counter[str]] = defaultdict(Counter)
    reserved: dict[str, Counter[str]] = defaultdict(Counter)
    for holder, amounts in _staying(snapshot):
        (reserved if holder.reserved else used)[holder.node].update(amounts)
    nodes = []
    ready = {kind: (Counter[str](), Counter[str](), Counter[str]()) for kind in KINDS}
    for node in sorted(snapshot.nodes, key=lambda node: node.name):
        there = {name: parse_quantity(name, text, round_up=False) for name, text in node.allocatable.items()}
        nodes.append(
            NodeLoad(
                name=node.name,
                kind=_kind(node),
                state=_state(node),
                shares=_shares(there, used[node.name], reserved[node.name]),
            )
        )
        if _state(node) == "ready":
            for total, of_node in zip(
                ready[_kind(node)], (there, used[node.name], reserved[node.name]), strict=True
            ):
                total.update(of_node)
    return NodesLoad(
        ready=_shares(*ready["real"]), ready_virtual=_shares(*ready["virtual"]), nodes=tuple(nodes)
    )


def of_jobs(snapshot: Snapshot, records: Iterable[GangRecord] = ()) -> tuple[JobLoad, ...]:
    """Count what each gang of a sound snapshot holds: who holds most GPUs first, then who holds them longest.

    Args:
        snapshot: The snapshot.
        records: The records of its gangs, which tell since when.
    """
    queues = {gang.name: gang.queue for gang in snapshot.gangs}
    since = {record.name: _since(record) for record in records}
    held: dict[str | None, Counter[str]] = defaultdict(Counter)
    replicas, reserved = Counter[str | None](), Counter[str | None]()
    for holder, amounts in _staying(snapshot):
        held[holder.gang].update(amounts)
        replicas[holder.gang] += 1
        reserved[holder.gang] += holder.reserved
    jobs = (
        JobLoad(
            name=name,
            queue=None if name is None else queues[name],
            state="reserved" if reserved[name] else "runs",
            replicas=replicas[name],
            held={
                key: format_quantity(key, amount) for key, amount in sorted(amounts.items()) if key != "pods"
            },
            gpus=sum(amount for key, amount in amounts.items() if is_gpu(key)),
            since=None if name is None else since.get(name),
        )
        for name, amounts in held.items()
    )
    return tuple(sorted(jobs, key=_most_first))


def of_queues(snapshot: Snapshot) -> tuple[QueueLoad, ...]:
    """Count what each queue of a sound snapshot holds, with all below it; by name."""
    queue_of = {gang.name: gang.queue for gang in snapshot.gangs}
    parent_of = {queue.name: queue.parent for queue in snapshot.queues}
    used: dict[str, Counter[str]] = defaultdict(Counter)
    places = Counter[str]()
    for holder, amounts in _staying(snapshot):
        places[holder.gang or ""] += 1
        charged = holder.queue if holder.gang is None else queue_of[holder.gang]
        while charged is not None:
            used[charged].update(amounts)
            charged = parent_of[charged]
    whole = {
        gang.name: places[gang.name] >= sum(role.replicas for role in gang.roles) for gang in snapshot.gangs
    }
    loads = []
    for queue in sorted(snapshot.queues, key=lambda queue: queue.name):
        deserved, own = queue.deserved or {}, [name for name, of in queue_of.items() if of == queue.name]
        names = {*used[queue.name], *deserved, *queue.limit, *queue.guarantee} - {"pods"}
        shares = tuple(
            QueueShare(
                resource=name,
                used=format_quantity(name, used[queue.name][name]),
                guarantee=queue.guarantee.get(name),
                deserved=deserved.get(name),
                limit=queue.limit.get(name),
            )
            for name in sorted(names)
        )
        running = sum(whole[name] for name in own)
        loads.append(
            QueueLoad(
                name=queue.name, open=queue.open, shares=shares, waiting=len(own) - running, running=running
            )
        )
    return tuple(loads)


def _staying(snapshot: Snapshot) -> Iterable[tuple[Running, Amounts]]:
    """Who holds a place, and what of its node; what is leaving holds nothing."""
    roles = {(gang.name, role.name): requests_of(role) for gang in snapshot.gangs for role in gang.roles}
    return ((holder, held_by(holder, roles)) for holder in snapshot.running if not holder.terminating)


def _shares(
    there: Mapping[str, int], used: Mapping[str, int], reserved: Mapping[str, int]
) -> tuple[Share, ...]:
    def text(name: str, amount: int) -> str:
        return format_quantity(name, amount)

    return tuple(
        Share(
            resource=name,
            capacity=text(name, there.get(name, 0)),
            used=text(name, used.get(name, 0)),
            reserved=text(name, reserved.get(name, 0)),
            free=text(name, max(0, there.get(name, 0) - used.get(name, 0) - reserved.get(name, 0))),
        )
        for name in sorted({*there, *used, *reserved})
    )


def _kind(node: Node) -> Kind:
    return "virtual" if is_virtual(node) else "real"


def _state(node: Node) -> Literal["ready", "cordoned", "not ready"]:
    if not node.ready:
        return "not ready"
    return "cordoned" if node.unschedulable else "ready"


def _since(record: GangRecord) -> float | None:
    """When a gang came to hold the room that it has."""
    if record.phase not in HOLDING:
        return None
    since = None
    for event in reversed(record.history):
        if event.phase not in HOLDING:
            break
        since = event.at
    return since


def _most_first(job: JobLoad) -> tuple[bool, int, float, str]:
    return job.name is None, -job.gpus, job.since or float("inf"), job.name or ""
