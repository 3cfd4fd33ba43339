"""Kueue's topology requests on the pod templates of a TFJob, as closeness of its roles and groups of them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gangplan.closeness import Closeness, Slice
from gangplan.kube.names import HOSTNAME, ROLES
from gangplan.kube.paths import below
from gangplan.snapshot import Group

Manifest = Mapping[str, Any]

KUEUE = "kueue.x-k8s.io/"
REQUIRED, PREFERRED = f"{KUEUE}podset-required-topology", f"{KUEUE}podset-preferred-topology"
ANYWHERE = f"{KUEUE}podset-unconstrained-topology"
SLICE_LEVEL, SLICE_SIZE = f"{KUEUE}podset-slice-required-topology", f"{KUEUE}podset-slice-size"
GROUP_NAME = f"{KUEUE}podset-group-name"

WORDS = frozenset({REQUIRED, PREFERRED, ANYWHERE, SLICE_LEVEL, SLICE_SIZE, GROUP_NAME})

Say = Callable[[str, str, str], None]
"""Gets path, code and text of a problem."""


def templates(manifest: Manifest) -> Iterator[tuple[str, str, Manifest]]:
    """(role, path of its metadata, replica spec)."""
    for written, spec in ((manifest.get("spec") or {}).get("tfReplicaSpecs") or {}).items():
        if written.lower() in ROLES:
            path = f"{below('$.spec.tfReplicaSpecs', written)}.template.metadata"
            yield ROLES[written.lower()], path, spec or {}


def metadata_of(spec: Manifest) -> Manifest:
    """Metadata of the pod template of a replica spec."""
    return (spec.get("template") or {}).get("metadata") or {}


def _level(key: str | None) -> str | None:
    """The level that a peer names by the label of its nodes."""
    return "node" if key == HOSTNAME else key or None


def closeness(notes: Manifest, required: str, preferred: str, path: str, say: Say) -> Closeness | None:
    """What two annotations ask for together; None if there is neither."""
    inside, rather = _level(notes.get(required)), _level(notes.get(preferred))
    if inside and rather and required == REQUIRED:
        say(below(path, preferred), "CONTRADICTION", f"does not go with {required}")
    return Closeness(required=inside, preferred=rather) if inside or rather else None


def closeness_of_roles(manifest: Manifest, say: Say) -> tuple[dict[str, Closeness], tuple[Group, ...]]:
    """Role → its closeness, and the groups of roles that Kueue would place together."""
    found: dict[str, Closeness] = {}
    named: dict[str, list[tuple[str, str]]] = {}
    for role, where, spec in templates(manifest):
        notes, path = metadata_of(spec).get("annotations") or {}, f"{where}.annotations"
        asked = closeness(notes, REQUIRED, PREFERRED, path, say)
        if (text := notes.get(ANYWHERE)) is not None and text not in {"true", "false"}:
            say(below(path, ANYWHERE), "BAD_VALUE", f"must be 'true' or 'false', not {text!r}")
        elif text == "true":
            if asked is not None:
                say(below(path, ANYWHERE), "CONTRADICTION", "does not go with a level")
            asked = asked or Closeness()
        part = _slice(notes, path, spec.get("replicas"), say)
        if part is not None:
            asked = replace(asked or Closeness(), slices=(part,))
        if asked is not None:
            found[role] = asked
        if group := notes.get(GROUP_NAME):
            named.setdefault(group, []).append((role, below(path, GROUP_NAME)))
    return found, tuple(_groups(named, found, say))


def _groups(
    named: Mapping[str, list[tuple[str, str]]], found: Mapping[str, Closeness], say: Say
) -> Iterator[Group]:
    for name, members in sorted(named.items()):
        asked = {repr(found.get(role)) for role, _ in members}
        topology = found.get(members[0][0])
        if len(asked) > 1 or topology is None or topology.slices:
            for _, path in members:
                say(path, "CONTRADICTION", "roles of a group ask for the same level, and for no slices")
        else:
            yield Group(name=name, roles=tuple(role for role, _ in members), topology=topology)


def _slice(notes: Manifest, path: str, replicas: int | None, say: Say) -> Slice | None:
    level, size = notes.get(SLICE_LEVEL), notes.get(SLICE_SIZE)
    if not level and not size:
        return None
    if not level or not size:
        missing = SLICE_SIZE if level else SLICE_LEVEL
        say(
            below(path, missing),
            "MISSING_FIELD",
            f"must be there beside {SLICE_LEVEL if level else SLICE_SIZE}",
        )
        return None
    count = 1 if replicas is None else replicas
    if not size.isdecimal() or not 1 <= int(size) <= 1_000_000:
        say(below(path, SLICE_SIZE), "BAD_VALUE", f"must be a whole number from 1 on, not {size!r}")
        return None
    if count % int(size):
        say(
            below(path, SLICE_SIZE),
            "OUT_OF_RANGE",
            f"must divide the {count} replicas, which {size} does not",
        )
    return Slice(level=_level(level) or level, size=int(size))
