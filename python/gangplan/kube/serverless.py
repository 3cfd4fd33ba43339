"""Words of serverless clouds: which instance a pod is, and whether it may burst; and what they mean for a gang."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gangplan.errors import InvalidInput, Problem
from gangplan.kube.names import CCI_BURST, ECI_IMAGE_CACHE, ECI_SPECS, PROFILE, REPLICA_TYPES, ROLES
from gangplan.kube.paths import below
from gangplan.kube.pod_profile import ALL, PodWords, Profile
from gangplan.node_kinds import NODE_TYPE, VIRTUAL, Kind, asked_by, held_to
from gangplan.snapshot import Gang, Role

BURSTS = ("auto", "enforce", "off")
"""Whether pods of CCE become instances of CCI: where it is cheaper, always, never."""

VIRTUAL_TAINT = "virtual-kubelet.io/provider"
"""Taint that virtual nodes have: pods are not sent to a cloud by accident."""

_HELD: Mapping[str, Kind] = {"off": "real", "enforce": "virtual"}
_ECI = "k8s.aliyun.com/eci-"
_SPECS = re.compile(r"[A-Za-z0-9][-A-Za-z0-9.]*(,[A-Za-z0-9][-A-Za-z0-9.]*)*")


def cloud_words(
    roles: Sequence[str],
    *,
    eci_specs: Iterable[str] = (),
    image_cache: bool = False,
    bursts: Iterable[str] = (),
) -> Profile:
    """Read what flags say.

    Args:
        roles: The roles of the job.
        eci_specs: ``ROLE=SPECS``: instance types, or cores and memory such as ``4-8Gi``, in order of preference.
        image_cache: Whether instances of ECI start from cached images.
        bursts: ``MODE`` or ``ROLE=MODE``, of :data:`BURSTS`.

    Raises:
        InvalidInput: A text is no such thing, or about a role that the job does not have; every problem is named.
    """
    problems: list[Problem] = []
    words: dict[str, PodWords] = {}

    def add(role: str, more: PodWords) -> None:
        words[role] = more.over(words.get(role, PodWords()))

    def role_of(name: str, flag: str, text: str) -> str | None:
        role = ROLES.get(name.lower())
        if role is None:
            message = f"{text!r} begins with no role: must be one of {', '.join(REPLICA_TYPES)}"
        elif role not in roles:
            message = f"{text!r} is about a role that the job does not have; it has {', '.join(roles)}"
        else:
            return role
        problems.append(Problem(flag, "UNKNOWN_NAME", message))
        return None

    for text in eci_specs:
        name, _, specs = text.partition("=")
        if not _SPECS.fullmatch(specs):
            message = f"must be ROLE=SPEC,…, such as worker=ecs.gn7i-c8g1.2xlarge, not {text!r}"
            if text.count("=") > 1:
                message += ": give the flag once for each role"
            problems.append(Problem("--eci-spec", "BAD_VALUE", message))
        elif (role := role_of(name, "--eci-spec", text)) is not None:
            if ECI_SPECS in words.get(role, PodWords()).annotations:
                problems.append(Problem("--eci-spec", "CONTRADICTION", f"is given twice for {role}"))
            add(role, PodWords(annotations={ECI_SPECS: specs}))
    if image_cache:
        add(ALL, PodWords(annotations={ECI_IMAGE_CACHE: "true"}))
    for text in bursts:
        name, equals, mode = text.rpartition("=")
        if "," in text:
            message = (
                f"must be one mode, for one role or for all, not {text!r}: give the flag once for each role"
            )
            problems.append(Problem("--cci-burst", "BAD_VALUE", message))
            continue
        if mode not in BURSTS:
            message = (
                f"must be {', '.join(BURSTS)}, or one of them for a role, such as worker=auto, not {text!r}"
            )
            problems.append(Problem("--cci-burst", "BAD_VALUE", message))
            continue
        role = role_of(name, "--cci-burst", text) if equals else ALL
        if role is not None:
            if CCI_BURST in words.get(role, PodWords()).labels:
                problems.append(Problem("--cci-burst", "CONTRADICTION", f"is given twice for {role}"))
            add(role, PodWords(labels={CCI_BURST: mode}))
    if problems:
        raise InvalidInput(sorted(set(problems)), "words for serverless nodes")
    return Profile(words=words)


def bursting(gang: Gang, manifest: Mapping[str, Any]) -> Gang:
    """A gang whose roles lie where the label of their pods has them: ``enforce`` in the cloud, ``off`` on machines."""
    for mode, kind in _HELD.items():
        roles = {role for role, words in _words(manifest) if words.get(CCI_BURST) == mode}
        gang = held_to(gang, kind, roles)
        gang = asked_by(gang, f"--cci-burst {mode}", roles)
    return gang


def both_kinds(manifest: Mapping[str, Any]) -> Iterator[Problem]:
    """Roles that must lie on virtual nodes, by their selector, and may not, by the label of their pods."""
    profile = (manifest["metadata"].get("annotations") or {}).get(PROFILE)
    by = f", as --profile {profile} has it" if profile else ""
    bursts = {role for role, words in _words(manifest) if words.get(CCI_BURST) == "off"}
    for kind, spec in manifest["spec"]["tfReplicaSpecs"].items():
        selector = spec["template"]["spec"].get("nodeSelector") or {}
        if ROLES[kind.lower()] in bursts and selector.get(NODE_TYPE) == VIRTUAL:
            message = (
                f"must not be {VIRTUAL}{by}, where {CCI_BURST} is off (--cci-burst off), which keeps its pods away from "
                "virtual nodes: give one of both"
            )
            path = f"{below('$.spec.tfReplicaSpecs', kind)}.template.spec.nodeSelector.{NODE_TYPE}"
            yield Problem(path, "CONTRADICTION", message)


def unheard(gang: Gang, manifest: Mapping[str, Any]) -> Iterator[str]:
    """What roles are told for a cloud to which they cannot come, because they tolerate no virtual node."""
    tolerant = {role.name for role in gang.roles if _tolerates_virtual_nodes(role)}
    for role, words in _words(manifest):
        said = [key for key, text in words.items() if key.startswith(_ECI) or _may_burst(key, text)]
        if said and role not in tolerant:
            text = (
                f"{role} has {', '.join(sorted(said))} and does not tolerate virtual nodes ({VIRTUAL_TAINT})"
            )
            yield f"{text}: add a profile, such as --profile virtual-kubelet"


def _words(manifest: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    """Role and what its pods are told, by labels and annotations."""
    for kind, spec in manifest["spec"]["tfReplicaSpecs"].items():
        metadata = spec["template"].get("metadata") or {}
        yield ROLES[kind.lower()], {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}


def _may_burst(key: str, text: str) -> bool:
    return key == CCI_BURST and text != "off"


def _tolerates_virtual_nodes(role: Role) -> bool:
    return role.node_selector.get(NODE_TYPE) == VIRTUAL or any(
        item.key in ("", VIRTUAL_TAINT) for item in role.tolerations
    )
