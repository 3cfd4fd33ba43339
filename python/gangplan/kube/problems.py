"""What is wrong with a TFJob manifest: every problem with its place, before anything relies on the manifest.

First its shape is judged: the types of all fields that we read. What has the wrong shape is reported and left out;
the rest is judged by the rules of training-operator v1.9, of Kubernetes and ours.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gangplan.errors import Problem
from gangplan.kube import peers
from gangplan.kube.amounts import pod_amount_problems
from gangplan.kube.labels import key_problems, label_problems
from gangplan.kube.names import (
    GROUP,
    NAME_LIMIT,
    NOTES,
    PRIORITY,
    REQUIRED_TERMS,
    RESTART_POLICIES,
    ROLES,
    SUCCESS_POLICIES,
    TENSORFLOW_CONTAINER,
    TFJOB_API,
    TFJOB_KIND,
)
from gangplan.kube.paths import below, within
from gangplan.kube.peers import KUEUE_QUEUE
from gangplan.node_kinds import ALLOW_SPLIT

MANAGER = "kubeflow.org/training-operator"
"""Who starts a TFJob that does not say who does."""

_PRIORITY = re.compile(r"-?[0-9]{1,10}")
_WHOLE_NUMBER = re.compile(r"-?[0-9]+")
_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A plain value."""

    types: tuple[type, ...]
    text: str


@dataclass(frozen=True, slots=True)
class _Each:
    """A map with any keys."""

    shape: Any


_TEXT = _Leaf((str,), "a string; put it in quotes")
_WHOLE = _Leaf((int,), "a whole number")
_TRUTH = _Leaf((bool,), "true or false")
_QUANTITY = _Leaf((str, int, float), 'a quantity such as "500m"')
_ANY = _Leaf((object,), "anything")

_CONTAINER = {
    "name": _TEXT,
    "image": _TEXT,
    "command": [_TEXT],
    "args": [_TEXT],
    "env": [{"name": _TEXT, "value": _TEXT}],
    "resources": {"requests": _Each(_QUANTITY), "limits": _Each(_QUANTITY)},
    "volumeMounts": [{"name": _TEXT, "mountPath": _TEXT}],
    "restartPolicy": _TEXT,
}
_POD = {
    "containers": [_CONTAINER],
    "initContainers": [_CONTAINER],
    "volumes": [{"name": _TEXT, "persistentVolumeClaim": {"claimName": _TEXT}}],
    "overhead": _Each(_QUANTITY),
    "nodeName": _TEXT,
    "nodeSelector": _Each(_TEXT),
    "tolerations": [{"key": _TEXT, "operator": _TEXT, "value": _TEXT, "effect": _TEXT}],
    "affinity": {
        "nodeAffinity": {
            REQUIRED_TERMS: {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [{"key": _TEXT, "operator": _TEXT, "values": [_TEXT]}],
                        "matchFields": [_ANY],
                    }
                ]
            }
        },
        "podAffinity": {REQUIRED_TERMS: [_ANY]},
        "podAntiAffinity": {REQUIRED_TERMS: [_ANY]},
    },
}
_TFJOB = {
    "metadata": {"name": _TEXT, "annotations": _Each(_TEXT), "labels": _Each(_TEXT)},
    "spec": {
        "runPolicy": {
            "schedulingPolicy": {
                "queue": _TEXT,
                "minAvailable": _WHOLE,
                "minResources": _Each(_QUANTITY),
                "priorityClass": _TEXT,
            },
            "managedBy": _TEXT,
            "activeDeadlineSeconds": _WHOLE,
            "backoffLimit": _WHOLE,
            "suspend": _TRUTH,
        },
        "successPolicy": _TEXT,
        "tfReplicaSpecs": _Each(
            {
                "replicas": _WHOLE,
                "restartPolicy": _TEXT,
                "template": {
                    "metadata": {"annotations": _Each(_TEXT), "labels": _Each(_TEXT)},
                    "spec": _POD,
                },
            },
        ),
    },
}
"""The fields that we read. Any of them may be null or left out, as far as its shape goes."""


