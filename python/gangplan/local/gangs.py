"""LocalGangs: the gangs of this machine as a person looks at them and ends them."""

import time
from collections.abc import Callable
from functools import cached_property, partial

from gangplan import admission
from gangplan.config import Settings
from gangplan.errors import NotFound
from gangplan.gangs import ON_THIS_MACHINE, GangView, Lines, interleaved
from gangplan.local.cluster import LocalCluster
from gangplan.local.runtime import LocalRuntime
from gangplan.local.store import LocalStore
from gangplan.local.survivors import end_survivors
from gangplan.plan import Plan
from gangplan.record import GangRecord
from gangplan.snapshot import Snapshot


class LocalGangs:
    """The gangs of one local cluster: a :class:`gangplan.gangs.Gangs`."""

    def __init__(self, settings: Settings) -> None:
        """Prepare it; nothing is opened yet."""
        self._settings, self._terms = settings, settings.terms
        self._runtime = LocalRuntime(settings.jobs)

    @cached_property
    def _store(self) -> LocalStore:
        """The store, after letting time pass: void reservations and dead owners end."""
        store = LocalStore(self._settings.store)
        with store.leadership():
            admission.run_settle(store, LocalCluster(store).gone, now=time.time(), terms=self._terms)
        return store

    def records(self) -> tuple[GangRecord, ...]:
        """See :class:`gangplan.gangs.Gangs`."""
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

    def told(self, name: str) -> str:
        """See :class:`gangplan.gangs.Gangs`."""
        record = self._found(name)
        return f"{name} ({record.outcome or record.phase})"

    def delete(self, name: str, *, progress: Callable[[str], None]) -> str:
        """See :class:`gangplan.gangs.Gangs`."""
        record = self._found(name)
        self._runtime.delete(name)
        end_survivors(record.run_id, name)
        ended = admission.finish(
            self._store,
            name,
            run_id=record.run_id,
            outcome="Canceled",
            reason="deleted by the user",
            now=time.time(),
        )
        if ended is not None:
            self._store.remove(ended)
        return f"{name} deleted"

    def _found(self, name: str) -> GangRecord:
        record = self._store.get(name)
        if record is None:
            known = ", ".join(item.name for item in self._store.records()) or "none"
            message = f"there is no gang {name} {ON_THIS_MACHINE}; known here: {known}"
            raise NotFound(message, verb="get", kind="Gang", name=name)
        return record
