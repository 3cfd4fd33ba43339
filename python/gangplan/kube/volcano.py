"""Volcano mode: a placement of ours, kept to by Volcano, which binds the pods of a gang all together.

A TFJob has one pod template for each role, so that it can say on which nodes the replicas of a role may lie, but not how
many on which. A plan is therefore used only if it has the same number of a role's replicas on each of its nodes: then
node affinity and an even spread leave Volcano one distribution, the one that is reserved (docs/decisions/0010).
"""

import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gangplan.kube.enforce import replica_of
from gangplan.kube.names import (
    HOSTNAME,
    JOB_NAME,
    REPLICA_TYPE,
    REQUIRED_TERMS,
    ROLES,
    VOLCANO,
    VOLCANO_AFFINITY,
)
from gangplan.record import GangRecord
from gangplan.snapshot import Gang

Manifest = Mapping[str, Any]
Placement = Mapping[str, Sequence[str]]


def uneven(placement: Placement) -> str | None:
    """Why Volcano could not be held to a placement; None if it can."""
    for role, nodes in sorted(placement.items()):
        counts = Counter(nodes)
        if len({*counts.values()}) > 1:
            where = ", ".join(f"{count} on {node}" for node, count in sorted(counts.items()))
            return (
                f"Volcano cannot be held to its placement: {role} has {where}, and a pod template says on which nodes "
                "replicas may lie, not how many on which; submit it again, or with --enforcement default"
            )
    return None


def prepared(manifest: Manifest, gang: Gang) -> dict[str, Any]:
    """A TFJob that Volcano starts whole, in its gang's queue, with roles that talk near to each other.

    Args:
        manifest: A sound manifest; it stays as it is.
        gang: The gang that it is.
    """
    made = copy.deepcopy(dict(manifest))
    specs = made["spec"]["tfReplicaSpecs"]
    policy = made["spec"].setdefault("runPolicy", {}) or {}
    scheduling = {
        **(policy.get("schedulingPolicy") or {}),
        "minAvailable": sum(role.replicas for role in gang.roles),
    }
    if gang.queue is not None:
        scheduling["queue"] = gang.queue
    made["spec"]["runPolicy"] = {**policy, "schedulingPolicy": scheduling}
    notes = made["metadata"].get("annotations") or {}
    if affinity := _affinity(gang, {ROLES[kind.lower()]: kind.lower() for kind in specs}):
        notes = {VOLCANO_AFFINITY: affinity} | notes
    made["metadata"]["annotations"] = notes
    for spec in specs.values():
        spec["template"]["spec"]["schedulerName"] = VOLCANO
    return made


def _affinity(gang: Gang, kinds: Mapping[str, str]) -> str:
    """Roles that talk, as Volcano's task topology writes them: pairs in a list, a role by itself with its own kind."""
    counts = {role.name: role.replicas for role in gang.roles}
    pairs = {
        (kinds[pair.a], kinds[pair.b]) if pair.a != pair.b else (kinds[pair.a],)
        for pair in gang.traffic
        if pair.weight > 0 and (pair.a != pair.b or counts[pair.a] > 1)
    }
    return ";".join(",".join(pair) for pair in sorted(pairs))


def placed(manifest: Manifest, placement: Placement) -> dict[str, Any]:
    """A prepared TFJob whose roles may lie only where the plan has them, in equal parts.

    Args:
        manifest: See :func:`prepared`; it stays as it is.
        placement: Role → nodes, one for each replica; of no role :func:`uneven`.
    """
    made = copy.deepcopy(dict(manifest))
    for kind, spec in made["spec"]["tfReplicaSpecs"].items():
        nodes = sorted(set(placement[ROLES[kind.lower()]]))
        pod = spec["template"]["spec"]
        affinity = pod["affinity"] = {**(pod.get("affinity") or {})}
        wishes = affinity["nodeAffinity"] = {**(affinity.get("nodeAffinity") or {})}
        own = (wishes.get(REQUIRED_TERMS) or {}).get("nodeSelectorTerms") or ()
        # A term without expressions holds for no node, but would with a field in it.
        terms = [term for term in own if term.get("matchExpressions")] or [{}]
        wishes[REQUIRED_TERMS] = {
            "nodeSelectorTerms": [{**term, "matchFields": [_on(node)]} for term in terms for node in nodes]
        }
        if len(nodes) > 1:
            own_spread = pod.get("topologySpreadConstraints") or ()
            pod["topologySpreadConstraints"] = [
                *own_spread,
                _even(made["metadata"]["name"], kind, len(nodes)),
            ]
    return made


def _on(node: str) -> dict[str, Any]:
    return {"key": "metadata.name", "operator": "In", "values": [node]}


def _even(job: str, kind: str, nodes: int) -> dict[str, Any]:
    """Replicas of a role come by turns to each of its nodes; with fewer nodes than these, no more than one to each."""
    return {
        "maxSkew": 1,
        "minDomains": nodes,
        "topologyKey": HOSTNAME,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {JOB_NAME: job, REPLICA_TYPE: kind.lower()}},
    }


def _phase(group: Manifest) -> str:
    return (group.get("status") or {}).get("phase") or "Pending"


def state(group: Manifest) -> str:
    """Where a PodGroup stands, and what Volcano says about it."""
    status, phase = group.get("status") or {}, _phase(group)
    said = [
        f"{item.get('reason') or item.get('type')}: {item.get('message') or 'no message'}"
        for item in status.get("conditions") or ()
        if item.get("status") == "True" and item.get("type") != "Scheduled"
    ]
    return f"{phase}: {'; '.join(said)}" if said else f"{phase}: Volcano has not said why"


def in_vain(
    group: Manifest | None, pods: Sequence[Manifest], record: GangRecord, *, asked: bool
) -> str | None:
    """Why a gang that holds room would wait for Volcano for ever; None if it does not.

    Args:
        group: Its PodGroup; None: there is none.
        pods: Its pods.
        record: Its record.
        asked: Whether Volcano is to bind them.
    """
    if record.phase != "Reserved" or record.reservation is None:
        return None
    replicas = {
        (role, index) for role, nodes in record.reservation.placement.items() for index in range(len(nodes))
    }
    if replicas <= {replica_of(pod) for pod in pods if pod["spec"].get("nodeName")}:
        return None
    if asked and group is None:
        return (
            "there is no PodGroup of Volcano for it: the training-operator makes one if it was started with "
            "--gang-scheduler-name=volcano; start it so, or submit with --enforcement default"
        )
    if not asked and not pods and group is not None and _phase(group) == "Pending":
        return (
            "its pods wait for Volcano: the training-operator was started with --gang-scheduler-name=volcano; submit with "
            f"--enforcement volcano, or start it without that flag; PodGroup {state(group)}"
        )
    return None


def strays(pods: Sequence[Manifest], record: GangRecord | None) -> Iterator[str]:
    """Replicas that lie where the plan has none, or no more, of their role."""
    left = {
        role: Counter(nodes)
        for role, nodes in (
            record.reservation.placement if record is not None and record.reservation is not None else {}
        ).items()
    }
    for pod in sorted(pods, key=lambda pod: str(pod["metadata"]["name"])):
        found, node = replica_of(pod), pod["spec"].get("nodeName")
        if found is None or not node or found[0] not in left:
            continue
        left[found[0]][node] -= 1
        if left[found[0]][node] < 0:
            yield f"{found[0]}-{found[1]} lies on {node}, where the plan has no place for it"
