"""Verdict: how the wait of one gang for its admission ended."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

from gangplan.admission import Decision, finish, run_cycle
from gangplan.config import Terms
from gangplan.errors import Conflict, Expired, InvalidInput, Unreachable
from gangplan.record import HOLDING, WAITING, GangRecord, Outcome, Owner
from gangplan.signals import ended_by
from gangplan.store import Cluster, ClusterView, Store

SHARE = 5
"""A cluster is left alone for so many times as long as the last look at it took: who waits takes a sixth of the time of
a server that is slow."""

LONGEST_PAUSE_S = 60.0
"""Seconds after which it is looked at again in any case, so that room that becomes free is not long without use."""

DELETED = "it was deleted while it waited"
"""What became of a gang whose record is gone."""


class Pace:
    """A cluster, and how often somebody who waits looks at it: a :class:`gangplan.store.ClusterView`.

    What is then decided and written takes its time too, but is no reason to wait: the cluster is better for it.
    """

    def __init__(self, view: ClusterView, *, clock: Callable[[], float]) -> None:
        """Begin; the first look is due.

        Args:
            view: The cluster.
            clock: Seconds since 1970.
        """
        self._view, self._clock = view, clock
        self._until = 0.0

    def is_due(self) -> bool:
        """Whether it is time for a look. A clock that was set back makes nobody wait for longer than the longest pause."""
        return not 0.0 < self._until - self._clock() <= LONGEST_PAUSE_S

    def read(self) -> Cluster:
        """Look, whether it is time or not."""
        began = self._clock()
        try:
            return self._view.read()
        finally:
            now = self._clock()
            self._until = now + min(SHARE * max(0.0, now - began), LONGEST_PAUSE_S)

    def gone(self, owners: Iterable[Owner]) -> frozenset[Owner]:
        """Those of the owners that do not exist any more."""
        return self._view.gone(owners)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How the wait for a gang ended.

    Attributes:
        record: The record as it stands.
        admitted: Whether the gang may start.
        deleted: Whether somebody else ended it, or removed its record, while it waited.
        reason: Why not, or how, in a sentence.
        decision: The last cycle that this waiter ran; None if others ran them all.
    """

    record: GangRecord
    admitted: bool
    deleted: bool = False
    reason: str
    decision: Decision | None


def never(record: GangRecord) -> str:
    """What can never hold a gang that is impossible, as the beginning of a sentence."""
    return "it cannot fit this cluster" if record.rejection is None else record.rejection.never


def judge(
    record: GangRecord | None, *, now: float, deadline: float, patient: bool
) -> tuple[bool, str] | None:
    """Tell whether the wait for a gang is over.

    Args:
        record: Its record; None if another attempt took it over.
        now: Seconds since 1970.
        deadline: When to give up.
        patient: Wait on although the gang cannot fit this cluster even when it is empty.

    Returns:
        (admitted, reason), or None to wait on.
    """
    if record is None:
        return False, "its record was taken over while it waited"
    if record.phase in HOLDING:
        return True, record.reason
    if record.phase == "Finished":
        return False, record.reason
    if record.phase == "Impossible" and not patient:
        return False, f"{never(record)} even when nothing runs: {record.reason}"
    if now >= deadline:
        return False, f"not admitted in time: {record.reason}"
    return None


def _must_ask_anew(record: GangRecord, now: float, terms: Terms) -> bool:
    """Whether a gang that waits only as long as somebody asks for it was last asked for some time ago."""
    return (
        record.phase in WAITING
        and record.kept_until is not None
        and record.kept_until - now < terms.waiter_s * 2 / 3
    )


def ask(
    store: Store, view: Pace, name: str, *, clock: Callable[[], float], terms: Terms
) -> tuple[GangRecord | None, Decision | None]:
    """Run a cycle if it is time and nobody else does, and let a gang that waits be kept waiting.

    Args:
        store: The store.
        view: The cluster, the same each time that this is asked.
        name: Name of the gang.
        clock: Seconds since 1970.
        terms: How long things are kept, and when room is.

    Returns:
        Its record, if there is one, and what was decided, if this was who decided.
    """
    decision = run_cycle(store, view, now=clock(), terms=terms) if view.is_due() else None
    return keep_waiting(store, store.get(name), clock=clock, terms=terms), decision


def keep_waiting(
    store: Store, record: GangRecord | None, *, clock: Callable[[], float], terms: Terms
) -> GangRecord | None:
    """Ask anew for a gang that waits only as long as somebody does; its record afterwards."""
    if record is not None and _must_ask_anew(record, clock(), terms):
        with suppress(Conflict):
            return store.update(replace(record, kept_until=clock() + terms.waiter_s))
    return record


def wait(
    store: Store,
    view: ClusterView,
    record: GangRecord,
    *,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    terms: Terms,
    deadline: float,
    poll_s: float,
    patient: bool = False,
    outlived: bool = False,
    on_change: Callable[[GangRecord], None] | None = None,
    on_trouble: Callable[[Exception], None] = lambda _: None,
) -> Verdict:
    """Run cycles, or look on while another runs them, until the gang is admitted, or will not be in time.

    On every exit but admission the gang is Finished and holds nothing, unless another attempt has taken it over: then
    it is that attempt's to finish.

    Args:
        store: The store; it holds the record.
        view: The cluster.
        record: The record of the gang.
        clock: Seconds since 1970.
        sleep: Waits the given seconds.
        terms: How long things are kept, and when room is.
        deadline: When to give up, in seconds since 1970.
        poll_s: Seconds between two looks at the gang; cycles are run at a :class:`Pace`.
        patient: Wait on although the gang cannot fit the empty cluster.
        outlived: Let the gang wait on when this process is told to end (SystemExit): another one will come for it.
        on_change: Called whenever phase, position or reason have changed.
        on_trouble: Called whenever the cluster could not be asked, or cannot be decided on because what it holds
            contradicts itself; it is looked at again until the deadline.
    """
    seen: tuple[object, ...] = ()
    decision, pace = None, Pace(view, clock=clock)

    def give_up(reason: str, outcome: Outcome = "Canceled") -> GangRecord | None:
        return finish(
            store,
            record.name,
            run_id=record.run_id,
            outcome=outcome,
            reason=reason,
            now=clock(),
            attempt=record,
            suspended=True,
        )

    try:
        with store.tenure():
            while True:
                try:
                    current, decided = ask(store, pace, record.name, clock=clock, terms=terms)
                    decision = decided or decision
                except (Unreachable, Expired, InvalidInput) as error:
                    if clock() >= deadline:
                        raise
                    on_trouble(error)
                    sleep(min(poll_s, LONGEST_PAUSE_S))
                    continue
                if current is None or current.uid != record.uid:
                    return Verdict(
                        record=record, admitted=False, deleted=True, reason=DELETED, decision=decision
                    )
                if not current.continues(record):
                    current = None
                if current is not None and on_change is not None:
                    state = (current.phase, current.position, current.reason)
                    if state != seen:
                        on_change(current)
                    seen = state
                if (over := judge(current, now=clock(), deadline=deadline, patient=patient)) is not None:
                    admitted, reason = over
                    deleted = current is not None and current.outcome == "Canceled"
                    if not admitted:
                        current = give_up(reason, "NotAdmitted")
                    return Verdict(
                        record=current or record,
                        admitted=admitted,
                        deleted=deleted,
                        reason=reason,
                        decision=decision,
                    )
                sleep(min(poll_s, LONGEST_PAUSE_S))
    except BaseException as error:
        if outlived and isinstance(error, SystemExit):
            raise
        give_up(ended_by(error))
        raise
