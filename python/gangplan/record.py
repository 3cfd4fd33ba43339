"""GangRecord: the one record of a gang, from the moment it is asked for until it is forgotten.

It is queue entry, reservation and explanation in one: a row of the local store, the ``Gang`` resource in a cluster.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from gangplan.moments import Moment
from gangplan.plan import Rejection
from gangplan.snapshot import Gang

Phase = Literal["Pending", "Impossible", "Suspended", "Reserved", "Binding", "Bound", "Finished"]
Outcome = Literal["Succeeded", "Failed", "Canceled", "TimedOut", "NotAdmitted"]
"""How a gang ended. NotAdmitted: nobody ended it, it got no room in time or could never have had any."""

TRANSITIONS: Mapping[Phase, frozenset[Phase]] = {
    "Pending": frozenset({"Reserved", "Impossible", "Suspended", "Finished"}),
    "Impossible": frozenset({"Pending", "Suspended", "Finished"}),
    "Suspended": frozenset({"Pending", "Finished"}),
    "Reserved": frozenset({"Binding", "Bound", "Pending", "Suspended", "Finished"}),
    "Binding": frozenset({"Bound", "Pending", "Suspended", "Finished"}),
    "Bound": frozenset({"Pending", "Suspended", "Finished"}),
    "Finished": frozenset({"Pending"}),
}
"""Where a gang may go from each phase. Impossible means: it would not fit even if nothing ran. A gang that has ended
waits again only for another attempt at the same job."""

HOLDING: frozenset[Phase] = frozenset({"Reserved", "Binding", "Bound"})
"""Phases in which a gang holds capacity."""

WAITING: frozenset[Phase] = frozenset({"Pending", "Impossible"})
"""Phases in which a gang waits for capacity."""

NOT_LOOKED_AT = "it was not looked at yet"
"""Why a gang waits that no cycle has decided about."""

MOST_EVENTS = 100
"""Events that a record keeps: the first and the last ones. A gang may wait for weeks on a cluster that changes."""

LONGEST_REASON = 1024
"""Longest reason in the history, in characters; the present one is kept whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Capacity booked for an admitted gang.

    Attributes:
        placement: Role → nodes, one node for each replica by index.
        expires_at: Seconds since 1970 after which it is void unless the gang is bound; None once it is.
    """

    placement: Mapping[str, tuple[str, ...]]
    expires_at: Moment | None

    @property
    def nodes(self) -> frozenset[str]:
        """Names of the nodes on which it lies."""
        return frozenset(node for nodes in self.placement.values() for node in nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The process that answers for a gang; when it is gone, the gang is ended or goes back.

    Attributes:
        pid: Its process id.
        started: Its start time in clock ticks since boot, which tells a reused id from the process itself.
    """

    pid: int
    started: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One step in the life of a gang.

    Attributes:
        at: Seconds since 1970.
        phase: The phase that it entered.
        reason: Why, in a sentence; may be empty.
    """

    at: Moment
    phase: Phase
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GangRecord:
    """A gang and where it stands.

    Attributes:
        gang: What was asked for; its name is the record's key.
        uid: Tells this record from an earlier one of the same name.
        run_id: Id of the run that it belongs to; its processes carry it.
        phase: Where it stands.
        version: Grows with each write; a write names the version that it read, and fails if that is not the last.
        reason: Why it stands there, in a sentence.
        position: Place in the queue, from 1, while it waits.
        reservation: Its capacity, while it holds any.
        rejection: Why the last cycle did not admit it, while it waits.
        outcome: How it ended, once it is Finished.
        owner: The process that answers for it; None: no one has to be there.
        history: The phases that it went through, oldest first: :data:`MOST_EVENTS` at most. How often it
            came to be Impossible and back while it waited is not told, only the last time.
        forgotten: How many attempts there were that the history does not tell of any more.
        expired_at: Seconds since 1970 at which it last let a reservation expire; it queues anew from then.
        bypassed: How many gangs that came after it have started while it waited.
        kept_until: Seconds since 1970 at which it stops waiting unless who waits for it asks again; None: it waits
            for ever, or as long as its owner is there.
        published: Whether its end was told to whoever asked for it.
    """

    gang: Gang
    uid: str
    run_id: str
    phase: Phase = "Pending"
    version: int = 0
    reason: str = ""
    position: int | None = None
    reservation: Reservation | None = None
    rejection: Rejection | None = None
    outcome: Outcome | None = None
    owner: Owner | None = None
    history: tuple[Event, ...] = ()
    forgotten: int = 0
    expired_at: Moment | None = None
    bypassed: int = 0
    kept_until: Moment | None = None
    published: bool = False

    @property
    def name(self) -> str:
        """Name of the gang."""
        return self.gang.name

    @property
    def standing(self) -> str:
        """Where it stands and why, in a few words: ``Pending: needs 4 GPUs``."""
        return ": ".join(filter(None, (self.outcome or self.phase, self.reason)))

    @property
    def created(self) -> float | None:
        """Seconds since 1970 at which it was asked for; None if nobody has noted it."""
        return self.history[0].at if self.history else None

    @property
    def started(self) -> float | None:
        """Seconds since 1970 at which all of its replicas had their nodes last; None if they never had."""
        return next((event.at for event in reversed(self.history) if event.phase == "Bound"), None)

    @property
    def finished_at(self) -> float | None:
        """Seconds since 1970 at which it ended; None if it has not."""
        return self.history[-1].at if self.phase == "Finished" and self.history else None

    @property
    def attempt(self) -> int:
        """Which attempt at its job this is, from 1: it had room and came to wait again before each further one."""
        return 1 + self.forgotten + _attempts_after(self.history)

    def continues(self, earlier: "GangRecord") -> bool:
        """Whether this is the record that ``earlier`` was, and nobody has taken it over since."""
        return self.uid == earlier.uid and (self.phase == "Finished" or self.owner == earlier.owner)


def _attempts_after(history: tuple[Event, ...]) -> int:
    """How often a gang had room and came to wait again."""
    return sum(
        before.phase in HOLDING | {"Finished"} and after.phase == "Pending"
        for before, after in pairwise(history)
    )


def new(gang: Gang, *, uid: str, run_id: str, now: float, owner: Owner | None = None) -> GangRecord:
    """Make the record of a gang that was just asked for."""
    return GangRecord(
        gang=gang,
        uid=uid,
        run_id=run_id,
        reason=NOT_LOOKED_AT,
        owner=owner,
        history=(Event(at=now, phase="Pending", reason="asked for"),),
    )


def enter(
    record: GangRecord,
    phase: Phase,
    *,
    now: float,
    reason: str,
    reservation: Reservation | None = None,
    rejection: Rejection | None = None,
    outcome: Outcome | None = None,
    owner: Owner | None = None,
) -> GangRecord:
    """Move a record to another phase; what the new phase does not hold is dropped.

    Args:
        record: The record; it stays as it is.
        phase: The phase to enter.
        now: Seconds since 1970.
        reason: Why, in a sentence.
        reservation: With a phase that holds capacity: what it holds.
        rejection: With a phase that waits: why.
        outcome: With Finished: how it ended.
        owner: The process that answers for it from now on.

    Raises:
        ValueError: The step is not in :data:`TRANSITIONS`: a bug of the caller.
    """
    if phase not in TRANSITIONS[record.phase]:
        raise ValueError(f"gang {record.name} cannot go from {record.phase} to {phase}")
    if (reservation is None) == (phase in HOLDING) or (outcome is None) == (phase == "Finished"):
        raise ValueError(f"gang {record.name}: {phase} with reservation {reservation} and outcome {outcome}")
    reason = reason.encode("utf-8", "replace").decode()  # it may quote a file name that is no text
    after = replace(
        record,
        phase=phase,
        reason=reason,
        position=None,
        reservation=reservation,
        rejection=rejection,
        outcome=outcome,
        owner=owner,
        published=False,
        history=_with(record.history, Event(at=now, phase=phase, reason=_short(reason))),
    )
    return _bounded(after)


def _with(history: tuple[Event, ...], event: Event) -> tuple[Event, ...]:
    """A history and what comes next. That a gang became impossible and possible again is told once for each wait."""
    if len(history) > 2 and all(each.phase in WAITING for each in (*history[-3:], event)):
        return (*history[:-2], event)
    return (*history, event)


def _bounded(record: GangRecord) -> GangRecord:
    """A record whose history is not too long for the store; its attempts are counted on."""
    if len(record.history) <= MOST_EVENTS:
        return record
    history = (record.history[0], *record.history[1 - MOST_EVENTS :])
    return replace(record, history=history, forgotten=record.attempt - 1 - _attempts_after(history))


def _short(reason: str) -> str:
    return reason if len(reason) <= LONGEST_REASON else f"{reason[: LONGEST_REASON - 1]}…"
