"""Admission: one cycle decides for all waiting gangs together, whoever runs it.

This module has no clock, no connection and no thread of its own: records, the cluster and the time come in, writes
come out. So the same code runs on a cluster, on one machine and in simulated time.

Every write is a compare-and-swap on one record, so a cycle may end after any of them, by a crash or because somebody
was faster. What gives room back is therefore written first, then the records are read again, and only then does the
cycle decide who takes it: whatever part of a cycle was written, no capacity is booked twice.
"""

import logging
from bisect import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gangplan import solver
from gangplan.config import Terms
from gangplan.errors import Conflict, InvalidInput, Refused
from gangplan.node_choice import Decided, Solved, decide_on_kinds
from gangplan.options import SolveOptions
from gangplan.plan import Earmark, Plan, Rejection
from gangplan.record import WAITING, GangRecord, Outcome, Owner, Reservation, enter
from gangplan.record_snapshot import combine, queued
from gangplan.recovery import with_recovery
from gangplan.snapshot import Snapshot
from gangplan.store import ClusterView, Ending, Gaps, Member, Store
from gangplan.unsound import at_fault

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What one cycle decided.

    Attributes:
        snapshot: What it rests on.
        plan: The answer for all waiting gangs.
        writes: Records as they should be, each with the version that must be there; the others stay as they are.
    """

    snapshot: Snapshot
    plan: Plan
    writes: tuple[GangRecord, ...]


def cycle(
    cluster: Snapshot,
    records: Iterable[GangRecord],
    *,
    now: float,
    terms: Terms,
    members: Mapping[str, Member] | None = None,
    gaps: Gaps = Gaps(),  # noqa: B008 -- it is frozen
) -> Decision:
    """Decide for all waiting gangs at once, in queue order.

    Args:
        cluster: Nodes, queues and what runs.
        records: All records, after :func:`settle`.
        now: Seconds since 1970.
        terms: How long things are kept, and when room is.
        members: Name in ``cluster.running`` → the replica of a gang that it is, where it is one; None: nowhere.
        gaps: What of the cluster could not be understood.
    """
    before = {record.name: record for record in sorted(records, key=lambda record: record.name)}
    after = dict(before)
    decided = decide(cluster, tuple(before.values()), now=now, terms=terms, members=members, gaps=gaps)
    plan = decided.plan
    for name in sorted(plan.placements.keys() & before.keys()):
        record = after[name]
        if record.phase == "Impossible":
            record = enter(record, "Pending", now=now, reason="the cluster has changed", owner=record.owner)
        after[name] = enter(
            replace(record, bypassed=0),
            "Reserved",
            now=now,
            reason="; ".join(filter(None, (ADMITTED, decided.kinds.get(name)))),
            reservation=Reservation(placement=plan.placements[name], expires_at=now + terms.reservation_s),
            owner=record.owner,
        )
    started: dict[str | None, list[tuple[int, int, str]]] = {}
    for record in sorted((before[name] for name in plan.placements.keys() & before.keys()), key=_order):
        started.setdefault(record.gang.queue, []).append(_order(record))
    for name in sorted(plan.rejections.keys() & before.keys()):
        rejection = plan.rejections[name]
        phase: Literal["Impossible", "Pending"] = "Impossible" if rejection.impossible else "Pending"
        record = _waits(after[name], phase, _reason(rejection, plan.earmarks.get(name)), now)
        beside = started.get(record.gang.queue, [])
        bypassed = record.bypassed + len(beside) - bisect(beside, _order(record))
        after[name] = replace(record, rejection=rejection, position=rejection.position, bypassed=bypassed)
    for name, reason in sorted(decided.unsound.items()):
        record = _waits(after[name], "Impossible", reason, now)
        after[name] = replace(record, rejection=None, position=None)
    writes = tuple(record for name, record in after.items() if record != before[name])
    return Decision(snapshot=decided.snapshot, plan=plan, writes=writes)


ADMITTED = "admitted: room for the whole gang is reserved"
"""The reason of a gang that may start."""


def _reason(rejection: Rejection, kept: Earmark | None) -> str:
    return rejection.message if kept is None else f"{rejection.message}; {kept.text}"


def _order(record: GangRecord) -> tuple[int, int, str]:
    """Where a gang stands among those of its queue that wait."""
    gang = queued(record)
    return -gang.priority, gang.created, gang.name


def _waits(
    record: GangRecord, phase: Literal["Impossible", "Pending"], reason: str, now: float
) -> GangRecord:
    if record.phase != phase:
        record = enter(record, phase, now=now, reason=reason, owner=record.owner)
    return replace(record, reason=reason)


def decide(
    cluster: Snapshot,
    records: Sequence[GangRecord],
    *,
    now: float,
    terms: Terms,
    members: Mapping[str, Member] | None = None,
    gaps: Gaps = Gaps(),  # noqa: B008 -- it is frozen
) -> Decided:
    """Solve for all gangs together; one that names what this cluster does not have does not stop the others.

    Args:
        cluster: Nodes, queues and what runs.
        records: All records.
        now: Seconds since 1970.
        terms: How long things are kept, and when room is.
        members: As for :func:`cycle`.
        gaps: As for :func:`cycle`.
    """
    options = SolveOptions(
        bypass="earmark",
        earmark_after_s=int(terms.earmark_s),
        earmark_after_bypasses=terms.earmark_bypasses,
    )

    def solve(records: Sequence[GangRecord]) -> Solved:
        unsound: dict[str, str] = {}
        while True:
            taken = [record for record in records if record.name not in unsound]
            snapshot = combine(cluster, taken, now=now, members=members)
            try:
                plan = solver.solve(snapshot, options)
                return snapshot, with_recovery(snapshot, plan, options), unsound
            except InvalidInput as error:
                waiting = {record.name for record in taken if record.phase in WAITING}
                at = at_fault(snapshot, error.problems, gaps)
                blamed = {name: text for name, text in at.items() if name in waiting}
                if not blamed:
                    raise
                unsound |= blamed

    return decide_on_kinds(records, cluster.nodes, solve)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What the time that has passed did to the records.

    Attributes:
        changed: Records that are different now: they give room back, or hold none.
        old: Finished records whose time is over.
    """

    changed: tuple[GangRecord, ...]
    old: tuple[GangRecord, ...]


