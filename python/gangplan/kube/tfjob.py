"""TFJob (``kubeflow.org/v1``, as training-operator v1.9 reads it) to Gang and to Job."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import yaml

from gangplan.documents import decode, encode, yaml_to_json
from gangplan.errors import InvalidInput, Problem
from gangplan.kube.names import (
    NAME_LIMIT,
    PREFERRED_LEVEL,
    PRIORITY,
    QUEUE,
    REQUIRED_LEVEL,
    RESTART_POLICIES,
    ROLES,
    TENSORFLOW_CONTAINER,
    TFJOB_API,
    TFJOB_KIND,
)
from gangplan.runtime import Job, ReplicaSpec
from gangplan.snapshot import (
    Container,
    Expression,
    Gang,
    NodeSelectorTerm,
    Pod,
    Queue,
    Role,
    Snapshot,
    Toleration,
    Traffic,
)
from gangplan.solver import validate

Manifest = Mapping[str, Any]
_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def read(text: str, source: str = "TFJob") -> dict[str, Any]:
    """Read a TFJob manifest from YAML or JSON and see that training-operator and we can run it.

    Raises:
        InvalidInput: It is wrong; every problem is named with its path.
    """
    manifest = decode(yaml_to_json(text, source), Any)
    if not isinstance(manifest, dict):
        raise InvalidInput([Problem("$", "WRONG_TYPE", "must be one TFJob")], source)
    if problems := sorted(set(_problems(manifest))):
        raise InvalidInput(problems, source)
    try:
        described = gang(manifest, created=0)
    except (TypeError, AttributeError, ValueError, KeyError) as error:
        raise InvalidInput([Problem("$.spec.tfReplicaSpecs", "WRONG_TYPE", str(error))], source) from error
    queues = () if described.queue is None else (Queue(name=described.queue),)
    levels = tuple(
        {level for level in (described.required, described.preferred) if level not in {None, "node"}}
    )
    around = Snapshot(gangs=(described,), queues=queues, topology=tuple(level for level in levels if level))
    found = [
        problem
        for problem in validate("snapshot", encode(around))
        if problem.path.startswith("$.gangs[0]") and ".preferred" not in problem.path
    ]
    if found:
        raise InvalidInput([_translate(problem, described, manifest) for problem in found], source)
    return manifest


def write(manifest: Manifest) -> str:
    """Write a manifest as YAML, its fields in the order they have."""
    return yaml.dump(dict(manifest), Dumper=yaml.CSafeDumper, sort_keys=False)


def gang(manifest: Manifest, *, created: int) -> Gang:
    """Describe a sound TFJob as a gang.

    Its roles are those of TF_CONFIG (``Master`` becomes chief). Parameter servers talk to chief and workers; in a job
    without them all replicas but the evaluator talk to each other.

    Args:
        manifest: A manifest that :func:`read` accepted.
        created: Seconds since 1970 at which it was asked for.
    """
    notes = manifest["metadata"].get("annotations") or {}
    policy = (manifest["spec"].get("runPolicy") or {}).get("schedulingPolicy") or {}
    roles = tuple(_role(role, spec) for role, _, spec in _replica_specs(manifest))
    return Gang(
        name=manifest["metadata"]["name"],
        roles=roles,
        queue=notes.get(QUEUE) or policy.get("queue") or None,
        priority=int(notes.get(PRIORITY, 0)),
        created=created,
        required=notes.get(REQUIRED_LEVEL) or None,
        preferred=notes.get(PREFERRED_LEVEL) or None,
        traffic=_traffic([role.name for role in roles]),
    )


def job(
    manifest: Manifest,
    *,
    run_id: str,
    placement: Mapping[str, tuple[str | None, ...]],
    env: Mapping[str, str],
) -> Job:
    """Describe a sound TFJob as a job for a runtime of processes: its ``tensorflow`` containers' commands.

    Args:
        manifest: A manifest that :func:`read` accepted.
        run_id: The run that it belongs to.
        placement: Role → nodes by index; None where a replica has no place.
        env: Environment variables for every replica; those of the manifest win.
    """
    policy = manifest["spec"].get("runPolicy") or {}
    replicas = []
    for role, _, spec in _replica_specs(manifest):
        container = _container(spec)
        own = {item["name"]: str(item["value"]) for item in container.get("env") or [] if "value" in item}
        command = (*(container.get("command") or ()), *(container.get("args") or ()))
        replicas += [
            ReplicaSpec(
                role=role,
                index=index,
                node=node,
                command=tuple(str(word) for word in command),
                env={**env, **own},
                restart=RESTART_POLICIES[spec.get("restartPolicy") or "Never"],
            )
            for index, node in enumerate(placement[role])
        ]
    success: Literal["", "AllWorkers"] = (
        "AllWorkers" if manifest["spec"].get("successPolicy") == "AllWorkers" else ""
    )
    return Job(
        name=manifest["metadata"]["name"],
        run_id=run_id,
        replicas=tuple(replicas),
        success_policy=success,
        deadline_s=policy.get("activeDeadlineSeconds"),
        backoff_limit=policy.get("backoffLimit", 3),
    )


def _replica_specs(manifest: Manifest) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """(role, replica type as written, spec), in the order of roles."""
    specs = manifest["spec"]["tfReplicaSpecs"]
    order = list(ROLES)
    for written in sorted(specs, key=lambda written: order.index(written.lower())):
        yield ROLES[written.lower()], written, specs[written]


def _container(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    containers: list[Mapping[str, Any]] = spec["template"]["spec"]["containers"]
    return next(container for container in containers if container.get("name") == TENSORFLOW_CONTAINER)


def _role(name: str, spec: Mapping[str, Any]) -> Role:
    pod = spec["template"]["spec"]
    affinity = _map(_map(pod.get("affinity")).get("nodeAffinity"))
    required = _map(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
    return Role(
        name=name,
        replicas=spec.get("replicas", 1),
        pod=Pod(
            containers=tuple(_resources(item) for item in pod["containers"]),
            init_containers=tuple(_resources(item) for item in pod.get("initContainers") or ()),
            overhead=_strings(pod.get("overhead")),
        ),
        node_selector=_strings(pod.get("nodeSelector")),
        node_affinity=tuple(
            NodeSelectorTerm(
                expressions=tuple(
                    Expression(
                        key=item["key"], operator=item["operator"], values=tuple(item.get("values") or ())
                    )
                    for item in term.get("matchExpressions") or ()
                )
            )
            for term in required.get("nodeSelectorTerms") or ()
        ),
        tolerations=tuple(
            Toleration(
                key=item.get("key") or "",
                operator=item.get("operator") or "Equal",
                value=item.get("value") or "",
                effect=item.get("effect") or "",
            )
            for item in pod.get("tolerations") or ()
        ),
    )


def _resources(container: Mapping[str, Any]) -> Container:
    resources = container.get("resources") or {}
    return Container(
        requests=_strings(resources.get("requests")),
        limits=_strings(resources.get("limits")),
        sidecar=container.get("restartPolicy") == "Always",
    )


def _map(value: Any) -> Mapping[str, Any]:
    """A map that may be left out or null."""
    return value or {}


def _strings(values: Mapping[str, Any] | None) -> dict[str, str]:
    """Quantities may be bare numbers in YAML."""
    return {key: str(value) for key, value in (values or {}).items()}


def _traffic(roles: list[str]) -> tuple[Traffic, ...]:
    training = [role for role in roles if role != "evaluator"]
    if "ps" in training:
        return tuple(Traffic(a="ps", b=role) for role in training if role != "ps")
    pairs = [(a, b) for place, a in enumerate(training) for b in training[place:]]
    return tuple(Traffic(a=a, b=b) for a, b in pairs)


def _problems(manifest: Manifest) -> Iterator[Problem]:
    """What training-operator's webhook, Kubernetes or we would refuse."""
    if manifest.get("apiVersion") != TFJOB_API or manifest.get("kind") != TFJOB_KIND:
        found = f"{manifest.get('apiVersion')} {manifest.get('kind')}"
        yield Problem("$", "BAD_VALUE", f"must be {TFJOB_API} {TFJOB_KIND}, not {found}")
        return
    metadata, spec = manifest.get("metadata"), manifest.get("spec")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not _DNS_1035.fullmatch(name):
        message = f"must be lower-case letters, digits and '-', starting with a letter, not {name!r}"
        yield Problem("$.metadata.name", "BAD_VALUE", message)
        name = ""
    elif isinstance(metadata, dict) and (notes := metadata.get("annotations")):
        yield from _annotation_problems(notes)
    specs = spec.get("tfReplicaSpecs") if isinstance(spec, dict) else None
    if not isinstance(specs, dict) or not specs:
        yield Problem("$.spec.tfReplicaSpecs", "MISSING_FIELD", "must have at least one replica type")
        return
    known = [written for written in specs if str(written).lower() in ROLES]
    for written in specs:
        path = f"$.spec.tfReplicaSpecs.{written}"
        if written in known:
            yield from _spec_problems(path, str(written).lower(), specs[written], name)
        else:
            yield Problem(
                path, "UNKNOWN_NAME", "is no replica type; known are Chief, Master, PS, Worker, Evaluator"
            )
    roles = [ROLES[written.lower()] for written in known]
    for role in sorted({role for role in roles if roles.count(role) > 1}):
        written = ", ".join(written for written in known if ROLES[written.lower()] == role)
        yield Problem(
            "$.spec.tfReplicaSpecs", "CONTRADICTION", f"{written} mean the same role, {role}: give one"
        )


