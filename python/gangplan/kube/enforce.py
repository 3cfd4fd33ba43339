"""Enforcement: a placement of ours, kept to by a scheduler that knows nothing of it.

The pods of a TFJob are created with a scheduling gate. Each is given its node, by the one field of its node affinity that
may still be changed, in the same write that opens the gate. So the default scheduler puts every replica exactly where the
plan has it, and none before the whole gang has room (Kubernetes 1.30, KEP-3838; Kueue does so with its topology gate).
"""

import copy
from collections.abc import Mapping
from typing import Any

from gangplan.kube.names import (
    GANG_LABEL,
    PLACEMENT_GATE,
    REPLICA_INDEX,
    REPLICA_TYPE,
    REQUIRED_TERMS,
    ROLES,
    RUN_ID,
    TOLD_NODE,
)

NO_ISTIO = "sidecar.istio.io/inject"
"""Label (and annotation, for old versions): a sidecar keeps a finished pod from ending."""


def labelled(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A TFJob whose pods belong to the gang of the job's name.

    Args:
        manifest: A sound manifest, labelled with its run; it stays as it is.
    """
    made = copy.deepcopy(dict(manifest))
    for spec in made["spec"]["tfReplicaSpecs"].values():
        template = spec["template"]
        metadata = template["metadata"] = template.get("metadata") or {}
        metadata["labels"] = {
            NO_ISTIO: "false",
            **(metadata.get("labels") or {}),
            GANG_LABEL: made["metadata"]["name"],
            RUN_ID: made["metadata"]["labels"][RUN_ID],
        }
        metadata["annotations"] = {NO_ISTIO: "false", **(metadata.get("annotations") or {})}
    return made


def gated(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A TFJob whose pods wait for their nodes.

    Args:
        manifest: A sound manifest; it stays as it is.
    """
    made = copy.deepcopy(dict(manifest))
    for spec in made["spec"]["tfReplicaSpecs"].values():
        pod = spec["template"]["spec"]
        gates = [gate for gate in pod.get("schedulingGates") or () if gate.get("name") != PLACEMENT_GATE]
        pod["schedulingGates"] = [*gates, {"name": PLACEMENT_GATE}]
    return made


def is_gated(pod: Mapping[str, Any]) -> bool:
    """Whether a pod waits for its node."""
    return any(gate.get("name") == PLACEMENT_GATE for gate in pod["spec"].get("schedulingGates") or ())


def replica_of(pod: Mapping[str, Any]) -> tuple[str, int] | None:
    """Role and index of a TFJob's pod; None if its labels do not tell."""
    labels = pod["metadata"].get("labels") or {}
    role, index = ROLES.get(labels.get(REPLICA_TYPE, "")), labels.get(REPLICA_INDEX, "")
    return (role, int(index)) if role is not None and index.isdecimal() else None


def pinned(pod: Mapping[str, Any], node: str) -> dict[str, Any]:
    """The merge patch that gives a gated pod its node and opens our gate, if the pod is still the one that was read.

    Args:
        pod: The pod.
        node: Name of the node.
    """
    metadata, spec = pod["metadata"], pod["spec"]
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get(REQUIRED_TERMS) or {}).get("nodeSelectorTerms") or [{}]
    there = {"key": "metadata.name", "operator": "In", "values": [node]}
    narrowed = [{**term, "matchFields": [*(term.get("matchFields") or ()), there]} for term in terms]
    gates = [gate for gate in spec.get("schedulingGates") or () if gate.get("name") != PLACEMENT_GATE]
    return {
        "metadata": {
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
            "annotations": {TOLD_NODE: node},
        },
        "spec": {
            "schedulingGates": gates or None,
            "affinity": {"nodeAffinity": {REQUIRED_TERMS: {"nodeSelectorTerms": narrowed}}},
        },
    }
