"""Admission: one cycle decides for all waiting gangs together, whoever runs it.

This module has no clock, no connection and no thread of its own: records, the cluster and the time come in, writes
come out. So the same code runs on a cluster, on one machine and in simulated time. :func:`wait` is the loop of a
step that waits for its gang; its clock and its sleep are passed in.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from gangplan import solver
from gangplan.errors import Conflict
from gangplan.plan import Plan
from gangplan.record import HOLDING, WAITING, GangRecord, Outcome, Owner, Reservation, enter
from gangplan.snapshot import Running, Snapshot


class Store(Protocol):
    """Where gang records live. Every write is a compare-and-swap on the record's version."""

    def records(self) -> tuple[GangRecord, ...]:
        """All records, by name."""

    def get(self, name: str) -> GangRecord | None:
        """The record of a gang, if there is one."""

    def create(self, record: GangRecord) -> GangRecord:
        """Add a record.

        Raises:
            Conflict: A record of this name is there.
        """

    def update(self, record: GangRecord) -> GangRecord:
        """Replace the record that has the version which ``record`` carries.

        Returns:
            The record with its new version.

        Raises:
            Conflict: The record was changed or removed since it was read.
        """

    def remove(self, record: GangRecord) -> None:
        """Forget a record.

        Raises:
            Conflict: The record was changed since it was read.
        """

    def leadership(self) -> AbstractContextManager[bool]:
        """The right to run a cycle, held by one at a time; False if someone else holds it now."""


class ClusterView(Protocol):
    """What is known of the cluster."""

    def snapshot(self) -> Snapshot:
        """Nodes, queues and what runs there that has no gang record."""

    def gone(self, owners: Iterable[Owner]) -> frozenset[Owner]:
        """Those of the owners that do not exist any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetimes:
    """How long things are kept.

    Attributes:
        reservation_s: Seconds that an admitted gang may hold capacity before it is bound.
        record_s: Seconds that the record of a finished gang is kept.
    """

    reservation_s: float
    record_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """Replace a record; ``record.version`` is the version that must be there."""

    record: GangRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """Forget a record."""

    record: GangRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What one cycle decided.

    Attributes:
        snapshot: What it rests on.
        plan: The answer for all waiting gangs.
        actions: What to write; records that stay as they are do not appear.
    """

    snapshot: Snapshot
    plan: Plan
    actions: tuple[Write | Remove, ...]


def combine(cluster: Snapshot, records: Iterable[GangRecord]) -> Snapshot:
    """Put the gangs of the records into the cluster: waiting ones as gangs, holding ones with their replicas.

    Args:
        cluster: Nodes, queues and what else runs.
        records: The records; finished and suspended ones take no part.
    """
    gangs, running = list(cluster.gangs), list(cluster.running)
    for record in records:
        if record.phase in WAITING:
            gangs.append(record.gang)
        elif record.phase in HOLDING and record.reservation is not None:
            gangs.append(record.gang)
            running += [
                Running(
                    name=f"{record.name}/{role}/{index}",
                    node=node,
                    gang=record.name,
                    role=role,
                    index=index,
                    reserved=record.phase != "Bound",
                )
                for role, nodes in record.reservation.placement.items()
                for index, node in enumerate(nodes)
            ]
    return replace(cluster, gangs=tuple(gangs), running=tuple(running))