def problems_of(manifest: Mapping[str, Any]) -> tuple[list[Problem], Mapping[str, Any] | None]:
    """List what training-operator's webhook, Kubernetes or we would refuse.

    Returns:
        The problems, ordered by place, and what can be described as a gang all the same: the sound parts, with
        stand-ins for what a gang must have. None if it is no TFJob at all.
    """
    if manifest.get("apiVersion") != TFJOB_API or manifest.get("kind") != TFJOB_KIND:
        given = [str(manifest[field]) for field in ("apiVersion", "kind") if manifest.get(field)]
        lacking = [field for field in ("apiVersion", "kind") if not manifest.get(field)]
        without = f"without {' and '.join(lacking)}" if lacking else ""
        found = " ".join([*(given or ["a document"]), without]).strip()
        return [Problem("$", "BAD_VALUE", f"must be {TFJOB_API} {TFJOB_KIND}, not {found}")], None
    misshapen: list[Problem] = []
    sound = _sound(manifest, _TFJOB, "$", misshapen)
    return sorted({*misshapen, *news(_rules(sound), misshapen)}), _mended(sound)


def news(problems: Iterable[Problem], told: Sequence[Problem]) -> list[Problem]:
    """The problems that do not only follow from those that are told already."""
    return [problem for problem in problems if not any(_repeats(problem, other) for other in told)]


def _repeats(problem: Problem, told: Problem) -> bool:
    """Whether a broken rule only follows from something that was left out because of another problem."""
    missing = problem.code == "MISSING_FIELD" and within(told.path, problem.path)
    return missing or within(problem.path, told.path)


def _mended(sound: Mapping[str, Any]) -> Mapping[str, Any]:
    """What has a sound shape, with stand-ins where :func:`_rules` refuses it or something is missing."""
    metadata, spec = sound.get("metadata") or {}, sound.get("spec") or {}
    notes = {key: note for key, note in (metadata.get("annotations") or {}).items() if note is not None}
    if not _PRIORITY.fullmatch(notes.get(PRIORITY, "0")):
        del notes[PRIORITY]
    name = metadata.get("name") or ""
    roles = {}
    for written, given in (spec.get("tfReplicaSpecs") or {}).items():
        if written.lower() in ROLES:
            role = given or {}
            pod = (role.get("template") or {}).get("spec") or {}
            metadata = (role.get("template") or {}).get("metadata") or {}
            template = {"metadata": metadata, "spec": pod | {"containers": pod.get("containers") or [{}]}}
            count = role.get("replicas")
            roles[written] = role | {"replicas": 1 if count is None else max(1, count), "template": template}
    roles = roles or {"Worker": {"template": {"spec": {"containers": [{}]}}}}
    only = {ROLES[written.lower()]: written for written in reversed(roles)}
    return {
        "metadata": {
            "name": name if _DNS_1035.fullmatch(name) else "job",
            "annotations": notes,
            "labels": metadata.get("labels") or {},
        },
        "spec": spec | {"tfReplicaSpecs": {written: roles[written] for written in only.values()}},
    }


def _sound(value: Any, shape: Any, path: str, problems: list[Problem]) -> Any:
    """The parts of a value that have the shape; each that has not is reported, and left out or emptied."""

    def wrong(wanted: str) -> None:
        found = repr(value)
        found = found if len(found) <= 60 else f"{found[:60]}…"
        problems.append(Problem(path, "WRONG_TYPE", f"must be {wanted}, not {found}"))

    if isinstance(shape, _Leaf):
        if shape is _ANY or (
            isinstance(value, shape.types) and isinstance(value, bool) == (bool in shape.types)
        ):
            return value
        return wrong(shape.text)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return wrong("a list")
        return [
            {} if item is None else item
            for item in (
                _sound(item, shape[0], f"{path}[{place}]", problems) for place, item in enumerate(value)
            )
        ]
    if not isinstance(value, Mapping):
        return wrong("a map")
    if isinstance(shape, _Each):
        return {key: _sound(item, shape.shape, below(path, key), problems) for key, item in value.items()}
    return {
        key: _sound(value[key], inner, below(path, key), problems)
        for key, inner in shape.items()
        if value.get(key) is not None
    }


