"""What a person sees of a gang of a cluster: its pods as replicas, what the operator says, what was noted."""

import dataclasses
from collections.abc import Container, Iterator, Mapping, Sequence

from gangplan import moments
from gangplan.gangs import Condition, GangView, Occurrence
from gangplan.kube.actions import Object
from gangplan.kube.cleaning import cleaned
from gangplan.kube.enforce import replica_of
from gangplan.kube.names import ROLES
from gangplan.kube.outcome import container_status, exit_code, troubles
from gangplan.record import HOLDING, GangRecord
from gangplan.runtime import ReplicaState, ReplicaStatus

EVENTS = 10
"""Events that are shown: what happened last is mostly why it stands where it does."""

_STATES: Mapping[str, ReplicaState] = {
    "Pending": "Pending",
    "Running": "Running",
    "Succeeded": "Succeeded",
    "Failed": "Failed",
}


def view(
    record: GangRecord, job: Object | None, pods: Sequence[Object], events: Sequence[Object]
) -> GangView:
    """Put together what there is.

    Args:
        record: The record of the gang.
        job: Its TFJob; None: none.
        pods: Its pods.
        events: Events of its namespace, of whatever object.
    """
    # While a gang has room, a job that is not there was deleted by somebody, or may not be looked at.
    removed = {} if job is None and record.phase in HOLDING else cleaned(job, pods)
    wrong = troubles([pod for pod in pods if pod["metadata"]["uid"] not in removed])
    replicas = _replicas(record, pods, removed)
    return GangView(
        record=record,
        replicas=tuple(sorted(replicas, key=lambda item: (_rank(item.role), item.index))),
        troubles=tuple(f"{trouble.replica}: {trouble.text}" for trouble in wrong),
        conditions=tuple(sorted(_conditions(job or {}), key=lambda item: item.at or 0.0)),
        events=occurrences(
            events,
            record.name.partition("/")[2],
            pods,
            gang_uid=record.uid,
            job_uid="" if job is None else job["metadata"]["uid"],
            since=record.gang.created,
        ),
    )


def occurrences(
    events: Sequence[Object],
    name: str,
    pods: Sequence[Object],
    *,
    gang_uid: str = "",
    job_uid: str = "",
    since: float = 0.0,
) -> tuple[Occurrence, ...]:
    """What was noted last about a gang, its TFJob and its pods, oldest first.

    Events outlive their objects: what was noted about earlier ones of the same names is left out.

    Args:
        events: Events of its namespace, of whatever object.
        name: Name of the gang and of its TFJob.
        pods: Its pods.
        gang_uid: Uid of the gang's object; empty: not known, so that its name counts.
        job_uid: Uid of the TFJob, in the same way.
        since: When the gang was asked for, in seconds since 1970: what was noted before is about an earlier one.
    """
    uids = {("Gang", name): gang_uid, ("TFJob", name): job_uid}
    uids |= {("Pod", pod["metadata"]["name"]): pod["metadata"]["uid"] for pod in pods}

    def is_meant(event: Object) -> bool:
        wanted = uids.get(_about(event))
        found = (event.get("involvedObject") or {}).get("uid")
        return wanted is not None and (not wanted or not found or found == wanted)

    told = [_occurrence(event) for event in events if is_meant(event)]
    told = [item for item in told if item.at is None or item.at >= since]
    return tuple(sorted(told, key=lambda item: item.at or 0.0)[-EVENTS:])


def _replicas(record: GangRecord, pods: Sequence[Object], removed: Container[str]) -> Iterator[ReplicaStatus]:
    """One for each pod, and for each place that is held for a replica without one."""
    placement = {} if record.reservation is None else record.reservation.placement
    held = {(role, index): node for role, nodes in placement.items() for index, node in enumerate(nodes)}
    for pod in pods:
        if (replica := replica_of(pod)) is not None:
            node = held.pop(replica, None)
            found = replica_status(pod, replica, pod["spec"].get("nodeName") or node)
            is_stopped = pod["metadata"]["uid"] in removed
            yield dataclasses.replace(found, state="Stopped") if is_stopped else found
    for (role, index), node in held.items():
        yield ReplicaStatus(role=role, index=index, node=node)


def replica_status(pod: Object, replica: tuple[str, int], node: str | None) -> ReplicaStatus:
    """Where a replica stands, by its pod.

    Args:
        pod: The pod.
        replica: Role and index.
        node: Where it is, or is to be; None: nowhere yet.
    """
    status = pod.get("status") or {}
    container = container_status(pod)
    state = container.get("state") or {}
    ended = state.get("terminated") or {}
    restarts = container.get("restartCount")
    return ReplicaStatus(
        role=replica[0],
        index=replica[1],
        node=node,
        state=_state(status.get("phase") or "Pending", exit_code(pod)),
        exit_code=exit_code(pod),
        restarts=restarts if isinstance(restarts, int) else 0,
        started_at=_seconds((state.get("running") or ended).get("startedAt")),
        finished_at=_seconds(ended.get("finishedAt")),
    )


def _state(phase: str, code: int | None) -> ReplicaState:
    """The phase of a pod; where its program has ended, how: the phase follows a moment later."""
    if phase == "Running" and code is not None:
        return "Failed" if code else "Succeeded"
    return _STATES.get(phase, "Unknown")


def _rank(role: str) -> int:
    order = list(dict.fromkeys(ROLES.values()))
    return order.index(role) if role in order else len(order)


def _conditions(job: Object) -> Iterator[Condition]:
    for item in (job.get("status") or {}).get("conditions") or ():
        yield Condition(
            at=_seconds(item.get("lastTransitionTime")),
            type=item.get("type") or "",
            holds=item.get("status") == "True",
            message=item.get("message") or item.get("reason") or "",
        )


def _about(event: Object) -> tuple[str, str]:
    about = event.get("involvedObject") or {}
    return about.get("kind") or "", about.get("name") or ""


def _occurrence(event: Object) -> Occurrence:
    """Old and new writers of events put time and count into different fields."""
    series = event.get("series") or {}
    at = (
        series.get("lastObservedTime")
        or event.get("lastTimestamp")
        or event.get("eventTime")
        or event["metadata"].get("creationTimestamp")
    )
    return Occurrence(
        at=_seconds(at),
        about=" ".join(_about(event)),
        reason=event.get("reason") or "",
        message=event.get("message") or "",
        count=series.get("count") or event.get("count") or 1,
    )


def _seconds(text: str | None) -> float | None:
    return None if not text else moments.seconds(text)
