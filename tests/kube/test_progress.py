"""Progress of a launch as it is told: each thing that happens to a replica once, in words that are true."""

from launches.seen import RUNNING, job

from gangplan.kube.actions import Seen
from gangplan.kube.progress import Told
from gangplan.kube.view import replica_status


def pod(phase: str, node: str | None = "n1", **state: object) -> dict:
    """The pod of worker-0; its container is in a state."""
    operator = "training.kubeflow.org"
    labels = {
        f"{operator}/job-name": "j",
        f"{operator}/replica-type": "worker",
        f"{operator}/replica-index": "0",
    }
    container = {"name": "tensorflow", "state": state}
    status = {"phase": phase, "containerStatuses": [container] if state else []}
    return {
        "metadata": {"name": "j-worker-0", "uid": "1", "labels": labels},
        "spec": {"nodeName": node} if node else {},
        "status": status,
    }


def told(*pods: dict) -> list[str]:
    lines: list[str] = []
    tell = Told(lines.append)
    for each in pods:
        tell(Seen(job=None, pods=(each,), record=None))
    return lines


def pulling(reason: str, message: str) -> dict:
    return {"waiting": {"reason": reason, "message": message}}


def test_a_replica_is_told_from_its_node_to_its_end():
    ended = {"terminated": {"exitCode": 0}}
    pods = (
        pod("Pending", None),
        pod("Pending"),
        pod("Pending"),
        pod("Running", running={}),
        pod("Running", **ended),
        pod("Succeeded", **ended),
    )
    assert told(*pods) == [
        "worker-0 on n1: Pending",
        "worker-0 on n1: Running",
        "worker-0 on n1: ended with exit code 0",
    ]


def test_a_program_that_failed_is_told_once_with_its_exit_code():
    ended = {"terminated": {"exitCode": 3}}
    assert told(pod("Running", **ended), pod("Failed", **ended)) == ["worker-0 on n1: ended with exit code 3"]
    killed = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    assert told(pod("Failed", **killed)) == [
        "worker-0 on n1: ended with exit code 137: it needed more memory than its limit (OOMKilled)"
    ]


def test_a_trouble_that_is_worded_in_turns_is_told_once():
    """A kubelet tries to pull, and holds back, and tries again."""
    tries, waits = (
        pulling("ErrImagePull", "no such image: x"),
        pulling("ImagePullBackOff", "Back-off pulling x"),
    )
    lines = told(
        *(pod("Pending", **state) for state in (tries, waits, tries, waits)), pod("Running", running={})
    )
    assert lines == [
        "worker-0 on n1: Pending: its image cannot be pulled: no such image: x",
        "worker-0 on n1: Running",
    ]


def test_a_replica_whose_program_has_ended_does_not_run_any_more():
    """Its pod is Running for a moment longer."""
    for code, state in ((0, "Succeeded"), (3, "Failed")):
        assert (
            replica_status(pod("Running", terminated={"exitCode": code}), ("worker", 0), "n1").state == state
        )


def going(**state: object) -> dict:
    """A replica that ran, and was deleted."""
    found = pod("Running", running={}, **state)
    deleted = {"deletionTimestamp": "2026-01-01T00:00:36Z", "deletionGracePeriodSeconds": 30}
    return {**found, "metadata": {**found["metadata"], **deleted}}


def test_what_the_operator_removes_after_the_end_was_deleted_by_nobody_else():
    """The job is looked at before its pods, and may have ended in between."""
    lines: list[str] = []
    tell = Told(lines.append)
    ended = job(RUNNING, ("Succeeded", "done")) | {"spec": {"runPolicy": {"cleanPodPolicy": "Running"}}}
    for each, of in ((pod("Running", running={}), job(RUNNING)), (going(), job(RUNNING)), (going(), ended)):
        tell(Seen(job=of, pods=(each,), record=None))
    tell(Seen(job=ended, pods=(going(),), record=None))
    assert lines == [
        "worker-0 on n1: Running",
        "worker-0 on n1: removed: the job has ended (cleanPodPolicy: Running)",
    ]


def test_what_is_removed_with_its_job_or_put_aside_was_deleted_by_nobody_else():
    for of, why in (
        (None, "its TFJob was deleted"),
        (job(RUNNING, deleting=True), "its TFJob was deleted"),
        (job(("Suspended", "")), "the job is suspended"),
    ):
        lines: list[str] = []
        Told(lines.append)(Seen(job=of, pods=(going(),), record=None))
        assert lines == [f"worker-0 on n1: removed: {why}"]


def test_what_somebody_deletes_while_its_job_runs_is_told():
    lines: list[str] = []
    tell = Told(lines.append)
    for _ in range(3):
        tell(Seen(job=job(RUNNING), pods=(going(),), record=None))
    assert lines == ["worker-0 on n1: Running: its pod was deleted by somebody else"]
