"""Changes of a refusal that are about kinds of nodes: the least of both kinds, a gang that is split, a kind given up."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gangplan.node_kinds import ASKED_BY, Kind, freed, is_virtual, kind_of
from gangplan.plan import Change, Rejection
from gangplan.snapshot import Gang, Node
from gangplan.solver import parse_quantity

SPLIT = Change(
    kind="constraint", constraint="one_kind", text="split it between real and virtual nodes (--allow-split)"
)
"""A gang that lies on both kinds at once."""


def least(of_one: Iterable[Change], of_other: Iterable[Change]) -> tuple[Change, ...]:
    """The changes of a gang that was refused on either kind of nodes: of two of the same sort the smaller.

    Not those that drop its node affinity: that it was held to a kind would go with it.

    Args:
        of_one: Those on the kind that was chosen.
        of_other: Those on the other one, tried beside the same other gangs.
    """
    found: dict[Change, Change] = {}
    for change in (*of_one, *of_other):
        if change.constraint == "node_affinity":
            continue
        sort = replace(change, to=None, amount=None, min_member=None, text="")
        if sort not in found or _size(change) < _size(found[sort]):
            found[sort] = change
    now = {change.kind for change in found.values() if not change.alone}
    hides = now & {"replicas", "request"}
    return tuple(change for change in found.values() if not change.alone or not (hides or change.kind in now))


def _size(change: Change) -> int:
    """How much of a change it is: fewer replicas, smaller requests, more nodes or more that is freed are more."""
    if change.kind in {"replicas", "request"}:
        return -_number(change, change.to)
    return _number(change, change.amount if change.kind == "free" else change.to)


def _number(change: Change, text: str | None) -> int:
    if text is None or change.kind == "level":
        return 0
    if change.kind in {"replicas", "nodes"}:
        return int(text)
    return parse_quantity(change.resource or "", text, round_up=True)


def missing(gang: Gang, nodes: Sequence[Node]) -> tuple[Kind, str] | None:
    """A kind of nodes that a flag or a profile asks for although there is none, and which it is; None: none."""
    there: set[Kind] = {"virtual" if is_virtual(node) else "real" for node in nodes}
    for role in gang.roles:
        kind, asked = kind_of(role), role.labels.get(ASKED_BY)
        if kind is not None and asked is not None and kind not in there:
            return kind, asked
    return None


def told_missing(rejection: Rejection, kind: Kind, asked: str, *, helps: bool) -> Rejection:
    """A refusal for want of nodes of a kind: who asks for them, and what to do.

    Args:
        rejection: The refusal.
        kind: The kind.
        asked: The flag or profile.
        helps: Whether the gang is admitted on nodes of either kind: it was tried.
    """
    message = f"{asked} asks for {kind} nodes, and this cluster has none: leave it out, or add such a node"
    others = tuple(
        change for change in rejection.changes if change.constraint not in {"node_affinity", "node_selector"}
    )
    without = Change(kind="constraint", constraint="one_kind", text=f"without {asked}")
    return replace(rejection, message=message, changes=(without, *others) if helps else others)


def without_kind(gang: Gang) -> Gang:
    """A gang whose roles lie on either kind of nodes where a flag or a profile has asked for one."""
    return replace(
        gang, roles=tuple(freed(role) if role.labels.get(ASKED_BY) else role for role in gang.roles)
    )
