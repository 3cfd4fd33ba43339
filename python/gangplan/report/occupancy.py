"""Who holds how much of one resource on each node: what a placement map draws, as numbers."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import count
from math import gcd

from gangplan.request import Amounts, held_by, requests_of
from gangplan.snapshot import Node, Snapshot
from gangplan.solver import parse_quantity

Placements = Mapping[str, Mapping[str, Sequence[str | None]]]
"""Gang → role → nodes, as in :class:`gangplan.Plan`; None for a replica that has no place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """A replica of a drawn gang, or anything else that holds room on a node.

    Attributes:
        gang: The gang; None for what belongs to none of the drawn gangs.
        role: Its role; None for what is no replica.
        index: Its index in the role.
        amount: How much it takes of the drawn resource, in base units.
    """

    gang: str | None
    role: str | None = None
    index: int | None = None
    amount: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """The cluster by one resource.

    Attributes:
        resource: The resource: the one of which all that is there and all that is placed leaves the least.
        unit: Base units in which all its amounts are whole.
        capacity: Node → how much it has, in base units.
        tenants: Node → who is there; drawn gangs first, by name, role and index.
        waiting: Replicas of drawn gangs that have no place.
    """

    resource: str
    unit: int
    capacity: Mapping[str, int]
    tenants: Mapping[str, tuple[Tenant, ...]]
    waiting: tuple[Tenant, ...]

    def used(self, node: str) -> int:
        """How much is taken on a node, in base units."""
        return sum(tenant.amount for tenant in self.tenants.get(node, ()))


def occupancy(snapshot: Snapshot, placements: Placements) -> Occupancy:
    """Count who holds what, running and placed replicas together.

    Raises:
        InvalidQuantity: A quantity of the snapshot cannot be read.
        KeyError: A gang or role of the placements is not in the snapshot.
    """
    wanted = {(gang.name, role.name): requests_of(role) for gang in snapshot.gangs for role in gang.roles}
    holders: list[tuple[str | None, Tenant, Amounts]] = []
    taken: set[tuple[str, str, int]] = set()
    for pod in snapshot.running:
        drawn = pod.gang if pod.gang in placements else None
        tenant = Tenant(
            gang=drawn, role=pod.role if drawn else None, index=pod.index if drawn else None, amount=0
        )
        holders.append((pod.node, tenant, held_by(pod, wanted)))
        if pod.gang is not None and pod.role is not None and pod.index is not None:
            taken.add((pod.gang, pod.role, pod.index))
    for gang, roles in placements.items():
        for role, nodes in roles.items():
            free = (index for index in count() if (gang, role, index) not in taken)
            holders += [
                (node, Tenant(gang=gang, role=role, index=index, amount=0), wanted[gang, role])
                for node, index in zip(nodes, free, strict=False)
            ]

    there = {node.name: _allocatable(node) for node in snapshot.nodes}
    resource = _scarcest(there, [amounts for _, _, amounts in holders])
    by_node: dict[str | None, list[Tenant]] = defaultdict(list)
    for place, who, amounts in holders:
        by_node[place].append(replace(who, amount=amounts.get(resource, 0)))
    capacity = {name: amounts.get(resource, 0) for name, amounts in there.items()}
    if resource == "pods":  # a node that does not list them has no limit
        capacity = {name: there[name].get("pods", len(by_node.get(name, ()))) for name in capacity}
    sizes = [*capacity.values(), *(tenant.amount for tenants in by_node.values() for tenant in tenants)]
    return Occupancy(
        resource=resource,
        unit=reduce(gcd, sizes, 0) or 1,
        capacity=capacity,
        tenants={name: tuple(sorted(by_node[name], key=_order)) for name in capacity if name in by_node},
        waiting=tuple(sorted(by_node.get(None, ()), key=_order)),
    )


def _allocatable(node: Node) -> Amounts:
    return {name: parse_quantity(name, text, round_up=False) for name, text in node.allocatable.items()}


def _scarcest(there: Mapping[str, Amounts], taken: Sequence[Amounts]) -> str:
    """Choose the resource of which the largest share is taken; a GPU among equals; ``pods`` if there is no other."""
    total, used = Counter[str](), Counter[str]()
    for amounts in there.values():
        total.update(amounts)
    for amounts in taken:
        used.update(amounts)
    names = [name for name in total if name != "pods" and total[name] > 0] or ["pods"]
    return min(
        names, key=lambda name: (-Fraction(used[name], max(total[name], 1)), not name.endswith("/gpu"), name)
    )


def _order(tenant: Tenant) -> tuple[bool, str, str, int, int]:
    return (tenant.gang is None, tenant.gang or "", tenant.role or "", tenant.index or 0, -tenant.amount)
