"""Outcome: what became of a TFJob, told from its conditions and its pods, and why.

It has succeeded only if its controller says so. All conditions are read: after the end the one of the last state change
is not the last of the list.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gangplan import moments
from gangplan.kube.enforce import replica_of
from gangplan.kube.names import TENSORFLOW_CONTAINER

Pod = Mapping[str, Any]

State = Literal["Created", "Running", "Restarting", "Suspended", "Succeeded", "Failed"]

PULL_FAILURES = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}
)
CONFIG_FAILURES = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
EVICTIONS = frozenset({"EvictionByEvictionAPI", "TerminationByKubelet"})
NODE_GONE = frozenset({"DeletionByPodGC", "DeletionByTaintManager"})
KILLED = frozenset({137, 143})
"""Exit codes of programs that SIGKILL and SIGTERM ended."""
NODE_LOST = frozenset({"NodeLost", "NodeShutdown", "Terminated", "Shutdown"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Why a replica does not run, or ended badly.

    Attributes:
        cause: Stable name of the kind: ``ImagePull``, ``Unschedulable``, ``Evicted``, ``Preempted``, ``OOMKilled``,
            ``NodeLost``, ``Config``, ``Deleted``, ``Crashed``.
        replica: The replica, ``worker-1``.
        text: What is wrong, in a sentence.
        since: Seconds since 1970 from which it is so; None: not told.
    """

    cause: str
    replica: str
    text: str
    since: float | None = None


def state_of(job: Mapping[str, Any]) -> State:
    """Where a TFJob stands, by its conditions that hold; Created if its controller has not said anything."""
    holding = {item["type"] for item in _conditions(job) if item.get("status") == "True"}
    order: tuple[State, ...] = ("Succeeded", "Failed", "Suspended", "Restarting", "Running")
    return next((state for state in order if state in holding), "Created")


def told_by(job: Mapping[str, Any], state: State) -> str:
    """What the controller says about a state; empty if nothing."""
    texts = [
        item.get("message") or ""
        for item in _conditions(job)
        if item.get("type") == state and item.get("status") == "True"
    ]
    return next(iter(texts), "")


def since_when(job: Mapping[str, Any], state: State) -> float | None:
    """Since when a TFJob is in a state, in seconds since 1970; None: not told."""
    texts = [item.get("lastTransitionTime") for item in _conditions(job) if item.get("type") == state]
    return _seconds(next(iter(texts), None))


def is_out_of_time(said: str) -> bool:
    """Whether training-operator says so that a job has failed because it ran for too long."""
    return "active longer than specified deadline" in said


