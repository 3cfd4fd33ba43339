"""Store and ClusterView: the two doors of admission, to the records of gangs and to the cluster that they run on."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Protocol

from gangplan.record import GangRecord, Owner
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
        """

    def remove(self, record: GangRecord) -> None:
        """Forget a record.

        Raises:
            Conflict: The record was changed since it was read.
        """

    def leadership(self) -> AbstractContextManager[bool]:
        """The right to run a cycle, held by one at a time; False if someone else holds it now.

        Whoever loses it in between, because it hung, cannot write any more: its writes raise Conflict.
        """


class ClusterView(Protocol):
    """What is known of the cluster."""

    def snapshot(self) -> Snapshot:
        """Nodes, queues and what runs there that has no gang record."""

    def gone(self, owners: Iterable[Owner]) -> frozenset[Owner]:
        """Those of the owners that do not exist any more."""
