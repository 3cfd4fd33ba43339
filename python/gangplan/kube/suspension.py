"""Suspension of a gang of a cluster: its TFJob stays, without pods, until it is resumed, which asks for room anew.

The record is put aside first, so that nobody who looks after the job takes its suspension for its end. Pods that still
run hold their places on their nodes meanwhile.
"""

from collections.abc import Callable

from gangplan import suspension
from gangplan.admission import finish
from gangplan.config import Settings
from gangplan.errors import ClusterError, Conflict, Expired, InvalidInput, NotFound, Problem, Unreachable
from gangplan.gangs import Resumed
from gangplan.kube.actions import Object
from gangplan.kube.cluster import KubeCluster
from gangplan.kube.follow import POLL_S, Following
from gangplan.kube.gang_object import split_name
from gangplan.kube.kept_log import kept_folder
from gangplan.kube.kinds import POD, TFJOB
from gangplan.kube.launch import ending
from gangplan.kube.names import JOB_NAME, RUN_ID, VOLCANO
from gangplan.kube.outcome import replica_name, state_of
from gangplan.kube.progress import helping, waiting
from gangplan.kube.submission import Submission
from gangplan.record import HOLDING, GangRecord
from gangplan.signals import uninterrupted
from gangplan.verdict import Pace, ask

REASON = "suspended by the user"
CONTROLLER_S = 60.0
"""Seconds until the training-operator says that a TFJob is not suspended any more: it takes one."""