def _conditions(item: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = (item.get("status") or {}).get("conditions") or ()
    return found


def troubles(pods: Sequence[Pod]) -> tuple[Trouble, ...]:
    """What is wrong with the replicas, those that ended first."""
    found = [trouble for pod in pods for trouble in _troubles_of(pod)]
    # Within the same second: what was deleted was mostly deleted because of the others.
    return tuple(sorted(found, key=lambda item: (item.since or 0.0, item.cause == "Deleted", item.replica)))


def _troubles_of(pod: Pod) -> Iterator[Trouble]:
    replica = replica_name(pod)
    status = pod.get("status") or {}
    if (failure := failure_of(pod)) is not None:
        yield failure
        return
    for item in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        waiting = (item.get("state") or {}).get("waiting") or {}
        reason, message = waiting.get("reason") or "", waiting.get("message") or ""
        if reason in PULL_FAILURES:
            yield Trouble(
                cause="ImagePull", replica=replica, text=f"its image cannot be pulled: {message or reason}"
            )
        elif reason in CONFIG_FAILURES:
            yield Trouble(
                cause="Config", replica=replica, text=f"its container cannot be made: {message or reason}"
            )
    for item in status.get("conditions") or ():
        if item.get("type") == "PodScheduled" and item.get("reason") == "Unschedulable":
            since = _seconds(item.get("lastTransitionTime"))
            text = f"it cannot be scheduled: {item.get('message') or 'no reason was given'}"
            yield Trouble(cause="Unschedulable", replica=replica, text=text, since=since)


def failure_of(pod: Pod) -> Trouble | None:
    """Why a pod has ended badly; None if it has not."""
    return _failure(pod, replica_name(pod)) if has_ended_badly(pod) else None


def has_ended_badly(pod: Pod) -> bool:
    """Whether a pod has failed, or is made to go before it has succeeded."""
    phase = (pod.get("status") or {}).get("phase")
    return (
        phase == "Failed"
        or bool(exit_code(pod))  # its phase follows a moment later, if the pod is there for so long
        or (bool(pod["metadata"].get("deletionTimestamp")) and phase != "Succeeded")
    )


def _asked_to_go(pod: Pod) -> float | None:
    """When a pod was deleted: what the server tells is when its time to end is over."""
    metadata = pod["metadata"]
    if (over := _seconds(metadata.get("deletionTimestamp"))) is None:
        return None
    grace: float = metadata.get("deletionGracePeriodSeconds") or 0.0
    return over - grace


def _was_deleted(pod: Pod, ended: Mapping[str, Any]) -> bool:
    """Whether a pod ended because it was deleted, and not the other way round: training-operator deletes what failed."""
    asked, at, code = _asked_to_go(pod), _seconds(ended.get("finishedAt")), ended.get("exitCode")
    if asked is None:
        return False
    # Moments are in whole seconds; within one, what ended by a signal was told to.
    return at is None or at > asked or (at == asked and code in KILLED)


def _disruption(pod: Pod) -> Mapping[str, Any]:
    """Why a pod was made to go by others than its owner; empty if it was not."""
    found = (item for item in _conditions(pod) if item.get("type") == "DisruptionTarget")
    return next((item for item in found if item.get("status") == "True"), {})


def _failure(pod: Pod, replica: str) -> Trouble:
    status = pod.get("status") or {}
    ended = terminated(pod) or {}
    disrupted = _disruption(pod)
    # A node that is gone has not told how the container ended.
    since = _seconds(disrupted.get("lastTransitionTime") or ended.get("finishedAt"))
    since = _asked_to_go(pod) if since is None else since
    reason, by = status.get("reason") or "", disrupted.get("reason") or ""
    detail = status.get("message") or disrupted.get("message") or ended.get("message") or ""
    if by.startswith("Preemption"):
        cause, text = "Preempted", "it was preempted"
    elif reason == "Evicted" or by in EVICTIONS:
        cause, text = "Evicted", "it was evicted"
    elif reason in NODE_LOST or by in NODE_GONE:
        cause, text = "NodeLost", "its node is gone"
    elif ended.get("reason") == "OOMKilled":
        cause, text = "OOMKilled", "it needed more memory than its limit (OOMKilled)"
    elif _was_deleted(pod, ended):
        cause, text = "Deleted", "its pod was deleted by somebody else"
    elif (code := ended.get("exitCode")) is not None:
        cause, text = "Crashed", f"it ended with exit code {code}"
    else:
        cause, text = "Crashed", "it failed"
    return Trouble(cause=cause, replica=replica, text=f"{text}: {detail}" if detail else text, since=since)


def replica_name(pod: Pod) -> str:
    """``worker-1``; the pod's own name if its labels do not tell."""
    found = replica_of(pod)
    return str(pod["metadata"]["name"]) if found is None else f"{found[0]}-{found[1]}"


def container_status(pod: Pod) -> Mapping[str, Any]:
    """What is told of the ``tensorflow`` container; empty if nothing is."""
    told: Sequence[Mapping[str, Any]] = (pod.get("status") or {}).get("containerStatuses") or ()
    return next((item for item in told if item.get("name") == TENSORFLOW_CONTAINER), {})


def terminated(pod: Pod) -> Mapping[str, Any] | None:
    """How the ``tensorflow`` container ended; None if it has not."""
    found: Mapping[str, Any] | None = (container_status(pod).get("state") or {}).get("terminated")
    return found


def exit_code(pod: Pod) -> int | None:
    """Exit code of the ``tensorflow`` container; None while it runs, or if it never did."""
    ended = terminated(pod)
    return None if ended is None else ended.get("exitCode")


def _seconds(text: str | None) -> float | None:
    return None if not text else moments.seconds(text)
