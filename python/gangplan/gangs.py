"""Gangs: how a person looks at gangs, reads what their replicas say, and ends them, wherever they are.

One machine and a Kubernetes cluster are two such places; commands do not know which they talk to.
"""

import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from gangplan.moments import Moment
from gangplan.plan import Plan
from gangplan.record import GangRecord
from gangplan.runtime import ReplicaStatus
from gangplan.snapshot import Snapshot

Lines = Iterator[tuple[str, str]]
"""Replica and line, as they come."""

Shown = Literal["nodes", "jobs", "queues"]
"""What is looked at of a whole cluster."""

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

    at: Moment | None
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

    at: Moment | None
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What is deleted of a gang, or would be.

    Attributes:
        name: Its full name.
        stood: How it stood: its outcome or phase; None: it had no record.
        job: Whether a TFJob, or processes, go with it.
        text: The same in words.
    """

    name: str
    stood: str | None
    job: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """What became of a gang that was resumed.

    Attributes:
        name: Its full name.
        outcome: ``Pending``: it waits, and who submitted it goes on with it; ``Bound``; ``NotAdmitted``: it is suspended
            again; or how its job ended.
        reason: Why, in a sentence.
        placement: Where it had room last, Role → nodes; None: not known here.
    """

    name: str
    outcome: str
    reason: str
    placement: Mapping[str, tuple[str, ...]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """Something old that was removed, or would be.

    Attributes:
        kind: The record of a finished gang (with its TFJob), a TFJob that has outlived its gang's record, the files of a job on this machine, or the logs that were
            kept of one on a cluster.
        name: Its name.
        at: When it ended, or was last written to, in seconds since 1970.
        path: Where it is, if it is a folder.
        job: Of a gang whether its TFJob is there, and goes with it.
    """

    kind: Literal["gang", "TFJob", "job files", "kept logs"]
    name: str
    at: Moment
    path: str | None = None
    job: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """Something that nobody looks after any more.

    Attributes:
        name: Full name of the gang, or of what has its name.
        kind: A gang's record, a TFJob that is no gang's, or processes of this machine.
        reason: Why that is so, in a sentence.
        job: Whether a TFJob or processes that still go on end with it.
    """

    name: str
    kind: Literal["gang", "TFJob", "processes"]
    reason: str
    job: bool


class Gangs(Protocol):
    """The gangs of one place. A name is that which a person gave: ``mnist``, or ``team/mnist`` on a cluster."""

    def records(self) -> tuple[GangRecord, ...]:
        """The records of the gangs that are looked at, by name."""

    def full_name(self, name: str) -> str:
        """The name under which the record of a gang is kept.

        Raises:
            InvalidInput: No gang may have that name, or several namespaces have one.
            NotFound: Where all namespaces are looked at: none has one.
        """

    def look(self, name: str) -> GangView:
        """Look at one gang.

        Raises:
            NotFound: There is none.
        """

    def decide(self) -> tuple[Snapshot, Plan, dict[str, str]]:
        """What a cycle of admission would decide now; nothing is written. As :func:`gangplan.admission.decide`."""

    def survey(self, of: Shown) -> tuple[Snapshot, tuple[GangRecord, ...]]:
        """The whole cluster with its gangs, and the records of all of them.

        Args:
            of: What is to be shown of it; nodes are there also where nothing of ours is installed.

        Raises:
            NotInstalled: There can be none of what is to be shown.
            InvalidInput: What holds room contradicts itself; every problem is named.
        """

    def lines(self, name: str, replica: str | None, *, follow: bool) -> Lines:
        """What the replicas of a gang have said.

        Args:
            name: The gang.
            replica: Such as ``worker-0``; None: all, one after the other, or as lines come if they are followed.
            follow: Go on until they end.

        Raises:
            NotFound: There is no such gang or replica, or nothing is left of what it said.
        """

    def told(self, name: str) -> Removal:
        """What there is to delete of a gang.

        Raises:
            NotFound: There is nothing.
        """

    def delete(self, name: str, *, progress: Callable[[str], None]) -> Removal:
        """End a gang with all that runs for it, and forget its record; what was deleted.

        Args:
            name: The gang.
            progress: Told what is waited for, if it takes long.

        Raises:
            NotFound: There is no such gang.
        """

    def suspend(self, name: str, *, tell: Callable[[str], None]) -> str:
        """Put a gang aside: nothing of it runs, and it holds no room; a word about it.

        Args:
            name: The gang.
            tell: Gets what is waited for.

        Raises:
            NotFound: There is no such gang, or it has ended.
            InvalidInput: It cannot be suspended.
        """

    def resume(self, name: str, *, wait_s: float, to_the_end: bool, tell: Callable[[str], None]) -> Resumed:
        """Let a suspended gang wait for room again, and launch it if this is who launches.

        Args:
            name: The gang.
            wait_s: Seconds to wait for room.
            to_the_end: Follow its job to the end, not only until all replicas have their nodes.
            tell: Gets what happens as a line.

        Raises:
            NotFound: There is no such gang, or it is not suspended.
        """

    def prune(self, *, before: float, dry_run: bool, tell: Callable[[str], None]) -> Iterator[Pruned]:
        """Remove what is old and over: finished gangs, files of jobs, kept logs; each is given once it is gone.

        Args:
            before: What ended, or was last written to, before this moment, in seconds since 1970.
            dry_run: Only tell what would be.
            tell: Gets what stays although it is old, and why.
        """

    def orphans(self) -> tuple[Orphan, ...]:
        """What nobody looks after any more, by name."""

    def reap(self, orphan: Orphan, *, progress: Callable[[str], None]) -> str:
        """End an orphan, if it still is one; a word about it.

        Args:
            orphan: As it was found.
            progress: Told what is waited for, if it takes long.
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
