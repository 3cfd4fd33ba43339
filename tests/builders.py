"""Builders with defaults for everything but the point of a test."""

from collections.abc import Mapping
from typing import Any

import gangplan as gp

GPU = "nvidia.com/gpu"


def node(
    name: str = "n1", *, gpus: int = 0, cpu: str = "16", rack: str | None = None, **more: Any
) -> gp.Node:
    """A ready node, in a rack if one is named."""
    labels = {} if rack is None else {"rack": rack}
    allocatable = {"cpu": cpu, "memory": "64Gi", "pods": "110"} | ({GPU: str(gpus)} if gpus else {})
    return gp.Node(**{"name": name, "labels": labels, "allocatable": allocatable} | more)


def role(name: str = "worker", replicas: int = 1, *, gpus: int = 0, cpu: str = "1", **more: Any) -> gp.Role:
    """A role that needs a core a replica, and GPUs if asked."""
    requests = {"cpu": cpu} | ({GPU: str(gpus)} if gpus else {})
    return gp.Role(**{"name": name, "replicas": replicas, "requests": requests} | more)


def gang(
    name: str = "g1",
    *roles: gp.Role,
    required: str | None = None,
    preferred: str | None = None,
    **more: Any,
) -> gp.Gang:
    """A gang of one worker unless roles are given; it has a closeness if it names a level."""
    if required or preferred:
        more["topology"] = gp.Closeness(required=required, preferred=preferred)
    return gp.Gang(name=name, roles=roles or (role(),), **more)


def racks(count: int, nodes_per_rack: int, *, gpus: int = 4, cpu: str = "16") -> tuple[gp.Node, ...]:
    """Nodes ``r0-n0``, ``r0-n1`` … in racks ``r0``, ``r1`` …."""
    return tuple(
        node(f"r{rack}-n{place}", gpus=gpus, cpu=cpu, rack=f"r{rack}")
        for rack in range(count)
        for place in range(nodes_per_rack)
    )


def snapshot(*gangs: gp.Gang, nodes: tuple[gp.Node, ...] = (), **more: Any) -> gp.Snapshot:
    """A cluster of one node with 4 GPUs unless nodes are given; its topology is the racks that the nodes name."""
    nodes = nodes or (node(gpus=4),)
    topology = ("rack",) if all("rack" in item.labels for item in nodes) else ()
    return gp.Snapshot(**{"nodes": nodes, "gangs": gangs, "topology": topology} | more)


def tfjob(
    name: str = "mnist", roles: Mapping[str, Mapping[str, Any]] | None = None, **spec: Any
) -> dict[str, Any]:
    """A TFJob manifest; each role may override its replicas, command, requests and other fields of its spec."""
    roles = roles or {"Worker": {}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name},
        "spec": {
            **spec,
            "tfReplicaSpecs": {kind: _replica_spec(dict(given)) for kind, given in roles.items()},
        },
    }


def _replica_spec(given: dict[str, Any]) -> dict[str, Any]:
    container = {
        "name": "tensorflow",
        "image": "trainer",
        "command": given.pop("command", ["python", "-c", "pass"]),
        "resources": {"requests": given.pop("requests", {"cpu": "100m"})},
    }
    return {"replicas": 1, "template": {"spec": {"containers": [container]}}, **given}
