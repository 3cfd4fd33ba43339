"""Baselines: what a scheduler does that knows no gangs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from gangplan.request import Amounts, held_by, requests_of
from gangplan.snapshot import Expression, Gang, Node, Role, Snapshot, Taint, Toleration
from gangplan.solver import parse_quantity

Placements = dict[str, dict[str, tuple[str | None, ...]]]
"""Gang → role → one node for each replica that must still start, by ascending index; None: it fits nowhere."""


@dataclass(slots=True)
class _Room:
    """A node while pods come: what it has, what is free, and whose replicas it holds."""

    node: Node
    allocatable: Amounts
    free: Amounts
    owned: dict[str, int] = field(default_factory=dict)

    def fits(self, wanted: Amounts) -> bool:
        """A node that does not list ``pods`` has no limit on them."""
        return all(
            amount <= self.free.get(name, 0)
            for name, amount in wanted.items()
            if amount > 0 and (name != "pods" or name in self.allocatable)
        )

    def share_left(self, wanted: Amounts) -> int:
        """Mean share of what is wanted that would be left afterwards, in thousandths."""
        shares = [
            (self.free[name] - amount) * 1000 // self.allocatable[name]
            for name, amount in wanted.items()
            if name != "pods" and amount > 0
        ]
        return sum(shares) // len(shares) if shares else 1000

    def take(self, gang: str, wanted: Amounts) -> None:
        for name, amount in wanted.items():
            self.free[name] = self.free.get(name, 0) - amount
        self.owned[gang] = self.owned.get(gang, 0) + 1


def pod_by_pod(snapshot: Snapshot, order: Sequence[str] | None = None) -> Placements:
    """Place pods one at a time, as the default scheduler of Kubernetes does with jobs created together.

    The gangs take turns: one pod of each, then the next of each; the pods of a gang come by role name and index.
    A pod goes to the node that can take it and has the largest share of free room left afterwards (as
    ``NodeResourcesFit`` with ``LeastAllocated``, but over all resources that the pod requests, since a snapshot
    may speak of GPUs only); among equals to the node with the fewest replicas of the same gang, then by name.
    Node selectors, required node affinity, taints, cordons and readiness are honoured. Queues, priorities, levels
    and the other replicas of the gang are not: this scheduler does not know them.

    Args:
        snapshot: The cluster; it stays as it is.
        order: Names of the gangs in the order of their turns; None: by age, then name. Gangs that are not named do
            not come.

    Raises:
        InvalidQuantity: A quantity of the snapshot cannot be read.
        KeyError: ``order`` names a gang that is not in the snapshot, or something that runs does.
    """
    by_name = {gang.name: gang for gang in snapshot.gangs}
    if order is None:
        order = [gang.name for gang in sorted(snapshot.gangs, key=lambda gang: (gang.created, gang.name))]
    wanted = {(gang.name, role.name): requests_of(role) for gang in snapshot.gangs for role in gang.roles}
    rooms = _rooms(snapshot, wanted)
    running = {(pod.gang, pod.role, pod.index) for pod in snapshot.running}
    turns = [list(_missing(by_name[name], running)) for name in order]

    found: dict[tuple[str, str], list[str | None]] = {}
    for turn in zip_longest(*turns):
        for pod in filter(None, turn):
            gang, role = pod
            amounts = wanted[gang, role.name]
            able = [room for room in rooms if room.fits(amounts) and _admits(room.node, role)]
            best = min(able, key=lambda room: _preference(room, gang, amounts), default=None)
            if best is not None:
                best.take(gang, amounts)
            found.setdefault((gang, role.name), []).append(best.node.name if best else None)
    placements: Placements = {}
    for (gang, name), nodes in sorted(found.items()):
        placements.setdefault(gang, {})[name] = tuple(nodes)
    return placements


def _preference(room: _Room, gang: str, amounts: Amounts) -> tuple[int, int, str]:
    return (-room.share_left(amounts), room.owned.get(gang, 0), room.node.name)


def _rooms(snapshot: Snapshot, wanted: dict[tuple[str, str], Amounts]) -> list[_Room]:
    rooms = {}
    for node in snapshot.nodes:
        there = {name: parse_quantity(name, text, round_up=False) for name, text in node.allocatable.items()}
        rooms[node.name] = _Room(node=node, allocatable=there, free=dict(there))
    for pod in snapshot.running:
        rooms[pod.node].take(pod.gang or "", held_by(pod, wanted))
    return list(rooms.values())


def _missing(
    gang: Gang, running: set[tuple[str | None, str | None, int | None]]
) -> Iterator[tuple[str, Role]]:
    """Give the replicas that must still start: gang and role, by role name and index."""
    for role in sorted(gang.roles, key=lambda role: role.name):
        for index in range(role.replicas):
            if (gang.name, role.name, index) not in running:
                yield gang.name, role


def _admits(node: Node, role: Role) -> bool:
    """Tell whether a node may take a role at all, room aside."""
    if node.unschedulable or not node.ready:
        return False
    if any(node.labels.get(key) != value for key, value in role.node_selector.items()):
        return False
    terms = role.node_affinity
    if terms and not any(
        term.expressions and all(_holds(test, node) for test in term.expressions) for term in terms
    ):
        return False
    hard = (taint for taint in node.taints if taint.effect != "PreferNoSchedule")
    return all(any(_tolerates(toleration, taint) for toleration in role.tolerations) for taint in hard)


def _holds(test: Expression, node: Node) -> bool:
    value = node.labels.get(test.key)
    match test.operator:
        case "In":
            return value in test.values
        case "NotIn":
            return value not in test.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    try:
        found, bound = int(value or ""), int(test.values[0])
    except ValueError:
        return False
    return found > bound if test.operator == "Gt" else found < bound


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in {"", taint.effect} or (toleration.key or taint.key) != taint.key:
        return False
    return toleration.operator == "Exists" or (toleration.key != "" and toleration.value == taint.value)