def _rules(manifest: Mapping[str, Any]) -> Iterator[Problem]:
    metadata, spec = manifest.get("metadata") or {}, manifest.get("spec") or {}
    name = metadata.get("name") or ""
    if not _DNS_1035.fullmatch(name):
        message = f"must be lower-case letters, digits and '-', starting with a letter, not {name!r}"
        yield Problem("$.metadata.name", "BAD_VALUE" if name else "MISSING_FIELD", message)
        name = ""
    priority = (metadata.get("annotations") or {}).get(PRIORITY)
    if priority is not None and not _PRIORITY.fullmatch(priority):
        path = below("$.metadata.annotations", PRIORITY)
        wanted = "from -9999999999 to 9999999999" if _WHOLE_NUMBER.fullmatch(priority) else "a whole number"
        yield Problem(path, "BAD_VALUE", f"must be {wanted}, not {priority!r}")
    if (split := (metadata.get("annotations") or {}).get(ALLOW_SPLIT, "false")) not in {"true", "false"}:
        path = below("$.metadata.annotations", ALLOW_SPLIT)
        yield Problem(path, "BAD_VALUE", f"must be 'true' or 'false', not {split!r}")
    for note in metadata.get("annotations") or {}:
        if note.startswith(f"{GROUP}/") and note not in NOTES:
            message = f"is no annotation of ours; known are {', '.join(NOTES)}"
            yield Problem(below("$.metadata.annotations", note), "UNKNOWN_NAME", message)
    yield from _policy_rules(spec, managed=KUEUE_QUEUE in (metadata.get("labels") or {}))
    yield from peers.problems(manifest)
    specs = spec.get("tfReplicaSpecs") or {}
    if not specs:
        yield Problem("$.spec.tfReplicaSpecs", "MISSING_FIELD", "must have at least one replica type")
    known = [written for written in specs if written.lower() in ROLES]
    for written in specs:
        path = below("$.spec.tfReplicaSpecs", written)
        if written in known:
            yield from _replica_rules(path, written.lower(), specs[written] or {}, name)
        else:
            message = "is no replica type; known are Chief, Master, PS, Worker, Evaluator"
            yield Problem(path, "UNKNOWN_NAME", message)
    roles = [ROLES[written.lower()] for written in known]
    for role in sorted({role for role in roles if roles.count(role) > 1}):
        same = ", ".join(written for written in known if ROLES[written.lower()] == role)
        message = f"{same} mean the same role, {role}: give one"
        yield Problem("$.spec.tfReplicaSpecs", "CONTRADICTION", message)


def _policy_rules(spec: Mapping[str, Any], *, managed: bool) -> Iterator[Problem]:
    policy = spec.get("runPolicy") or {}
    for field, least in (("activeDeadlineSeconds", 1), ("backoffLimit", 0)):
        if (number := policy.get(field)) is not None and number < least:
            yield Problem(
                f"$.spec.runPolicy.{field}", "OUT_OF_RANGE", f"must be at least {least}, not {number}"
            )
    if policy.get("suspend"):
        message = "is not supported: the queue decides when a job starts; leave it out"
        if managed:
            message += (
                ", also where Kueue would set it to start the job itself: here the gang waits without a job"
            )
        yield Problem("$.spec.runPolicy.suspend", "UNSUPPORTED", message)
    if (manager := policy.get("managedBy") or MANAGER) != MANAGER:
        message = f"is not supported: {manager} would start it, and not the training-operator; leave it out"
        yield Problem("$.spec.runPolicy.managedBy", "UNSUPPORTED", message)
    yield from _least_rules(spec, (policy.get("schedulingPolicy") or {}).get("minAvailable"))
    if (success := spec.get("successPolicy") or "") not in SUCCESS_POLICIES:
        message = f"must be one of {', '.join(map(repr, SUCCESS_POLICIES))}, not {success!r}"
        yield Problem("$.spec.successPolicy", "BAD_VALUE", message)


def _least_rules(spec: Mapping[str, Any], least: int | None) -> Iterator[Problem]:
    """Only workers may be fewer: who coordinates and who holds the parameters is there from the beginning."""
    counts = {
        written.lower(): 1 if (each or {}).get("replicas") is None else max(1, each["replicas"])
        for written, each in (spec.get("tfReplicaSpecs") or {}).items()
    }
    total, others = sum(counts.values()), sum(counts[kind] for kind in counts if kind != "worker")
    first = others + ("worker" in counts)
    if least is not None and counts and not first <= least <= total:
        message = f"must be from {first} (all but workers, and one of these) to {total}, not {least}"
        yield Problem("$.spec.runPolicy.schedulingPolicy.minAvailable", "OUT_OF_RANGE", message)


