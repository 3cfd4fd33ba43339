"""KubeGangs: the gangs of a cluster as a person looks at them, reads their logs, and ends them."""

import logging
import queue
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from gangplan.config import Settings
from gangplan.errors import (
    Expired,
    Forbidden,
    InvalidInput,
    NotFound,
    NotInstalled,
    Problem,
    Refused,
    Unreachable,
)
from gangplan.gangs import GangView, Lines, Orphan, Pruned, Removal, Resumed, Shown
from gangplan.kube.actions import Object
from gangplan.kube.cluster import KubeCluster
from gangplan.kube.deletion import Deletion
from gangplan.kube.endings import as_they_stand
from gangplan.kube.gang_object import full_name, split_name
from gangplan.kube.kept_log import kept_folder, newest_kept
from gangplan.kube.kinds import EVENT, GANG, GANG_QUEUE, POD, TFJOB, Kind
from gangplan.kube.launch import ending
from gangplan.kube.logs import LogFollower, Sink, has_started, restarts, split_moment
from gangplan.kube.names import JOB_NAME, RUN_ID, TENSORFLOW_CONTAINER, see_that_it_is_a_name
from gangplan.kube.outcome import replica_name
from gangplan.kube.pruning import old_gangs, old_jobs, old_logs
from gangplan.kube.reaper import Reaper
from gangplan.kube.store import read_records
from gangplan.kube.suspension import Suspension
from gangplan.kube.taking import take
from gangplan.kube.view import view
from gangplan.plan import Plan
from gangplan.record import GangRecord
from gangplan.snapshot import Snapshot

log = logging.getLogger(__name__)

POLL_S = 1.0
"""Seconds between two looks at the pods whose logs are followed."""

ENDED = frozenset({"Succeeded", "Failed"})


