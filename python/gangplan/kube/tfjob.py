"""TFJob (``kubeflow.org/v1``, as training-operator v1.9 reads it) to Gang and to Job."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import yaml

from gangplan.closeness import Closeness
from gangplan.documents import decode, encode, yaml_to_json
from gangplan.errors import InvalidInput, InvalidQuantity, Problem
from gangplan.kube import peers
from gangplan.kube.names import (
    PREFERRED_LEVEL,
    PRIORITY,
    PROFILE,
    REQUIRED_LEVEL,
    REQUIRED_TERMS,
    RESTART_POLICIES,
    ROLES,
    SUCCESS_POLICIES,
    TENSORFLOW_CONTAINER,
)
from gangplan.kube.paths import below
from gangplan.kube.problems import news, problems_of
from gangplan.kube.references import expand
from gangplan.node_kinds import ALLOW_SPLIT, ASKED_BY, NODE_TYPE
from gangplan.request import requests_of
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
from gangplan.solver import format_quantity, parse_quantity, validate

Manifest = Mapping[str, Any]

_PLACES = (
    (r"^\.pod\.init_containers\b", ".template.spec.initContainers"),
    (r"^\.pod\.containers\b", ".template.spec.containers"),
    (r"^\.pod\b", ".template.spec"),
    (r"(?<=ontainers)(\[\d+\])\.(requests|limits)\b", r"\1.resources.\2"),
    (r"^\.node_selector\b", ".template.spec.nodeSelector"),
    (r"^\.node_affinity\b", f".template.spec.affinity.nodeAffinity.{REQUIRED_TERMS}.nodeSelectorTerms"),
    (r"(?<=\])\.expressions\b", ".matchExpressions"),
    (r"^\.tolerations\b", ".template.spec.tolerations"),
)
"""Fields of a role → where a replica spec has them."""


def read(text: str, source: str = "TFJob") -> dict[str, Any]:
    """Read a TFJob manifest from YAML or JSON and see that training-operator and we can run it.

    Raises:
        InvalidInput: It is wrong; every problem is named with its path.
    """
    manifest = decode(yaml_to_json(text, source), Any)
    if not isinstance(manifest, dict):
        raise InvalidInput([Problem("$", "WRONG_TYPE", "must be one TFJob")], source)
    problems, describable = problems_of(manifest)
    if describable is not None:
        problems = sorted({*problems, *news(_problems_as_gang(describable), problems)})
    if problems:
        raise InvalidInput(problems, source)
    return manifest


def _problems_as_gang(manifest: Manifest) -> list[Problem]:
    """What the rules of documents refuse about the gang that a manifest describes, at its places in the manifest."""
    described = gang(manifest, created=0)
    queues = () if described.queue is None else (Queue(name=described.queue),)
    # Which levels there are is the cluster's to say: here those that are named.
    all_asked = [described.topology]
    all_asked += [group.topology for group in described.groups] + [role.topology for role in described.roles]
    levels = dict.fromkeys(level for asked in all_asked if asked is not None for level in _levels(asked))
    topology = tuple(level for level in levels if level != "node")
    around = Snapshot(gangs=(described,), queues=queues, topology=topology)
    found = [item for item in validate("snapshot", encode(around)) if item.path.startswith("$.gangs[0]")]
    return [
        *(_translate(problem, described, manifest) for problem in found),
        *_beyond(described, manifest),
    ]


def _beyond(described: Gang, manifest: Manifest) -> list[Problem]:
    """What ``minResources`` asks for beyond the replicas, which say themselves what they need."""
    policy = _map(_map(manifest["spec"].get("runPolicy")).get("schedulingPolicy"))
    asked = _strings(policy.get("minResources"))
    path, problems = "$.spec.runPolicy.schedulingPolicy.minResources", []
    try:
        needs = [(role.replicas, requests_of(role)) for role in described.roles] if asked else []
    except InvalidQuantity:  # told at its place
        return []
    for resource, text in sorted(asked.items()):
        total = sum(count * each.get(resource, 0) for count, each in needs)
        try:
            amount = parse_quantity(resource, text, round_up=True)
        except InvalidQuantity as error:
            problems.append(Problem(below(path, resource), "BAD_VALUE", error.problems[0].message))
            continue
        if amount > total:
            message = f"asks for {text}, and its replicas for {format_quantity(resource, total)} together: leave it out"
            problems.append(Problem(below(path, resource), "CONTRADICTION", message))
    return problems


def write(manifest: Manifest) -> str:
    """Write a manifest as YAML, its fields in the order they have."""
    return yaml.dump(dict(manifest), Dumper=yaml.CSafeDumper, sort_keys=False)


def gang(manifest: Manifest, *, created: int, name: str | None = None) -> Gang:
    """Describe a sound TFJob as a gang.

    Its roles are those of TF_CONFIG (``Master`` becomes chief). Parameter servers talk to chief and workers; in a job
    without them all replicas but the evaluator talk to each other, and the workers form a ring, as in an all-reduce.

    Args:
        manifest: A manifest that :func:`read` accepted.
        created: Seconds since 1970 at which it was asked for.
        name: Its name; None: that of the TFJob.
    """
    name = name or manifest["metadata"]["name"]
    notes = manifest["metadata"].get("annotations") or {}
    policy = (manifest["spec"].get("runPolicy") or {}).get("schedulingPolicy") or {}
    roles = tuple(_role(role, spec) for role, _, spec in _replica_specs(manifest))
    if notes.get(ALLOW_SPLIT) == "true":
        roles = tuple(replace(role, labels={ALLOW_SPLIT: "true"}) for role in roles)
    if (profile := notes.get(PROFILE)) is not None:
        roles = tuple(
            replace(role, labels={**role.labels, ASKED_BY: f"--profile {profile}"})
            if NODE_TYPE in role.node_selector
            else role
            for role in roles
        )
    if all(role.name != "ps" for role in roles):
        roles = tuple(replace(role, ranks="ring") if role.name == "worker" else role for role in roles)
    words = peers.meaning(manifest, gang=name)
    least = policy.get("minAvailable")
    least = None if least is None or least >= sum(role.replicas for role in roles) else least
    return Gang(
        name=name,
        roles=_with_words(roles, words, least),
        queue=words.queue,
        priority=int(notes.get(PRIORITY, 0)),
        created=created,
        topology=_closeness(notes) or words.topology,
        groups=words.groups,
        min_member=least,
        preemptible=words.preemptible,
        traffic=_traffic([role.name for role in roles]) if words.traffic is None else words.traffic,
    )


def _with_words(roles: tuple[Role, ...], words: peers.Meaning, least: int | None) -> tuple[Role, ...]:
    """Roles as peers' words have them; of a gang that may start with less only workers may be fewer."""
    others = sum(role.replicas for role in roles if role.name != "worker")
    return tuple(
        replace(
            role,
            topology=words.roles.get(role.name),
            replica_affinity=words.company.get(role.name, ()),
            min=None if least is None else least - others if role.name == "worker" else role.replicas,
        )
        for role in roles
    )


