"""A modelled cluster on which several jobs run at once; its operator works whenever somebody sleeps."""

import copy
import threading
import time
from datetime import UTC, datetime

from apimodel.server import ApiServer
from builders import tfjob
from yaml import safe_load

from gangplan.kube.cluster import SYSTEM
from gangplan.kube.kinds import GANG, NODE, POD, TFJOB
from gangplan.kube.names import RUN_ID
from launches.world import CRDS, OPERATOR

ENDED = {"Succeeded", "Failed"}


class Several:
    """One node with room for so many workers, an operator, and jobs that succeed some looks after they have begun.

    Attributes:
        server: The API server.
        waiting: The most gangs that were seen Pending at once.
        dies_after: Looks after which everybody who sleeps is told to end; None: never.
    """

    def __init__(self, *, room: int) -> None:
        crds = [safe_load(file.read_text()) for file in sorted(CRDS.glob("*.yaml"))]
        self.server = ApiServer(
            clock=lambda: datetime.now(UTC), crds=crds, kinds=[TFJOB], namespaces=("default", SYSTEM)
        )
        offer = {"cpu": str(room), "memory": "8Gi", "pods": "110"}
        status = {"allocatable": offer, "conditions": [{"type": "Ready", "status": "True"}]}
        self.server.create(NODE, {"metadata": {"name": "n1"}, "spec": {}, "status": status})
        self.waiting = 0
        self.dies_after: int | None = None
        self._looks = 0
        self._ran: dict[str, int] = {}
        self._lock = threading.Lock()

    def manifest(self, name: str, workers: int = 1) -> dict:
        return tfjob(name, {"Worker": {"replicas": workers, "requests": {"cpu": "1"}}})

    def sleep(self, seconds: float) -> None:
        time.sleep(0.001)  # the others' turn
        with self._lock:
            self._looks += 1
            if self.dies_after is not None and self._looks > self.dies_after:
                raise SystemExit("told to end")
            phases = [(gang.get("status") or {}).get("phase") for gang in self.server.list(GANG).items]
            self.waiting = max(self.waiting, phases.count("Pending"))
            for job in self.server.list(TFJOB).items:
                self._operate(job)
            self.server.settle()

    def jobs(self) -> dict[str, str]:
        """TFJob → uid."""
        return {job["metadata"]["name"]: job["metadata"]["uid"] for job in self.server.list(TFJOB).items}

    def phases(self) -> dict[str, tuple[str, str | None]]:
        """Gang → phase and outcome."""
        found = {gang["metadata"]["name"]: gang.get("status") or {} for gang in self.server.list(GANG).items}
        return {
            name: (status.get("phase", "Pending"), status.get("outcome")) for name, status in found.items()
        }

    def _operate(self, job: dict) -> None:
        name = job["metadata"]["name"]
        said = {each["type"] for each in (job.get("status") or {}).get("conditions", [])}
        if job["metadata"].get("deletionTimestamp") or said & ENDED:
            return
        pods = self.server.list(POD, labels=f"{OPERATOR}/job-name={name}").items
        if not pods:
            self._make_pods(job)
            return
        for pod in pods:
            if not pod["spec"].get("schedulingGates") and not pod["spec"].get("nodeName"):
                self.server.bind(pod["metadata"]["name"], namespace="default", node="n1")
        if all(pod["spec"].get("nodeName") for pod in pods):
            self._ran[name] = self._ran.get(name, 0) + 1
        over = self._ran.get(name, 0) > 3
        if over:
            for pod in pods:
                ended = {"name": "tensorflow", "state": {"terminated": {"exitCode": 0}}}
                done = {"phase": "Succeeded", "containerStatuses": [ended]}
                self.server.patch(
                    POD, pod["metadata"]["name"], {"status": done}, namespace="default", subresource="status"
                )
        status = {"conditions": [{"type": "Succeeded" if over else "Running", "status": "True"}]}
        self.server.patch(TFJOB, name, {"status": status}, namespace="default", subresource="status")

    def _make_pods(self, job: dict) -> None:
        name = job["metadata"]["name"]
        owner = {"apiVersion": TFJOB.api_version, "kind": "TFJob", "name": name, "controller": True}
        owner |= {"uid": job["metadata"]["uid"], "blockOwnerDeletion": True}
        for kind, spec in job["spec"]["tfReplicaSpecs"].items():
            for index in range(spec.get("replicas", 1)):
                body = copy.deepcopy(spec["template"])
                about = body["metadata"] | {"name": f"{name}-{kind.lower()}-{index}", "namespace": "default"}
                about["labels"] |= {
                    f"{OPERATOR}/job-name": name,
                    f"{OPERATOR}/replica-type": kind.lower(),
                    f"{OPERATOR}/replica-index": str(index),
                    RUN_ID: job["metadata"]["labels"][RUN_ID],
                }
                about["ownerReferences"] = [owner]
                self.server.create(POD, {**body, "metadata": about})
