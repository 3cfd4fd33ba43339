"""The real training-operator, run outside a container with the rights of its own account."""

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

# Fixed in the operator's code; the namespaces of the cluster have a file system of their own there.
CERTIFICATES = Path("/tmp/k8s-webhook-server/serving-certs")
DEFINITIONS = Path(__file__).parent.parent / "definitions"
NAME = "training-operator"
NAMESPACE = "kubeflow"
# Names that the operator looks for.
WEBHOOK = "validator.training-operator.kubeflow.org"
SECRET = "training-operator-webhook-cert"
RBAC = "rbac.authorization.k8s.io"


def start_operator(
    plane: ControlPlane, *, program: str, source: str, definitions: Sequence[str], gang_scheduler: str
) -> None:
    """Install what the operator needs, end the one that runs, start one and wait until its webhook answers.

    Args:
        plane: The cluster.
        program: The binary.
        source: The module that it was built from: its manifests lie there.
        definitions: Files of further CRDs (see :func:`group_definitions`).
        gang_scheduler: Name for its flag; empty: it makes no PodGroups.
    """
    if NAME in plane.processes.names():
        plane.processes.end(NAME, signal.SIGTERM)
    manifests = Path(source) / "manifests" / "base"
    certificates = _certificates(plane.folder / "operator-pki")
    port, health = free_port(), free_port()
    crds = [manifests / "crds" / "kubeflow.org_tfjobs.yaml", *map(Path, definitions)]
    objects = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        *(item for file in crds for item in _read(file)),
        *_rights(manifests),
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": SECRET, "namespace": NAMESPACE},
            "data": {name: _text(file) for name, file in certificates.items()},
        },
        _webhook(manifests, port, certificates["ca.crt"]),
    ]
    apply(plane, objects)
    plane.processes.start(
        NAME,
        program,
        "--enable-scheme=tfjob",
        f"--webhook-server-port={port}",
        f"--metrics-bind-address=127.0.0.1:{free_port()}",
        f"--health-probe-bind-address=127.0.0.1:{health}",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        "--controller-threads=4",
        *([f"--gang-scheduler-name={gang_scheduler}"] if gang_scheduler else []),
        environment={"KUBECONFIG": str(plane.kubeconfig(OPERATOR)), "MY_POD_NAMESPACE": NAMESPACE},
    )
    ready = f"http://127.0.0.1:{health}/readyz"
    plane.processes.wait_until("the operator is ready", lambda: plane.admin.answers(ready), of=NAME)


def group_definitions(gang_scheduler: str) -> list[Path]:
    """Files of the CRDs without which the operator does not start with such a flag.

    For ``volcano`` stand-ins for Volcano's; for any other name that of the scheduler-plugins, which it uses then.
    """
    if not gang_scheduler:
        return []
    if gang_scheduler == "volcano":
        return [DEFINITIONS / "volcano.yaml"]
    plugins = programs.module_folder(programs.TRAINING_OPERATOR, "sigs.k8s.io/scheduler-plugins")
    return [plugins / "config" / "crd" / "bases" / "scheduling.x-k8s.io_podgroups.yaml"]


def apply(plane: ControlPlane, objects: Sequence[dict[str, Any]]) -> None:
    """Apply objects in their order.

    Raises:
        subprocess.CalledProcessError: One is refused; its ``stderr`` says why.
    """
    document = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    kubeconfig = plane.kubeconfig(ADMIN)
    command = [str(plane.kube), "kubectl", f"--kubeconfig={kubeconfig}", "apply", "--server-side", "-f", "-"]
    subprocess.run(command, input=json.dumps(document), check=True, capture_output=True, text=True)


def _certificates(folder: Path) -> dict[str, Path]:
    """Certificates in which the operator finds nothing to renew, which would take it a minute; placed where it looks."""
    names = (f"{NAME}.{NAMESPACE}.svc", "127.0.0.1")
    authority = Authority(folder, "training-operator-ca", alternatives=("training-operator-ca",))
    serving = authority.issue("tls", names[0], alternatives=names)
    files = {
        "ca.crt": authority.pair.certificate,
        "ca.key": authority.pair.key,
        "tls.crt": serving.certificate,
        "tls.key": serving.key,
    }
    CERTIFICATES.mkdir(parents=True, exist_ok=True)
    for name, file in files.items():
        (CERTIFICATES / name).write_bytes(file.read_bytes())
    return files


def _rights(manifests: Path) -> list[dict[str, Any]]:
    (account,) = _read(manifests / "rbac" / "service-account.yaml")
    account["metadata"]["namespace"] = NAMESPACE
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": NAME},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
    }
    return [account, *_read(manifests / "rbac" / "role.yaml"), binding]


def _webhook(manifests: Path, port: int, authority: Path) -> dict[str, Any]:
    """Its webhook for TFJobs; a service would need a proxy to be reached."""
    (found,) = _read(manifests / "webhook" / "manifests.yaml")
    hooks = [hook for hook in found["webhooks"] if "tfjob" in hook["name"]]
    for hook in hooks:
        path = hook["clientConfig"]["service"]["path"]
        hook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{path}", "caBundle": _text(authority)}
    return found | {"metadata": {"name": WEBHOOK}, "webhooks": hooks}


def _read(file: Path) -> list[dict[str, Any]]:
    return [item for item in yaml.safe_load_all(file.read_text()) if item]


def _text(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()
