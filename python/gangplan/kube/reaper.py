"""Reaper: finds the orphans of a cluster and ends them, each only if it still is one."""

from collections.abc import Callable

from gangplan import record as records
from gangplan.errors import Conflict, InvalidInput, NotInstalled
from gangplan.gangs import Orphan
from gangplan.kube.cluster import KubeCluster
from gangplan.kube.deletion import Deletion
from gangplan.kube.endings import endings
from gangplan.kube.gang_object import split_name, to_record
from gangplan.kube.kinds import GANG, TFJOB
from gangplan.kube.orphans import find_orphans
from gangplan.record import GangRecord, Outcome
from gangplan.store import Ending


class Reaper:
    """Looks for orphans in one namespace, or in all."""

    def __init__(self, cluster: KubeCluster, deletion: Deletion) -> None:
        """Prepare it; nothing is sent yet.

        Args:
            cluster: The cluster.
            deletion: Deletes TFJobs.
        """
        self._cluster, self._api, self._store = cluster, cluster.api, cluster.store()
        self._deletion = deletion

    def find(self, *, namespace: str) -> tuple[Orphan, ...]:
        """The orphans of a namespace; empty: of all."""
        return tuple(orphan for orphan, _, _ in self._found(namespace))

    def end(self, orphan: Orphan, *, progress: Callable[[str], None]) -> str:
        """End one that was found; a word about it. One that somebody looks after meanwhile is left.

        Args:
            orphan: As it was found.
            progress: Told what is waited for, if it takes long.
        """
        again = (
            item
            for item in self._found(split_name(orphan.name)[0])
            if item[0].name == orphan.name and item[0].kind == orphan.kind
        )
        now, record, ended = next(again, (None, None, None))
        if now is None:
            return f"{orphan.name}: left, it is no orphan any more"
        if now.kind == "TFJob" or record is None:
            self._deletion.end_job(orphan.name, progress=progress)
            return f"{orphan.name}: its TFJob is deleted"
        outcome: Outcome = "Canceled" if ended is None else ended.outcome
        reason = now.reason if ended is None else ended.reason
        try:
            # Only as it was found: who looks after it again has changed it.
            self._store.update(
                records.enter(record, "Finished", now=self._cluster.clock(), reason=reason, outcome=outcome)
            )
        except Conflict:
            return f"{orphan.name}: left, somebody looks after it again"
        if now.job:
            self._deletion.end_job(orphan.name, progress=progress)
        return f"{orphan.name}: {outcome}" + (", its TFJob is deleted" if now.job else "")

    def _found(self, namespace: str) -> list[tuple[Orphan, GangRecord | None, Ending | None]]:
        gangs = self._api.list(GANG, namespace=namespace).items
        try:
            jobs = self._api.list(TFJOB, namespace=namespace).items
        except NotInstalled:
            jobs = ()
        known: dict[str, GangRecord] = {}
        unread: set[str] = set()
        for item in gangs:
            try:
                record = to_record(item)
            except InvalidInput:
                # It was written by another version: nothing is known of it, nor of its job.
                unread.add(f"{item['metadata']['namespace']}/{item['metadata']['name']}")
            else:
                known[record.name] = record
        ended = dict(endings(self._api, gangs, jobs))
        found = find_orphans(known.values(), jobs, ended, now=self._cluster.clock())
        return [
            (orphan, known.get(orphan.name), ended.get(orphan.name))
            for orphan in found
            if orphan.name not in unread
        ]
