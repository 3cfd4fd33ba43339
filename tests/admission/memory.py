"""A store in memory that keeps the contract of Store to the letter, and a cluster that tests can change.

The contract is that of Kubernetes objects under a Lease: single writes with compare-and-swap, versions from one counter,
and a leader that can be deposed while it works.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import gangplan as gp
from gangplan import store
from gangplan.errors import Conflict
from gangplan.record import GangRecord, Owner


class Crash(BaseException):
    """The process dies here. Nothing may catch it, as nothing catches SIGKILL."""


@dataclass
class Shelf:
    """What all doors see: the records, the last version, who leads."""

    records: dict[str, GangRecord] = field(default_factory=dict)
    version: int = 0
    term: int = 0
    led: bool = False

    def depose(self) -> None:
        """Take the lead from whoever has it, as an expired Lease does."""
        self.term += 1
        self.led = False


class Door:
    """One actor's way to the shelf; what an actor does can be disturbed before or after any of its steps."""

    def __init__(self, shelf: Shelf, step: Callable[[str], None] = lambda _: None) -> None:
        self.shelf = shelf
        self.step = step
        self.term: int | None = None
        self.kept: int | None = None
        self.keeps = False

    def records(self) -> tuple[GangRecord, ...]:
        self.step("read")
        return tuple(record for _, record in sorted(self.shelf.records.items()))

    def get(self, name: str) -> GangRecord | None:
        self.step("read")
        return self.shelf.records.get(name)

    def create(self, record: GangRecord) -> GangRecord:
        return self._write(record, None, record)

    def update(self, record: GangRecord) -> GangRecord:
        return self._write(record, record.version, record)

    def remove(self, record: GangRecord) -> None:
        self._write(record, record.version, None)

    def _write(self, record: GangRecord, wanted: int | None, new: GangRecord | None) -> GangRecord:
        self.step("before write")
        found = self.shelf.records.get(record.name)
        if (found.version if found else None) != wanted:
            raise Conflict(f"{record.name} was changed")
        if self.term is not None and self.term != self.shelf.term:
            raise Conflict(f"{record.name}: the lead was lost")
        self.shelf.version += 1
        stored = replace(record, version=self.shelf.version)
        if new is None:
            del self.shelf.records[record.name]
        else:
            self.shelf.records[record.name] = stored
        self.step("after write")
        return stored

    @contextmanager
    def leadership(self) -> Iterator[bool]:
        kept, self.kept = self.kept, None
        if kept is not None and kept == self.shelf.term:
            self.term = kept
        elif self.shelf.led:
            yield False
            return
        else:
            self.shelf.led = True
            self.shelf.term += 1
            self.term = self.shelf.term
        try:
            yield True
        except Crash:
            self.term = None  # the Lease stays taken until it is found to be stale
            raise
        except BaseException:
            self._resign()
            raise
        if self.keeps:
            self.kept, self.term = self.term, None
        else:
            self._resign()

    @contextmanager
    def tenure(self) -> Iterator[None]:
        self.keeps = True
        try:
            yield
        except Crash:
            self.kept = None
            raise
        finally:
            self.keeps = False
            self.term, self.kept = self.kept, None
            self._resign()

    def _resign(self) -> None:
        if self.term is not None and self.term == self.shelf.term:
            self.shelf.led = False
        self.term = None


@dataclass
class Cluster:
    """Nodes and queues that may change, and processes that may die."""

    nodes: tuple[gp.Node, ...] = ()
    queues: tuple[gp.Queue, ...] = ()
    topology: tuple[str, ...] = ()
    dead: set[Owner] = field(default_factory=set)
    step: Callable[[str], None] = lambda _: None

    def snapshot(self) -> gp.Snapshot:
        self.step("look")
        return gp.Snapshot(nodes=self.nodes, queues=self.queues, topology=self.topology)

    def read(self) -> store.Cluster:
        return store.Cluster(snapshot=self.snapshot())

    def gone(self, owners: Iterable[Owner]) -> frozenset[Owner]:
        return frozenset(owners) & self.dead


def use(records: Iterable[GangRecord], resource: str = "cpu") -> dict[str, int]:
    """Node → whole units of a resource that the records' reservations take there, added up by hand."""
    taken: dict[str, int] = {}
    for record in records:
        if record.reservation is None:
            continue
        amounts = {role.name: int(role.requests.get(resource, "0")) for role in record.gang.roles}
        for role, nodes in record.reservation.placement.items():
            for name in nodes:
                taken[name] = taken.get(name, 0) + amounts[role]
    return taken
