"""Profile: what the pods of each role are told for a kind of cluster: selector, tolerations, labels, annotations."""

import copy
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from gangplan.errors import InvalidInput, Problem
from gangplan.kube.labels import key_problems, label_problems
from gangplan.kube.names import GROUP, REPLICA_TYPES, ROLES
from gangplan.kube.paths import below

ALL = "all"
"""The part of a profile that is about every role."""

_TOLERATION = ("key", "operator", "value", "effect")
_OPERATORS = ("Equal", "Exists")
_EFFECTS = ("", "NoSchedule", "PreferNoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True, kw_only=True)
class PodWords:
    """What the pods of a role are told.

    Attributes:
        node_selector: Labels of the nodes on which they may lie.
        tolerations: Taints that they tolerate, as Kubernetes writes them.
        labels: Their labels.
        annotations: Their annotations.
    """

    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, str], ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)

    def over(self, below: "PodWords") -> "PodWords":
        """These words and others; where both say something of the same key, these count."""
        more = (item for item in self.tolerations if item not in below.tolerations)
        return PodWords(
            node_selector={**below.node_selector, **self.node_selector},
            tolerations=(*below.tolerations, *more),
            labels={**below.labels, **self.labels},
            annotations={**below.annotations, **self.annotations},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What the pods of each role are told.

    Attributes:
        description: What it is for.
        words: Role, or :data:`ALL`, → words; a role's own count more than those of all.
    """

    description: str = ""
    words: Mapping[str, PodWords] = field(default_factory=dict)

    def of(self, role: str) -> PodWords:
        """What the pods of a role are told."""
        return self.words.get(role, PodWords()).over(self.words.get(ALL, PodWords()))

    def over(self, below: "Profile") -> "Profile":
        """This profile and another; where both say something of the same key of a role, this one counts."""
        words = {role: self.of(role).over(below.of(role)) for role in REPLICA_TYPES}
        return replace(below, words=words)


def read_profile(text: str, source: str) -> Profile:
    """Read a profile from TOML.

    Raises:
        InvalidInput: It is none; every problem is named with its path.
    """
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput([Problem("$", "BAD_SYNTAX", f"must be TOML: {error}")], source) from error
    problems = sorted(_problems(given))
    if problems:
        raise InvalidInput(problems, source)
    words = {
        key: PodWords(**{**part, "tolerations": tuple(part.get("tolerations", ()))})
        for key, part in given.items()
        if key != "description"
    }
    return Profile(description=given.get("description", ""), words=words)


def _problems(given: Mapping[str, Any]) -> Iterator[Problem]:
    parts = (ALL, *REPLICA_TYPES)
    for key, part in given.items():
        path = below("$", key)
        if key == "description":
            if not isinstance(part, str):
                yield Problem(path, "WRONG_TYPE", f"must be a text, not {part!r}")
        elif key not in parts:
            yield Problem(path, "UNKNOWN_NAME", f"is not known; known are description, {', '.join(parts)}")
        elif not isinstance(part, dict):
            yield Problem(path, "WRONG_TYPE", f"must be a table, not {part!r}")
        else:
            yield from _part_problems(path, part)


def _part_problems(path: str, part: Mapping[str, Any]) -> Iterator[Problem]:
    known = [item.name for item in fields(PodWords)]
    for key, value in part.items():
        where = below(path, key)
        if key not in known:
            yield Problem(where, "UNKNOWN_NAME", f"is not known; known are {', '.join(known)}")
        elif key == "tolerations":
            if not isinstance(value, list):
                yield Problem(where, "WRONG_TYPE", f"must be a list of tables, not {value!r}")
                continue
            for place, item in enumerate(value):
                yield from _toleration_problems(f"{where}[{place}]", item)
        elif not isinstance(value, dict):
            yield Problem(where, "WRONG_TYPE", f"must be a table, not {value!r}")
        else:
            for name, text in value.items():
                yield from _word_problems(where, name, text, is_label=key != "annotations")


def _word_problems(around: str, name: str, text: Any, *, is_label: bool) -> Iterator[Problem]:
    path = below(around, name)
    if not isinstance(text, str):
        yield Problem(path, "WRONG_TYPE", f'must be a text in quotes, such as "true", not {text!r}')
    if is_label and isinstance(text, str):
        yield from label_problems(around, {name: text})
    else:
        yield from key_problems(path, name)
    if name.startswith(f"{GROUP}/") and ".node_selector" not in path:
        yield Problem(path, "UNSUPPORTED", "is gangplan's own to write: leave it out")


def _toleration_problems(path: str, item: Any) -> Iterator[Problem]:
    if not isinstance(item, dict):
        yield Problem(path, "WRONG_TYPE", f"must be a table, not {item!r}")
        return
    for key, value in item.items():
        where = below(path, key)
        if key not in _TOLERATION:
            yield Problem(where, "UNKNOWN_NAME", f"is not known; known are {', '.join(_TOLERATION)}")
        elif not isinstance(value, str):
            yield Problem(where, "WRONG_TYPE", f"must be a text, not {value!r}")
    operator, effect = item.get("operator", "Equal"), item.get("effect", "")
    if operator not in _OPERATORS:
        yield Problem(f"{path}.operator", "BAD_VALUE", f"must be {' or '.join(_OPERATORS)}, not {operator!r}")
    if effect not in _EFFECTS:
        wanted = ", ".join(_EFFECTS[1:])
        yield Problem(f"{path}.effect", "BAD_VALUE", f"must be one of {wanted}, or left out, not {effect!r}")
    if operator == "Exists" and item.get("value"):
        yield Problem(f"{path}.value", "CONTRADICTION", "does not go with the operator Exists: leave it out")
    if operator == "Equal" and not item.get("key"):
        yield Problem(f"{path}.key", "MISSING_FIELD", "must be given, or the operator be Exists")


def told(manifest: Mapping[str, Any], profile: Profile, *, source: str = "--profile") -> dict[str, Any]:
    """A TFJob whose pods are told what a profile says of their roles.

    Args:
        manifest: A manifest that :func:`gangplan.kube.tfjob.read` accepted; it stays as it is.
        profile: What they are told.
        source: What gave it, for messages.

    Raises:
        InvalidInput: The manifest says something else already.
    """
    made = copy.deepcopy(dict(manifest))
    contradicted: list[str] = []
    for kind, spec in made["spec"]["tfReplicaSpecs"].items():
        words, template = profile.of(ROLES[kind.lower()]), spec["template"]
        metadata, pod = dict(template.get("metadata") or {}), template["spec"]
        for place, key, more in (
            (metadata, "labels", words.labels),
            (metadata, "annotations", words.annotations),
            (pod, "nodeSelector", words.node_selector),
        ):
            before = place.get(key) or {}
            contradicted += [
                f"{kind} has {name}={before[name]} in its {key} already, and is to have {text}: give one of both"
                for name, text in more.items()
                if before.get(name, text) != text
            ]
            if more:
                place[key] = {**before, **more}
        if metadata:
            template["metadata"] = metadata
        if words.tolerations:
            own = list(pod.get("tolerations") or ())
            pod["tolerations"] = own + [dict(item) for item in words.tolerations if item not in own]
    if contradicted:
        raise InvalidInput([Problem(source, "CONTRADICTION", text) for text in contradicted], "TFJob")
    return made


def roles_of(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """The roles of a sound TFJob."""
    return tuple(ROLES[kind.lower()] for kind in manifest["spec"]["tfReplicaSpecs"])
