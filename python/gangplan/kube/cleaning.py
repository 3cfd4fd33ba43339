"""Cleaning: pods that are removed because their TFJob has ended, is suspended or is gone; nothing is wrong with those."""

from collections.abc import Mapping, Sequence
from typing import Any

from gangplan.kube.outcome import Pod, failure_of, is_out_of_time, since_when, state_of, told_by

Job = Mapping[str, Any]


def cleaned(job: Job | None, pods: Sequence[Pod]) -> dict[str, str]:
    """Uid of each such pod → why it is removed, ``the job has ended (cleanPodPolicy: Running)``.

    A pod that was deleted before its job failed is none of them: that is why it failed, and somebody else did it.

    Args:
        job: The TFJob; None: it is gone.
        pods: Its pods. The job is not older than they are, or what its operator does would seem to be done by others.
    """
    failures = {pod["metadata"].get("uid", ""): failure_of(pod) for pod in pods}
    deleted = {uid: found.since for uid, found in failures.items() if found and found.cause == "Deleted"}
    if not deleted:
        return {}
    state = "Created" if job is None else state_of(job)
    if job is not None and state in ("Succeeded", "Failed"):
        policy = _run_policy(job).get("cleanPodPolicy")
        why = "the job has ended" + (f" (cleanPodPolicy: {policy})" if policy else "")
        if state == "Failed" and not is_out_of_time(told_by(job, state)):
            own = [found.since for found in failures.values() if found and found.cause != "Deleted"]
            first = min((since for since in own if since is not None), default=None)
            over = since_when(job, state)
            deleted = {uid: at for uid, at in deleted.items() if _is_after(at, first, over)}
        return dict.fromkeys(deleted, why)
    if job is None or job["metadata"].get("deletionTimestamp"):
        return dict.fromkeys(deleted, "its TFJob was deleted")
    if state == "Suspended" or _run_policy(job).get("suspend"):
        return dict.fromkeys(deleted, "the job is suspended")
    return {}


def _is_after(deleted: float | None, failed: float | None, over: float | None) -> bool:
    """Whether a pod was deleted after another one had failed, or its job; all are moments in whole seconds."""
    if deleted is None:
        return False
    return (failed is not None and deleted >= failed) or (over is not None and deleted > over)


def _run_policy(job: Job) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (job.get("spec") or {}).get("runPolicy") or {}
    return found
