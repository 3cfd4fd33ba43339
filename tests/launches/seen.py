"""What a launcher may see of the gang ``x/j``, a parameter server on n1 and workers on n1 and n2."""

from dataclasses import replace

from builders import gang, role

from gangplan.record import GangRecord, Reservation, enter, new

PLACES = {"ps": ("n1",), "worker": ("n1", "n2")}


def record(phase: str = "Reserved", *, expires_at: float | None = 600.0, run_id: str = "run") -> GangRecord:
    asked = new(gang("x/j", role("ps", 1), role("worker", 2)), uid="u", run_id=run_id, now=0.0)
    held = Reservation(placement=PLACES, expires_at=expires_at)
    reserved = enter(asked, "Reserved", now=0.0, reason="admitted", reservation=held)
    if phase == "Bound":
        held = replace(held, expires_at=None)
        return enter(reserved, "Bound", now=1.0, reason="all replicas have their nodes", reservation=held)
    return {"Reserved": reserved, "Pending": asked}.get(phase) or enter(
        reserved, "Finished", now=1.0, reason="deleted by the user", outcome="Canceled"
    )


def job(*conditions: tuple[str, str], run_id: str = "run", deleting: bool = False) -> dict:
    told = [{"type": kind, "status": "True", "message": text} for kind, text in conditions]
    metadata = {"name": "j", "namespace": "x", "uid": "1", "labels": {"gangplan.dev/run-id": run_id}}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"metadata": metadata, "status": {"conditions": told}}


CREATED, RUNNING = ("Created", "TFJob j is created."), ("Running", "TFJob j is running.")


def pod(
    kind: str = "worker", index: int = 0, *, node: str | None = "n1", gated: bool = False, **status
) -> dict:
    labels = {
        "gangplan.dev/run-id": "run",
        "training.kubeflow.org/job-name": "j",
        "training.kubeflow.org/replica-type": kind,
        "training.kubeflow.org/replica-index": str(index),
    }
    spec = {"schedulingGates": [{"name": "gangplan.dev/placement"}]} if gated else {}
    if node and not gated:
        spec["nodeName"] = node
    metadata = {"name": f"j-{kind}-{index}", "uid": f"{kind}-{index}", "labels": labels}
    if deleted := status.pop("deleted", False):
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z" if deleted is True else deleted
    return {"metadata": metadata, "spec": spec, "status": status}


def pods(**fields) -> tuple[dict, ...]:
    return pod("ps", **fields), pod(index=0, **fields), pod(index=1, **fields)


def waiting(reason: str, message: str = "") -> dict:
    state = {"waiting": {"reason": reason, "message": message}}
    return {"phase": "Pending", "containerStatuses": [{"name": "tensorflow", "state": state}]}


def ended(code: int, reason: str = "Error", at: str = "2026-01-01T00:00:05Z", **status) -> dict:
    state = {"terminated": {"exitCode": code, "reason": reason, "finishedAt": at}}
    return {"phase": "Failed", "containerStatuses": [{"name": "tensorflow", "state": state}], **status}


def disrupted(reason: str, message: str = "") -> dict:
    """A pod whose node may be gone, so that nobody told how its container ended."""
    at = "2026-01-01T00:00:04Z"
    condition = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}
    return {"phase": "Failed", "conditions": [condition | {"lastTransitionTime": at}]}