class Suspension:
    """Puts gangs of a cluster aside, and goes on with them."""

    def __init__(
        self,
        cluster: KubeCluster,
        *,
        chosen: Settings,
        sleep: Callable[[float], None],
        tell: Callable[[str], None],
    ) -> None:
        """Prepare it; nothing is sent yet.

        Args:
            cluster: The cluster.
            chosen: How long things are kept and waited for, and how often a job is tried.
            sleep: Waits the given seconds.
            tell: Gets what happens as a line.
        """
        self._cluster, self._api, self._store = cluster, cluster.api, cluster.store()
        self._chosen, self._sleep, self._tell = chosen, sleep, tell

    def suspend(self, name: str) -> str:
        """Put a gang aside, and wait until none of its pods is left; a word about it.

        Args:
            name: Its full name.

        Raises:
            NotFound: There is no such gang, or it has ended.
            InvalidInput: Volcano binds its pods: their nodes stand in its TFJob and cannot change.
        """
        record = self._found(name, "suspend")
        job = self._job(name, record.run_id)
        if job is not None and _is_volcanos(job):
            message = "cannot be suspended: for Volcano the nodes of its replicas stand in its TFJob; delete and submit it"
            raise InvalidInput([Problem(name, "UNSUPPORTED", message)], "the gang")
        if job is not None and _has_ended(job):
            raise _nothing(name, "suspend", f"its TFJob has ended ({state_of(job)})")
        self._see_that_it_can_be(job, suspend=True)
        self._set_aside(record, REASON)
        told, since = "", self._cluster.clock()
        while (job := self._job(name, record.run_id)) is not None:
            if _has_ended(job):
                return self._has_ended_meanwhile(record, job)
            if not _is_suspended(job):
                self._stop(job, name)
            pods = self._pods(name, record.run_id)
            if not pods:
                return f"{name} suspended; its TFJob stays, and holds no room"
            left = ", ".join(sorted(replica_name(pod) for pod in pods))
            if left != told:
                self._tell(f"{name}: waits for {left} to end")
                told, since = left, self._cluster.clock()
            if state_of(job) != "Suspended" and self._cluster.clock() - since >= CONTROLLER_S:
                self._tell(_nobody_looks(name))
                since = self._cluster.clock()
            self._sleep(POLL_S)
        return f"{name} suspended; it had no TFJob"

    def resume(self, name: str, *, wait_s: float, to_the_end: bool) -> Resumed:
        """Let a gang wait for room again, and launch it when it has some.

        One that does not get any in time, or is interrupted before all of its replicas have their nodes, is suspended again.

        Args:
            name: Its full name.
            wait_s: Seconds to wait for room.
            to_the_end: Follow its job to the end, not only until all replicas have their nodes.

        Raises:
            NotFound: There is no such gang, or it is not suspended.
        """
        record = self._found(name, "resume")
        job = self._job(name, record.run_id)
        # One that has a TFJob and is not bound is gone on with too: who launched it may have been killed.
        if record.phase != "Suspended" and (
            job is None or (record.phase == "Bound" and not _is_suspended(job))
        ):
            raise _nothing(name, "resume", f"it is {record.standing}")
        self._see_that_it_can_be(job, suspend=False)
        now = self._cluster.clock()
        terms = self._chosen.terms
        record = suspension.resume(
            self._store, name, run_id=record.run_id, reason="resumed", now=now, waiter_s=terms.waiter_s
        )
        if job is None:
            reason = f"it had no TFJob yet: who submitted it goes on with it; if nobody does in {terms.waiter_s:.0f} s it is given up"
            return Resumed(name=name, outcome="Pending", reason=reason)
        following = self._following(record, job)
        try:
            refused = self._refused(record, deadline=now + wait_s)
            if refused is None:
                self._unsuspend(name, record)
                end = following.run() if to_the_end else following.run_until_bound()
        except BaseException:
            with uninterrupted():
                if not following.is_bound and self._put_back(record):
                    self._tell(f"{name} is suspended again")
            raise
        if refused is not None:
            self._put_back(record, f"suspended again: {refused.reason}")
            return refused
        return Resumed(
            name=name,
            outcome="Bound" if end is None else end.outcome,
            reason="all replicas have their nodes" if end is None else end.reason,
            placement=following.placement,
        )

    def _following(self, record: GangRecord, job: Object) -> Following:
        namespace, short = split_name(record.name)
        return Following(
            self._cluster,
            Submission(gang=record.gang, manifest=_as_it_was_sent(job), run_id=record.run_id),
            folder=kept_folder(self._chosen.logs, namespace, short, record.run_id),
            chosen=self._chosen,
            tell=self._tell,
            sleep=self._sleep,
        )

    def _refused(self, record: GangRecord, *, deadline: float) -> Resumed | None:
        """Wait for room; what is to be told if there is none in time."""
        pace, seen = Pace(self._cluster, clock=self._cluster.clock), ""
        with self._store.tenure():
            while True:
                try:
                    current, _ = ask(
                        self._store, pace, record.name, clock=self._cluster.clock, terms=self._chosen.terms
                    )
                except (Unreachable, Expired) as error:
                    if self._cluster.clock() >= deadline:
                        raise
                    self._tell(f"asking again: {error}")
                    self._sleep(POLL_S)
                    continue
                if current is None or current.run_id != record.run_id or current.phase == "Finished":
                    raise _nothing(record.name, "resume", "it was ended while it waited")
                if current.phase in HOLDING:
                    return None
                if (stands := waiting(current)) != seen:
                    self._tell(stands)
                    seen = stands
                why = (
                    "it cannot fit this cluster even when nothing runs"
                    if current.phase == "Impossible"
                    else ""
                )
                if not why and self._cluster.clock() >= deadline:
                    why = "not admitted in time"
                if why or current.phase == "Suspended":
                    reason = "; ".join(
                        [f"{why or 'it waits no more'}: {current.reason}", *helping(current.rejection)]
                    )
                    return Resumed(name=record.name, outcome="NotAdmitted", reason=reason)
                self._sleep(max(self._chosen.poll_s, POLL_S))

    def _unsuspend(self, name: str, record: GangRecord) -> None:
        """Let the operator make pods again, and wait until it says so: a job that it calls suspended counts as ended."""
        deadline = self._cluster.clock() + CONTROLLER_S
        while (job := self._job(name, record.run_id)) is not None:
            if _is_suspended(job):
                self._patch(job, suspend=False)
            elif state_of(job) != "Suspended":
                return
            elif self._cluster.clock() >= deadline:
                raise Unreachable(_nobody_looks(name), verb="update", kind=TFJOB.name, name=name)
            self._sleep(POLL_S)
        raise _nothing(name, "resume", "its TFJob was deleted")

    def _put_back(self, record: GangRecord, reason: str = REASON) -> bool:
        """Suspend a gang again that could not be gone on with, unless it has ended; whether it was."""
        try:
            self._set_aside(record, reason)
            job = self._job(record.name, record.run_id)
            if job is not None and not _is_suspended(job) and not _has_ended(job):
                self._patch(job, suspend=True)
        except Conflict:
            return False
        except ClusterError as error:
            self._tell(
                f"{record.name} is not suspended again: {error}; gangplan resume {record.name} goes on with it"
            )
            return False
        return True

    def _has_ended_meanwhile(self, record: GangRecord, job: Object) -> str:
        end = ending(job, self._pods(record.name, record.run_id))
        assert end is not None, "its state says that it has ended"
        finish(
            self._store,
            record.name,
            run_id=record.run_id,
            outcome=end.outcome,
            reason=end.reason,
            now=self._cluster.clock(),
            suspended=True,
        )
        return f"{record.name} has ended before it was suspended: {end.outcome}: {end.reason}"

    def _set_aside(self, record: GangRecord, reason: str) -> None:
        now = self._cluster.clock()
        suspension.suspend(self._store, record.name, run_id=record.run_id, reason=reason, now=now)

    def _see_that_it_can_be(self, job: Object | None, *, suspend: bool) -> None:
        """See that the TFJob may be changed, before the record is: a gang must not seem to be what its job is not.

        Raises:
            ClusterError: The server, or a webhook, would refuse it; nothing was changed.
        """
        if job is None or _is_suspended(job) == suspend:
            return
        metadata = job["metadata"]
        change = _changed(suspend=suspend)
        try:
            self._api.would_patch(TFJOB, metadata["name"], change, namespace=metadata["namespace"])
        except NotFound:
            return  # it is looked at again
        except ClusterError as error:
            where = f"{metadata['namespace']}/{metadata['name']}"
            verb = "suspended" if suspend else "resumed"
            asked = {"verb": "patch", "kind": TFJOB.name, "name": metadata["name"]}
            message = f"{where} is not {verb}, and all stays as it was: {error}"
            raise type(error)(message, **asked, namespace=metadata["namespace"]) from error

    def _stop(self, job: Object, name: str) -> None:
        """Let the operator end the pods of a gang that was put aside.

        Raises:
            ClusterError: The server refuses what it would have taken; what is half done is said.
        """
        try:
            self._patch(job, suspend=True)
        except ClusterError as error:
            half = f"{name} holds no room any more, but its TFJob still runs: gangplan suspend {name} goes on with it"
            raise type(error)(f"{error}; {half}", verb="patch", kind=TFJOB.name, name=name) from error

    def _patch(self, job: Object, *, suspend: bool) -> None:
        metadata = job["metadata"]
        version = {"metadata": {"resourceVersion": metadata["resourceVersion"]}}
        change = {**version, **_changed(suspend=suspend)}
        try:
            self._api.patch(TFJOB, metadata["name"], change, namespace=metadata["namespace"])
        except (Conflict, NotFound):
            return  # it is looked at again

    def _found(self, name: str, verb: str) -> GangRecord:
        record = self._store.get(name)
        if record is None:
            raise _nothing(name, verb, "there is no such gang")
        if record.phase == "Finished":
            raise _nothing(name, verb, f"it has ended ({record.standing})")
        return record

    def _job(self, name: str, run: str) -> Object | None:
        namespace, short = split_name(name)
        try:
            job = self._api.get(TFJOB, short, namespace=namespace)
        except NotFound:
            return None
        metadata = job["metadata"]
        is_ours = (metadata.get("labels") or {}).get(RUN_ID, "") == run and not metadata.get(
            "deletionTimestamp"
        )
        return job if is_ours else None

    def _pods(self, name: str, run: str) -> tuple[Object, ...]:
        namespace, short = split_name(name)
        return self._api.list(POD, namespace=namespace, labels=f"{JOB_NAME}={short},{RUN_ID}={run}").items


