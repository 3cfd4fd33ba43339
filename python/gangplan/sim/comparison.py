"""What becomes of the same waiting gangs under several policies, until no more of them can start.

Time goes by in rounds: in each the policy places what waits, then every gang that is whole runs and ends, and gives its room
back. What never starts although all others have ended is stuck.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from gangplan import solver
from gangplan.documents import encode
from gangplan.options import SolveOptions
from gangplan.request import requests_of
from gangplan.sim.policies import Placements, pod_by_pod
from gangplan.snapshot import Gang, Running, Snapshot

Nodes = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Gang → role → nodes by index."""

Policy = Callable[[Snapshot], Placements]
"""Where a policy would put what waits."""

POD_BY_POD: Final = "pod by pod"

PRESETS: Final[Mapping[str, SolveOptions]] = {
    "packed": SolveOptions(changes=False),
    "spread": SolveOptions(placement="spread", changes=False),
    "in order": SolveOptions(bypass="none", changes=False),
}
"""Choices of the solver's options: the fullest nodes first, the emptiest first, and nobody before his turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What became of the gangs under one policy.

    Attributes:
        policy: Its name.
        at_once: Gangs that start in the first round.
        later: Gangs that start when others have ended.
        deadlocked: Gangs that hold room, would start alone, and never do: each waits for what others hold.
        never: The others that never start.
        impossible: Those of them that would not even start alone: they wait for nobody.
        idle: What gangs that never start hold without using it, by resource in base units.
        rounds: Rounds in which gangs started.
        first: What is placed in the first round; None where a replica has no node.
        traffic: Cost of each gang that started: pairs of replicas that talk, times the levels that part them.
        crossing: The part of it that crosses the finest level of the topology, such as racks; empty without one.
    """

    policy: str
    at_once: tuple[str, ...]
    later: tuple[str, ...]
    deadlocked: tuple[str, ...]
    never: tuple[str, ...]
    impossible: tuple[str, ...]
    idle: Mapping[str, int]
    rounds: int
    first: Placements
    traffic: Mapping[str, int]
    crossing: Mapping[str, int]

    @property
    def started(self) -> tuple[str, ...]:
        """Gangs that start at all."""
        return (*self.at_once, *self.later)


def compare(snapshot: Snapshot) -> tuple[Course, ...]:
    """Let all waiting gangs of a snapshot go through each policy.

    Args:
        snapshot: The cluster with the gangs. Those of which a replica runs already are left where they are.

    Raises:
        InvalidInput: The snapshot contradicts itself; every problem is named.
    """
    policies: dict[str, Policy] = {POD_BY_POD: _pod_by_pod}
    for name, options in PRESETS.items():
        policies[name] = _solved_with(options)
    as_a_gang = policies["packed"]

    known: dict[tuple[Policy, bytes], bool] = {}

    def starts(place: Policy, gang: Gang) -> bool:
        alike = encode(replace(gang, name="gang", created=0))
        if (place, alike) not in known:
            known[place, alike] = _starts(gang, place, snapshot)
        return known[place, alike]

    def impossible(place: Policy, gang: Gang) -> bool:
        # As a gang too: who breaks a level that it needs pod by pod is none of those that gangs would help.
        return not (starts(place, gang) and starts(as_a_gang, gang))

    return tuple(_course(name, place, snapshot, impossible) for name, place in policies.items())


def alone(snapshot: Snapshot, gang: Gang) -> Snapshot:
    """The cluster as if this gang were the only one that waits; what runs there stays."""
    stays = _elsewhere(snapshot)
    return replace(snapshot, gangs=(*(each for each in snapshot.gangs if each.name in stays), gang))


def _starts(gang: Gang, place: Policy, snapshot: Snapshot) -> bool:
    placed = place(alone(snapshot, gang))
    held = {
        role: [node for node in nodes if node is not None]
        for role, nodes in placed.get(gang.name, {}).items()
    }
    return _is_whole(gang, held, placed, gang.name)


def _solved_with(options: SolveOptions) -> Policy:
    def place(snapshot: Snapshot) -> Placements:
        placed = solver.solve(snapshot, options).placements
        return {gang: dict(roles) for gang, roles in placed.items()}

    return place


def _pod_by_pod(snapshot: Snapshot) -> Placements:
    waiting = {gang.name for gang in snapshot.gangs} - _elsewhere(snapshot)
    order = [
        gang.name
        for gang in sorted(snapshot.gangs, key=lambda gang: (gang.created, gang.name))
        if gang.name in waiting
    ]
    return pod_by_pod(snapshot, order)


def _elsewhere(snapshot: Snapshot) -> set[str]:
    """Gangs that run before anything is compared; replicas that a policy has placed are named otherwise."""
    return {pod.gang for pod in snapshot.running if pod.gang is not None and not pod.name.startswith(_OURS)}


