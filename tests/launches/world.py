"""A modelled server with an admitted gang, and an operator that works whenever the launcher sleeps."""

import copy
from pathlib import Path

import yaml
from apimodel.server import ApiServer
from builders import tfjob
from stores.gangs import gang_stores

from gangplan.kube.cluster import SYSTEM
from gangplan.kube.kinds import GANG, POD, TFJOB
from gangplan.kube.launch import Launch
from gangplan.kube.launcher import Launcher
from gangplan.kube.names import ATTEMPT, RUN_ID
from gangplan.kube.submission import submission
from gangplan.record import Reservation, enter, new
from launches.seen import disrupted

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
GATE = {"name": "gangplan.dev/placement"}
OPERATOR = "training.kubeflow.org"


class World:
    """A server with an admitted gang, and an operator that works whenever the launcher sleeps."""

    def __init__(self) -> None:
        crds = [yaml.safe_load(file.read_text()) for file in sorted(CRDS.glob("*.yaml"))]
        self.server = ApiServer(crds=crds, kinds=[TFJOB], namespaces=("default", SYSTEM))
        self.time = [0.0]
        self.store = gang_stores(self.server, "default", self.time).open()
        roles = {"PS": {}, "Worker": {"replicas": 2}}
        self.wanted = submission(tfjob("j", roles), namespace="default", run_id="run", now=0.0)
        asked = self.store.create(new(self.wanted.gang, uid="", run_id="run", now=0.0))
        place = Reservation(placement={"ps": ("n1",), "worker": ("n1", "n2")}, expires_at=600.0)
        self.store.update(enter(asked, "Reserved", now=0.0, reason="admitted", reservation=place))
        self.runs_for = 3
        self.makes_pods = True
        self.disrupted_attempts = 0
        self.lets_see_disruption = True

    def launcher(self) -> Launcher:
        return Launcher(
            self.server,
            self.store,
            self.wanted.manifest,
            Launch(run_id="run", reservation_s=600.0),
            clock=lambda: self.time[0],
            sleep=self.sleep,
            poll_s=1.0,
            admit=self.admit,
        )

    def admit(self) -> None:
        """Give the gang room if it waits: on n3."""
        found = self.store.get("default/j")
        if found is not None and found.phase == "Pending":
            place = Reservation(
                placement={"ps": ("n3",), "worker": ("n3", "n3")}, expires_at=self.time[0] + 600.0
            )
            self.store.update(
                enter(found, "Reserved", now=self.time[0], reason="admitted", reservation=place)
            )

    def sleep(self, seconds: float) -> None:
        self.time[0] += seconds
        faults, self.server.faults = self.server.faults, None
        self.operate()
        self.server.settle()
        self.server.faults = faults

    def operate(self) -> None:
        """What training-operator, scheduler and kubelets do in a second."""
        for job in self.server.list(TFJOB).items:
            if job["metadata"].get("deletionTimestamp"):
                continue
            said = "Running" if self.makes_pods else "Created"
            pods = self.server.list(
                POD, labels=f"{OPERATOR}/job-name={job['metadata']['name']},{RUN_ID}=run"
            ).items
            for pod in pods:
                if not pod["spec"].get("schedulingGates") and not pod["spec"].get("nodeName"):
                    terms = pod["spec"]["affinity"]["nodeAffinity"]
                    (term,) = terms["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
                    (node,) = term["matchFields"][0]["values"]
                    self.server.bind(pod["metadata"]["name"], namespace="default", node=node)
            if (job["spec"].get("runPolicy") or {}).get("suspend"):
                said = "Suspended"
                for pod in pods:
                    self.server.delete(POD, pod["metadata"]["name"], namespace="default")
            elif self.makes_pods and not pods:
                self.make_pods(job)
            elif pods and all(pod["spec"].get("nodeName") for pod in pods):
                if int(job["metadata"]["labels"][ATTEMPT]) <= self.disrupted_attempts:
                    said = "Failed"
                    self.disrupt(pods[-1]["metadata"]["name"])
                self.runs_for -= said != "Failed"
                said = "Succeeded" if self.runs_for <= 0 else said
            status = {"conditions": [{"type": said, "status": "True", "message": said}]}
            self.server.patch(TFJOB, "j", {"status": status}, namespace="default", subresource="status")

    def make_pods(self, job: dict) -> None:
        for kind, spec in job["spec"]["tfReplicaSpecs"].items():
            for index in range(spec.get("replicas", 1)):
                body = copy.deepcopy(spec["template"])
                about = body["metadata"] | {"name": f"j-{kind.lower()}-{index}", "namespace": "default"}
                about["labels"] |= {
                    f"{OPERATOR}/job-name": "j",
                    f"{OPERATOR}/replica-type": kind.lower(),
                    f"{OPERATOR}/replica-index": str(index),
                }
                owner = {"apiVersion": TFJOB.api_version, "kind": "TFJob", "name": "j", "controller": True}
                about["ownerReferences"] = [
                    owner | {"uid": job["metadata"]["uid"], "blockOwnerDeletion": True}
                ]
                self.server.create(POD, {**body, "metadata": about})

    def disrupt(self, pod: str) -> None:
        """A pod makes room for one of a higher priority."""
        status = disrupted("PreemptionByScheduler", "by another")
        self.server.patch(POD, pod, {"status": status}, namespace="default", subresource="status")
        if not self.lets_see_disruption:
            self.server.delete(POD, pod, namespace="default")

    def left(self) -> tuple[list[str], list[str], str, str | None]:
        self.server.faults = None
        self.server.settle()
        jobs = [job["metadata"]["name"] for job in self.server.list(TFJOB).items]
        pods = [pod["metadata"]["name"] for pod in self.server.list(POD).items]
        (gang,) = self.server.list(GANG).items
        return jobs, pods, gang["status"]["phase"], gang["status"].get("outcome")


PLACES = {"j-ps-0": "n1", "j-worker-0": "n1", "j-worker-1": "n2"}
"""Where the pods of the gang belong."""


class Killed(BaseException):
    """The launcher dies here; nothing may catch it."""


def places(world: World) -> dict[str, str]:
    """Pod → node."""
    return {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in world.server.list(POD).items}
