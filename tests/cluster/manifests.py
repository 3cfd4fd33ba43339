"""Small manifests for the tests on a cluster; each says only what a test is about."""

from collections.abc import Sequence
from typing import Any

from cluster.bed.image import BUSYBOX, PROJECT


def pod(
    name: str,
    command: Sequence[str] = ("sleep", "infinity"),
    *,
    image: str = BUSYBOX,
    gpus: int = 0,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A pod with one container ``main`` that is not started again."""
    limits = {"memory": "2Gi", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    container = {
        "name": "main",
        "image": image,
        "command": list(command),
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": limits},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}},
        # Programs as process 1 of a container do not hear SIGTERM: they are not waited for.
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}
        | spec,
    }


def tfjob(
    name: str, command: Sequence[str], *, image: str = PROJECT, workers: int = 2, gpus: int = 1, **spec: Any
) -> dict[str, Any]:
    """A TFJob with a chief, a parameter server and workers, all of which run the same command."""
    template = pod(name, command, image=image, gpus=gpus, **spec)["spec"]
    (container,) = template.pop("containers")
    template["containers"] = [container | {"name": "tensorflow"}]
    del template["restartPolicy"]  # the replica's decides

    def replicas(count: int) -> dict[str, Any]:
        return {"replicas": count, "restartPolicy": "Never", "template": {"spec": template}}

    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name},
        "spec": {
            "runPolicy": {"cleanPodPolicy": "None"},
            "tfReplicaSpecs": {"Chief": replicas(1), "PS": replicas(1), "Worker": replicas(workers)},
        },
    }


def gang_of_workers(
    name: str, command: Sequence[str], *, image: str = BUSYBOX, workers: int, gpu: str, **spec: Any
) -> dict[str, Any]:
    """A TFJob of workers with one GPU of a kind each; those that still run when it ends are deleted."""
    made = tfjob(name, command, image=image, workers=workers, gpus=0, **spec)
    replicas = made["spec"]["tfReplicaSpecs"]["Worker"]
    replicas["template"]["spec"]["containers"][0]["resources"]["limits"][gpu] = "1"
    made["spec"] = {"runPolicy": {"cleanPodPolicy": "Running"}, "tfReplicaSpecs": {"Worker": replicas}}
    return made
