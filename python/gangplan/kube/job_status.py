"""What became of a TFJob's replicas, told as a runtime tells it."""

from collections.abc import Mapping, Sequence
from typing import Any

from gangplan.kube import moments
from gangplan.kube.actions import End, Object
from gangplan.kube.enforce import replica_of
from gangplan.kube.logs import LogKeeper
from gangplan.kube.names import TENSORFLOW_CONTAINER
from gangplan.runtime import JobStatus, ReplicaState, ReplicaStatus


def job_status(
    name: str, end: End, pods: Sequence[Object], keeper: LogKeeper, *, last_lines: int
) -> JobStatus:
    """Tell how a launch has ended.

    Args:
        name: Name of the gang.
        end: How it ended.
        pods: Its pods as they were last seen.
        keeper: Has their logs.
        last_lines: How many last lines are told of a replica that failed.
    """
    found = {where: pod for pod in pods if (where := replica_of(pod)) is not None}
    replicas = (
        _replica(role, index, pod, keeper, last_lines) for (role, index), pod in sorted(found.items())
    )
    return JobStatus(
        name=name, state=end.outcome, reason=end.reason, replica=end.replica, replicas=tuple(replicas)
    )


def _replica(role: str, index: int, pod: Object, keeper: LogKeeper, last_lines: int) -> ReplicaStatus:
    container = _container(pod)
    state = container.get("state") or {}
    ended: Mapping[str, Any] = state.get("terminated") or {}
    began = ended.get("startedAt") or (state.get("running") or {}).get("startedAt")
    path = keeper.path(f"{role}-{index}")
    failed = (pod.get("status") or {}).get("phase") == "Failed"
    return ReplicaStatus(
        role=role,
        index=index,
        node=pod["spec"].get("nodeName"),
        state=_state(pod),
        exit_code=ended.get("exitCode"),
        restarts=container.get("restartCount", 0),
        log=str(path) if path.exists() else None,
        started_at=None if not began else moments.seconds(began),
        finished_at=None if not ended.get("finishedAt") else moments.seconds(ended["finishedAt"]),
        last_lines=keeper.last_lines(f"{role}-{index}", last_lines) if failed else (),
    )


def _container(pod: Object) -> Mapping[str, Any]:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return next((item for item in statuses if item.get("name") == TENSORFLOW_CONTAINER), {})


def _state(pod: Object) -> ReplicaState:
    """What still ran when the job ended was stopped."""
    phase = (pod.get("status") or {}).get("phase")
    states: Mapping[str | None, ReplicaState] = {
        "Succeeded": "Succeeded",
        "Failed": "Failed",
        "Running": "Stopped",
    }
    return states.get(phase, "Pending")