def job(
    manifest: Manifest,
    *,
    run_id: str,
    placement: Mapping[str, tuple[str | None, ...]],
    env: Mapping[str, str],
) -> Job:
    """Describe a sound TFJob as a job for a runtime of processes: its ``tensorflow`` containers' commands.

    References ``$(NAME)`` in commands, arguments and values are expanded as Kubernetes does; a value knows the variables
    before it. What a process cannot have is told by :func:`gangplan.kube.left_out.not_done_here`.

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
        known = dict(env)
        for item in container.get("env") or ():
            if not item.get("valueFrom"):
                known[item["name"]] = expand(item.get("value") or "", known)
        words = (*(container.get("command") or ()), *(container.get("args") or ()))
        replicas += [
            ReplicaSpec(
                role=role,
                index=index,
                node=node,
                command=tuple(expand(word, known) for word in words),
                env=known,
                restart=RESTART_POLICIES[spec.get("restartPolicy") or "Never"],
            )
            for index, node in enumerate(placement[role])
        ]
    return Job(
        name=manifest["metadata"]["name"],
        run_id=run_id,
        replicas=tuple(replicas),
        success_policy=SUCCESS_POLICIES[manifest["spec"].get("successPolicy") or ""],
        deadline_s=policy.get("activeDeadlineSeconds"),
        backoff_limit=3 if policy.get("backoffLimit") is None else policy["backoffLimit"],
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
    required = _map(affinity.get(REQUIRED_TERMS))
    return Role(
        name=name,
        replicas=1 if spec.get("replicas") is None else spec["replicas"],
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
                        key=_text(item, "key"),
                        operator=_text(item, "operator"),
                        values=tuple(map(str, item.get("values") or ())),
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


def _text(item: Mapping[str, Any], key: str) -> Any:
    """A field that only an unsound manifest leaves out; the rules of documents judge the value."""
    return item.get(key) or ""


def _strings(values: Mapping[str, Any] | None) -> dict[str, str]:
    """Quantities may be bare numbers in YAML."""
    return {key: str(value) for key, value in (values or {}).items()}


def _levels(asked: Closeness) -> Iterator[str]:
    yield from (level for level in (asked.required, asked.preferred) if level)
    yield from (item.level for item in asked.slices)
    yield from (item.level for item in asked.spread)


def _closeness(notes: Mapping[str, str]) -> Closeness | None:
    required, preferred = notes.get(REQUIRED_LEVEL) or None, notes.get(PREFERRED_LEVEL) or None
    return Closeness(required=required, preferred=preferred) if required or preferred else None


def _traffic(roles: list[str]) -> tuple[Traffic, ...]:
    training = [role for role in roles if role != "evaluator"]
    if "ps" in training:
        return tuple(Traffic(a="ps", b=role) for role in training if role != "ps")
    pairs = [(a, b) for place, a in enumerate(training) for b in training[place:]]
    return tuple(Traffic(a=a, b=b) for a, b in pairs)


def _translate(problem: Problem, described: Gang, manifest: Manifest) -> Problem:
    """Say a problem of the gang at the place in the manifest where it comes from."""
    place = problem.path.removeprefix("$.gangs[0]")
    if (match := re.match(r"\.roles\[(\d+)\]", place)) is not None:
        written = {role: kind for role, kind, _ in _replica_specs(manifest)}
        kind = written[described.roles[int(match[1])].name]
        inside = place[match.end() :]
        for ours, theirs in _PLACES:
            inside = re.sub(ours, theirs, inside, count=1)
        return replace(problem, path=f"{below('$.spec.tfReplicaSpecs', kind)}{inside}")
    field = place.lstrip(".")
    if field == "name":
        return replace(problem, path="$.metadata.name")
    if field == "queue":
        return replace(problem, path=peers.meaning(manifest, gang=described.name).queue_path)
    note = {
        "priority": PRIORITY,
        "topology.required": REQUIRED_LEVEL,
        "topology.preferred": PREFERRED_LEVEL,
    }.get(field)
    return replace(problem, path="$" if note is None else below("$.metadata.annotations", note))
