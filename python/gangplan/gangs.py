"""Gangs: how a person looks at gangs, reads what their replicas say, and ends them, wherever they are.

One machine and a Kubernetes cluster are two such places; commands do not know which they talk to.
"""

import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from gangplan.plan import Plan
from gangplan.record import GangRecord
from gangplan.runtime import ReplicaStatus
from gangplan.snapshot import Snapshot

Lines = Iterator[tuple[str, str]]
"""Replica and line, as they come."""

ON_THIS_MACHINE = "on this machine; for those of a Kubernetes cluster add -n NAMESPACE"
"""What is said where nothing is found here: submit goes to a cluster, and other commands look here unless told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What the controller of a job says about it.

    Attributes:
        at: Since when, seconds since 1970; None: not told.
        type: ``Running``, ``Failed``, …
        holds: Whether it is so now.
        message: Its words.
    """

    at: float | None
    type: str
    holds: bool
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """Something that was noted about a gang's job or pods.

    Attributes:
        at: When it was last seen, seconds since 1970; None: not told.
        about: ``Pod mnist-worker-0``.
        reason: One word: ``FailedScheduling``.
        message: What happened, in words.
        count: How often.
    """

    at: float | None
    about: str
    reason: str
    message: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GangView:
    """A gang and all there is of it.

    Attributes:
        record: Its record.
        replicas: Its replicas, by role and index.
        troubles: What is wrong with replicas now, a sentence each.
        conditions: What the controller of its job says, oldest first.
        events: What was noted last about it, oldest first.
    """

    record: GangRecord
    replicas: tuple[ReplicaStatus, ...] = ()
    troubles: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    events: tuple[Occurrence, ...] = ()


class Gangs(Protocol):
    """The gangs of one place. A name is that which a person gave: ``mnist``, or ``team/mnist`` on a cluster."""

    def records(self) -> tuple[GangRecord, ...]:
        """The records of the gangs that are looked at, by name."""

    def full_name(self, name: str) -> str:
        """The name under which the record of a gang is kept.

        Raises:
            InvalidInput: No gang may have that name.
        """

    def look(self, name: str) -> GangView:
        """Look at one gang.

        Raises:
            NotFound: There is none.
        """

    def decide(self) -> tuple[Snapshot, Plan, dict[str, str]]:
        """What a cycle of admission would decide now; nothing is written. As :func:`gangplan.admission.decide`."""

    def lines(self, name: str, replica: str | None, *, follow: bool) -> Lines:
        """What the replicas of a gang have said.

        Args:
            name: The gang.
            replica: Such as ``worker-0``; None: all, one after the other, or as lines come if they are followed.
            follow: Go on until they end.

        Raises:
            NotFound: There is no such gang or replica, or nothing is left of what it said.
        """

    def told(self, name: str) -> str:
        """What there is to delete of a gang, in words.

        Raises:
            NotFound: There is nothing.
        """

    def delete(self, name: str, *, progress: Callable[[str], None]) -> str:
        """End a gang with all that runs for it, and forget its record; a word about what was deleted.

        Args:
            name: The gang.
            progress: Told what is waited for, if it takes long.

        Raises:
            NotFound: There is no such gang.
        """


def interleaved(sources: Mapping[str, Callable[[], Iterator[str]]]) -> Lines:
    """Lines of several replicas, each read in a thread of its own, as they come.

    Args:
        sources: Replica → begins to read its lines.

    Raises:
        Exception: What reading one of them raised, once the lines before it were given.
    """
    found: queue.SimpleQueue[tuple[str, str | Exception | None]] = queue.SimpleQueue()

    def read(replica: str, begin: Callable[[], Iterator[str]]) -> None:
        try:
            for line in begin():
                found.put((replica, line))
            found.put((replica, None))
        except Exception as error:  # noqa: BLE001 - it is raised again where lines are taken
            found.put((replica, error))

    for replica, begin in sources.items():
        threading.Thread(target=read, args=(replica, begin), daemon=True).start()
    left = len(sources)
    while left:
        replica, line = found.get()
        if isinstance(line, Exception):
            raise line
        if line is None:
            left -= 1
        else:
            yield replica, line
