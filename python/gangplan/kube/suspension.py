"""Suspension of a gang of a cluster: its TFJob stays, without pods, until it is resumed, which asks for room anew.

The record is put aside first, so that nobody who looks after the job takes its suspension for its end. Pods that still
run count on their nodes and in the gang's queue until they are gone; so nothing is lost when who suspends is killed.
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
from gangplan.kube.job_switch import JobSwitch, has_ended, is_suspended, is_volcanos
from gangplan.kube.kept_log import kept_folder
from gangplan.kube.kinds import TFJOB
from gangplan.kube.launch import ending
from gangplan.kube.outcome import state_of
from gangplan.kube.progress import helping, waiting
from gangplan.kube.submission import Submission
from gangplan.kube.waited_for import WORD_S
from gangplan.record import HOLDING, GangRecord
from gangplan.signals import uninterrupted
from gangplan.verdict import Pace, ask, never

REASON = "suspended by the user"
CONTROLLER_S = 60.0
"""Seconds until the training-operator says that a TFJob is suspended, or is not any more: it takes one."""


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
        self._cluster, self._store = cluster, cluster.store()
        self._chosen, self._sleep, self._tell = chosen, sleep, tell

    def suspend(self, name: str) -> str:
        """Put a gang aside, and wait until none of its pods is left; a word about it.

        Args:
            name: Its full name.

        Raises:
            NotFound: There is no such gang, or it has ended.
            InvalidInput: Volcano binds its pods: their nodes stand in its TFJob and cannot change.
            Unreachable: No operator ends its pods.
        """
        record = self._found(name, "suspend")
        switch = JobSwitch(self._cluster.api, name, record.run_id)
        job = switch.job()
        if job is not None and is_volcanos(job):
            message = "cannot be suspended: for Volcano the nodes of its replicas stand in its TFJob; delete and submit it"
            raise InvalidInput([Problem(name, "UNSUPPORTED", message)], "the gang")
        if job is not None and has_ended(job):
            raise _nothing(name, "suspend", f"its TFJob has ended ({state_of(job)})")
        switch.see_that_it_can_be(job, suspend=True)
        self._set_aside(record, REASON)
        job, _ = self._without_pods(switch)
        if job is None:
            return f"{name} suspended; it had no TFJob"
        if has_ended(job):
            return self._has_ended_meanwhile(record, switch, job)
        return f"{name} suspended; its TFJob stays, and holds no room"

    def resume(self, name: str, *, wait_s: float, to_the_end: bool) -> Resumed:
        """Let a gang wait for room again, and launch it when it has some.

        One that does not get any in time, or is interrupted before all of its replicas have their nodes, is suspended again.

        Args:
            name: Its full name.
            wait_s: Seconds to wait for room, and before that for pods of it that still end.
            to_the_end: Follow its job to the end, not only until all replicas have their nodes.

        Raises:
            NotFound: There is no such gang, or it is not suspended.
            Unreachable: No operator looks at its TFJob.
        """
        record = self._found(name, "resume")
        switch = JobSwitch(self._cluster.api, name, record.run_id)
        job = switch.job()
        # One that has a TFJob and is not bound is gone on with too: who launched it may have been killed.
        if record.phase != "Suspended" and (
            job is None or (record.phase == "Bound" and not is_suspended(job))
        ):
            raise _nothing(name, "resume", f"it is {record.standing}")
        switch.see_that_it_can_be(job, suspend=False)
        deadline = self._cluster.clock() + wait_s
        if record.phase == "Suspended":
            # Its pods hold their places meanwhile, for which it must not ask a second time.
            job, left = self._without_pods(switch, deadline=deadline)
            if left:
                reason = f"{left} of it had not ended in {wait_s:.0f} s"
                return Resumed(name=name, outcome="NotAdmitted", reason=reason)
        terms = self._chosen.terms
        record = suspension.resume(
            self._store,
            name,
            run_id=record.run_id,
            reason="resumed",
            now=self._cluster.clock(),
            waiter_s=terms.waiter_s,
        )
        if job is None:
            reason = f"it had no TFJob yet: who submitted it goes on with it; if nobody does in {terms.waiter_s:.0f} s it is given up"
            return Resumed(name=name, outcome="Pending", reason=reason)
        following = self._following(record, job)
        try:
            refused = self._refused(record, deadline=deadline)
            if refused is None:
                self._unsuspend(switch)
                end = following.run() if to_the_end else following.run_until_bound()
        except BaseException:
            with uninterrupted():
                if not following.is_bound and self._put_back(record, switch):
                    self._tell(f"{name} is suspended again")
            raise
        if refused is not None:
            self._put_back(record, switch, f"suspended again: {refused.reason}")
            return refused
        return Resumed(
            name=name,
            outcome="Bound" if end is None else end.outcome,
            reason="all replicas have their nodes" if end is None else end.reason,
            placement=following.placement,
        )

    def _without_pods(self, switch: JobSwitch, *, deadline: float | None = None) -> tuple[Object | None, str]:
        """Let the operator end the pods of a gang that was put aside, and wait until none is left.

        Args:
            switch: Its TFJob.
            deadline: Seconds since 1970 until which it is waited; None: as long as pods take to end.

        Returns:
            The TFJob as it was last seen, which may have ended; None: there is none. And replicas that are left then.

        Raises:
            Unreachable: No operator ends them, or nobody answers.
            ClusterError: The server refuses what it would have taken; what is half done is said.
        """
        told = ""
        since = said_at = answered = self._cluster.clock()
        while True:
            now = self._cluster.clock()
            try:
                job, left = self._look(switch)
            except ClusterError as error:
                is_late = now - answered >= CONTROLLER_S or (deadline is not None and now >= deadline)
                if is_late or not isinstance(error, Unreachable | Expired):
                    half = f"{switch.name} is put aside, but its pods may run on"
                    message = f"{error}; {half}: gangplan suspend {switch.name} goes on with it"
                    raise type(error)(message, verb=error.verb, kind=error.kind, name=error.name) from error
                if now - said_at >= WORD_S or now == answered:
                    self._tell(f"asking again: {error}")
                    said_at = now
                self._sleep(POLL_S)
                continue
            if job is None or not left:
                return job, ""
            answered = now
            if left != told:
                since = now
            if left != told or now - said_at >= WORD_S:
                still = f" still, after {now - since:.0f} s" if left == told else ""
                self._tell(f"{switch.name}: waits for {left} to end{still}")
                told, said_at = left, now
            if state_of(job) != "Suspended" and now - since >= CONTROLLER_S:
                message = f"{_nobody_looks(switch.name)}; it is put aside, and {left} of it holds room until it ends"
                raise Unreachable(message, verb="update", kind=TFJOB.name, name=switch.name)
            if deadline is not None and now >= deadline:
                return job, left
            self._sleep(POLL_S)

    def _look(self, switch: JobSwitch) -> tuple[Object | None, str]:
        """The TFJob, suspended if it has not ended, and the replicas that are left of it then."""
        job = switch.job()
        if job is None or has_ended(job):
            return job, ""
        if not is_suspended(job):
            switch.turn(job, suspend=True)
        return job, switch.left()

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
                why = ""
                if current.phase == "Impossible":
                    why = f"{never(current)} even when nothing runs"
                if not why and self._cluster.clock() >= deadline:
                    why = "not admitted in time"
                if why or current.phase == "Suspended":
                    reason = "; ".join(
                        [f"{why or 'it waits no more'}: {current.reason}", *helping(current.rejection)]
                    )
                    return Resumed(name=record.name, outcome="NotAdmitted", reason=reason)
                self._sleep(max(self._chosen.poll_s, POLL_S))

    def _unsuspend(self, switch: JobSwitch) -> None:
        """Let the operator make pods again, and wait until it says so: a job that it calls suspended counts as ended."""
        began = said_at = self._cluster.clock()
        while (job := switch.job()) is not None:
            asked = not is_suspended(job)
            if not asked:
                switch.turn(job, suspend=False)
            elif state_of(job) != "Suspended":
                return
            now = self._cluster.clock()
            if now - began >= CONTROLLER_S:
                again = f"somebody suspends the TFJob of {switch.name} whenever it is to go on"
                why = _nobody_looks(switch.name) if asked else again
                raise Unreachable(why, verb="update", kind=TFJOB.name, name=switch.name)
            if now - said_at >= WORD_S:
                self._tell(f"{switch.name}: waits for the training-operator to go on with its TFJob")
                said_at = now
            self._sleep(POLL_S)
        raise _nothing(switch.name, "resume", "its TFJob was deleted")

    def _put_back(self, record: GangRecord, switch: JobSwitch, reason: str = REASON) -> bool:
        """Suspend a gang again that could not be gone on with, unless it has ended; whether it was."""
        try:
            self._set_aside(record, reason)
            # What was changed a moment ago, by its controller for one, is looked at again.
            while (job := switch.job()) is not None and not is_suspended(job) and not has_ended(job):
                switch.turn(job, suspend=True)
        except Conflict:
            return False
        except ClusterError as error:
            self._tell(
                f"{record.name} is not suspended again: {error}; gangplan resume {record.name} goes on with it"
            )
            return False
        return True

    def _has_ended_meanwhile(self, record: GangRecord, switch: JobSwitch, job: Object) -> str:
        end = ending(job, switch.pods())
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

    def _found(self, name: str, verb: str) -> GangRecord:
        record = self._store.get(name)
        if record is None:
            raise _nothing(name, verb, "there is no such gang")
        if record.phase == "Finished":
            raise _nothing(name, verb, f"it has ended ({record.standing})")
        return record


def _nobody_looks(name: str) -> str:
    return f"nothing has looked at the TFJob of {name} for {CONTROLLER_S:.0f} s: is the training-operator running?"


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
