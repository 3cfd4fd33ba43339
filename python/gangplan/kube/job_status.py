"""What became of a TFJob's replicas, told as a runtime tells it."""

from collections.abc import Container, Sequence
from dataclasses import replace

from gangplan import moments
from gangplan.gangs import Occurrence
from gangplan.kube.actions import End, Object
from gangplan.kube.cleaning import cleaned
from gangplan.kube.enforce import replica_of
from gangplan.kube.logs import LogKeeper
from gangplan.kube.view import occurrences, replica_status
from gangplan.runtime import JobStatus, ReplicaStatus

LAST_LINES = 20
"""Last lines of a failed replica that are told."""


def job_status(
    name: str,
    end: End,
    job: Object | None,
    pods: Sequence[Object],
    keeper: LogKeeper,
    *,
    events: Sequence[Object],
) -> JobStatus:
    """Tell how a launch has ended.

    Args:
        name: Name of the gang, with its namespace.
        end: How it ended.
        job: Its TFJob as it was last seen; None: it never was.
        pods: Its pods as they were last seen.
        keeper: Has their logs.
        events: Events of its namespace.
    """
    removed = cleaned(job, pods)
    found = {where: pod for pod in pods if (where := replica_of(pod)) is not None}
    return JobStatus(
        name=name,
        # What was not admitted had no job: its step says so, and a job has no such state.
        state="Canceled" if end.outcome == "NotAdmitted" else end.outcome,
        reason=end.reason,
        replica=end.replica,
        replicas=tuple(_ended(where, pod, keeper, removed) for where, pod in sorted(found.items())),
        events=tuple(map(_line, occurrences(events, name.partition("/")[2], pods))),
        uid="" if job is None else str(job["metadata"]["uid"]),
    )


def _ended(where: tuple[str, int], pod: Object, keeper: LogKeeper, removed: Container[str]) -> ReplicaStatus:
    """What still ran when the job ended was stopped."""
    status = replica_status(pod, where, pod["spec"].get("nodeName"))
    path = keeper.path(status.name)
    is_stopped = status.state == "Running" or pod["metadata"]["uid"] in removed
    status = replace(status, state="Stopped" if is_stopped else status.state)
    return replace(
        status,
        log=str(path) if path.exists() else None,
        last_lines=keeper.last_lines(status.name, LAST_LINES) if status.state == "Failed" else (),
    )


def _line(event: Occurrence) -> str:
    at = "" if event.at is None else f"{moments.text(event.at)} "
    times = f" ({event.count} times)" if event.count > 1 else ""
    return f"{at}{event.about}: {event.reason}: {event.message}{times}"
