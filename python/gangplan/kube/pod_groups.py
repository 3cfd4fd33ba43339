"""Gangs of others: pods that run and belong to a PodGroup, of Volcano or of the scheduler-plugins.

They hold their places whole, count in the queue of their PodGroup, and are told by its name.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gangplan import moments
from gangplan.documents import encode
from gangplan.kube.gang_object import full_name
from gangplan.kube.names import GANG_LABEL, REPLICA_TYPE
from gangplan.kube.objects import PodObject, pod_of
from gangplan.snapshot import Gang, Role, Running

PLUGINS_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
"""Label of a pod: its PodGroup of the scheduler-plugins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Gangs of others.

    Attributes:
        gangs: The gangs; all of their replicas run.
        running: Full name of a pod → the replica that it is.
    """

    gangs: tuple[Gang, ...] = ()
    running: Mapping[str, Running] = field(default_factory=dict)


def groups_of(
    pods: Iterable[PodObject],
    volcano: Iterable[Mapping[str, Any]],
    plugins: Iterable[Mapping[str, Any]],
    queues: Collection[str],
) -> Groups:
    """The gangs that PodGroups make of pods which nobody of ours knows.

    Args:
        pods: Pods that hold a place on a node.
        volcano: PodGroups of Volcano.
        plugins: PodGroups of the scheduler-plugins.
        queues: Names of the queues that there are.
    """
    kinds: list[tuple[str, Callable[[PodObject], str | None], Iterable[Mapping[str, Any]]]] = [
        ("volcano", _volcano_group, volcano),
        ("plugins", _plugins_group, plugins),
    ]
    known = {
        (kind, item["metadata"]["namespace"], item["metadata"]["name"]): item
        for kind, _, items in kinds
        for item in items
    }
    if not known:
        return Groups()
    members: dict[tuple[str, str, str], list[PodObject]] = defaultdict(list)
    for pod in pods:
        if GANG_LABEL in (pod.metadata.labels or {}):
            continue
        for kind, group_of, _ in kinds:
            key = (kind, pod.metadata.namespace, group_of(pod) or "")
            if key in known:
                members[key].append(pod)
                break
    gangs: list[Gang] = []
    running: dict[str, Running] = {}
    names: set[str] = set()
    for key, held in sorted(members.items(), key=lambda item: item[0]):
        name = full_name(key[1], f"podgroup/{key[2]}")
        if name in names:  # of both kinds
            name = f"{name}/{key[0]}"
        names.add(name)
        gang, replicas = _gang(name, known[key], held, queues)
        gangs.append(gang)
        running |= replicas
    return Groups(gangs=tuple(gangs), running=running)


def _volcano_group(pod: PodObject) -> str | None:
    notes = pod.metadata.annotations
    return None if notes is None else notes.group or notes.volcano_group


def _plugins_group(pod: PodObject) -> str | None:
    return (pod.metadata.labels or {}).get(PLUGINS_GROUP_LABEL)


def _gang(
    name: str, group: Mapping[str, Any], pods: list[PodObject], queues: Collection[str]
) -> tuple[Gang, dict[str, Running]]:
    spec = group.get("spec") or {}
    alike: dict[tuple[str, bytes], list[PodObject]] = defaultdict(list)
    for pod in sorted(pods, key=lambda pod: pod.metadata.name):
        alike[_word(pod), encode(pod_of(pod))].append(pod)
    roles: list[Role] = []
    running: dict[str, Running] = {}
    for number, ((word, _), members) in enumerate(sorted(alike.items())):
        role = word if sum(other == word for other, _ in alike) == 1 else f"{word}#{number}"
        roles.append(
            Role(name=role, replicas=len(members), pod=pod_of(members[0]), labels=_shared_labels(members))
        )
        for index, pod in enumerate(members):
            full = full_name(pod.metadata.namespace, pod.metadata.name)
            running[full] = Running(
                name=full,
                node=pod.spec.node_name or "",
                gang=name,
                role=role,
                index=index,
                priority=pod.spec.priority,
            )
    least = spec.get("minMember")
    gang = Gang(
        name=name,
        roles=tuple(roles),
        queue=spec.get("queue") if spec.get("queue") in queues else None,
        created=int(moments.seconds(group["metadata"]["creationTimestamp"])),
        min_member=least if isinstance(least, int) and 0 < least < len(pods) else None,
    )
    return gang, running


def _word(pod: PodObject) -> str:
    notes = pod.metadata.annotations
    return (
        (notes.task if notes is not None else None) or (pod.metadata.labels or {}).get(REPLICA_TYPE) or "pod"
    )


def _shared_labels(pods: list[PodObject]) -> dict[str, str]:
    """Labels that all of them have; what tells one from another is no label of their role."""
    first, *others = (pod.metadata.labels or {} for pod in pods)
    return {key: text for key, text in first.items() if all(other.get(key) == text for other in others)}
