"""The refusal of a gang in words: why, who is in the way, and what would let it start."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from gangplan.node_kinds import ASKED_BY, is_only_held, kind_of
from gangplan.plan import Holder, LevelFit, Plan, Rejection
from gangplan.record import GangRecord
from gangplan.report.wording import amount, count, duration, is_one, listed, one_line
from gangplan.snapshot import Gang, Role, Snapshot

NONE = "\N{EN DASH}"
"""What a table shows where there is nothing to show."""

_EXCLUDED = {
    "NODE_NOT_READY": ("is not ready", "are not ready"),
    "NODE_CORDONED": ("is cordoned", "are cordoned"),
    "NODE_OUTSIDE_TOPOLOGY": ("lacks a label of the topology", "lack a label of the topology"),
    "NODE_SELECTOR_MISMATCH": ("does not match its node selector", "do not match its node selector"),
    "NODE_AFFINITY_MISMATCH": ("does not match its node affinity", "do not match its node affinity"),
    "TAINT_NOT_TOLERATED": (
        "has a taint that it does not tolerate",
        "have a taint that it does not tolerate",
    ),
}


class Refusal:
    """The refusal of one gang, with what is around it: each method gives a piece of its explanation."""

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

    def table(self) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
        """Give column titles and rows: the best domain of each level, roles as declared.

        Both are empty if that is not known, and where no node may take a role: then room is not what is short.
        """
        roles = tuple(role.name for role in self.gang.roles)
        levels = self.rejection.levels if self.rejection.stage != "class" else ()
        header = ("level", "best domain", *roles, "limited by") if levels else ()
        return header, tuple(_level(level, roles) for level in levels)

    def changes_intro(self) -> str:
        """Say what the changes have in common; empty if there are none."""
        changes = self.rejection.changes
        if not changes:
            return ""
        only_later = all(change.kind == "wait" for change in changes)
        now = "" if only_later or any(change.alone for change in changes) else " now"
        return f"{'Each of these' if len(changes) > 1 else 'This'} was tried and admits it{now}:"

    def changes(self) -> list[str]:
        """The changes as sentences, without full stop."""
        return [
            f"{change.text}, once nothing else runs" if change.alone else change.text
            for change in self.rejection.changes
        ]

    def headline(self) -> str:
        """Say that it waits, where, and why."""
        message = one_line(self.rejection.message).rstrip(".")
        if self.rejection.resource == self.gpu is not None:
            message = _with_words(message, self.gpu)
        if message.startswith(("needs ", "requires ")):
            message = f"it {message}"
        if self.rejection.impossible:
            never = self.rejection.never.removeprefix("it ")
            return f"{self.gang.name} {never}, even when nothing else runs: {message}."
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

    def holders(self) -> list[str]:
        """Say who holds what is short; no one is in the way of a gang that would not fit without them."""
        if self.rejection.impossible:
            return []
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

    def exclusions(self) -> list[str]:
        """Say for each role what keeps nodes away; roles with the same exclusions share a sentence.

        Where the queue is what stops the gang, nodes are beside the point.
        """
        if self.rejection.stage == "quota":
            return []
        total = len(self.snapshot.nodes)
        by_role: dict[str, list[tuple[str, int]]] = {}
        for exclusion in self.rejection.exclusions:
            by_role.setdefault(exclusion.role, []).append((exclusion.rule, exclusion.nodes))
        roles = {role.name: role for role in self.gang.roles}
        sentences = []
        for same, names in groupby(
            sorted(by_role, key=lambda name: (sorted(by_role[name]), name)), by_role.get
        ):
            shared = list(names)
            counts = sorted(same or (), key=lambda item: (-item[1], item[0]))
            role = roles.get(shared[0]) if len(shared) == 1 else None
            parts = [_excluded(rule, nodes, role) for rule, nodes in counts]
            parts[0] = parts[0].replace(" ", f" of {count(total, 'node')} ", 1)
            left = total - sum(nodes for _, nodes in counts)
            rest = f"{count(left, 'node')} {'is' if left == 1 else 'are'} left" if left else "none is left"
            sentences.append(
                f"Role{'s' if len(shared) > 1 else ''} {listed(shared)}: {', '.join(parts)}; {rest}."
            )
        return sentences

    def notes(self) -> list[str]:
        """Say what limits the answer, and which rule it is."""
        notes = []
        if not self.rejection.proven:
            cut = "the time" if self.plan.stats.stopped_by == "deadline" else "the budget"
            notes.append(
                f"This is not proven: {cut} for the search ran out, so there may be a placement after all."
            )
        running = Counter(running.role for running in self.snapshot.running if running.gang == self.gang.name)
        if total := running.total():
            verb = "has its place" if total == 1 else "have their places"
            notes.append(
                f"{count(total, 'replica')} of it {verb} already; the table counts those that must still start."
            )
        notes.append(f"Rule {self.rejection.rule}, stage {self.rejection.stage}.")
        return notes


def _level(fit: LevelFit, roles: Sequence[str]) -> tuple[str, ...]:
    counts = (f"{fit.have.get(role, 0)}/{fit.need[role]}" if role in fit.need else NONE for role in roles)
    return (fit.level, fit.domain or NONE, *counts, fit.limited_by or NONE)


def _held_by_affinity(role: Role) -> str | None:
    return kind_of(replace(role, node_selector={}))


def _excluded(rule: str, nodes: int, role: Role | None) -> str:
    """Say how many nodes a rule excludes; the number comes first."""
    one, many = _EXCLUDED.get(rule, (f"is kept away by rule {rule}", f"are kept away by rule {rule}"))
    if (
        rule == "NODE_AFFINITY_MISMATCH"
        and role is not None
        and (kind := _held_by_affinity(role)) is not None
    ):
        other = "real" if kind == "virtual" else "virtual"
        more = ("", "") if is_only_held(role) else (f" or {one}", f" or {many}")
        one, many = (f"{be} {other}{rest}" for be, rest in zip(("is", "are"), more, strict=True))
    text = f"{nodes:,} {one if nodes == 1 else many}"
    if rule == "NODE_SELECTOR_MISMATCH" and role is not None and role.node_selector:
        pairs = (f"{key}={value}" for key, value in sorted(role.node_selector.items()))
        text += f" ({', '.join(pairs)})"
    asked = None if role is None else role.labels.get(ASKED_BY)
    if asked is not None and rule in {"NODE_SELECTOR_MISMATCH", "NODE_AFFINITY_MISMATCH"}:
        text += f", as {asked} has it"
    return text


def _with_words(message: str, gpu: str) -> str:
    """Call the GPU resource GPU where a message gives a number of it."""
    words = message.split(" ")
    for i, word in enumerate(words[1:], start=1):
        name = word.rstrip(",;:")
        if name == gpu and words[i - 1].isdecimal():
            words[i] = amount(words[i - 1], gpu, gpu=gpu).split(" ")[1] + word[len(name) :]
    return " ".join(words)
