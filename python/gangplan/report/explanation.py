"""Why a gang waits and what would let it start, in words: the same text on the terminal, in steps and in reports."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from gangplan.errors import InvalidInput, Problem
from gangplan.plan import Plan
from gangplan.record import GangRecord
from gangplan.report import markdown
from gangplan.report.refusal import Refusal
from gangplan.report.wording import count, one_line, ranges
from gangplan.snapshot import Gang, Running, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Where a gang stands and why, in pieces that each output lays out in its own way.

    Attributes:
        gang: Name of the gang.
        headline: The answer in one sentence.
        details: Sentences that say more about it, such as who holds what is short.
        header: Column titles of the table; empty if there is no table.
        rows: Its rows, each as long as the header.
        changes_intro: What the changes have in common, ending in a colon; empty without changes.
        changes: Changes that were tried and admit the gang, as sentences without full stop.
        notes: Sentences that limit or add to what was said.
    """

    gang: str
    headline: str
    details: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    changes_intro: str = ""
    changes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def as_text(self) -> str:
        """Lay it out for a terminal, without a line end at the end."""
        blocks = ["\n".join([one_line(self.headline), *(f"  {one_line(detail)}" for detail in self.details)])]
        if self.header:
            blocks.append("\n".join(f"  {line}" for line in _columns([self.header, *self.rows])))
        if self.changes:
            items = [f"  {number}. {one_line(change)}" for number, change in enumerate(self.changes, start=1)]
            blocks.append("\n".join([self.changes_intro, *items]))
        if self.notes:
            blocks.append("\n".join(one_line(note) for note in self.notes))
        return "\n\n".join(blocks)

    def as_markdown(self) -> str:
        """Lay it out as Markdown, without a line end at the end; names that look like markup are escaped."""
        blocks = [f"**{markdown.escape(self.headline)}**"]
        blocks += [markdown.escape(detail) for detail in self.details]
        if self.header:
            blocks.append(markdown.table(self.header, self.rows))
        if self.changes:
            blocks += [self.changes_intro, markdown.numbered(self.changes)]
        blocks += [markdown.escape(note) for note in self.notes]
        return "\n\n".join(blocks)


