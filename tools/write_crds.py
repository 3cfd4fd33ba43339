"""Write deploy/crds from the dataclasses of gangplan.kube.resources: `make crds`; a test compares."""

import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from gangplan.kube import resources
from gangplan.kube.camel import camel
from gangplan.kube.kinds import GANG, GANG_QUEUE, GANG_TOPOLOGY, Kind
from gangplan.kube.names import VERSION_LABEL
from gangplan.solver import core_version

FOLDER = Path(__file__).parent.parent / "deploy" / "crds"
AMOUNTS = {"requests", "limits", "overhead", "limit", "deserved", "guarantee"}
"""Maps of quantities: users may write them as numbers too."""

QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
"""How Kubernetes writes amounts."""

MOST = {"roles": 64, "groups": 64, "traffic": 256, "domains": 10_000, "levels": 16}
"""Longest lists; the server refuses rules over lists without an end."""

Schema = dict[str, Any]


def rule(text: str, message: str) -> Schema:
    """A rule in CEL, and what is said where it does not hold."""
    return {"rule": text, "message": message}


RULES: Mapping[type, list[Schema]] = {
    resources.GangSpec: [
        rule(
            "self.roles.all(r, !has(r.min) || r.min <= r.replicas)",
            "a role's min must not be above its replicas",
        ),
        rule(
            "self.roles.all(r, !has(r.requests) || !has(r.pod))",
            "a role has either requests or a pod, not both",
        ),
        rule("self.roles == oldSelf.roles", "the roles of a gang cannot be changed: delete it and ask anew"),
        rule("self.runId == oldSelf.runId", "a gang belongs to one run"),
    ],
    resources.GangTopologySpec: [
        rule(
            "!has(self.domains) || self.domains.all(d, d.level in self.levels)",
            "the level of a domain must be one of the levels",
        ),
    ],
}

COLUMNS: Mapping[Kind, list[tuple[str, str, str]]] = {
    GANG: [
        ("Queue", "string", ".spec.queue"),
        ("Phase", "string", ".status.phase"),
        ("Position", "integer", ".status.position"),
        ("Outcome", "string", ".status.outcome"),
        ("Reason", "string", ".status.reason"),
        ("Age", "date", ".metadata.creationTimestamp"),
    ],
    GANG_QUEUE: [
        ("Parent", "string", ".spec.parent"),
        ("Priority", "integer", ".spec.priority"),
        ("Weight", "integer", ".spec.weight"),
        ("Open", "boolean", ".spec.open"),
        ("Age", "date", ".metadata.creationTimestamp"),
    ],
    GANG_TOPOLOGY: [
        ("Levels", "string", ".spec.levels"),
        ("Age", "date", ".metadata.creationTimestamp"),
    ],
}


def structural(
    kind: type, *, moments: frozenset[str] = frozenset({"at", "expires_at", "expired_at", "kept_until"})
) -> Schema:
    """The structural schema of a dataclass; descriptions are those of its docstring."""
    hints, told = typing.get_type_hints(kind), descriptions(kind)
    properties = {}
    required = []
    for field in dataclasses.fields(kind):
        schema = of_hint(hints[field.name], field.name)
        if field.name in moments:
            schema = {"type": "string", "format": "date-time"}
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            required.append(camel(field.name))
        elif isinstance(field.default, bool | int | str) and kind in DEFAULTED:
            schema["default"] = field.default
        properties[camel(field.name)] = {"description": told[field.name], **schema}
    schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if kind in RULES:
        schema["x-kubernetes-validations"] = RULES[kind]
    return schema


DEFAULTED = {resources.GangSpec, resources.GangQueueSpec}
"""Where the server writes what was left out, so that columns and rules see it."""


def of_hint(hint: Any, name: str) -> Schema:
    """The schema of a field's type."""
    arguments = typing.get_args(hint)
    origin = typing.get_origin(hint)
    if origin is types.UnionType or origin is typing.Union:
        return of_hint(next(part for part in arguments if part is not type(None)), name)
    if dataclasses.is_dataclass(hint):
        return structural(typing.cast(type, hint))
    if origin is typing.Literal:
        return {"type": "string", "enum": list(arguments)}
    if origin is tuple:
        items = of_hint(arguments[0], name)
        schema: Schema = {"type": "array", "items": items}
        if name in MOST:
            schema["maxItems"] = MOST[name]
        if name in {"roles", "groups"} and items["type"] == "object":
            schema |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
        if name == "roles":
            schema["minItems"] = 1
        return schema
    if origin is not None and issubclass(origin, Mapping):
        if arguments[1] is object:
            return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        if name in AMOUNTS:
            values: Schema = {
                "anyOf": [{"type": "integer"}, {"type": "string"}],
                "x-kubernetes-int-or-string": True,
                "pattern": QUANTITY,
            }
        else:
            values = of_hint(arguments[1], name)
        return {"type": "object", "additionalProperties": values}
    return {
        str: {"type": "string", "maxLength": 65_536 if name == "reason" else 253},
        bool: {"type": "boolean"},
        int: whole(name),
    }[hint]


def whole(name: str) -> Schema:
    """The schema of a whole number: not negative, but for priorities."""
    if name in {"priority", "index"}:
        return {"type": "integer", "format": "int64"}
    return {"type": "integer", "format": "int64", "minimum": 1 if name in {"size", "most", "position"} else 0}


def descriptions(kind: type) -> dict[str, str]:
    """Field → its description in the docstring's Attributes."""
    _, _, attributes = (inspect.getdoc(kind) or "").partition("Attributes:\n")
    found = re.findall(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", attributes, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in found}


def definition(kind: Kind, short: list[str], spec: type, status: type | None) -> Schema:
    """A CRD."""
    group, version = kind.api_version.split("/")
    properties = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": structural(spec),
    }
    if status is not None:
        properties["status"] = structural(status)
    schema: Schema = {
        "type": "object",
        "description": (inspect.getdoc(spec) or "").split("\n")[0],
        "required": ["spec"],
        "properties": properties,
    }
    if kind.namespaced:
        schema["x-kubernetes-validations"] = [
            rule("self.metadata.name.size() <= 63", "the name must have at most 63 characters")
        ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{kind.plural}.{group}",
            "labels": {"app.kubernetes.io/name": "gangplan", VERSION_LABEL: core_version()},
        },
        "spec": {
            "group": group,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": {
                "kind": kind.name,
                "plural": kind.plural,
                "singular": kind.name.lower(),
                "listKind": f"{kind.name}List",
                "shortNames": short,
                "categories": ["gangplan"],
            },
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}} if status is not None else {},
                    "additionalPrinterColumns": [
                        {"name": name, "type": type_, "jsonPath": path} for name, type_, path in COLUMNS[kind]
                    ],
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def files() -> dict[str, str]:
    """Name of each file and what is in it."""
    definitions = [
        definition(GANG, ["gg"], resources.GangSpec, resources.GangStatus),
        definition(GANG_QUEUE, ["gq"], resources.GangQueueSpec, None),
        definition(GANG_TOPOLOGY, ["gt"], resources.GangTopologySpec, None),
    ]
    head = "# Made by `make crds` from python/gangplan/kube/resources.py.\n"
    return {
        f"{item['spec']['names']['plural']}.yaml": head + yaml.safe_dump(item, sort_keys=False, width=110)
        for item in definitions
    }


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in files().items():
        (FOLDER / name).write_text(text)
