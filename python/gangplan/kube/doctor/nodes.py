"""What jobs run on: nodes that take pods, and their GPUs."""

from collections import Counter
from collections.abc import Iterator

from gangplan.holdings import is_gpu
from gangplan.kube.doctor.exam import Exam
from gangplan.kube.doctor.finding import Finding, fault, ok, warning
from gangplan.solver import parse_quantity

GPU_PLUGIN = (
    "kubectl create -f https://raw.githubusercontent.com/NVIDIA/k8s-device-plugin/v0.17.1/"
    "deployments/static/nvidia-device-plugin.yml"
)
"""docs/install.md has the same; a test compares."""


def nodes(exam: Exam) -> Iterator[Finding]:
    """There are nodes that take pods, and GPUs among them."""
    usable = [
        node for node in exam.nodes if _is_ready(node) and not (node.get("spec") or {}).get("unschedulable")
    ]
    if not usable:
        yield fault(
            "nodes",
            f"none of {len(exam.nodes)} nodes is ready and open",
            why="nothing can start",
            cure="kubectl get nodes    # then kubectl uncordon NODE, or see kubectl describe node NODE",
        )
        return
    out = len(exam.nodes) - len(usable)
    yield ok("nodes", f"ready nodes: {len(usable)}" + (f"; not ready, or cordoned: {out}" if out else ""))
    gpus: Counter[str] = Counter()
    for node in usable:
        for resource, amount in ((node.get("status") or {}).get("allocatable") or {}).items():
            if is_gpu(resource):
                gpus[resource] += parse_quantity(resource, amount, round_up=False)
    found = ", ".join(f"{count} {resource}" for resource, count in sorted(gpus.items()) if count)
    if found:
        yield ok("gpus", f"{found} on nodes that are ready")
    else:
        yield warning(
            "gpus",
            "no node offers a GPU",
            why="a job that asks for nvidia.com/gpu can never start here",
            cure=f"{GPU_PLUGIN}    # of NVIDIA's; jobs on CPUs need none",
        )


def _is_ready(node: dict[str, object]) -> bool:
    status = node.get("status")
    conditions = status.get("conditions") or () if isinstance(status, dict) else ()
    return any(item.get("type") == "Ready" and item.get("status") == "True" for item in conditions)
