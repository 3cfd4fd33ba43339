"""Launch: from an admitted gang to the honest end of its TFJob, as decisions without input or output.

Each step looks at what there is and says what to do about it, so that a launcher may be killed anywhere and another one,
which knows nothing of the first, goes on. What a launcher remembers only makes it patient or tells things better.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from gangplan.config import Enforcement
from gangplan.kube import volcano
from gangplan.kube.actions import (
    Action,
    Admit,
    Again,
    Bind,
    Create,
    Delete,
    End,
    Object,
    Pin,
    Renew,
    Seen,
)
from gangplan.kube.cleaning import cleaned
from gangplan.kube.enforce import is_gated, replica_of
from gangplan.kube.names import ATTEMPT, RUN_ID
from gangplan.kube.outcome import has_ended_badly, is_out_of_time, replica_name, state_of, told_by, troubles
from gangplan.kube.patience import Patience
from gangplan.record import HOLDING, WAITING, GangRecord

_GROUP = ("group", "")
"""Since when a gang waits in vain for Volcano."""

_GONE = ("gone", "")
"""Since when something is waited for that was deleted."""


NO_FAULT = frozenset({"Preempted", "Evicted", "NodeLost", "Unschedulable"})
"""Causes of trouble that another attempt may be spared: the job did nothing wrong."""


@dataclass(slots=True)
class Launch:
    """One launch of one gang.

    Attributes:
        run_id: The run that the gang belongs to.
        reservation_s: Seconds for which a reservation is kept at a time.
        waiter_s: Seconds that a gang waits on for another attempt when nobody asks for it anew.
        attempts: How many attempts there are at most, where what ended one is in :data:`NO_FAULT`. A program that
            writes checkpoints goes on from its last one.
        patience: How long what may pass by itself is waited for.
        enforcement: Who binds the pods.
    """

    run_id: str
    reservation_s: float
    waiter_s: float = 600.0
    attempts: int = 3
    patience: Patience = field(default_factory=Patience)
    enforcement: Enforcement = "default"
    _was_there: bool = False
    _ending: End | None = None
    _spares_ended: bool = False
    _since: dict[tuple[str, str], float] = field(default_factory=dict)
    _stage: tuple[object, ...] = ()

    @property
    def has_begun(self) -> bool:
        """Whether there was a TFJob to look after."""
        return self._was_there

    def give_up(self, end: End, *, spare_ended: bool = False) -> None:
        """Let nothing be left of the job, and then end.

        Args:
            end: How it ends then.
            spare_ended: Leave a job that has ended by itself, and end as it did.
        """
        self._ending, self._spares_ended = self._ending or end, spare_ended

    def step(self, seen: Seen, now: float) -> list[Action]:
        """What to do about what there is.

        Args:
            seen: What there is.
            now: Seconds since 1970.

        Returns:
            What to do, in this order; an :class:`End` is the last that is ever returned.
        """
        job, record = seen.job, seen.record
        if job is not None and not self._is_ours(job):
            return [End(outcome="Failed", reason=_foreign(job))]
        if job is not None:
            self._was_there = True
        if self._ending is not None:
            ended = (
                ending(job, (*seen.pods, *seen.passed)) if job is not None and self._spares_ended else None
            )
            return self._until_gone(seen, now) if ended is None else [ended]
        record = record if record is not None and record.run_id == self.run_id else None
        if record is not None and record.phase == "Suspended":
            return [End(outcome="Canceled", reason=suspended(record))]
        if record is not None and (stage := (record.attempt, record.phase)) != self._stage:
            self._stage, self._since = stage, {}
        late = job is not None and record is not None and _attempt_of(job) < record.attempt
        if job is not None and (ended := ending(job, (*seen.pods, *seen.passed))) is not None:
            if ended.outcome == "Succeeded":
                return [ended]
            if not late:
                return [self._another(ended, record) or ended]
        if record is None or record.phase not in WAITING | HOLDING:
            return self._end(_without_room(seen.record, self.run_id), seen, now)
        if late or record.phase in WAITING:
            return self._wait_again(seen, record, now)
        if job is None:
            if self._was_there or record.phase == "Bound":
                return [End(outcome="Canceled", reason="the TFJob was deleted by somebody else")]
            placement = {} if record.reservation is None else record.reservation.placement
            if self.enforcement == "volcano" and (why := volcano.uneven(placement)) is not None:
                return self._end(End(outcome="Failed", reason=why), seen, now)
            return [*self._keep(record, now), Create(attempt=record.attempt, placement=placement)]
        if job["metadata"].get("deletionTimestamp"):
            return []
        ours = [pod for pod in seen.pods if self._is_ours(pod)]
        # Those that make room for others are not its replicas any more.
        pods = [pod for pod in ours if not pod["metadata"].get("deletionTimestamp")]
        if (given_up := self._given_up(seen, job, pods, ours, record, now)) is not None:
            another = self._another(given_up, record)
            return self._end(given_up, seen, now) if another is None else [another]
        return [*self._hold(pods, record, now), *_pins(pods, record, now)]

    def _is_ours(self, item: Object) -> bool:
        return bool((item["metadata"].get("labels") or {}).get(RUN_ID) == self.run_id)

    def _another(self, end: End, record: GangRecord | None) -> Again | None:
        """Whether a job that has not succeeded is tried again; not if somebody wanted it to end."""
        if end.cause not in NO_FAULT or record is None or record.attempt >= self.attempts:
            return None
        # Who leads admission may have seen the failure first.
        if record.phase not in HOLDING and (record.outcome != "Failed" or record.published):
            return None
        return Again(reason=f"attempt {record.attempt} of {self.attempts} ended: {end.reason}")

    def _wait_again(self, seen: Seen, record: GangRecord, now: float) -> list[Action]:
        """Let nothing be left of an earlier attempt, and wait for room."""
        self._was_there = False
        remove = [] if seen.job is None else _removal(seen.job)
        if self._is_stuck(seen, now):
            reason = f"{record.reason}; nothing can be tried again: {_left(seen)}"
            return [End(outcome="Failed", reason=reason)]
        if record.phase in HOLDING:
            return [*remove, *self._keep(record, now)]
        if now - self._since.setdefault(("room", ""), now) >= self.patience.room:
            reason = f"there was no room for it any more in {self.patience.room:.0f} s: {record.reason}"
            return self._end(End(outcome="Failed", reason=reason), seen, now)
        return [*remove, Admit()]

    def _end(self, end: End, seen: Seen, now: float) -> list[Action]:
        """End once nothing runs any more."""
        self._ending = end
        return self._until_gone(seen, now)

    def _until_gone(self, seen: Seen, now: float) -> list[Action]:
        assert self._ending is not None, "who waits for the end has decided how it ends"
        if seen.job is None and not seen.pods:
            return [self._ending]
        if self._is_stuck(seen, now):
            return [replace(self._ending, reason=f"{self._ending.reason}; {_left(seen)}")]
        return [] if seen.job is None else _removal(seen.job)

    def _is_stuck(self, seen: Seen, now: float) -> bool:
        """Whether what was deleted should be gone long since."""
        about = [item["metadata"] for item in (seen.job, *seen.pods) if item]
        leaving = [metadata for metadata in about if metadata.get("deletionTimestamp")]
        if not leaving:
            self._since.pop(_GONE, None)
            return False
        # A pod that hears nothing is well until the time is over that it was given to end.
        given = max(metadata.get("deletionGracePeriodSeconds") or 0 for metadata in leaving)
        return bool(now - self._since.setdefault(_GONE, now) >= self.patience.gone + given)

    def _given_up(
        self,
        seen: Seen,
        job: Object,
        pods: Sequence[Object],
        leaving_too: Sequence[Object],
        record: GangRecord,
        now: float,
    ) -> End | None:
        """Why the job is not waited for any longer; None if it is."""
        if seen.refused and not pods:
            # What is used up may be given back; what a quota wants to be told will not be.
            may_pass = "exceeded quota" in seen.refused
            patience = self.patience.pods if may_pass else self.patience.refused
            if now - self._since.setdefault(("refused", ""), now) >= patience:
                return End(outcome="Failed", reason=f"its pods are refused: {refused(seen.refused)}")
            return None
        if not (job.get("status") or {}).get("conditions"):
            if now - self._since.setdefault(("controller", ""), now) >= self.patience.controller:
                reason = (
                    f"nothing has looked at the TFJob for {self.patience.controller:.0f} s: "
                    "is the training-operator running, and does it serve TFJobs?"
                )
                return End(outcome="Failed", reason=reason)
            return None
        hidden = seen.group_is_hidden
        if not hidden and (why := self._held_back(seen.group, pods, record, now)) is not None:
            return End(outcome="Failed", reason=why)
        if len(pods) < sum(1 for _ in _replicas(record)) and record.phase == "Reserved":
            if now - self._since.setdefault(("pods", ""), now) >= self.patience.pods:
                name = job["metadata"]["name"]
                reason = (
                    f"its pods were not created in {self.patience.pods:.0f} s: a quota or an admission rule may refuse "
                    f"them; `kubectl describe tfjob {name}` tells"
                )
                if seen.group is not None:
                    state = volcano.state(seen.group)
                    reason = (
                        f"Volcano did not let its pods come in {self.patience.pods:.0f} s: PodGroup {state}"
                    )
                return End(outcome="Failed", reason=reason)
            return None
        lost = [pod for pod in leaving_too if has_ended_badly(pod)]
        found = {(trouble.cause, trouble.replica): trouble for trouble in troubles([*pods, *lost])}
        self._since = {key: since for key, since in self._since.items() if key in found or key == _GROUP}
        for key, trouble in found.items():
            limit = self.patience.of(trouble)
            if limit is not None and now - self._since.setdefault(key, now) >= limit:
                reason = f"{trouble.replica}: {trouble.text}; waited for {limit:.0f} s"
                return End(outcome="Failed", reason=reason, replica=trouble.replica, cause=trouble.cause)
        return None

    def _held_back(
        self, group: Object | None, pods: Sequence[Object], record: GangRecord, now: float
    ) -> str | None:
        """Why the gang waits in vain for Volcano; None if it does not, or may not for ever."""
        why = volcano.in_vain(group, pods, record, asked=self.enforcement == "volcano")
        if why is None:
            self._since.pop(_GROUP, None)
            return None
        since = self._since.setdefault(_GROUP, now)
        return None if now - since < self.patience.group else f"{why}; waited for {self.patience.group:.0f} s"

    def _hold(self, pods: Sequence[Object], record: GangRecord, now: float) -> list[Action]:
        if record.phase == "Reserved":
            placed = {replica_of(pod) for pod in pods if pod["spec"].get("nodeName")}
            wanted = set(_replicas(record))
            if wanted <= placed:
                return [Bind()]
        return self._keep(record, now)

    def _keep(self, record: GangRecord, now: float) -> list[Action]:
        """Renew a reservation before half of its time is over."""
        held = record.reservation
        if held is None or held.expires_at is None or held.expires_at - now > self.reservation_s / 2:
            return []
        return [Renew(expires_at=now + self.reservation_s)]


def _removal(job: Object) -> list[Action]:
    metadata = job["metadata"]
    return [] if metadata.get("deletionTimestamp") else [Delete(uid=str(metadata.get("uid", "")))]


def _left(seen: Seen) -> str:
    """What did not end, and what to do about it."""
    pods = [f"{replica_name(pod)} on {pod['spec'].get('nodeName') or 'no node'}" for pod in seen.pods]
    names = " ".join(pod["metadata"]["name"] for pod in seen.pods)
    if not pods:
        return "the TFJob did not end: is the training-operator running?"
    return (
        f"{', '.join(pods)} had not ended when it was last looked at: if it is still there and its node is gone for good, "
        f"kubectl delete pod --force {names}"
    )


def _attempt_of(job: Object) -> int:
    told = (job["metadata"].get("labels") or {}).get(ATTEMPT, "1")
    return int(told) if told.isdecimal() else 1


def renewed(record: GangRecord, expires_at: float) -> GangRecord:
    """A record that holds its reservation longer."""
    assert record.reservation is not None, "only a reservation is renewed"
    return replace(record, reservation=replace(record.reservation, expires_at=expires_at))


def _replicas(record: GangRecord) -> Iterator[tuple[str, int]]:
    placement = {} if record.reservation is None else record.reservation.placement
    for role, nodes in placement.items():
        yield from ((role, index) for index in range(len(nodes)))


def _pins(pods: Sequence[Object], record: GangRecord, now: float) -> Iterator[Pin]:
    held = record.reservation
    if held is None or (held.expires_at is not None and held.expires_at <= now):
        return
    placement = held.placement
    for pod in pods:
        found = replica_of(pod)
        if found is None or not is_gated(pod):
            continue
        role, index = found
        nodes = placement.get(role, ())
        if index < len(nodes):
            yield Pin(pod=pod, node=nodes[index])


def ending(job: Object, pods: Sequence[Object]) -> End | None:
    """How a TFJob has ended by itself; None if it has not. Those of its pods that ended badly tell why it failed."""
    state = state_of(job)
    said = told_by(job, state)
    if state == "Succeeded":
        return End(outcome="Succeeded", reason=said or "the TFJob succeeded")
    if state == "Suspended":
        return End(
            outcome="Canceled", reason="the TFJob was suspended by somebody else; it holds no room any more"
        )
    if state != "Failed":
        return None
    if is_out_of_time(said):
        return End(outcome="TimedOut", reason=said)
    # What ended first is the cause; what ended later was mostly ended because of it.
    after = cleaned(job, pods)
    ended = [pod for pod in pods if has_ended_badly(pod) and pod["metadata"].get("uid") not in after]
    first = next((trouble for trouble in troubles(ended) if trouble.since is not None), None)
    if first is None:
        return End(outcome="Failed", reason=said or "the TFJob failed, and no pod is left to say why")
    return End(
        outcome="Failed",
        reason=f"{first.replica}: {first.text}",
        replica=first.replica,
        cause=first.cause,
    )


def _without_room(record: GangRecord | None, run_id: str) -> End:
    if record is None:
        return End(outcome="Canceled", reason="the record of the gang was removed: it holds no room any more")
    if record.run_id != run_id:
        return End(outcome="Failed", reason=f"the gang {record.name} belongs to another run, {record.run_id}")
    if record.phase == "Finished" and record.outcome is not None:
        return End(outcome=record.outcome, reason=record.reason)
    raise AssertionError(f"a gang that is {record.phase} has room, or waits for it")


def suspended(record: GangRecord) -> str:
    """Why a gang is not looked after that somebody has put aside, and who goes on with it."""
    namespace, _, name = record.name.partition("/")
    return f"{record.reason}: it goes on with gangplan resume {name} -n {namespace}"


def refused(said: str) -> str:
    """What the server says of pods that it refuses, with what to do about what a job from flags cannot say."""
    if "must specify" not in said:
        return said
    return (
        f"{said}; a quota of the namespace counts that: give it in the job's file (resources of the container "
        "tensorflow), or let an administrator set defaults with a LimitRange"
    )


def _foreign(job: Object) -> str:
    owner = (job["metadata"].get("labels") or {}).get(RUN_ID)
    whose = f"belongs to another run, {owner}" if owner else "was not made by a run of ours"
    return f"there is a TFJob {job['metadata']['name']} already, and it {whose}: delete it or choose another name"