def _replica_rules(path: str, kind: str, spec: Mapping[str, Any], name: str) -> Iterator[Problem]:
    count = spec.get("replicas")
    count = 1 if count is None else count
    if count < 1:
        yield Problem(f"{path}.replicas", "OUT_OF_RANGE", f"must be at least 1, not {count}")
    elif ROLES[kind] == "chief" and count > 1:
        yield Problem(f"{path}.replicas", "OUT_OF_RANGE", f"a job has at most one chief, not {count}")
    elif name and len(longest := f"{name}-{kind}-{count - 1}") > NAME_LIMIT:
        message = f"{longest} would be longer than {NAME_LIMIT} characters: shorten the job's name"
        yield Problem("$.metadata.name", "OUT_OF_RANGE", message)
    if (policy := spec.get("restartPolicy") or "Never") not in RESTART_POLICIES:
        message = f"must be one of {', '.join(RESTART_POLICIES)}, not {policy!r}"
        yield Problem(f"{path}.restartPolicy", "BAD_VALUE", message)
    metadata = (spec.get("template") or {}).get("metadata") or {}
    yield from label_problems(f"{path}.template.metadata.labels", metadata.get("labels") or {})
    for key in metadata.get("annotations") or {}:
        yield from key_problems(below(f"{path}.template.metadata.annotations", key), key)
    yield from _pod_rules(f"{path}.template.spec", (spec.get("template") or {}).get("spec") or {})


def _pod_rules(path: str, pod: Mapping[str, Any]) -> Iterator[Problem]:
    containers = pod.get("containers") or []
    named = [place for place, item in enumerate(containers) if item.get("name") == TENSORFLOW_CONTAINER]
    if len(named) != 1:
        message = f"must have one container named {TENSORFLOW_CONTAINER}: it gets TF_CONFIG"
        yield Problem(f"{path}.containers", "MISSING_FIELD" if not named else "DUPLICATE_NAME", message)
    for place in named:
        if not containers[place].get("image"):
            yield Problem(f"{path}.containers[{place}].image", "MISSING_FIELD", "must not be empty")
    for place, container in enumerate(containers):
        yield from _named(f"{path}.containers[{place}].env", container.get("env") or [], "name")
        mounts = container.get("volumeMounts") or []
        yield from _named(f"{path}.containers[{place}].volumeMounts", mounts, "name", "mountPath")
    yield from _named(f"{path}.volumes", pod.get("volumes") or [], "name")
    yield from pod_amount_problems(path, pod)
    yield from _affinity_rules(f"{path}.affinity", pod.get("affinity") or {})
    if pod.get("nodeName"):
        message = "is not supported: the solver chooses the node; use nodeSelector to restrict it"
        yield Problem(f"{path}.nodeName", "UNSUPPORTED", message)


def _affinity_rules(path: str, affinity: Mapping[str, Any]) -> Iterator[Problem]:
    required = (affinity.get("nodeAffinity") or {}).get(REQUIRED_TERMS) or {}
    for place, term in enumerate(required.get("nodeSelectorTerms") or []):
        where = f"{path}.nodeAffinity.{REQUIRED_TERMS}.nodeSelectorTerms[{place}]"
        expressions = term.get("matchExpressions") or []
        yield from _named(f"{where}.matchExpressions", expressions, "key", "operator")
        if term.get("matchFields"):
            yield Problem(
                f"{where}.matchFields", "UNSUPPORTED", "is not supported: use matchExpressions on labels"
            )
    for field in ("podAffinity", "podAntiAffinity"):
        if (affinity.get(field) or {}).get(REQUIRED_TERMS):
            message = "is not supported: a plan that ignored it would be wrong; use the gang's levels instead"
            yield Problem(f"{path}.{field}.{REQUIRED_TERMS}", "UNSUPPORTED", message)


def _named(path: str, items: Sequence[Mapping[str, Any]], *fields: str) -> Iterator[Problem]:
    for place, item in enumerate(items):
        for field in fields:
            if not item.get(field):
                yield Problem(f"{path}[{place}].{field}", "MISSING_FIELD", "must not be empty")