def _nobody_looks(name: str) -> str:
    return f"nothing has looked at the TFJob of {name} for {CONTROLLER_S:.0f} s: is the training-operator running?"


def _changed(*, suspend: bool) -> Object:
    return {"spec": {"runPolicy": {"suspend": suspend}}}


def _is_suspended(job: Object) -> bool:
    return bool((job["spec"].get("runPolicy") or {}).get("suspend"))


def _has_ended(job: Object) -> bool:
    return state_of(job) in {"Succeeded", "Failed"}


def _is_volcanos(job: Object) -> bool:
    replicas = (job["spec"].get("tfReplicaSpecs") or {}).values()
    return any(spec["template"]["spec"].get("schedulerName") == VOLCANO for spec in replicas)


def _as_it_was_sent(job: Object) -> Object:
    """The manifest of a TFJob as it was created: should another attempt be due, it is created anew."""
    kept = {
        key: job["metadata"][key]
        for key in ("name", "namespace", "labels", "annotations", "ownerReferences")
        if key in job["metadata"]
    }
    policy = {key: value for key, value in (job["spec"].get("runPolicy") or {}).items() if key != "suspend"}
    return {
        "apiVersion": TFJOB.api_version,
        "kind": TFJOB.name,
        "metadata": kept,
        "spec": {**job["spec"], "runPolicy": policy},
    }


def _nothing(name: str, verb: str, why: str) -> NotFound:
    namespace, short = split_name(name)
    return NotFound(
        f"nothing to {verb} of {name}: {why}", verb=verb, kind="Gang", name=short, namespace=namespace
    )