def settle(
    records: Iterable[GangRecord],
    *,
    now: float,
    terms: Terms,
    gone: frozenset[Owner] = frozenset(),
    nodes: frozenset[str] | None = None,
    ended: Mapping[str, Ending] | None = None,
) -> Settled:
    """Let time pass: what is void ends, and what nobody answers for; old finished records are to be removed.

    Args:
        records: All records.
        now: Seconds since 1970.
        terms: How long things are kept, and when room is.
        gone: Owners that do not exist any more.
        nodes: Names of the nodes that there are; None: not known.
        ended: Bound gangs whose job has ended or is gone; None: not known.
    """
    changed, old = [], []
    for record in sorted(records, key=lambda record: record.name):
        current = _expire(record, now=now, gone=gone, nodes=nodes, ended=ended or {})
        if current.finished_at is not None and now - current.finished_at >= terms.record_s:
            old.append(record)
        elif current != record:
            changed.append(current)
    return Settled(changed=tuple(changed), old=tuple(old))


def _expire(
    record: GangRecord,
    *,
    now: float,
    gone: frozenset[Owner],
    nodes: frozenset[str] | None,
    ended: Mapping[str, Ending],
) -> GangRecord:
    if record.phase == "Bound" and (ending := ended.get(record.name)) is not None:
        return enter(record, "Finished", now=now, reason=ending.reason, outcome=ending.outcome)
    if record.phase in WAITING and record.kept_until is not None and now >= record.kept_until:
        return enter(record, "Finished", now=now, reason="nobody waits for it any more", outcome="Canceled")
    if record.owner is not None and record.owner in gone and record.phase != "Finished":
        if record.phase in {"Bound", "Binding"}:
            reason = f"the process that ran it (pid {record.owner.pid}) is gone"
            return enter(record, "Finished", now=now, reason=reason, outcome="Failed")
        reason = f"the process that asked for it (pid {record.owner.pid}) is gone"
        return enter(record, "Finished", now=now, reason=reason, outcome="Canceled")
    if record.phase != "Reserved" or record.reservation is None:
        return record
    if nodes is not None and (lost := sorted(record.reservation.nodes - nodes)):
        reason = f"room was reserved for it on {', '.join(lost)}, which the cluster does not have any more"
        return enter(record, "Pending", now=now, reason=reason, owner=record.owner)
    expires_at = record.reservation.expires_at
    if expires_at is not None and now >= expires_at:
        reason = "its reservation expired before it ran"
        return replace(enter(record, "Pending", now=now, reason=reason, owner=record.owner), expired_at=now)
    return record


