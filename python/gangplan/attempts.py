"""Attempts: a gang whose job ended without its own fault, or whose failure is known, may run again in its old place."""

from dataclasses import replace

from gangplan.errors import Conflict
from gangplan.record import WAITING, GangRecord, enter
from gangplan.store import Store


def again(store: Store, name: str, *, run_id: str, reason: str, now: float, waiter_s: float) -> GangRecord:
    """Let a gang that had room wait for room again, for another attempt at its job; it keeps its place in the queue.

    Args:
        store: The store.
        name: Name of the gang.
        run_id: The run that it must belong to.
        reason: Why, in a sentence.
        now: Seconds since 1970.
        waiter_s: Seconds that it waits when nobody asks for it anew, if it waits only as long as somebody does.

    Raises:
        Conflict: There is no such gang of that run.
    """
    while True:
        record = store.get(name)
        if record is None or record.run_id != run_id:
            raise Conflict(
                f"gang {name} of run {run_id} has no record", verb="update", kind="Gang", name=name
            )
        if record.phase in WAITING:
            return record
        waiting = enter(record, "Pending", now=now, reason=reason, owner=record.owner)
        if record.kept_until is not None:
            waiting = replace(waiting, kept_until=now + waiter_s)
        try:
            return store.update(waiting)
        except Conflict:
            continue


def publish(store: Store, name: str, *, run_id: str) -> None:
    """Record that the end of a gang was told to whoever asked for it; nothing if it has not ended."""
    while True:
        record = store.get(name)
        if record is None or record.run_id != run_id or record.phase != "Finished" or record.published:
            return
        try:
            store.update(replace(record, published=True))
            return
        except Conflict:
            continue