def cycle(
    cluster: Snapshot,
    records: Iterable[GangRecord],
    *,
    now: float,
    lifetimes: Lifetimes,
    gone: frozenset[Owner] = frozenset(),
) -> Decision:
    """Decide for all gangs at once.

    Void reservations and gangs whose owner is gone give their room back, finished records past their time are
    removed, then one solve decides for every waiting gang in queue order.

    Args:
        cluster: Nodes, queues and what runs without a record.
        records: All records.
        now: Seconds since 1970.
        lifetimes: How long things are kept.
        gone: Owners that do not exist any more.
    """
    before = {record.name: record for record in records}
    settled, removed = settle(before.values(), now=now, lifetimes=lifetimes, gone=gone)
    after = {record.name: record for record in settled}

    snapshot = combine(cluster, after.values())
    plan = solver.solve(snapshot)
    for name, placement in plan.placements.items():
        record = after[name]
        if record.phase == "Impossible":
            record = enter(record, "Pending", now=now, reason="the cluster has changed", owner=record.owner)
        after[name] = enter(
            record,
            "Reserved",
            now=now,
            reason="admitted: room for the whole gang is reserved",
            reservation=Reservation(placement=placement, expires_at=now + lifetimes.reservation_s),
            owner=record.owner,
        )
    for name, rejection in plan.rejections.items():
        record = after[name]
        phase: Literal["Impossible", "Pending"] = "Impossible" if rejection.impossible else "Pending"
        if record.phase != phase:
            record = enter(record, phase, now=now, reason=rejection.message, owner=record.owner)
        after[name] = replace(
            record, reason=rejection.message, rejection=rejection, position=rejection.position
        )
    changed = [record for name, record in sorted(after.items()) if record != before[name]]
    return Decision(
        snapshot=snapshot, plan=plan, actions=(*removed, *(Write(record=record) for record in changed))
    )


def settle(
    records: Iterable[GangRecord], *, now: float, lifetimes: Lifetimes, gone: frozenset[Owner]
) -> tuple[list[GangRecord], list[Remove]]:
    """Let time pass: void reservations end, gangs whose owner is gone end, old finished records are to be removed.

    Returns:
        The records as they are then, and those to remove, both by name.
    """
    kept, removed = [], []
    for record in sorted(records, key=lambda record: record.name):
        current = _expire(record, now=now, gone=gone)
        if current.finished_at is not None and now - current.finished_at >= lifetimes.record_s:
            removed.append(Remove(record=record))
        else:
            kept.append(current)
    return kept, removed


def _expire(record: GangRecord, *, now: float, gone: frozenset[Owner]) -> GangRecord:
    if record.owner is not None and record.owner in gone and record.phase != "Finished":
        if record.phase in {"Bound", "Binding"}:
            reason = f"the process that ran it (pid {record.owner.pid}) is gone"
            return enter(record, "Finished", now=now, reason=reason, outcome="Failed")
        reason = f"the process that asked for it (pid {record.owner.pid}) is gone"
        return enter(record, "Finished", now=now, reason=reason, outcome="Canceled")
    expires_at = record.reservation.expires_at if record.reservation else None
    if record.phase == "Reserved" and expires_at is not None and now >= expires_at:
        return enter(
            record, "Pending", now=now, reason="its reservation expired before it ran", owner=record.owner
        )
    return record


def run_cycle(store: Store, view: ClusterView, *, now: float, lifetimes: Lifetimes) -> Decision | None:
    """Read, decide and write once, if nobody else is doing so.

    Returns:
        What was decided; None if someone else leads or changed a record meanwhile: look again.
    """
    with store.leadership() as leads:
        if not leads:
            return None
        records = store.records()
        gone = view.gone(record.owner for record in records if record.owner is not None)
        decision = cycle(view.snapshot(), records, now=now, lifetimes=lifetimes, gone=gone)
        try:
            for action in decision.actions:
                if isinstance(action, Write):
                    store.update(action.record)
                else:
                    store.remove(action.record)
        except Conflict:
            return None
        return decision


def finish(
    store: Store, name: str, *, run_id: str, outcome: Outcome, reason: str, now: float
) -> GangRecord | None:
    """Give up what a gang holds and record how it ended; a gang that has ended stays as it is.

    Args:
        store: The store.
        name: Name of the gang.
        run_id: The run that it must belong to; another run's gang of the same name is not touched.
        outcome: How it ended.
        reason: Why, in a sentence.
        now: Seconds since 1970.

    Returns:
        The record afterwards; None if there is none of that run.
    """
    while True:
        record = store.get(name)
        if record is None or record.run_id != run_id:
            return None
        if record.phase == "Finished":
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