def run_settle(
    store: Store,
    gone: Callable[[Iterable[Owner]], frozenset[Owner]],
    *,
    now: float,
    terms: Terms,
    nodes: frozenset[str] | None = None,
    ended: Mapping[str, Ending] | None = None,
) -> bool:
    """Let time pass for all records of a store; the caller leads.

    Args:
        store: The store.
        gone: Tells those of some owners that do not exist any more.
        now: Seconds since 1970.
        terms: How long things are kept, and when room is.
        nodes: Names of the nodes that there are; None: not known.
        ended: Bound gangs whose job has ended or is gone; None: not known.

    Returns:
        False if someone changed a record meanwhile: look again.
    """
    records = store.records()
    dead = gone(record.owner for record in records if record.owner is not None)
    settled = settle(records, now=now, terms=terms, gone=dead, nodes=nodes, ended=ended)
    try:
        _write(store.remove, settled.old)
        _write(store.update, settled.changed)
    except Conflict as error:
        log.debug("looking again: %s", error)
        return False
    return True


def _write(act: Callable[[GangRecord], object], records: Iterable[GangRecord]) -> None:
    """Write records one by one; one that the store does not take stays as it is, and stops no other.

    So no room is given out twice: what is not given back still counts as held, and what is not booked stays free.
    """
    for record in records:
        try:
            act(record)
        except Refused as error:
            log.warning("the record of gang %s stays as it is: %s", record.name, error)


def run_cycle(store: Store, view: ClusterView, *, now: float, terms: Terms) -> Decision | None:
    """Let time pass, then read, decide and write once, if nobody else is doing so.

    Returns:
        What was decided; None if someone else leads or changed a record meanwhile: look again.
    """
    with store.leadership() as leads:
        if not leads:
            return None
        cluster = view.read()
        nodes = frozenset(node.name for node in cluster.snapshot.nodes)
        if not run_settle(store, view.gone, now=now, terms=terms, nodes=nodes, ended=cluster.ended):
            return None
        decision = cycle(
            cluster.snapshot,
            store.records(),
            now=now,
            terms=terms,
            members=cluster.members,
            gaps=cluster.gaps,
        )
        try:
            _write(store.update, decision.writes)
        except Conflict as error:
            log.debug("looking again: %s", error)
            return None
        return decision


def finish(
    store: Store,
    name: str,
    *,
    run_id: str,
    outcome: Outcome,
    reason: str,
    now: float,
    attempt: GangRecord | None = None,
    suspended: bool = False,
) -> GangRecord | None:
    """Give up what a gang holds and record how it ended; a gang that has ended, or was put aside, stays as it is.

    Args:
        store: The store.
        name: Name of the gang.
        run_id: The run that it must belong to; another run's gang of the same name is not touched.
        outcome: How it ended.
        reason: Why, in a sentence.
        now: Seconds since 1970.
        attempt: The record as the caller knows it: a later record, or one that another process has taken over, is
            not touched either.
        suspended: Whether one that was put aside ends too, because nobody is to go on with it.

    Returns:
        The record afterwards; None if there is none of that run and attempt.
    """
    while True:
        record = store.get(name)
        if record is None or record.run_id != run_id or not (attempt is None or record.continues(attempt)):
            return None
        if record.phase == "Finished" or (record.phase == "Suspended" and not suspended):
            return record
        try:
            return store.update(enter(record, "Finished", now=now, reason=reason, outcome=outcome))
        except Conflict:
            continue


def hand_over(store: Store, name: str, *, run_id: str, owner: Owner | None) -> GangRecord:
    """Name another process that answers for a gang that has not ended.

    Raises:
        Conflict: There is no such gang of that run, or it has ended.
    """
    while True:
        record = store.get(name)
        if record is None or record.run_id != run_id or record.phase == "Finished":
            raise Conflict(f"gang {name} of run {run_id} has ended", verb="update", kind="Gang", name=name)
        try:
            return store.update(replace(record, owner=owner))
        except Conflict:
            continue


BOUND = "all replicas have their nodes"
"""The reason of a gang that is bound."""


def bind(store: Store, name: str, *, run_id: str, now: float, owner: Owner | None) -> GangRecord:
    """Record that all replicas of an admitted gang have their nodes: its reservation does not expire any more.

    Raises:
        Conflict: The gang of that run is not admitted (any more), for instance because its reservation expired.
    """
    while True:
        record = store.get(name)
        if (
            record is None
            or record.run_id != run_id
            or record.phase != "Reserved"
            or record.reservation is None
        ):
            ours = record is not None and record.run_id == run_id
            found = f"is {record.phase}" if record is not None and ours else "has no record"
            message = f"gang {name} of run {run_id} {found}, it cannot start"
            raise Conflict(message, verb="bind", kind="Gang", name=name)
        kept = replace(record.reservation, expires_at=None)
        try:
            bound = enter(record, "Bound", now=now, reason=BOUND, reservation=kept, owner=owner)
            return store.update(bound)
        except Conflict:
            continue
