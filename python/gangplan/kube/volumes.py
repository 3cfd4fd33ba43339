"""Volumes: the claims that the replicas of a TFJob mount, whether all of them can, and where they must lie for it."""

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, product
from typing import Any

from gangplan.errors import Forbidden, InvalidInput, NotFound, Problem
from gangplan.kube.api import Api, Object
from gangplan.kube.claims import why_unbound
from gangplan.kube.kinds import CLAIM, VOLUME
from gangplan.kube.names import ROLES, TENSORFLOW_CONTAINER
from gangplan.kube.paths import below
from gangplan.kube.submission import Submission
from gangplan.snapshot import Expression, Gang, NodeSelectorTerm

_CLAIM_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A claim at a path.

    Attributes:
        claim: Name of the PersistentVolumeClaim.
        path: Where containers see it; absolute.
    """

    claim: str
    path: str


def parse_mounts(texts: Iterable[str], *, source: str = "--volume") -> tuple[Mount, ...]:
    """Read mounts as people write them, ``CLAIM:PATH``.

    Raises:
        InvalidInput: Some are no such thing, or two have the same path; all of them are named.
    """
    mounts: dict[str, Mount] = {}
    problems = []
    for text in texts:
        claim, colon, path = text.partition(":")
        if not (colon and _CLAIM_NAME.fullmatch(claim) and path.startswith("/") and ":" not in path):
            message = f"must be the name of a claim and an absolute path, CLAIM:/PATH, not {text!r}"
            problems.append(Problem(source, "BAD_VALUE", message))
        elif (path := path.rstrip("/") or "/") in mounts or path == "/":
            found = "that of the container's own files" if path == "/" else "given twice"
            problems.append(Problem(source, "CONTRADICTION", f"{text!r}: the path {path} is {found}"))
        else:
            mounts[path] = Mount(claim=claim, path=path)
    if problems:
        raise InvalidInput(problems, "volumes")
    return tuple(mounts.values())


def mounted(
    manifest: Mapping[str, Any], mounts: Sequence[Mount], *, source: str = "--volume"
) -> dict[str, Any]:
    """A TFJob that has mounts in the ``tensorflow`` container of each replica.

    Args:
        manifest: A manifest that :func:`gangplan.kube.tfjob.read` accepted; it stays as it is.
        mounts: What is mounted.
        source: What gave them, for messages.

    Raises:
        InvalidInput: The manifest has something else at such a path.
    """
    made = copy.deepcopy(dict(manifest))
    problems = []
    for kind, spec in made["spec"]["tfReplicaSpecs"].items():
        pod = spec["template"]["spec"]
        container = next(item for item in pod["containers"] if item.get("name") == TENSORFLOW_CONTAINER)
        volumes = pod["volumes"] = list(pod.get("volumes") or ())
        places = container["volumeMounts"] = list(container.get("volumeMounts") or ())
        for mount in mounts:
            name = next((item["name"] for item in volumes if _claim_of(item) == mount.claim), None)
            there = next((item for item in places if item.get("mountPath") == mount.path), None)
            if there is not None and there.get("name") != name:
                message = f"{mount.claim}:{mount.path}: {kind} has {there.get('name')} at that path already"
                problems.append(Problem(source, "CONTRADICTION", message))
                continue
            if name is None:
                name = _unused({item.get("name") for item in volumes})
                volumes.append({"name": name, "persistentVolumeClaim": {"claimName": mount.claim}})
            if there is None:
                places.append({"name": name, "mountPath": mount.path})
    if problems:
        raise InvalidInput(problems, "volumes")
    return made


def with_claims(api: Api, wanted: Submission) -> Submission:
    """See that all replicas can mount their claims, and narrow a gang to the nodes where they can.

    Who may not read volumes does not learn on which nodes they are; then the scheduler finds out.

    Raises:
        InvalidInput: A claim is not there, has no volume or has lost it, or cannot be mounted by as many as want to.
    """
    gang, problems = wanted.gang, []
    for name, users in _claims(wanted.manifest).items():
        try:
            claim = api.get(CLAIM, name, namespace=wanted.namespace)
        except NotFound:
            message = f"there is no claim {name} in namespace {wanted.namespace}: create it, or name another"
            problems.append(Problem(users[0].path, "UNKNOWN_NAME", message))
            continue
        obstacle = _obstacle(claim, users, gang)
        if obstacle is None and (unbound := why_unbound(api, claim)) is not None and unbound.is_obstacle:
            obstacle = f"the claim {name} {unbound.text}; {unbound.cure}"
        if obstacle is not None:
            problems.append(Problem(users[0].path, "CONTRADICTION", obstacle))
            continue
        terms = _reachable_from(api, claim)
        if terms:
            gang = _narrowed(gang, {user.role for user in users}, terms)
    if problems:
        raise InvalidInput(problems, "volumes")
    return replace(wanted, gang=gang)


@dataclass(frozen=True, slots=True, kw_only=True)
class _User:
    """A role whose replicas mount a claim."""

    role: str
    path: str


def _claims(manifest: Mapping[str, Any]) -> dict[str, list[_User]]:
    found: dict[str, list[_User]] = {}
    for kind, spec in manifest["spec"]["tfReplicaSpecs"].items():
        for place, volume in enumerate(spec["template"]["spec"].get("volumes") or ()):
            if (claim := _claim_of(volume)) is not None:
                path = f"{below('$.spec.tfReplicaSpecs', kind)}.template.spec.volumes[{place}]"
                found.setdefault(claim, []).append(_User(role=ROLES[kind.lower()], path=path))
    return found


def _claim_of(volume: Mapping[str, Any]) -> str | None:
    return (volume.get("persistentVolumeClaim") or {}).get("claimName")


def _obstacle(claim: Object, users: list[_User], gang: Gang) -> str | None:
    """Why not all replicas can mount a claim; None if they can.

    https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes
    """
    name, status = claim["metadata"]["name"], claim.get("status") or {}
    if status.get("phase") == "Lost":
        return f"the claim {name} has lost its volume ({claim['spec'].get('volumeName')})"
    modes = {*(claim["spec"].get("accessModes") or ()), *(status.get("accessModes") or ())}
    roles = {user.role for user in users}
    users_count = sum(role.replicas for role in gang.roles if role.name in roles)
    if users_count <= 1 or modes & {"ReadWriteMany", "ReadOnlyMany"}:
        return None
    said = ", ".join(sorted(modes)) or "no access mode"
    on_one_node = gang.topology is not None and gang.topology.required == "node"
    if "ReadWriteOnce" in modes and on_one_node:
        return None
    cure = "" if "ReadWriteOnce" not in modes else ", or require the level node for the gang"
    return (
        f"the claim {name} is {said}, and {users_count} replicas mount it, which may lie on several nodes: "
        f"use a claim that is ReadWriteMany{cure}"
    )


def _reachable_from(api: Api, claim: Object) -> tuple[NodeSelectorTerm, ...]:
    """The node affinity of a claim's volume: one of the terms must hold; none: any node, or not known.

    What a term says of the names of nodes is left to the scheduler: a snapshot knows nodes by their labels.
    """
    name = claim["spec"].get("volumeName")
    if not name:
        return ()
    try:
        volume = api.get(VOLUME, name)
    except (Forbidden, NotFound):
        return ()
    required = ((volume["spec"].get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms")
    terms = required or ()
    if any(term.get("matchFields") and not term.get("matchExpressions") for term in terms):
        return ()
    return tuple(NodeSelectorTerm(expressions=tuple(_expressions(term))) for term in terms)


def _expressions(term: Mapping[str, Any]) -> Iterator[Expression]:
    for item in term.get("matchExpressions") or ():
        values = tuple(item.get("values") or ())
        yield Expression(key=item["key"], operator=item["operator"], values=values)


def _narrowed(gang: Gang, names: set[str], terms: tuple[NodeSelectorTerm, ...]) -> Gang:
    """A gang some of whose roles lie only where one of the terms holds, beside what they ask for already."""

    def both(own: tuple[NodeSelectorTerm, ...]) -> tuple[NodeSelectorTerm, ...]:
        pairs = product(own or (NodeSelectorTerm(expressions=()),), terms)
        return tuple(NodeSelectorTerm(expressions=(*a.expressions, *b.expressions)) for a, b in pairs)

    roles = (
        replace(role, node_affinity=both(role.node_affinity)) if role.name in names else role
        for role in gang.roles
    )
    return replace(gang, roles=tuple(roles))


def _unused(taken: set[Any]) -> str:
    return next(name for number in count() if (name := f"gangplan-{number}") not in taken)
