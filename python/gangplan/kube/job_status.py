"""What became of a TFJob's replicas, told as a runtime tells it."""

from collections.abc import Sequence
from dataclasses import replace

from gangplan.gangs import Occurrence
from gangplan.kube import moments
from gangplan.kube.actions import End, Object
from gangplan.kube.enforce import replica_of
from gangplan.kube.logs import LogKeeper
from gangplan.kube.view import occurrences, replica_status
from gangplan.runtime import JobStatus, ReplicaStatus

LAST_LINES = 20
"""Last lines of a failed replica that are told."""


def job_status(
    name: str, end: End, pods: Sequence[Object], keeper: LogKeeper, *, events: Sequence[Object]
) -> JobStatus:
    """Tell how a launch has ended.

    Args:
        name: Name of the gang, with its namespace.
        end: How it ended.
        pods: Its pods as they were last seen.
        keeper: Has their logs.
        events: Events of its namespace.
    """
    found = {where: pod for pod in pods if (where := replica_of(pod)) is not None}
    return JobStatus(
        name=name,
        state=end.outcome,
        reason=end.reason,
        replica=end.replica,
        replicas=tuple(_ended(where, pod, keeper) for where, pod in sorted(found.items())),
        events=tuple(map(_line, occurrences(events, name.partition("/")[2], pods))),
    )


def _ended(where: tuple[str, int], pod: Object, keeper: LogKeeper) -> ReplicaStatus:
    """What still ran when the job ended was stopped."""
    status = replica_status(pod, where, pod["spec"].get("nodeName"))
    path = keeper.path(status.name)
    return replace(
        status,
        state="Stopped" if status.state == "Running" else status.state,
        log=str(path) if path.exists() else None,
        last_lines=keeper.last_lines(status.name, LAST_LINES) if status.state == "Failed" else (),
    )


def _line(event: Occurrence) -> str:
    at = "" if event.at is None else f"{moments.text(event.at)} "
    times = f" ({event.count} times)" if event.count > 1 else ""
    return f"{at}{event.about}: {event.reason}: {event.message}{times}"