class KubeGangs:
    """The gangs of one namespace, or of all: a :class:`gangplan.gangs.Gangs`."""

    def __init__(
        self,
        cluster: KubeCluster,
        *,
        namespace: str,
        chosen: Settings,
        sleep: Callable[[float], None],
    ) -> None:
        """Prepare it; nothing is sent yet.

        Args:
            cluster: The cluster.
            namespace: The namespace whose gangs are meant; empty: all, and a name is looked for in each.
            chosen: The settings: where logs were kept, and how long things are kept and waited for.
            sleep: Waits the given seconds.

        Raises:
            InvalidInput: No namespace may have that name.
        """
        if namespace:
            see_that_it_is_a_name(namespace, of="namespace")
        self._cluster, self._api, self._namespace = cluster, cluster.api, namespace
        self._chosen, self._logs, self._sleep = chosen, chosen.logs, sleep
        self._store = cluster.store()

    def records(self) -> tuple[GangRecord, ...]:
        """See :class:`gangplan.gangs.Gangs`; of one whose job has ended how, though nobody has written it down yet."""
        found = self._written()
        if not any(record.phase == "Bound" for record in found):
            return found
        try:
            jobs = self._api.list(TFJOB, namespace=self._namespace).items
        except (Forbidden, NotInstalled):  # who may look at gangs need not be allowed to look at TFJobs
            return found
        return tuple(as_they_stand(self._api, found, jobs))

    def _written(self) -> tuple[GangRecord, ...]:
        return read_records(self._api, namespace=self._namespace)

    def full_name(self, name: str) -> str:
        """See :class:`gangplan.gangs.Gangs`."""
        if "/" not in name and not self._namespace:
            see_that_it_is_a_name(name, of="gang")
            return self._anywhere(name)
        full = name if "/" in name else full_name(self._namespace, name)
        namespace, short = split_name(full)
        see_that_it_is_a_name(namespace, of="namespace")
        see_that_it_is_a_name(short, of="gang")
        return full

    def _anywhere(self, name: str) -> str:
        """The full name of the one gang of a name in all namespaces."""
        found = [record.name for record in self._written() if split_name(record.name)[1] == name]
        if not found:
            raise NotFound(f"there is no gang {name} in any namespace", verb="get", kind="Gang", name=name)
        if len(found) > 1:
            message = f"is in several namespaces: give one of {', '.join(found)}"
            raise InvalidInput([Problem(name, "AMBIGUOUS", message)], "the name of a gang")
        return found[0]

    def look(self, name: str) -> GangView:
        """See :class:`gangplan.gangs.Gangs`."""
        name = self.full_name(name)
        record = self._store.get(name)
        if record is None:
            raise self._unknown(name)
        pods = self._pods(
            name, record.run_id
        )  # before the job, so that none goes because of an end that is not known
        job = None
        with suppress(Forbidden):  # who may look at gangs and pods need not be allowed to look at TFJobs
            job = self._job(name, record.run_id)
            (record,) = as_they_stand(self._api, [record], [] if job is None else [job])
        return view(record, job, pods, self._events(split_name(name)[0]))

    def decide(self) -> tuple[Snapshot, Plan, dict[str, str]]:
        """See :class:`gangplan.gangs.Gangs`; a look at the whole cluster, whatever namespace is meant."""
        return self._cluster.decide(now=self._cluster.clock(), terms=self._chosen.terms)

    def survey(self, of: Shown) -> tuple[Snapshot, tuple[GangRecord, ...]]:
        """See :class:`gangplan.gangs.Gangs`; what cannot be understood is told and left out."""
        needs: Mapping[Shown, tuple[Kind, ...]] = {"jobs": (GANG,), "queues": (GANG, GANG_QUEUE)}
        taken = take(self._api, now=self._cluster.clock(), needs=needs.get(of, ()))
        for name, problem in sorted(taken.left_out.items()):
            log.warning("%s is left out: %s", name, problem)
        return taken.snapshot, taken.records

    def lines(self, name: str, replica: str | None, *, follow: bool) -> Lines:
        """See :class:`gangplan.gangs.Gangs`; of a replica whose pod is gone what was kept of it here."""
        name = self.full_name(name)
        return self._followed(name, replica) if follow else self._said(name, replica)

    def told(self, name: str) -> Removal:
        """See :class:`gangplan.gangs.Gangs`."""
        name = self.full_name(name)
        return self._deletion().find(name).told(name)

    def delete(self, name: str, *, progress: Callable[[str], None]) -> Removal:
        """See :class:`gangplan.gangs.Gangs`; waits until its pods are gone."""
        return self._deletion().run(self.full_name(name), progress=progress)

    def suspend(self, name: str, *, tell: Callable[[str], None]) -> str:
        """See :class:`gangplan.gangs.Gangs`; its TFJob stays, without pods."""
        return self._suspension(tell).suspend(self.full_name(name))

    def resume(self, name: str, *, wait_s: float, to_the_end: bool, tell: Callable[[str], None]) -> Resumed:
        """See :class:`gangplan.gangs.Gangs`."""
        return self._suspension(tell).resume(self.full_name(name), wait_s=wait_s, to_the_end=to_the_end)

    def _suspension(self, tell: Callable[[str], None]) -> Suspension:
        return Suspension(self._cluster, chosen=self._chosen, sleep=self._sleep, tell=tell)

    def prune(self, *, before: float, dry_run: bool, tell: Callable[[str], None]) -> Iterator[Pruned]:
        """See :class:`gangplan.gangs.Gangs`; of kept logs those of the namespaces that are looked at."""
        records = self._written()
        deletion = self._deletion()
        yield from old_gangs(records, deletion, before=before, dry_run=dry_run, tell=tell)
        jobs = self._api.list(TFJOB, namespace=self._namespace).items
        yield from old_jobs(jobs, records, deletion, before=before, dry_run=dry_run, tell=tell)
        for pruned, folder in old_logs(self._logs, records, namespace=self._namespace, before=before):
            if not dry_run:
                shutil.rmtree(folder)
            yield pruned

    def orphans(self) -> tuple[Orphan, ...]:
        """See :class:`gangplan.gangs.Gangs`."""
        return Reaper(self._cluster, self._deletion()).find(namespace=self._namespace)

    def reap(self, orphan: Orphan, *, progress: Callable[[str], None]) -> str:
        """See :class:`gangplan.gangs.Gangs`; waits until its pods are gone."""
        return Reaper(self._cluster, self._deletion()).end(orphan, progress=progress)

    def _deletion(self) -> Deletion:
        return Deletion(
            self._api,
            self._store,
            clock=self._cluster.clock,
            monotonic=self._cluster.monotonic,
            sleep=self._sleep,
        )

    # ---- logs

    def _said(self, name: str, replica: str | None) -> Lines:
        record = self._store.get(name)
        run = "" if record is None else record.run_id
        pods = {replica_name(pod): pod for pod in self._pods(name, run)}
        kept = self._kept(name, run)
        names = sorted({*pods, *kept}) if replica is None else [replica]
        found = False
        for each in names:
            pod = pods.get(each)
            if pod is not None and has_started(pod):
                with suppress(NotFound, Refused):  # it is gone since, or its log is
                    for line in self._log(pod):
                        yield each, line
                    found = True
                    continue
            if each in kept:
                found = True
                with kept[each].open(encoding="utf-8", errors="replace") as file:
                    for text in file:
                        yield each, text.rstrip("\n")
        if not found:
            raise self._silent(name, replica, record, {*pods, *kept})

    def _log(self, pod: Object) -> Iterator[str]:
        if restarts(pod):
            with suppress(Refused):  # what it was before is kept for some time only
                yield from self._life(pod, previous=True)
        yield from self._life(pod)

    def _life(self, pod: Object, *, previous: bool = False) -> Iterator[str]:
        metadata = pod["metadata"]
        for line in self._api.log(
            metadata["name"],
            namespace=metadata["namespace"],
            container=TENSORFLOW_CONTAINER,
            previous=previous,
        ):
            yield split_moment(line)[1].decode(errors="replace")

    def _followed(self, name: str, replica: str | None) -> Lines:
        said: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()

        @contextmanager
        def sink(of: str, _uid: str) -> Iterator[Sink]:
            yield Sink(write=lambda _, line: said.put((of, line.decode(errors="replace").rstrip("\n"))))

        follower, looked, any_seen = LogFollower(self._api, sink), False, False
        while True:
            try:
                record = self._store.get(name)
                run = "" if record is None else record.run_id
                pods = [
                    pod for pod in self._pods(name, run) if replica is None or replica_name(pod) == replica
                ]
                looked = True
                follower.look(pods)
                any_seen = any_seen or any(has_started(pod) for pod in pods)
                if self._is_over(name, record, pods):
                    break
            except (Unreachable, Expired) as error:
                if not looked:
                    raise  # its address is wrong, or it is down
                log.warning("asking again: %s", error)
            yield from self._drained(said, POLL_S)
        follower.close()
        yield from self._drained(said, 0.0)
        if not any_seen:
            yield from self._said(name, replica)

    def _drained(self, said: "queue.SimpleQueue[tuple[str, str]]", for_s: float) -> Lines:
        """What was said, and what is said in the next seconds."""
        end = self._cluster.monotonic() + for_s
        while True:
            left = end - self._cluster.monotonic()
            try:
                yield said.get(timeout=left) if left > 0 else said.get_nowait()
            except queue.Empty:
                if left <= 0:
                    return

    def _is_over(self, name: str, record: GangRecord | None, pods: Sequence[Object]) -> bool:
        """Whether nothing more will be said."""
        if any((pod.get("status") or {}).get("phase") not in ENDED for pod in pods):
            return False
        if record is None or record.phase == "Finished":
            return True
        job = self._job(name, record.run_id)
        return (job is None and record.phase == "Bound") or (job is not None and ending(job, ()) is not None)

    def _kept(self, name: str, run: str) -> dict[str, Path]:
        """Files of replicas, of this run or, where none is known, of the last one of this name."""
        namespace, short = split_name(name)
        folder = (
            kept_folder(self._logs, namespace, short, run)
            if run
            else newest_kept(self._logs, namespace, short)
        )
        return {} if folder is None else {path.stem: path for path in folder.glob("*.log")}

    def _silent(
        self, name: str, replica: str | None, record: GangRecord | None, known: Collection[str]
    ) -> NotFound:
        namespace, short = split_name(name)
        if record is None and not known:
            return self._unknown(name)
        stands = "" if record is None else f"; it is {record.standing}"
        if replica is not None and known and replica not in known:
            message = f"{name} has no replica {replica}; it has {', '.join(sorted(known))}"
        else:
            message = f"nothing that {replica or 'a replica'} of {name} has said is still here{stands}"
        return NotFound(message, verb="logs", kind="Gang", name=short, namespace=namespace)

    # ---- what there is

    def _unknown(self, name: str) -> NotFound:
        namespace, short = split_name(name)
        known = ", ".join(split_name(item.name)[1] for item in read_records(self._api, namespace=namespace))
        message = f"there is no gang {name}; known in {namespace}: {known or 'none'}"
        return NotFound(message, verb="get", kind="Gang", name=short, namespace=namespace)

    def _job(self, name: str, run: str) -> Object | None:
        """The TFJob of a gang's run."""
        namespace, short = split_name(name)
        try:
            job = self._api.get(TFJOB, short, namespace=namespace)
        except (NotFound, NotInstalled):
            return None
        return job if (job["metadata"].get("labels") or {}).get(RUN_ID, "") == run else None

    def _pods(self, name: str, run: str) -> tuple[Object, ...]:
        """The pods of a gang's run; where no run is known, all of its name."""
        namespace, short = split_name(name)
        labels = f"{JOB_NAME}={short}" + (f",{RUN_ID}={run}" if run else "")
        return self._api.list(POD, namespace=namespace, labels=labels).items

    def _events(self, namespace: str) -> tuple[Object, ...]:
        try:
            return self._api.list(EVENT, namespace=namespace).items
        except Forbidden:  # who may look at gangs need not be allowed to look at these
            return ()