def bind(store: Store, name: str, *, now: float, owner: Owner | None) -> GangRecord:
    """Record that all replicas of an admitted gang run: its reservation does not expire any more.

    Raises:
        Conflict: The gang is not admitted (any more), for instance because its reservation expired.
    """
    while True:
        record = store.get(name)
        if record is None or record.phase != "Reserved" or record.reservation is None:
            found = "has no record" if record is None else f"is {record.phase}"
            raise Conflict(f"gang {name} {found}, it cannot start", verb="bind", kind="Gang", name=name)
        kept = replace(record.reservation, expires_at=None)
        try:
            bound = enter(record, "Bound", now=now, reason="all replicas run", reservation=kept, owner=owner)
            return store.update(bound)
        except Conflict:
            continue


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How the wait for a gang ended.

    Attributes:
        record: The record as it stands.
        admitted: Whether the gang may start.
        reason: Why not, or how, in a sentence.
        decision: The last cycle that this waiter ran; None if others ran them all.
    """

    record: GangRecord
    admitted: bool
    reason: str
    decision: Decision | None


def judge(
    record: GangRecord | None, *, now: float, deadline: float, patient: bool
) -> tuple[bool, str] | None:
    """Tell whether the wait for a gang is over.

    Args:
        record: Its record; None if someone removed it.
        now: Seconds since 1970.
        deadline: When to give up.
        patient: Wait on although the gang cannot fit this cluster even when it is empty.

    Returns:
        (admitted, reason), or None to wait on.
    """
    if record is None:
        return False, "its record was removed while it waited"
    if record.phase in HOLDING:
        return True, record.reason
    if record.phase == "Finished":
        return False, record.reason
    if record.phase == "Impossible" and not patient:
        return False, f"it cannot fit this cluster even when nothing runs: {record.reason}"
    if now >= deadline:
        return False, f"not admitted in time: {record.reason}"
    return None


def wait(
    store: Store,
    view: ClusterView,
    record: GangRecord,
    *,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    lifetimes: Lifetimes,
    deadline: float,
    poll_s: float,
    patient: bool = False,
    on_change: Callable[[GangRecord], None] | None = None,
) -> Verdict:
    """Run cycles until the gang is admitted, or it is clear that it will not be in time.

    On every exit but admission the gang is Finished and holds nothing.

    Args:
        store: The store; it holds the record.
        view: The cluster.
        record: The record of the gang.
        clock: Seconds since 1970.
        sleep: Waits the given seconds.
        lifetimes: How long things are kept.
        deadline: When to give up, in seconds since 1970.
        poll_s: Seconds between two cycles.
        patient: Wait on although the gang cannot fit the empty cluster.
        on_change: Called whenever phase, position or reason have changed.
    """
    seen: tuple[object, ...] = ()
    decision = None
    try:
        while True:
            decision = run_cycle(store, view, now=clock(), lifetimes=lifetimes) or decision
            current = store.get(record.name)
            if current is not None and current.uid != record.uid:
                current = None
            if current is not None and on_change is not None:
                state = (current.phase, current.position, current.reason)
                if state != seen:
                    on_change(current)
                seen = state
            if (over := judge(current, now=clock(), deadline=deadline, patient=patient)) is not None:
                admitted, reason = over
                if not admitted:
                    current = finish(
                        store,
                        record.name,
                        run_id=record.run_id,
                        outcome="Canceled",
                        reason=reason,
                        now=clock(),
                    )
                return Verdict(record=current or record, admitted=admitted, reason=reason, decision=decision)
            sleep(poll_s)
    except BaseException as error:
        finish(
            store,
            record.name,
            run_id=record.run_id,
            outcome="Canceled",
            reason=f"the wait ended: {type(error).__name__}",
            now=clock(),
        )
        raise
