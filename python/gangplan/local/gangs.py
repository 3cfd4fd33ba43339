"""LocalGangs: the gangs of this machine as a person looks at them and ends them."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, partial

from gangplan import admission, suspension
from gangplan.config import Settings
from gangplan.errors import InvalidInput, NotFound, Problem, StoreError
from gangplan.gangs import (
    ON_THIS_MACHINE,
    GangView,
    Lines,
    Orphan,
    Pruned,
    Removal,
    Resumed,
    Shown,
    interleaved,
)
from gangplan.local.cluster import LocalCluster
from gangplan.local.folder import JobFolder
from gangplan.local.pruning import job_folders, left_processes, old_folders, remove
from gangplan.local.runtime import LocalRuntime
from gangplan.local.store import LocalStore
from gangplan.local.survivors import end_survivors
from gangplan.plan import Plan
from gangplan.record import WAITING, GangRecord
from gangplan.record_snapshot import combine
from gangplan.snapshot import Snapshot


class LocalGangs:
    """The gangs of one local cluster: a :class:`gangplan.gangs.Gangs`."""

    def __init__(self, settings: Settings) -> None:
        """Prepare it; nothing is opened yet."""
        self._settings, self._terms = settings, settings.terms
        self._runtime = LocalRuntime(settings.jobs)

    @cached_property
    def _store(self) -> LocalStore:
        """The store, after letting time pass."""
        store = LocalStore(self._settings.store)
        self._let_time_pass(store)
        return store

    def _let_time_pass(self, store: LocalStore) -> None:
        """Void reservations and dead owners end."""
        with store.leadership():
            admission.run_settle(store, LocalCluster(store).gone, now=time.time(), terms=self._terms)

    def records(self) -> tuple[GangRecord, ...]:
        """See :class:`gangplan.gangs.Gangs`; whoever looks again sees what time has done."""
        self._let_time_pass(self._store)
        return self._store.records()

    def full_name(self, name: str) -> str:
        """See :class:`gangplan.gangs.Gangs`."""
        return name

    def look(self, name: str) -> GangView:
        """See :class:`gangplan.gangs.Gangs`."""
        record = self._found(name)
        try:
            return GangView(record=record, replicas=self._runtime.status(name).replicas)
        except NotFound:
            return GangView(record=record)

    def decide(self) -> tuple[Snapshot, Plan, dict[str, str]]:
        """See :class:`gangplan.gangs.Gangs`."""
        cluster = LocalCluster(self._store).snapshot()
        decided = admission.decide(cluster, self._store.records(), now=time.time(), terms=self._terms)
        return decided.snapshot, decided.plan, decided.unsound

    def survey(self, of: Shown) -> tuple[Snapshot, tuple[GangRecord, ...]]:
        """See :class:`gangplan.gangs.Gangs`."""
        records = self.records()
        return combine(LocalCluster(self._store).snapshot(), records, now=time.time()), records

    def lines(self, name: str, replica: str | None, *, follow: bool) -> Lines:
        """See :class:`gangplan.gangs.Gangs`."""
        try:
            replicas = self._runtime.status(name).replicas
        except NotFound:
            self._found(name)  # what is told of a gang that is not here helps more
            raise
        names = [item.name for item in replicas] if replica is None else [replica]
        if follow:
            yield from interleaved(
                {item: partial(self._runtime.logs, name, item, follow=True) for item in names}
            )
            return
        for item in names:
            for line in self._runtime.logs(name, item):
                yield item, line

    def told(self, name: str) -> Removal:
        """See :class:`gangplan.gangs.Gangs`."""
        record = self._found(name)
        stood = record.outcome or record.phase
        return Removal(name=name, stood=stood, job=self._has_job(name), text=f"{name} ({stood})")

    def delete(self, name: str, *, progress: Callable[[str], None]) -> Removal:
        """See :class:`gangplan.gangs.Gangs`."""
        there, record = self.told(name), self._found(name)
        self._runtime.delete(name)
        end_survivors(record.run_id, name)
        ended = admission.finish(
            self._store,
            name,
            run_id=record.run_id,
            outcome="Canceled",
            reason="deleted by the user",
            now=time.time(),
            suspended=True,
        )
        if ended is not None:
            self._store.remove(ended)
        return replace(there, text=f"{name} deleted")

    def suspend(self, name: str, *, tell: Callable[[str], None]) -> str:
        """See :class:`gangplan.gangs.Gangs`; only one that waits: nobody could start its processes again."""
        record = self._found(name)
        if record.phase == "Finished":
            raise _nothing(name, "suspend", record)
        if record.phase not in WAITING | {"Suspended"}:
            message = f"runs on this machine ({record.phase}), where only what waits can be suspended: gangplan delete {name} ends it"
            raise InvalidInput([Problem(name, "UNSUPPORTED", message)], "the gang")
        suspension.suspend(
            self._store, name, run_id=record.run_id, reason="suspended by the user", now=time.time()
        )
        return f"{name} suspended"

    def resume(self, name: str, *, wait_s: float, to_the_end: bool, tell: Callable[[str], None]) -> Resumed:
        """See :class:`gangplan.gangs.Gangs`; the run that asked for it goes on with it."""
        record = self._found(name)
        if record.phase != "Suspended":
            raise _nothing(name, "resume", record)
        suspension.resume(
            self._store,
            name,
            run_id=record.run_id,
            reason="resumed",
            now=time.time(),
            waiter_s=self._terms.waiter_s,
        )
        return Resumed(name=name, outcome="Pending", reason="its run goes on with it when it has room")

    def prune(self, *, before: float, dry_run: bool, tell: Callable[[str], None]) -> Iterator[Pruned]:
        """See :class:`gangplan.gangs.Gangs`; records that are older than ``record_ttl_s`` go by themselves."""
        records = {record.name: record for record in self.records()}
        for pruned, folder in old_folders(self._settings.jobs, records, before=before):
            if not dry_run:
                remove(folder)
            yield pruned
        for record in records.values():
            if record.finished_at is not None and record.finished_at < before:
                if not dry_run:
                    self._store.remove(record)
                yield Pruned(kind="gang", name=record.name, at=record.finished_at)

    def orphans(self) -> tuple[Orphan, ...]:
        """See :class:`gangplan.gangs.Gangs`; gangs whose process is gone have ended by this look."""
        return tuple(orphan for orphan, _ in self._left())

    def reap(self, orphan: Orphan, *, progress: Callable[[str], None]) -> str:
        """See :class:`gangplan.gangs.Gangs`."""
        ended = sum(
            end_survivors(folder.run_id, folder.gang) for found, folder in self._left() if found == orphan
        )
        if not ended:
            return f"{orphan.name}: left, it is no orphan any more"
        return f"{orphan.name}: {ended} process{'' if ended == 1 else 'es'} ended"

    def _left(self) -> Iterator[tuple[Orphan, JobFolder]]:
        records = {record.name: record for record in self.records()}
        return left_processes(job_folders(self._settings.jobs), records)

    def _has_job(self, name: str) -> bool:
        try:
            self._runtime.status(name)
        except (NotFound, StoreError):
            return False
        return True

    def _found(self, name: str) -> GangRecord:
        record = self._store.get(name)
        if record is None:
            known = ", ".join(item.name for item in self._store.records()) or "none"
            message = f"there is no gang {name} {ON_THIS_MACHINE}; known here: {known}"
            raise NotFound(message, verb="get", kind="Gang", name=name)
        return record


def _nothing(name: str, verb: str, record: GangRecord) -> NotFound:
    message = f"nothing to {verb} of {name}: it is {record.standing}"
    return NotFound(message, verb=verb, kind="Gang", name=name)
