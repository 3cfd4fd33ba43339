"""Choice: the kind of nodes on which each gang that waits lies, decided anew whenever the cluster is decided on.

The cluster is solved once with all such gangs on real nodes and once with all on virtual ones, then with each on the kind
that is best for it: so the answer for one gang, on either kind, is as exact as any. Of the kinds on which it may start the
cheaper is taken, at the same price the real one; where it may start on neither, one that an empty cluster would hold.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from gangplan.node_kinds import KINDS, Kind, has_choice, held_to, is_virtual, price_per_hour
from gangplan.plan import Plan
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
        return Decided(snapshot=snapshot, plan=plan, unsound=unsound)

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
    snapshot, plan, unsound = on({name: option.kind for name, option in taken.items()})
    refused = choosing & plan.rejections.keys()
    split = solve(records)[1].placements.keys() & refused if refused else frozenset()
    kinds = {
        name: _told(options[name], taken[name], could_split=name in split, waits=name in refused)
        for name in options
        if name not in unsound
    }
    told = {
        name: replace(rejection, message=f"{rejection.message}; {kinds[name]}")
        if name in refused
        else rejection
        for name, rejection in plan.rejections.items()
    }
    return Decided(snapshot=snapshot, plan=replace(plan, rejections=told), unsound=unsound, kinds=kinds)


def _option(name: str, kind: Kind, tried: Solved) -> _Option:
    snapshot, plan, unsound = tried
    if name in unsound:
        return _Option(kind=kind, reason=unsound[name], is_possible=False)
    if (refused := plan.rejections.get(name)) is not None:
        return _Option(kind=kind, reason=refused.message, is_possible=not refused.impossible)
    gang = next(gang for gang in snapshot.gangs if gang.name == name)
    nodes = {node.name: node for node in snapshot.nodes}
    return _Option(kind=kind, price=price_per_hour(gang, plan.placements[name], nodes))


def _told(options: Sequence[_Option], taken: _Option, *, could_split: bool, waits: bool) -> str:
    head = "a gang is not split between real and virtual nodes"
    if not waits:
        return f"{head}: {'; '.join(map(str, options))}; {taken.kind} nodes are taken"
    others = "; ".join(str(option) for option in options if option is not taken)
    text = f"{head}: this is so on {taken.kind} nodes, and {others}"
    return f"{text}; split between both it could start now (--allow-split)" if could_split else text
