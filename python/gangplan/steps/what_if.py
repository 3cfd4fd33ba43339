"""What-if: a gang that nobody asks for, and the cluster that it is tried on – the live one, a file, or one made up."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from gangplan.documents import yaml_to_json
from gangplan.errors import InvalidInput, Problem
from gangplan.kube.manifest import GangRequest, RoleSize, training_job
from gangplan.kube.tfjob import read, write
from gangplan.snapshot import Node, Snapshot
from gangplan.solver import load
from gangplan.steps.admit import own_tfjob
from gangplan.steps.parameters import Checker
from gangplan.steps.run import Run
from gangplan.steps.training import KEEP_S, PARAMETERS

log = logging.getLogger(__name__)

LIVE, GIVEN, MADE_UP = "live", "snapshot", "made_up"
SOURCES: Final = (LIVE, GIVEN, MADE_UP)
"""Where the cluster comes from."""

RACK: Final = "rack"
GPU: Final = "nvidia.com/gpu"

GANG: Final = {"tfjob_yaml": "tfjob"} | {
    outer: inner for outer, inner in PARAMETERS.items() if outer.startswith(("gang_", "role_"))
}
"""Parameters of a pipeline that describe the gang → what they are called here."""

CLUSTER: Final = {
    "cluster_source": "source",
    "cluster_snapshot": "snapshot_text",
    "cluster_racks": "racks",
    "cluster_nodes_per_rack": "nodes_per_rack",
    "cluster_node_cpu": "node_cpu",
    "cluster_node_memory": "node_memory",
    "cluster_node_gpus": "node_gpus",
}
"""Parameters of a pipeline that describe the cluster → what they are called here."""


def gang_asked(run: Run, given: Mapping[str, Any], check: Checker) -> dict[str, Any] | None:
    """The TFJob of the gang: the user's own, else one of the roles that the parameters describe.

    Args:
        run: The run whose name it bears.
        given: The values of :data:`GANG`, by their second names.
        check: Gets what is wrong.

    Returns:
        The manifest; None if something is wrong.
    """
    before = len(check.problems())
    check.whole("gang_priority", given["priority"], at_least=-(10**9), at_most=10**9)
    own = given["tfjob"].strip()
    counts = {
        "chief": check.whole("role_chief_count", given["chief_count"], at_least=0, at_most=1),
        "ps": check.whole("role_ps_count", given["ps_count"], at_least=0),
        "worker": check.whole("role_worker_count", given["worker_count"], at_least=0),
    }
    gpus = check.whole("role_worker_gpus", given["worker_gpus"], at_least=0)
    for role in ("ps", "worker"):
        check.quantity(f"role_{role}_cpu", "cpu", given[f"{role}_cpu"])
        check.quantity(f"role_{role}_memory", "memory", given[f"{role}_memory"])
    if not own and not (counts["chief"] or counts["worker"]):
        check.contradiction("role_worker_count", "somebody must train: a worker or a chief")
    try:
        if own:
            made = own_tfjob(run, own, {**given, "priority": int(given["priority"])})
            return made if len(check.problems()) == before else None
        if len(check.problems()) > before:
            return None
        each = {
            role: {"cpu": given[f"{role}_cpu"], "memory": given[f"{role}_memory"]}
            for role in ("ps", "worker")
        }
        sizes = {
            "chief": RoleSize(replicas=counts["chief"], **each["worker"]),
            "ps": RoleSize(replicas=counts["ps"], **each["ps"]),
            "worker": RoleSize(replicas=counts["worker"], gpus=gpus, **each["worker"]),
        }
        request = GangRequest(
            queue=given["queue"],
            priority=int(given["priority"]),
            required=given["required_level"],
            preferred=given["preferred_level"],
        )
        made = training_job(
            name=run.name,
            run_id=run.run_id,
            image="nothing-runs",
            command=("true",),
            roles=sizes,
            request=request,
            deadline_s=None,
            keep_s=KEEP_S,
        )
        return read(write(made))
    except InvalidInput as error:
        check.add("tfjob_yaml", error.problems)
        return None


def cluster_asked(given: Mapping[str, Any], check: Checker) -> Snapshot | None:
    """The cluster, where it is not the live one.

    Args:
        given: The values of :data:`CLUSTER`, by their second names.
        check: Gets what is wrong.

    Returns:
        The snapshot; None if it is the live one, or something is wrong.
    """
    source = check.choice("cluster_source", given["source"], SOURCES)
    text = given["snapshot_text"]
    if source != GIVEN and text.strip():
        check.contradiction(
            "cluster_snapshot", f"is looked at only with cluster_source={GIVEN}, not {source}"
        )
    racks = check.whole("cluster_racks", given["racks"], at_least=1, at_most=1000)
    nodes = check.whole("cluster_nodes_per_rack", given["nodes_per_rack"], at_least=1, at_most=1000)
    gpus = check.whole("cluster_node_gpus", given["node_gpus"], at_least=0)
    cpu = check.quantity("cluster_node_cpu", "cpu", given["node_cpu"])
    memory = check.quantity("cluster_node_memory", "memory", given["node_memory"])
    if source == MADE_UP:
        offer = {"cpu": cpu, "memory": memory, "pods": "110", **({GPU: str(gpus)} if gpus else {})}
        return Snapshot(
            topology=(RACK,),
            nodes=tuple(
                Node(name=f"r{rack}-n{node}", labels={RACK: f"r{rack}"}, allocatable=offer)
                for rack in range(racks)
                for node in range(nodes)
            ),
        )
    return _read(text, check) if source == GIVEN else None


def _read(text: str, check: Checker) -> Snapshot | None:
    """A snapshot from its text, or from a file: what has no line end and no bracket is a path."""
    if not text.strip():
        message = f"must be a snapshot or the path of one, since cluster_source is {GIVEN}"
        check.add("cluster_snapshot", [Problem("cluster_snapshot", "MISSING_FIELD", message)])
        return None
    try:
        if "\n" in text or "{" in text:
            return load(yaml_to_json(text, "cluster_snapshot"))
        return load(Path(text))
    except InvalidInput as error:
        check.add("cluster_snapshot", error.problems)
    except OSError as error:
        problem = Problem("cluster_snapshot", "BAD_VALUE", f"{text!r} cannot be read: {error.strerror}")
        check.add("cluster_snapshot", [problem])
    return None
