"""Nodes that are only objects: KWOK keeps them alive and plays the lives of their pods."""

from pathlib import Path
from typing import Any

import yaml

from cluster.bed.control_plane import ControlPlane
from cluster.bed.identity import ADMIN

NAME = "kwok"
GPU = "nvidia.com/gpu"
FAKE = {"kwok.x-k8s.io/node": "fake"}
SHIPPED_STAGES = (
    "node/fast/node-initialize",
    "node/heartbeat-with-lease/node-heartbeat-with-lease",
    "pod/fast/pod-ready",
    "pod/fast/pod-complete",
    "pod/fast/pod-delete",
)
# Annotations of a pod: its containers end with this exit code, after this many seconds.
EXIT_CODE = "test-cluster/exit-code"
RUNS_FOR = "test-cluster/runs-for"
_ENDED = """
containerStatuses:
{{ $now := Now }}
{{ $code := index .metadata.annotations "test-cluster/exit-code" }}
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  ready: false
  restartCount: 0
  state:
    terminated:
      exitCode: {{ $code }}
      reason: {{ if eq $code "0" }}Completed{{ else }}Error{{ end }}
      startedAt: {{ $now | Quote }}
      finishedAt: {{ $now | Quote }}
{{ end }}
phase: {{ if eq $code "0" }}Succeeded{{ else }}Failed{{ end }}
"""


def start_kwok(plane: ControlPlane, program: str, source: str) -> None:
    """Start it, unless it runs; it takes care of nodes that are annotated with ``FAKE``.

    Args:
        plane: The cluster.
        program: The binary.
        source: The module that it was built from.
    """
    if NAME in plane.processes.names():
        return
    config = plane.folder / "kwok.yaml"
    stages = Path(source) / "kustomize" / "stage"
    shipped = [yaml.safe_load((stages / f"{name}.yaml").read_text()) for name in SHIPPED_STAGES]
    config.write_text(yaml.safe_dump_all([_options(), *shipped, _ending()]))
    ((key, value),) = FAKE.items()
    plane.processes.start(
        NAME,
        program,
        f"--kubeconfig={plane.kubeconfig(ADMIN)}",
        f"--config={config}",
        f"--manage-nodes-with-annotation-selector={key}={value}",
        "--node-lease-duration-seconds=40",
        "--cidr=10.246.0.1/16",
    )


def fake_node(
    name: str, *, gpus: int = 8, cpu: str = "96", memory: str = "768Gi", labels: dict[str, str] | None = None
) -> dict[str, Any]:
    """A node for KWOK."""
    offer = {"cpu": cpu, "memory": memory, "pods": "110", GPU: str(gpus)}
    labels = {"kubernetes.io/hostname": name, **(labels or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": FAKE, "labels": labels},
        "status": {"capacity": offer, "allocatable": offer},
    }


def _options() -> dict[str, Any]:
    # The default of 4 makes some twenty nodes a second; once there are options, KWOK wants all three.
    options = dict.fromkeys(
        ("podPlayStageParallelism", "nodePlayStageParallelism", "nodeLeaseParallelism"), 32
    )
    return {"apiVersion": "config.kwok.x-k8s.io/v1alpha1", "kind": "KwokConfiguration", "options": options}


def _ending() -> dict[str, Any]:
    running = {"key": ".status.phase", "operator": "In", "values": ["Running"]}
    asked = {"key": f'.metadata.annotations["{EXIT_CODE}"]', "operator": "Exists"}
    kept = {"key": ".metadata.deletionTimestamp", "operator": "DoesNotExist"}
    after = {"durationFrom": {"expressionFrom": f'.metadata.annotations["{RUNS_FOR}"]'}}
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": "pod-end"},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": "Pod"},
            "selector": {"matchExpressions": [kept, running, asked]},
            "delay": {"durationMilliseconds": 1000} | after,
            "next": {"statusTemplate": _ENDED},
        },
    }
