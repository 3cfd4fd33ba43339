"""Why a gang waits and what would let it start, in words: the same text on the terminal, in steps and in reports."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import groupby

from gangplan.errors import InvalidInput, Problem
from gangplan.plan import Holder, LevelFit, Plan, Rejection
from gangplan.record import GangRecord
from gangplan.report import markdown
from gangplan.report.wording import amount, count, duration, is_one, listed, one_line, ranges
from gangplan.snapshot import Gang, Role, Running, Snapshot

NONE = "–"
"""What a table shows where there is nothing to show."""

_EXCLUDED = {
    "NODE_NOT_READY": ("is not ready", "are not ready"),
    "NODE_CORDONED": ("is cordoned", "are cordoned"),
    "NODE_OUTSIDE_TOPOLOGY": ("lacks a label of the topology", "lack a label of the topology"),
    "NODE_SELECTOR_MISMATCH": ("does not match its node selector", "do not match its node selector"),
    "NODE_AFFINITY_MISMATCH": ("does not match its node affinity", "do not match its node affinity"),
    "TAINT_NOT_TOLERATED": ("has a taint that it does not tolerate", "have a taint that it does not tolerate"),
}


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
) -> Explanation:
    """Say where a gang stands: it may start, it runs, or it waits; and if it waits, why.

    Args:
        name: Name of the gang.
        snapshot: The cluster.
        plan: The answer to this snapshot.
        records: Records of gangs, which tell since when those that are in the way run; None of them is needed.
        now: Seconds since 1970, to tell how long ago that was; None: it is not told.

    Raises:
        InvalidInput: The snapshot has no such gang, or the plan does not answer for it.
    """
    gang = next((gang for gang in snapshot.gangs if gang.name == name), None)
    if gang is None:
        near = get_close_matches(name, [gang.name for gang in snapshot.gangs], n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InvalidInput([Problem("$.gangs", "UNKNOWN_NAME", f"no gang is named {name}{hint}")], "snapshot")
    if name in plan.rejections:
        return _Refusal(gang, snapshot, plan, {record.name: record for record in records}, now).explanation()
    own = [running for running in snapshot.running if running.gang == name]
    if name in plan.placements:
        return _placed(gang, snapshot, plan, own)
    if len(own) < sum(role.replicas for role in gang.roles):
        problem = Problem("$.rejections", "MISSING_FIELD", f"the plan does not answer for the gang {name}")
        raise InvalidInput([problem], "plan")
    places = {(running.role, running.index): running.node for running in own if running.index is not None}
    reserved = sum(running.reserved for running in own)
    note = f"Its room is reserved; {count(reserved, 'replica')} did not start yet." if reserved else ""
    return Explanation(
        gang=name,
        headline=f"{name} {'has its room' if reserved else 'runs'}: "
        f"{_whole(gang)} {'has its' if len(own) == 1 else 'have their'} place.",
        header=("role", "replicas", "node"),
        rows=_place_rows(gang, places),
        notes=(note,) if note else (),
    )


def _placed(gang: Gang, snapshot: Snapshot, plan: Plan, own: Sequence[Running]) -> Explanation:
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
        near = ": replicas that talk share a node" if cost == 0 else "; with all replicas on one node it would be 0"
        notes.append(f"Its traffic costs {cost:,}{near}.")
    return Explanation(
        gang=gang.name,
        headline=f"{headline}, {_where(snapshot, set(places.values()))}.",
        header=("role", "replicas", "node"),
        rows=_place_rows(gang, {key: node for key, node in places.items() if key[1] is not None}),
        notes=tuple(notes),
    )


def _whole(gang: Gang) -> str:
    total = sum(role.replicas for role in gang.roles)
    return "its one replica" if total == 1 else f"all {total:,} replicas"


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


def _place_rows(gang: Gang, places: Mapping[tuple[str | None, int | None], str]) -> tuple[tuple[str, ...], ...]:
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


class _Refusal:
    """The refusal of one gang, with what is around it."""

    def __init__(
        self,
        gang: Gang,
        snapshot: Snapshot,
        plan: Plan,
        records: Mapping[str, GangRecord],
        now: float | None,
    ) -> None:
        self.gang, self.snapshot, self.plan, self.records, self.now = gang, snapshot, plan, records, now
        self.rejection: Rejection = plan.rejections[gang.name]
        self.gangs = {gang.name: gang for gang in snapshot.gangs}
        kinds = {name for node in snapshot.nodes for name in node.allocatable if name.endswith("/gpu")}
        self.gpu = next(iter(kinds)) if len(kinds) == 1 else None

    def explanation(self) -> Explanation:
        changes = tuple(change.text for change in self.rejection.changes)
        intro = "Each of these was tried and admits it:" if len(changes) > 1 else "This was tried and admits it:"
        if any(change.kind != "wait" for change in self.rejection.changes):
            intro = intro[:-1] + " now:"
        roles = tuple(role.name for role in self.gang.roles)
        levels = self.rejection.levels
        return Explanation(
            gang=self.gang.name,
            headline=self._headline(),
            details=(*self._holders(), *self._exclusions()),
            header=("level", "best domain", *roles, "limited by") if levels else (),
            rows=tuple(self._level(level, roles) for level in levels),
            changes_intro=intro if changes else "",
            changes=changes,
            notes=tuple(self._notes()),
        )

    def _headline(self) -> str:
        message = one_line(self.rejection.message).rstrip(".")
        if self.rejection.resource == self.gpu is not None:
            message = _with_words(message, self.gpu)
        if message.startswith("needs "):
            message = f"it {message}"
        if self.rejection.impossible:
            return f"{self.gang.name} cannot fit this cluster, even when nothing else runs: {message}."
        return f"{self.gang.name} waits at {self._position()}: {message}."

    def _position(self) -> str:
        overall = self.rejection.position
        if self.gang.queue is None:
            return f"position {overall}"
        own = sum(
            other.position <= overall
            for name, other in self.plan.rejections.items()
            if name in self.gangs and self.gangs[name].queue == self.gang.queue
        )
        among = f", {overall} of all queues" if own != overall else ""
        return f"position {own} of queue {self.gang.queue}{among}"

    def _holders(self) -> list[str]:
        kind = "queue " if self.rejection.stage == "quota" else ""
        where = f" of {kind}{self.rejection.at}" if self.rejection.at else ""
        return [self._holder(holder, where) for holder in self.rejection.holders]

    def _holder(self, holder: Holder, where: str) -> str:
        be = "is" if is_one(holder.amount) else "are"
        what = f"{amount(holder.amount, holder.resource, gpu=self.gpu)}{where}"
        about = []
        gang = self.gangs.get(holder.name)
        if gang is not None and gang.queue is not None:
            about.append(f"queue {gang.queue}")
        if holder.name in self.plan.placements:
            about.append("starts before it")
        elif since := self._since(holder):
            about.append(since)
        more = f" ({', '.join(about)})" if about else ""
        return f"{what} {be} {'reserved for' if holder.reserved else 'held by'} {holder.name}{more}."

    def _since(self, holder: Holder) -> str:
        record = self.records.get(holder.name)
        if record is None or self.now is None:
            return ""
        phases = ("Reserved",) if holder.reserved else ("Bound",)
        entered = [event.at for event in record.history if event.phase in phases]
        verb = "reserved" if holder.reserved else "started"
        return f"{verb} {duration(self.now - entered[-1])} ago" if entered else ""

    def _exclusions(self) -> list[str]:
        """Say for each role what keeps nodes away; roles with the same exclusions share a sentence."""
        total = len(self.snapshot.nodes)
        by_role: dict[str, list[tuple[str, int]]] = {}
        for exclusion in self.rejection.exclusions:
            by_role.setdefault(exclusion.role, []).append((exclusion.rule, exclusion.nodes))
        roles = {role.name: role for role in self.gang.roles}
        sentences = []
        for same, names in groupby(sorted(by_role, key=lambda name: (sorted(by_role[name]), name)), by_role.get):
            shared = list(names)
            counts = sorted(same or (), key=lambda item: (-item[1], item[0]))
            role = roles.get(shared[0]) if len(shared) == 1 else None
            parts = [_excluded(rule, nodes, role) for rule, nodes in counts]
            parts[0] = parts[0].replace(" ", f" of {count(total, 'node')} ", 1)
            left = total - sum(nodes for _, nodes in counts)
            rest = f"{count(left, 'node')} {'is' if left == 1 else 'are'} left" if left else "none is left"
            sentences.append(f"Role{'s' if len(shared) > 1 else ''} {listed(shared)}: {', '.join(parts)}; {rest}.")
        return sentences

    def _level(self, fit: LevelFit, roles: Sequence[str]) -> tuple[str, ...]:
        counts = (f"{fit.have.get(role, 0)}/{fit.need[role]}" if role in fit.need else NONE for role in roles)
        return (fit.level, fit.domain or NONE, *counts, fit.limited_by or NONE)

    def _notes(self) -> list[str]:
        notes = []
        if not self.rejection.proven:
            cut = "the time" if self.plan.stats.stopped_by == "deadline" else "the budget"
            notes.append(f"This is not proven: {cut} for the search ran out, so there may be a placement after all.")
        running = Counter(running.role for running in self.snapshot.running if running.gang == self.gang.name)
        if total := running.total():
            verb = "has its place" if total == 1 else "have their places"
            notes.append(f"{count(total, 'replica')} of it {verb} already; the table counts those that must still start.")
        notes.append(f"Rule {self.rejection.rule}, stage {self.rejection.stage}.")
        return notes


def _excluded(rule: str, nodes: int, role: Role | None) -> str:
    """Say how many nodes a rule excludes; the number comes first."""
    one, many = _EXCLUDED.get(rule, (f"is kept away by rule {rule}", f"are kept away by rule {rule}"))
    text = f"{nodes:,} {one if nodes == 1 else many}"
    if rule == "NODE_SELECTOR_MISMATCH" and role is not None and role.node_selector:
        pairs = (f"{key}={value}" for key, value in sorted(role.node_selector.items()))
        text += f" ({', '.join(pairs)})"
    return text


def _with_words(message: str, gpu: str) -> str:
    """Call the GPU resource GPU where a message gives a number of it."""
    words = message.split(" ")
    for i, word in enumerate(words[1:], start=1):
        name = word.rstrip(",;:")
        if name == gpu and words[i - 1].isdecimal():
            words[i] = amount(words[i - 1], gpu, gpu=gpu).split(" ")[1] + word[len(name) :]
    return " ".join(words)
