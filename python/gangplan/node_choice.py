"""Choice: the kind of nodes on which each gang that waits lies, decided anew whenever the cluster is decided on.

The cluster is solved once with all such gangs on real nodes and once with all on virtual ones, then with each on the kind
that is best for it: so the answer for one gang, on either kind, is as exact as any. Of the kinds on which it may start the
cheaper is taken, at the same price the real one; where it may start on neither, one that an empty cluster would hold.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from gangplan.kind_changes import SPLIT, least, missing, told_missing, without_kind
from gangplan.node_kinds import KINDS, Kind, has_choice, held_to, is_only_held, is_virtual, price_per_hour
from gangplan.plan import Plan, Rejection
from gangplan.record import WAITING, GangRecord
from gangplan.snapshot import Node, Snapshot

Solved = tuple[Snapshot, Plan, dict[str, str]]
"""A snapshot, the plan for it, and gangs that name what the cluster does not have, with what is wrong."""

Solve = Callable[[Sequence[GangRecord]], Solved]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What was decided for all gangs together.

    Attributes:
        snapshot: What the plan rests on, each gang on the kind of nodes that was chosen for it.
        plan: The answer.
        unsound: Gangs that name what the cluster does not have, and what is wrong with each.
        kinds: Gangs that were chosen a kind of nodes for, and why, in a sentence.
    """

    snapshot: Snapshot
    plan: Plan
    unsound: dict[str, str]
    kinds: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Option:
    """A gang on one kind of nodes.

    Attributes:
        kind: The kind.
        reason: Why it may not start there now; empty: it may.
        price: What an hour costs; None: not known.
        is_possible: Whether an empty cluster would hold it there.
    """

    kind: Kind
    reason: str = ""
    price: Fraction | None = None
    is_possible: bool = True

    @property
    def rank(self) -> tuple[bool, bool, bool, Fraction, bool]:
        """The least is taken."""
        is_dear = self.price is None
        return (
            bool(self.reason),
            not self.is_possible,
            is_dear,
            self.price or Fraction(0),
            self.kind != "real",
        )

    def __str__(self) -> str:
        if self.reason:
            return f"on {self.kind} nodes it cannot start now: {self.reason}"
        if self.price is None:
            return f"on {self.kind} nodes it has room, at a price that is not known"
        if self.kind == "real" and not self.price:
            return "on real nodes it has room, which cost nothing more"
        return f"on {self.kind} nodes it has room, for {float(self.price):.4g} an hour"


def decide_on_kinds(records: Sequence[GangRecord], nodes: Sequence[Node], solve: Solve) -> Decided:
    """Decide for all gangs together, each that waits on one kind of nodes where it may not be split.

    Args:
        records: All records.
        nodes: The nodes.
        solve: Decides for records as they are.
    """
    virtual = [node for node in nodes if is_virtual(node)]
    choosing: set[str] = set()
    if 0 < len(virtual) < len(nodes):
        waiting = (record for record in records if record.phase in WAITING)
        choosing = {record.name for record in waiting if has_choice(record.gang, virtual)}
    if not choosing:
        snapshot, plan, unsound = solve(records)
        told = {**plan.rejections, **_of_missing(records, nodes, plan, solve)}
        return Decided(snapshot=snapshot, plan=replace(plan, rejections=told), unsound=unsound)

    def on(kinds: Mapping[str, Kind]) -> Solved:
        return solve(
            [
                replace(record, gang=held_to(record.gang, kinds[record.name]))
                if record.name in kinds
                else record
                for record in records
            ]
        )

    options: dict[str, list[_Option]] = {name: [] for name in sorted(choosing)}
    for kind in KINDS:
        tried = on(dict.fromkeys(choosing, kind))
        for name, of_gang in options.items():
            of_gang.append(_option(name, kind, tried))
    taken = {name: min(of_gang, key=lambda option: option.rank) for name, of_gang in options.items()}
    on_taken: dict[str, Kind] = {name: option.kind for name, option in taken.items()}
    snapshot, plan, unsound = on(on_taken)
    refused = choosing & plan.rejections.keys()
    kinds = {
        name: _told(options[name], taken[name], waits=name in refused)
        for name in options
        if name not in unsound
    }
    told = dict(plan.rejections)
    if refused:
        _, beside, _ = on(on_taken | {name: _OTHER[on_taken[name]] for name in refused})
        _, split, _ = on({name: kind for name, kind in on_taken.items() if name not in refused})
        for name in refused:
            other = beside.rejections.get(name) if beside.placements == plan.placements else None
            changes = least(plan.rejections[name].changes, () if other is None else other.changes)
            message = (
                f"{_with_kind(plan.rejections[name].message, on_taken[name], name, snapshot)}; {kinds[name]}"
            )
            told[name] = replace(
                plan.rejections[name],
                message=message,
                changes=(*changes, SPLIT) if name in split.placements else changes,
            )
    return Decided(snapshot=snapshot, plan=replace(plan, rejections=told), unsound=unsound, kinds=kinds)


_OTHER: Mapping[Kind, Kind] = {"real": "virtual", "virtual": "real"}


def _of_missing(
    records: Sequence[GangRecord], nodes: Sequence[Node], plan: Plan, solve: Solve
) -> dict[str, Rejection]:
    """Refusals of gangs for which a flag or a profile asks for a kind of nodes that is not there."""
    asked = {
        record.name: found
        for record in records
        if record.name in plan.rejections and (found := missing(record.gang, nodes)) is not None
    }
    if not asked:
        return {}
    without = solve(
        [
            replace(record, gang=without_kind(record.gang)) if record.name in asked else record
            for record in records
        ]
    )[1]
    return {
        name: told_missing(plan.rejections[name], kind, by, helps=name in without.placements)
        for name, (kind, by) in asked.items()
    }


def _with_kind(message: str, kind: Kind, name: str, snapshot: Snapshot) -> str:
    """A reason in which no nodes seem to be meant but those of one kind, and no affinity but the gang's own."""
    message = message.replace("the nodes that it may use", f"the {kind} nodes that it may use")
    gang = next(gang for gang in snapshot.gangs if gang.name == name)
    if not all(is_only_held(role) for role in gang.roles):
        return message
    return message.replace("do not match its node affinity", f"are not {kind}")


def _option(name: str, kind: Kind, tried: Solved) -> _Option:
    snapshot, plan, unsound = tried
    if name in unsound:
        return _Option(kind=kind, reason=unsound[name], is_possible=False)
    if (refused := plan.rejections.get(name)) is not None:
        return _Option(
            kind=kind,
            reason=_with_kind(refused.message, kind, name, snapshot),
            is_possible=not refused.impossible,
        )
    gang = next(gang for gang in snapshot.gangs if gang.name == name)
    nodes = {node.name: node for node in snapshot.nodes}
    return _Option(kind=kind, price=price_per_hour(gang, plan.placements[name], nodes))


def _told(options: Sequence[_Option], taken: _Option, *, waits: bool) -> str:
    head = "a gang is not split between real and virtual nodes"
    if not waits:
        return f"{head}: {'; '.join(map(str, options))}; {taken.kind} nodes are taken"
    others = "; ".join(str(option) for option in options if option is not taken)
    return f"{head}: this is so on {taken.kind} nodes, and {others}"
