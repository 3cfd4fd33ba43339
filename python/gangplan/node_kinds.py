"""Kinds of nodes: machines, and virtual nodes behind which a cloud makes one for each pod.

A gang lies on one kind, unless it is allowed to be split: its replicas talk, and a cloud is far. What tells the kinds apart
are labels and taints, as virtual-kubelet sets them and those who build on it.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from gangplan.request import requests_of
from gangplan.snapshot import Expression, Gang, Node, NodeSelectorTerm, Role, Taint, Toleration
from gangplan.solver import parse_quantity

Kind = Literal["real", "virtual"]
Placement = Mapping[str, tuple[str, ...]]

KINDS: tuple[Kind, Kind] = ("real", "virtual")

NODE_TYPE = "type"
"""Label of a node: what it is."""

VIRTUAL = "virtual-kubelet"
"""Value of that label: no machine, but a door to a cloud."""

PRICE_PER_HOUR = "gangplan.dev/price-per-hour"
"""Label of a node: what an hour costs, a decimal: of the whole node, of a virtual one of each replica."""

ALLOW_SPLIT = "gangplan.dev/allow-split"
"""Label of the roles of a gang: ``"true"`` lets it lie on both kinds at once."""

ASKED_BY = "gangplan.dev/kind-asked-by"
"""Label of the roles of a gang: the flag that says on which nodes they lie, such as ``--cci-burst enforce``."""

_NODES: Mapping[Kind, Expression] = {
    "real": Expression(key=NODE_TYPE, operator="NotIn", values=(VIRTUAL,)),
    "virtual": Expression(key=NODE_TYPE, operator="In", values=(VIRTUAL,)),
}
_DECIMAL = re.compile(r"[0-9]+(\.[0-9]+)?")


def is_virtual(node: Node) -> bool:
    """Whether a cloud is behind a node, and no machine."""
    return node.labels.get(NODE_TYPE) == VIRTUAL


def has_choice(gang: Gang, virtual: Sequence[Node]) -> bool:
    """Whether it is to be chosen on which kind of nodes a gang lies, where there are both.

    It is not where the gang may be split, and where all of its roles say the kind themselves, or none may lie on a virtual
    node.

    Args:
        gang: The gang.
        virtual: The virtual nodes.
    """
    if all(role.labels.get(ALLOW_SPLIT) == "true" for role in gang.roles):
        return False
    if all(role.node_selector.get(NODE_TYPE) == VIRTUAL for role in gang.roles):
        return False
    return any(_may_lie(role, node) for role in gang.roles for node in virtual)


def _may_lie(role: Role, node: Node) -> bool:
    hard = (taint for taint in node.taints if taint.effect != "PreferNoSchedule")
    return all(any(_tolerates(item, taint) for item in role.tolerations) for taint in hard)


def _tolerates(item: Toleration, taint: Taint) -> bool:
    """As Kubernetes has it."""
    is_meant = item.key in ("", taint.key) and item.effect in ("", taint.effect)
    return is_meant and (item.operator == "Exists" or (bool(item.key) and item.value == taint.value))


def held_to(gang: Gang, kind: Kind, roles: Collection[str] | None = None) -> Gang:
    """A gang that lies on one kind of nodes only, beside what it asks for already.

    Args:
        gang: The gang; it stays as it is.
        kind: The kind.
        roles: The roles that are held to it; None: all.
    """
    return replace(
        gang,
        roles=tuple(
            _narrowed(role, _NODES[kind]) if roles is None or role.name in roles else role
            for role in gang.roles
        ),
    )


def _narrowed(role: Role, expression: Expression) -> Role:
    terms = role.node_affinity or (NodeSelectorTerm(expressions=()),)
    narrowed = (NodeSelectorTerm(expressions=(*term.expressions, expression)) for term in terms)
    return replace(role, node_affinity=tuple(narrowed))


def asked_by(gang: Gang, flag: str, roles: Collection[str]) -> Gang:
    """A gang of which some roles say what holds them to a kind of nodes, for people."""
    return replace(
        gang,
        roles=tuple(
            replace(role, labels={**role.labels, ASKED_BY: flag}) if role.name in roles else role
            for role in gang.roles
        ),
    )


def kind_of(role: Role) -> Kind | None:
    """The kind of nodes that a role is held to, by its selector or as :func:`held_to` does; None: it is to neither."""
    if role.node_selector.get(NODE_TYPE) == VIRTUAL:
        return "virtual"
    terms = role.node_affinity
    return next(
        (kind for kind in KINDS if terms and all(_NODES[kind] in term.expressions for term in terms)), None
    )


def is_only_held(role: Role) -> bool:
    """Whether all that the node affinity of a role says is the kind of nodes."""
    kinds = set(_NODES.values())
    return all(set(term.expressions) <= kinds for term in role.node_affinity)


def freed(role: Role) -> Role:
    """A role that is held to no kind of nodes any more; what else it asks for stays."""
    kinds = set(_NODES.values())
    terms = tuple(
        NodeSelectorTerm(expressions=tuple(item for item in term.expressions if item not in kinds))
        for term in role.node_affinity
    )
    selector = {
        key: value for key, value in role.node_selector.items() if (key, value) != (NODE_TYPE, VIRTUAL)
    }
    # A term without expressions would match nothing; that one was there means that any node will do.
    open_to_all = not all(term.expressions for term in terms)
    return replace(role, node_selector=selector, node_affinity=() if open_to_all else terms)


def price_per_hour(gang: Gang, placement: Placement, nodes: Mapping[str, Node]) -> Fraction | None:
    """What an hour of a gang costs where it lies; None: a virtual node that it needs has no price.

    A replica on a virtual node costs what its label says; one on a real node the part of its price that is the largest
    part of the node, of any resource but ``pods``, that the replica takes. A real node without a price is there anyway, and
    costs nothing more.

    >>> from gangplan import Gang, Node, Role
    >>> gang = Gang(name="g", roles=(Role(name="worker", replicas=2, requests={"cpu": "2"}),))
    >>> real = Node(name="a", labels={PRICE_PER_HOUR: "4"}, allocatable={"cpu": "8"})
    >>> cloud = Node(name="b", labels={PRICE_PER_HOUR: "0.75", NODE_TYPE: VIRTUAL})
    >>> nodes = {"a": real, "b": cloud}
    >>> [str(price_per_hour(gang, {"worker": (name, name)}, nodes)) for name in nodes]
    ['2', '3/2']
    """
    total = Fraction(0)
    for role in gang.roles:
        for name in placement.get(role.name, ()):
            price = _price(nodes[name])
            if not is_virtual(nodes[name]):
                total += (price or 0) * _part(role, nodes[name])
            elif price is None:
                return None
            else:
                total += price
    return total


def _price(node: Node) -> Fraction | None:
    """What its label says; one that is no decimal number says nothing."""
    text = node.labels.get(PRICE_PER_HOUR, "")
    return Fraction(text) if _DECIMAL.fullmatch(text) else None


def _part(role: Role, node: Node) -> Fraction:
    """The largest part of a node, of any resource, that a replica takes."""
    parts = [Fraction(0)]
    for resource, units in requests_of(role).items():
        there = parse_quantity(resource, node.allocatable.get(resource, "0"), round_up=False)
        if resource != "pods" and there:
            parts.append(Fraction(units, there))
    return max(parts)
