"""Store and ClusterView: the two doors of admission, to the records of gangs and to the cluster that they run on."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from gangplan.record import HOLDING, GangRecord, Outcome, Owner, Phase
from gangplan.snapshot import Snapshot


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
            Refused: The store does not take it; the one that is there stays.
        """

    def remove(self, record: GangRecord) -> None:
        """Forget a record.

        Raises:
            Conflict: The record was changed since it was read.
            Refused: The store does not let it go.
        """

    def leadership(self) -> AbstractContextManager[bool]:
        """The right to run a cycle, held by one at a time; False if someone else holds it now.

        Whoever loses it in between, because it hung, cannot write any more: its writes raise Conflict.
        """

    def tenure(self) -> AbstractContextManager[None]:
        """The time for which an actor means to run cycles: the lead may be kept between them, until its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """Which replica a pod is.

    Attributes:
        gang: Name of its gang's record.
        role: Its role.
        index: Its index in the role.
        leaving: Whether it ends: it may be of an earlier attempt at the job, for which the gang holds no room any more.
    """

    gang: str
    role: str
    index: int
    leaving: bool = field(default=False, compare=False)

    def stands_for_its_replica(self, phase: Phase) -> bool:
        """Whether it takes what its gang holds for this replica, and nothing beside it.

        Args:
            phase: The phase of its gang. What leaves while room is only reserved had its place before.
        """
        return phase in HOLDING and not (self.leaving and phase == "Reserved")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a job ended, seen by whoever looked.

    Attributes:
        outcome: How.
        reason: Why, in a sentence.
    """

    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """What a cluster says of itself and nobody understands. Gangs that it is about are told; the others go on.

    Attributes:
        queues: Queue → why it cannot be counted in.
        levels: Why there are no levels; empty: they are understood, or there are none.
    """

    queues: Mapping[str, str] = field(default_factory=dict)
    levels: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """What there is beside the records of gangs.

    Attributes:
        snapshot: Nodes, queues, quotas, and what holds a place on a node.
        members: Name in ``snapshot.running`` → the replica of a gang that it is, where it is one.
        ended: Bound gangs whose job has ended or is gone.
        gaps: What could not be understood.
    """

    snapshot: Snapshot
    members: Mapping[str, Member] = field(default_factory=dict)
    ended: Mapping[str, Ending] = field(default_factory=dict)
    gaps: Gaps = Gaps()


class ClusterView(Protocol):
    """What is known of the cluster."""

    def read(self) -> Cluster:
        """Nodes, queues and what runs there."""

    def gone(self, owners: Iterable[Owner]) -> frozenset[Owner]:
        """Those of the owners that do not exist any more."""
