"""Suspension: a gang that somebody has put aside holds no room and does not wait for any until it is resumed."""

from dataclasses import replace

from gangplan.errors import Conflict
from gangplan.record import GangRecord, enter
from gangplan.store import Store


def suspend(store: Store, name: str, *, run_id: str, reason: str, now: float) -> GangRecord:
    """Put a gang aside; one that is already stays as it is.

    What it held is given back for what does not run. What still runs of it counts on its nodes and in its queue until it
    is gone, whoever ends it.

    Args:
        store: The store.
        name: Name of the gang.
        run_id: The run that it must belong to.
        reason: Why, in a sentence.
        now: Seconds since 1970.

    Raises:
        Conflict: There is no such gang of that run, or it has ended.
    """
    while True:
        record = _of_run(store, name, run_id)
        if record.phase == "Suspended":
            return record
        try:
            return store.update(enter(record, "Suspended", now=now, reason=reason, owner=record.owner))
        except Conflict:
            continue


def resume(store: Store, name: str, *, run_id: str, reason: str, now: float, waiter_s: float) -> GangRecord:
    """Let a gang that was put aside wait for room again; one that was not stays as it is.

    Args:
        store: The store.
        name: Name of the gang.
        run_id: The run that it must belong to.
        reason: Why, in a sentence.
        now: Seconds since 1970.
        waiter_s: Seconds that it waits when nobody asks for it anew, if it waits only as long as somebody does.

    Raises:
        Conflict: There is no such gang of that run, or it has ended.
    """
    while True:
        record = _of_run(store, name, run_id)
        if record.phase != "Suspended":
            return record
        waiting = enter(record, "Pending", now=now, reason=reason, owner=record.owner)
        if record.kept_until is not None:
            waiting = replace(waiting, kept_until=now + waiter_s)
        try:
            return store.update(waiting)
        except Conflict:
            continue


def _of_run(store: Store, name: str, run_id: str) -> GangRecord:
    record = store.get(name)
    if record is None or record.run_id != run_id or record.phase == "Finished":
        raise Conflict(f"gang {name} of run {run_id} has ended", verb="update", kind="Gang", name=name)
    return record
