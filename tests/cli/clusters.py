"""Commands on a modelled API server: the connection is replaced, everything on this side of it is real."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml
from apimodel.server import START, ApiServer
from typer.testing import CliRunner, Result

import gangplan.kube.client
from gangplan.cli.main import app
from gangplan.kube.kinds import CLAIM, EVENT, GANG, GANG_QUEUE, NODE, POD, TFJOB, Kind

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
ALLOCATABLE = {"cpu": "8", "memory": "16Gi", "pods": "110", "nvidia.com/gpu": "4"}


OPERATOR = "training.kubeflow.org"


def new_server(*namespaces: str, clock: Callable[[], datetime] = lambda: START) -> ApiServer:
    """A server that knows our resources and TFJobs, and has some namespaces beside the default one."""
    return ApiServer(
        clock=clock,
        crds=[yaml.safe_load(file.read_text()) for file in sorted(CRDS.glob("*.yaml"))],
        kinds=[TFJOB],
        namespaces=("default", *namespaces),
    )


class Commands:
    """The command line in front of a server."""

    def __init__(self, server: ApiServer, patch: Any) -> None:
        self.server = server

        @contextmanager
        def connect(**_: object) -> Iterator[ApiServer]:
            yield server

        patch.setattr(gangplan.kube.client, "connect", connect)

    def __call__(self, *words: str, code: int = 0) -> Result:
        """Run a command, which ends with a code."""
        done = self.run(*words)
        assert done.exit_code == code, done.output
        return done

    def run(self, *words: str, stdin: str | None = None) -> Result:
        """Run a command, however it ends."""
        return CliRunner().invoke(app, words, input=stdin)

    def add_virtual_node(self, name: str, *, gpus: str = "1000", **labels: str) -> None:
        """Add a ready node behind which there is a cloud."""
        taint = {"key": "virtual-kubelet.io/provider", "value": "alibabacloud", "effect": "NoSchedule"}
        about = {"name": name, "labels": {"type": "virtual-kubelet", **labels}}
        amounts = dict.fromkeys(ALLOCATABLE, "1000") | {"memory": "4Ti", "nvidia.com/gpu": gpus}
        self._add_node(about, {"taints": [taint]}, amounts)

    def add_node(self, name: str, **labels: str) -> None:
        """Add a ready node with 8 cores and 4 GPUs."""
        self._add_node({"name": name, "labels": labels}, {}, ALLOCATABLE)

    def _add_node(self, about: dict[str, Any], spec: dict[str, Any], allocatable: dict[str, str]) -> None:
        status = {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]}
        self._create(NODE, {"metadata": about, "spec": spec})
        self.server.patch(NODE, about["name"], {"status": status}, subresource="status")

    def add_gang(self, name: str, workers: int, *, namespace: str = "default", **spec: object) -> None:
        """Add a gang of workers with a GPU each, which waits."""
        roles = [{"name": "worker", "replicas": workers, "requests": {"nvidia.com/gpu": "1"}}]
        metadata = {"name": name, "namespace": namespace}
        self._create(GANG, {"metadata": metadata, "spec": {"roles": roles, **spec}})

    def reserve(self, name: str, *nodes: str) -> None:
        """Let a gang hold places for its workers."""
        placement = {"placement": {"worker": list(nodes)}}
        status = {"phase": "Reserved", "reservation": placement}
        self.server.patch(GANG, name, {"status": status}, namespace="default", subresource="status")

    def set_status(self, name: str, **status: object) -> None:
        """Change the status of a gang."""
        self.server.patch(GANG, name, {"status": status}, namespace="default", subresource="status")

    def add_job(self, name: str, run_id: str = "", *, said: str = "Running", message: str = "") -> None:
        """Add a TFJob, of which its operator says something."""
        labels = {"gangplan.dev/run-id": run_id} if run_id else {}
        self._create(
            TFJOB, {"metadata": {"name": name, "namespace": "default", "labels": labels}, "spec": {}}
        )
        moment = "2026-01-01T00:00:05Z"
        condition = {"type": said, "status": "True", "message": message, "lastTransitionTime": moment}
        self.server.patch(
            TFJOB, name, {"status": {"conditions": [condition]}}, namespace="default", subresource="status"
        )

    def add_worker(
        self, job: str, index: int, node: str = "", *, phase: str = "Running", lines: Sequence[str] = ()
    ) -> None:
        """Add a pod of a TFJob, which runs on a node, has ended there, or waits for one; and what it has said."""
        owner = self.server.get(TFJOB, job, namespace="default")
        name = f"{job}-worker-{index}"
        labels = {
            **(owner["metadata"].get("labels") or {}),
            f"{OPERATOR}/job-name": job,
            f"{OPERATOR}/replica-type": "worker",
            f"{OPERATOR}/replica-index": str(index),
        }
        of = {"apiVersion": TFJOB.api_version, "kind": "TFJob", "name": job, "controller": True}
        of |= {"uid": owner["metadata"]["uid"], "blockOwnerDeletion": True}
        metadata = {"name": name, "namespace": "default", "labels": labels, "ownerReferences": [of]}
        spec = {"containers": [{"name": "tensorflow", "image": "i"}]}
        self._create(POD, {"metadata": metadata, "spec": spec})
        state: dict[str, object] = {
            "Running": {"running": {"startedAt": "2026-01-01T00:00:03Z"}},
            "Failed": {"terminated": {"exitCode": 3, "finishedAt": "2026-01-01T00:00:09Z"}},
            "Succeeded": {"terminated": {"exitCode": 0, "finishedAt": "2026-01-01T00:00:09Z"}},
            "Pending": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}},
        }[phase]
        container = {"name": "tensorflow", "restartCount": 2, "state": state}
        if node:
            self.server.bind(name, namespace="default", node=node)
        self.server.patch(
            POD,
            name,
            {"status": {"phase": phase, "containerStatuses": [container]}},
            namespace="default",
            subresource="status",
        )
        if phase != "Pending":
            said = [f"2026-01-01T00:00:0{place}Z {line}\n".encode() for place, line in enumerate(lines)]
            self.server.logs["default", name, "tensorflow"] = said

    def add_event(
        self,
        kind: str,
        name: str,
        reason: str,
        message: str,
        *,
        uid: str = "",
        at: str = "2026-01-01T00:00:04Z",
    ) -> None:
        """Add an event about an object; without its uid about whatever has that name."""
        metadata = {"name": f"{name}.{reason.lower()}", "namespace": "default"}
        about = {"kind": kind, "name": name, "namespace": "default"} | ({"uid": uid} if uid else {})
        said = {"reason": reason, "message": message, "count": 3, "lastTimestamp": at}
        self._create(EVENT, {"metadata": metadata, "involvedObject": about, **said})

    def add_claim(self, name: str, mode: str = "ReadWriteMany", *, phase: str = "Bound") -> None:
        """Add a claim, which has a volume unless its phase says otherwise."""
        metadata = {"name": name, "namespace": "default"}
        self._create(CLAIM, {"metadata": metadata, "spec": {"accessModes": [mode]}})
        status = {"status": {"phase": phase}}
        self.server.patch(CLAIM, name, status, namespace="default", subresource="status")

    def add_queue(self, name: str, **spec: object) -> None:
        """Add a queue."""
        self._create(GANG_QUEUE, {"metadata": {"name": name}, "spec": spec})

    def _create(self, kind: Kind, body: dict[str, Any]) -> None:
        self.server.create(kind, {"apiVersion": kind.api_version, "kind": kind.name, **body})
