"""Peers' words: what labels and annotations of Kueue, KAI and Volcano on a TFJob mean for its gang.

Each has one meaning here or is refused with the reason; none is passed over in silence. Our own annotations win.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gangplan.closeness import Closeness, ReplicaAffinity
from gangplan.errors import Problem
from gangplan.kube import task_topology
from gangplan.kube.names import (
    PREFERRED_LEVEL,
    QUEUE,
    REQUIRED_LEVEL,
    ROLES,
    VOLCANO_AFFINITY,
    VOLCANO_ANTI_AFFINITY,
    VOLCANO_ORDER,
)
from gangplan.kube.paths import below
from gangplan.kube.podset_topology import (
    KUEUE,
    SLICE_LEVEL,
    SLICE_SIZE,
    WORDS,
    Say,
    closeness,
    closeness_of_roles,
    metadata_of,
    templates,
)
from gangplan.snapshot import Group, Traffic

Manifest = Mapping[str, Any]

KAI = "kai.scheduler/"
PREFIXES = (KUEUE, KAI, "volcano.sh/", "scheduling.volcano.sh/")
KUEUE_QUEUE, KAI_QUEUE = f"{KUEUE}queue-name", f"{KAI}queue"
VOLCANO_QUEUE_NAME = "scheduling.volcano.sh/queue-name"
PREEMPTABLE = "volcano.sh/preemptable"
KAI_REQUIRED, KAI_PREFERRED = f"{KAI}topology-required-placement", f"{KAI}topology-preferred-placement"

OF_JOB = frozenset(
    {
        *(
            KUEUE_QUEUE,
            KAI_QUEUE,
            VOLCANO_QUEUE_NAME,
            PREEMPTABLE,
            f"{KAI}topology",
            KAI_REQUIRED,
            KAI_PREFERRED,
        ),
        *(VOLCANO_AFFINITY, VOLCANO_ANTI_AFFINITY, VOLCANO_ORDER),
    }
)
"""Words of a job that are understood."""

OF_ROLE = WORDS | {KAI_QUEUE, VOLCANO_QUEUE_NAME, PREEMPTABLE}
"""Words of a pod template that are understood."""

_PART_OF_GPU = "a part of a GPU is no resource of a node that can be counted; ask for whole ones"
_OTHER_GANG = "the gang is the TFJob itself; leave it out"
REFUSED: Mapping[str, str] = {
    f"{KUEUE}priority-class": "classes of Kueue are not read; say a number in gangplan.dev/priority",
    f"{KUEUE}podset-slice-required-topology-constraints": (
        f"several layers of slices are not read; say one with {SLICE_LEVEL} and {SLICE_SIZE}"
    ),
    f"{KAI}node-pool": "pools of nodes are not read; say it as a nodeSelector",
    f"{KAI}subgroup-name": "sub-groups of KAI are not read; roles are placed together as they are",
    "gpu-fraction": _PART_OF_GPU,
    "gpu-memory": _PART_OF_GPU,
    "gpu-fraction-num-devices": _PART_OF_GPU,
    "gpu-fraction-container-name": _PART_OF_GPU,
    "scheduling.k8s.io/group-name": _OTHER_GANG,
    "scheduling.volcano.sh/group-name": _OTHER_GANG,
    "scheduling.x-k8s.io/pod-group": _OTHER_GANG,
    "pod-group-name": _OTHER_GANG,
    "volcano.sh/task-spec": "the training-operator says it; leave it out",
}
"""Words that are refused, and why. Others of :data:`PREFIXES` are refused because nobody knows what they ask for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a gang is told by peers' words.

    Attributes:
        queue: The queue; None: not said.
        queue_path: Where that is said.
        topology: How near all of its replicas lie; None: not said.
        roles: Role → how near its replicas lie.
        groups: Roles that lie near to each other.
        traffic: Who talks; None: not said.
        company: Role → whom it rather keeps apart from.
        preemptible: Whether it may be evicted for others.
    """

    queue: str | None = None
    queue_path: str = ""
    topology: Closeness | None = None
    roles: Mapping[str, Closeness] = field(default_factory=dict)
    groups: tuple[Group, ...] = ()
    traffic: tuple[Traffic, ...] | None = None
    company: Mapping[str, tuple[ReplicaAffinity, ...]] = field(default_factory=dict)
    preemptible: bool = True


def meaning(manifest: Manifest, *, gang: str) -> Meaning:
    """What the words of a TFJob mean; those that are refused mean nothing.

    Args:
        manifest: The TFJob; of sound shape.
        gang: Name of its gang.
    """
    return _read(manifest, gang, lambda *_: None)


def problems(manifest: Manifest) -> list[Problem]:
    """What is refused of the words of a TFJob of sound shape."""
    found: list[Problem] = []
    _read(manifest, "", lambda *problem: found.append(Problem(*problem)))
    notes = (manifest.get("metadata") or {}).get("annotations") or {}
    return [*_unknown(manifest), *found, *task_topology.problems(notes, _kinds(manifest))]


def without_kueue(manifest: Manifest) -> dict[str, Any]:
    """A TFJob without the words of Kueue, which would suspend it until it admits it too; understood, they are done."""
    specs = {
        kind: {**spec, "template": _stripped(spec["template"])}
        for kind, spec in manifest["spec"]["tfReplicaSpecs"].items()
    }
    return _stripped({**manifest, "spec": {**manifest["spec"], "tfReplicaSpecs": specs}})


def _stripped(item: Manifest) -> dict[str, Any]:
    metadata = dict(item.get("metadata") or {})
    for part in ("labels", "annotations"):
        if metadata.get(part):
            metadata[part] = {key: text for key, text in metadata[part].items() if not key.startswith(KUEUE)}
    return {**item, "metadata": metadata} if metadata else dict(item)


def _kinds(manifest: Manifest) -> dict[str, str]:
    specs = (manifest.get("spec") or {}).get("tfReplicaSpecs") or {}
    return {written.lower(): ROLES[written.lower()] for written in specs if written.lower() in ROLES}


def _words(metadata: Manifest, path: str) -> Iterator[tuple[str, str, str]]:
    """(word, what it says, its path), of labels and annotations."""
    for part in ("labels", "annotations"):
        for key, text in sorted((metadata.get(part) or {}).items()):
            if text is not None:
                yield key, text, below(f"{path}.{part}", key)


def _unknown(manifest: Manifest) -> Iterator[Problem]:
    places = [(manifest.get("metadata") or {}, "$.metadata", OF_JOB)]
    places += [(metadata_of(spec), path, OF_ROLE) for _, path, spec in templates(manifest)]
    for metadata, where, understood in places:
        for key, _, path in _words(metadata, where):
            if key in REFUSED:
                yield Problem(path, "UNSUPPORTED", f"is not supported: {REFUSED[key]}")
            elif key.startswith(PREFIXES) and key not in understood:
                reason = (
                    "it belongs on the TFJob"
                    if key in OF_JOB
                    else "what it asks for is not known here; leave it out"
                )
                reason = "it belongs on a pod template" if key in OF_ROLE else reason
                yield Problem(path, "UNSUPPORTED", f"is not supported: {reason}")


def _read(manifest: Manifest, gang: str, say: Say) -> Meaning:
    metadata = manifest.get("metadata") or {}
    notes, kinds = metadata.get("annotations") or {}, _kinds(manifest)
    queue, queue_path = _queue(manifest, notes, say)
    roles, groups = closeness_of_roles(manifest, say)
    own = notes.get(REQUIRED_LEVEL) or notes.get(PREFERRED_LEVEL)
    topology = closeness(notes, KAI_REQUIRED, KAI_PREFERRED, "$.metadata.annotations", say)
    asked = {role: replace(each, slices=()) for role, each in roles.items()}
    if topology is None and len(asked) == len(kinds) and len({*map(repr, asked.values())}) == 1:
        topology, groups = next(iter(asked.values())), ()
        roles = {role: Closeness(slices=each.slices) for role, each in roles.items() if each.slices}
    return Meaning(
        queue=queue,
        queue_path=queue_path,
        topology=None if own else topology,
        roles=roles,
        groups=groups,
        traffic=task_topology.traffic(notes, kinds),
        company=task_topology.company(notes, kinds, gang),
        preemptible=_preemptible(manifest, say),
    )


def _queue(manifest: Manifest, notes: Manifest, say: Say) -> tuple[str | None, str]:
    """The queue and where it is said."""
    policy = ((manifest.get("spec") or {}).get("runPolicy") or {}).get("schedulingPolicy") or {}
    said = [("$.spec.runPolicy.schedulingPolicy.queue", policy.get("queue"))]
    said += [
        (path, text)
        for metadata, where in [
            (manifest.get("metadata") or {}, "$.metadata"),
            *((metadata_of(spec), path) for _, path, spec in templates(manifest)),
        ]
        for key, text, path in _words(metadata, where)
        if key in {KUEUE_QUEUE, KAI_QUEUE, VOLCANO_QUEUE_NAME}
    ]
    if notes.get(QUEUE):
        return notes[QUEUE], below("$.metadata.annotations", QUEUE)
    named = [(path, queue) for path, queue in said if queue]
    for path, queue in named[1:]:
        if queue != named[0][1]:
            text = f"names queue {queue}, and {named[0][0]} names {named[0][1]}: say one of them in annotation {QUEUE}"
            say(path, "CONTRADICTION", text)
    return (named[0][1], named[0][0]) if named else (None, "")


def _preemptible(manifest: Manifest, say: Say) -> bool:
    said = [
        (text, path)
        for metadata, where in [
            (manifest.get("metadata") or {}, "$.metadata"),
            *((metadata_of(spec), path) for _, path, spec in templates(manifest)),
        ]
        for key, text, path in _words(metadata, where)
        if key == PREEMPTABLE
    ]
    for text, path in said:
        if text not in {"true", "false"}:
            say(path, "BAD_VALUE", f"must be 'true' or 'false', not {text!r}")
        elif text != said[0][0]:
            say(path, "CONTRADICTION", "a gang is evicted whole: say the same everywhere")
    return all(text != "false" for text, _ in said)