def explain(
    name: str,
    snapshot: Snapshot,
    plan: Plan,
    *,
    records: Iterable[GangRecord] = (),
    now: float | None = None,
    kinds: Mapping[str, str] | None = None,
) -> Explanation:
    """Say where a gang stands: it may start, it runs, or it waits; and if it waits, why.

    Args:
        name: Name of the gang.
        snapshot: The cluster.
        plan: The answer to this snapshot.
        records: Records of gangs, which tell since when those that are in the way run; None of them is needed.
        now: Seconds since 1970, to tell how long ago that was; None: it is not told.
        kinds: Gangs that were chosen a kind of nodes for, and why; a refusal says it itself.

    Raises:
        InvalidInput: The snapshot has no such gang, or the plan does not answer for it.
    """
    gang = next((gang for gang in snapshot.gangs if gang.name == name), None)
    if gang is None:
        near = get_close_matches(name, [gang.name for gang in snapshot.gangs], n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InvalidInput([Problem("$.gangs", "UNKNOWN_NAME", f"no gang is named {name}{hint}")], "snapshot")
    if name in plan.rejections:
        return _refused(gang, snapshot, plan, {record.name: record for record in records}, now)
    own = [running for running in snapshot.running if running.gang == name]
    if name in plan.placements:
        return _placed(gang, snapshot, plan, own, (kinds or {}).get(name, ""))
    if len(own) < sum(role.replicas for role in gang.roles):
        problem = Problem("$.rejections", "MISSING_FIELD", f"the plan does not answer for the gang {name}")
        raise InvalidInput([problem], "plan")
    places = {(running.role, running.index): running.node for running in own}
    reserved = sum(running.reserved for running in own)
    note = f"Its room is reserved; {count(reserved, 'replica')} did not start yet." if reserved else ""
    return Explanation(
        gang=name,
        headline=f"{name} {'has its room' if reserved else 'runs'}: "
        f"{_whole(gang)} {'has its' if len(own) == 1 else 'have their'} place.",
        header=("role", "indices", "node"),
        rows=_place_rows(gang, places),
        notes=(note,) if note else (),
    )


def _refused(
    gang: Gang, snapshot: Snapshot, plan: Plan, records: Mapping[str, GangRecord], now: float | None
) -> Explanation:
    refusal = Refusal(gang, snapshot, plan, records, now)
    header, rows = refusal.table()
    return Explanation(
        gang=gang.name,
        headline=refusal.headline(),
        details=(*refusal.holders(), *refusal.exclusions()),
        header=header,
        rows=rows,
        changes_intro=refusal.changes_intro(),
        changes=tuple(refusal.changes()),
        notes=tuple(refusal.notes()),
    )


def _placed(gang: Gang, snapshot: Snapshot, plan: Plan, own: Sequence[Running], kind: str) -> Explanation:
    """Explain a gang that the plan places; replicas that run already keep their place."""
    taken = {(running.role, running.index): running.node for running in own}
    places = dict(taken)
    for role in gang.roles:
        free = [index for index in range(role.replicas) if (role.name, index) not in taken]
        nodes = plan.placements[gang.name].get(role.name, ())
        places.update(((role.name, index), node) for index, node in zip(free, nodes, strict=False))
    started = len(places) - len(taken)
    have = "has" if started == 1 else "have"
    what = f"{count(len(taken), 'replica')} of it {'runs' if len(taken) == 1 else 'run'}, and the missing {started}"
    headline = f"{gang.name} may start: {f'{what} {have}' if taken else f'{_whole(gang)} {have}'} a place"
    notes = []
    if gang.name in plan.traffic and len(places) > 1:
        cost = plan.traffic[gang.name]
        near = (
            ": replicas that talk share a node"
            if cost == 0
            else "; with all replicas on one node it would be 0"
        )
        notes.append(f"Its traffic costs {cost:,}{near}.")
    notes += [f"{kind[0].upper()}{kind[1:]}."] if kind else []
    return Explanation(
        gang=gang.name,
        headline=f"{headline}, {_where(snapshot, set(places.values()))}.",
        header=("role", "indices", "node"),
        rows=_place_rows(gang, places),
        notes=tuple(notes),
    )


def _whole(gang: Gang) -> str:
    total = sum(role.replicas for role in gang.roles)
    return {1: "its one replica", 2: "both replicas"}.get(total, f"all {total:,} replicas")


def _where(snapshot: Snapshot, used: set[str]) -> str:
    """Name the smallest domain that holds all the nodes."""
    if len(used) == 1:
        return f"on node {next(iter(used))}" if snapshot.topology else f"on {next(iter(used))}"
    where = f"on {count(len(used), 'node')}"
    labels = [node.labels for node in snapshot.nodes if node.name in used]
    for depth in range(len(snapshot.topology), 0, -1):
        keys = snapshot.topology[:depth]
        domains = {tuple(label.get(key) for key in keys) for label in labels}
        if len(domains) == 1 and None not in (domain := next(iter(domains))):
            return f"{where} of {keys[-1]} {'/'.join(str(value) for value in domain)}"
    return where


def _place_rows(
    gang: Gang, places: Mapping[tuple[str | None, int | None], str]
) -> tuple[tuple[str, ...], ...]:
    """Give one row for each role and node; roles as declared, nodes by their first replica."""
    rows = []
    for role in gang.roles:
        nodes: dict[str, list[int]] = {}
        for index in range(role.replicas):
            if (node := places.get((role.name, index))) is not None:
                nodes.setdefault(node, []).append(index)
        rows += [(role.name, ranges(indices), node) for node, indices in nodes.items()]
    return tuple(rows)


def _columns(lines: Sequence[Sequence[str]]) -> list[str]:
    cells = [[one_line(cell) for cell in line] for line in lines]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    return ["  ".join(map(str.ljust, line, widths)).rstrip() for line in cells]
