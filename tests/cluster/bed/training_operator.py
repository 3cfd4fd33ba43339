"""The real training-operator, run outside a container under its own account's rights."""

import base64
import json
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from cluster.bed import programs
from cluster.bed.control_plane import ControlPlane, free_port
from cluster.bed.identity import ADMIN, OPERATOR
from cluster.bed.pki import Authority

# Fixed in the operator's code; the supervisor has put an own file system there.
CERTIFICATES = Path("/tmp/k8s-webhook-server/serving-certs")
DEFINITIONS = Path(__file__).parent.parent / "definitions"
NAME = "training-operator"
NAMESPACE = "kubeflow"
WEBHOOK = "validator.training-operator.kubeflow.org"
SECRET = "training-operator-webhook-cert"


class TrainingOperator:
    """One operator; it can be ended and started again with another gang scheduler."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._manifests = (
            programs.module_folder(programs.TRAINING_OPERATOR, programs.OPERATOR) / "manifests" / "base"
        )

    def start(self, gang_scheduler: str = "") -> None:
        """Install what it needs, end the one that runs, start one and wait until its webhook answers.

        Args:
            gang_scheduler: Name for its flag; empty: it makes no PodGroups.
        """
        if NAME in self._plane.processes.names():
            self._plane.processes.end(NAME, signal.SIGTERM)
        names = {"alternatives": ("training-operator-ca",)}
        authority = Authority(self._plane.folder / "operator-pki", "training-operator-ca", **names)
        serving = authority.issue(
            "tls",
            f"training-operator.{NAMESPACE}.svc",
            alternatives=(f"training-operator.{NAMESPACE}.svc", "127.0.0.1"),
        )
        files = {
            "ca.crt": authority.pair.certificate,
            "ca.key": authority.pair.key,
            "tls.crt": serving.certificate,
            "tls.key": serving.key,
        }
        # It finds certificates that are in order, and so makes none itself, which would take a minute.
        CERTIFICATES.mkdir(parents=True, exist_ok=True)
        for name, file in files.items():
            (CERTIFICATES / name).write_bytes(file.read_bytes())
        port, health = free_port(), free_port()
        self._install(files, port, authority.pair.certificate, definitions(gang_scheduler))
        self._plane.processes.start(
            NAME,
            programs.TRAINING_OPERATOR.build(),
            "--enable-scheme=tfjob",
            f"--webhook-server-port={port}",
            f"--metrics-bind-address=127.0.0.1:{free_port()}",
            f"--health-probe-bind-address=127.0.0.1:{health}",
            "--kube-api-qps=200",
            "--kube-api-burst=400",
            "--controller-threads=4",
            *([f"--gang-scheduler-name={gang_scheduler}"] if gang_scheduler else []),
            environment={
                "KUBECONFIG": str(self._plane.kubeconfig(OPERATOR)),
                "MY_POD_NAMESPACE": NAMESPACE,
            },
        )
        ready = f"http://127.0.0.1:{health}/readyz"
        self._plane.processes.wait_until(
            "the operator is ready", lambda: self._plane.admin.answers(ready), of=NAME
        )

    def _install(
        self, files: dict[str, Path], port: int, authority: Path, definitions: Sequence[Path]
    ) -> None:
        crds = [self._manifests / "crds" / "kubeflow.org_tfjobs.yaml", *definitions]
        objects: list[dict[str, Any]] = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
            *(item for file in crds for item in read_all(file)),
            *(self._named(item) for name in ("service-account", "role") for item in self._rbac(name)),
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": "training-operator"},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole",
                    "name": "training-operator",
                },
                "subjects": [{"kind": "ServiceAccount", "name": "training-operator", "namespace": NAMESPACE}],
            },
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": SECRET, "namespace": NAMESPACE},
                "data": {name: _text(file) for name, file in files.items()},
            },
            self._webhook(port, authority),
        ]
        apply(self._plane, objects)

    def _rbac(self, name: str) -> list[dict[str, Any]]:
        return read_all(self._manifests / "rbac" / f"{name}.yaml")

    def _named(self, item: dict[str, Any]) -> dict[str, Any]:
        return (
            item | {"metadata": item["metadata"] | {"namespace": NAMESPACE}}
            if item["kind"] == "ServiceAccount"
            else item
        )

    def _webhook(self, port: int, authority: Path) -> dict[str, Any]:
        (found,) = read_all(self._manifests / "webhook" / "manifests.yaml")
        hooks = [hook for hook in found["webhooks"] if "tfjob" in hook["name"]]
        for hook in hooks:
            path = hook["clientConfig"]["service"]["path"]
            hook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{path}", "caBundle": _text(authority)}
        return found | {"metadata": {"name": WEBHOOK}, "webhooks": hooks}


def definitions(gang_scheduler: str) -> list[Path]:
    """Files of the CRDs without which the operator does not start with such a flag.

    For ``volcano`` stand-ins for those of Volcano; for any other name the one of the scheduler-plugins, which it uses then.
    """
    if not gang_scheduler:
        return []
    if gang_scheduler == "volcano":
        return [DEFINITIONS / "volcano.yaml"]
    plugins = programs.module_folder(programs.TRAINING_OPERATOR, "sigs.k8s.io/scheduler-plugins")
    return [plugins / "config" / "crd" / "bases" / "scheduling.x-k8s.io_podgroups.yaml"]


def read_all(file: Path) -> list[dict[str, Any]]:
    """All objects of a manifest file."""
    return [item for item in yaml.safe_load_all(file.read_text()) if item]


def apply(plane: ControlPlane, objects: Sequence[dict[str, Any]]) -> None:
    """Apply objects in their order.

    Raises:
        subprocess.CalledProcessError: One is refused; its ``stderr`` says why.
    """
    document = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    kubeconfig = plane.kubeconfig(ADMIN)
    command = [plane.kube, "kubectl", f"--kubeconfig={kubeconfig}", "apply", "--server-side", "-f", "-"]
    subprocess.run(command, input=json.dumps(document), check=True, capture_output=True, text=True)


def _text(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()