_OURS = "placed by the policy: "


def _course(
    name: str, place: Policy, snapshot: Snapshot, is_impossible: Callable[[Policy, Gang], bool]
) -> Course:
    waiting = {gang.name: gang for gang in snapshot.gangs if gang.name not in _elsewhere(snapshot)}
    held: dict[str, dict[str, list[str]]] = {}
    first: Placements = {}
    ran: dict[str, dict[str, tuple[str, ...]]] = {}
    rounds: list[tuple[str, ...]] = []
    while waiting:
        placed = place(_now(snapshot, waiting, held))
        first = first or {gang: roles for gang, roles in placed.items() if gang in waiting}
        for gang, roles in placed.items():
            for role, nodes in roles.items():
                found = held.setdefault(gang, {}).setdefault(role, [])
                found += [node for node in nodes if node is not None]
        whole = tuple(
            gang for gang in sorted(waiting) if _is_whole(waiting[gang], held.get(gang, {}), placed, gang)
        )
        if not whole:
            break
        rounds.append(whole)
        for gang in whole:
            ran[gang] = {role: tuple(nodes) for role, nodes in held.pop(gang).items()}
            del waiting[gang]
    holding = {gang: roles for gang, roles in held.items() if any(roles.values())}
    impossible = tuple(gang for gang in sorted(waiting) if is_impossible(place, waiting[gang]))
    stuck = tuple(gang for gang in sorted(waiting) if gang in holding and gang not in impossible)
    traffic, crossing = _traffic(snapshot, ran)
    return Course(
        policy=name,
        at_once=rounds[0] if rounds else (),
        later=tuple(sorted(gang for each in rounds[1:] for gang in each)),
        deadlocked=stuck,
        never=tuple(gang for gang in sorted(waiting) if gang not in stuck),
        impossible=impossible,
        idle=_idle(snapshot, holding),
        rounds=len(rounds),
        first=first,
        traffic=traffic,
        crossing=crossing,
    )


def _now(
    snapshot: Snapshot, waiting: Mapping[str, Gang], held: Mapping[str, Mapping[str, list[str]]]
) -> Snapshot:
    """The cluster as it is in this round: gangs that have run are gone, what is placed holds its room."""
    stays = _elsewhere(snapshot)
    gangs = tuple(gang for gang in snapshot.gangs if gang.name in waiting or gang.name in stays)
    running = tuple(
        Running(name=f"{_OURS}{gang}/{role}/{index}", node=node, gang=gang, role=role, index=index)
        for gang, roles in held.items()
        for role, nodes in roles.items()
        for index, node in enumerate(nodes)
    )
    return replace(snapshot, gangs=gangs, running=(*snapshot.running, *running))


def _is_whole(gang: Gang, held: Mapping[str, list[str]], placed: Placements, name: str) -> bool:
    """All its replicas have nodes; of an elastic gang that the solver has placed, as many as it was given."""
    missing = any(len(held.get(role.name, ())) < role.replicas for role in gang.roles)
    given = [node for nodes in placed.get(name, {}).values() for node in nodes]
    elastic = gang.min_member is not None or any(role.min is not None for role in gang.roles)
    return not missing or (elastic and bool(given) and None not in given)


def _idle(snapshot: Snapshot, held: Mapping[str, Mapping[str, list[str]]]) -> dict[str, int]:
    roles = {(gang.name, role.name): role for gang in snapshot.gangs for role in gang.roles}
    total: dict[str, int] = {}
    for gang, placed in held.items():
        for role, nodes in placed.items():
            for resource, amount in requests_of(roles[gang, role]).items():
                if resource != "pods" and nodes:
                    total[resource] = total.get(resource, 0) + amount * len(nodes)
    return total


def _traffic(snapshot: Snapshot, ran: Nodes) -> tuple[dict[str, int], dict[str, int]]:
    """What each gang's traffic costs, and what of it crosses the finest level: the difference that this level makes."""
    if not ran:
        return {}, {}
    bare = Snapshot(
        topology=snapshot.topology,
        nodes=snapshot.nodes,
        gangs=tuple(_bare(gang) for gang in snapshot.gangs if gang.name in ran),
    )
    whole = solver.traffic(bare, ran)
    if not snapshot.topology:
        return whole, {}
    without = solver.traffic(replace(bare, topology=snapshot.topology[:-1]), ran)
    return whole, {gang: cost - without[gang] for gang, cost in whole.items()}


def _bare(gang: Gang) -> Gang:
    """A gang without what names queues and levels."""
    roles = tuple(replace(role, topology=None, replica_affinity=()) for role in gang.roles)
    return replace(gang, roles=roles, queue=None, topology=None, groups=(), min_groups={})