def _annotation_problems(notes: Any) -> Iterator[Problem]:
    path = "$.metadata.annotations"
    if not isinstance(notes, dict):
        yield Problem(path, "WRONG_TYPE", "must be a map")
        return
    for key, value in notes.items():
        if not isinstance(value, str):
            yield Problem(f"{path}.{key}", "WRONG_TYPE", "must be a string; put it in quotes")
    priority = notes.get(PRIORITY)
    if isinstance(priority, str) and not re.fullmatch(r"-?\d{1,10}", priority):
        yield Problem(f"{path}.{PRIORITY}", "BAD_VALUE", f"must be a whole number, not {priority!r}")


def _spec_problems(path: str, kind: str, spec: Any, name: str) -> Iterator[Problem]:
    if not isinstance(spec, dict):
        yield Problem(path, "WRONG_TYPE", "must be a map")
        return
    count = spec.get("replicas", 1)
    if type(count) is not int or count < 1:
        yield Problem(
            f"{path}.replicas", "OUT_OF_RANGE", f"must be a whole number of at least 1, not {count!r}"
        )
    elif ROLES[kind] == "chief" and count > 1:
        yield Problem(f"{path}.replicas", "OUT_OF_RANGE", f"a job has at most one chief, not {count}")
    elif len(longest := f"{name}-{kind}-{count - 1}") > NAME_LIMIT:
        message = f"{longest} would be longer than {NAME_LIMIT} characters: shorten the job's name"
        yield Problem("$.metadata.name", "OUT_OF_RANGE", message)
    if (policy := spec.get("restartPolicy") or "Never") not in RESTART_POLICIES:
        message = f"must be one of {', '.join(RESTART_POLICIES)}, not {policy!r}"
        yield Problem(f"{path}.restartPolicy", "BAD_VALUE", message)
    template = spec.get("template")
    pod = template.get("spec") if isinstance(template, dict) else None
    containers = pod.get("containers") if isinstance(pod, dict) else None
    where = f"{path}.template.spec.containers"
    if not isinstance(containers, list) or not all(isinstance(item, dict) for item in containers):
        yield Problem(where, "MISSING_FIELD", "must be a list of containers")
        return
    named = [item for item in containers if item.get("name") == TENSORFLOW_CONTAINER]
    if len(named) != 1:
        message = f"must have one container named {TENSORFLOW_CONTAINER}: it gets TF_CONFIG"
        yield Problem(where, "MISSING_FIELD", message)
    for position, item in enumerate(containers):
        for field in ("command", "args"):
            words = item.get(field)
            if words is not None and not (isinstance(words, list) and all(isinstance(w, str) for w in words)):
                yield Problem(f"{where}[{position}].{field}", "WRONG_TYPE", "must be a list of strings")


def _translate(problem: Problem, described: Gang, manifest: Manifest) -> Problem:
    """Say a problem of the gang at the place in the manifest where it comes from."""
    written = {role: kind for role, kind, _ in _replica_specs(manifest)}
    path = problem.path.replace("$.gangs[0]", "$", 1)
    for index, role in enumerate(described.roles):
        path = path.replace(f"$.roles[{index}]", f"$.spec.tfReplicaSpecs.{written[role.name]}", 1)
    path = path.replace(".pod.init_containers[", ".template.spec.initContainers[")
    path = path.replace(".pod.containers[", ".template.spec.containers[").replace(".pod.", ".template.spec.")
    path = re.sub(r"(ontainers\[\d+\])\.(requests|limits)", r"\1.resources.\2", path)
    return Problem(path, problem.code, problem.message)
