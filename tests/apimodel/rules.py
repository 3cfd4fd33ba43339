"""What an API server refuses about objects of kinds that it brings itself, and about the metadata of all."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apimodel.definition import CONFIG_MAP, Definition
from apimodel.schema import problems
from gangplan.errors import InvalidQuantity
from gangplan.kube.api import Object
from gangplan.kube.kinds import EVENT, NAMESPACE, POD, QUOTA, SERVICE, Kind
from gangplan.solver import parse_quantity

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_COUNTED = re.compile(
    r"(requests\.|limits\.)?(cpu|memory|ephemeral-storage)|pods|configmaps|services|secrets|persistentvolumeclaims|replicationcontrollers|resourcequotas|requests\.storage|services\.\w+"
)

_OWNER_FIELDS = ("apiVersion", "kind", "name", "uid")
_OWNER = {
    "type": "object",
    "properties": {
        **{field: {"type": "string"} for field in _OWNER_FIELDS},
        **{field: {"type": "boolean"} for field in ("controller", "blockOwnerDeletion")},
    },
}
_TEXTS = {"type": "object", "nullable": True, "additionalProperties": {"type": "string"}}
_METADATA = {
    "type": "object",
    "properties": {
        "labels": _TEXTS,
        "annotations": _TEXTS,
        "finalizers": {"type": "array", "nullable": True, "items": {"type": "string"}},
        "ownerReferences": {"type": "array", "nullable": True, "items": _OWNER},
    },
}
_AMOUNTS = {"type": "object", "nullable": True, "additionalProperties": {"x-kubernetes-int-or-string": True}}
_TEXT = {"type": "string", "nullable": True}
_CONTAINER = {
    "type": "object",
    "properties": {
        "name": _TEXT,
        "image": _TEXT,
        "resources": {"type": "object", "properties": {"requests": _AMOUNTS, "limits": _AMOUNTS}},
    },
}
_SHAPES: dict[Kind, Mapping[str, Any]] = {
    CONFIG_MAP: {"properties": {"data": _TEXTS, "binaryData": _TEXTS}},
    POD: {
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"containers": {"type": "array", "nullable": True, "items": _CONTAINER}},
            }
        },
    },
    QUOTA: {"properties": {"spec": {"type": "object", "properties": {"hard": _AMOUNTS}}}},
}
"""Of the shapes of built-in kinds what the tests of this project could offend."""


def decode_problems(definition: Definition, body: Object) -> Iterator[str]:
    """Why what was sent cannot be read as such an object; found before the server looks at anything else."""
    for field, wanted in (("apiVersion", definition.kind.api_version), ("kind", definition.kind.name)):
        if body.get(field, "" if definition.is_custom else wanted) != wanted:
            yield f"{field}: must be {wanted}, not {body.get(field)}"
    yield from problems(body.get("metadata") or {}, _METADATA, "metadata")
    yield from problems(body, _SHAPES.get(definition.kind, {}), "")
    amounts: list[Mapping[str, Any]] = []
    if definition.kind == QUOTA:
        amounts.append((body.get("spec") or {}).get("hard") or {})
    if definition.kind == POD:
        for container in _containers(body):
            resources = container.get("resources") or {}
            amounts += (resources.get("requests") or {}, resources.get("limits") or {})
    for resource, amount in (item for each in amounts for item in each.items()):
        try:
            parse_quantity(resource, str(amount).removeprefix("-"), round_up=True)
        except InvalidQuantity:
            yield f"{resource}: quantities must match the regular expression, not {amount!r}"


def object_problems(definition: Definition, obj: Object) -> list[str]:
    """What is wrong with an object, whatever it was before."""
    found = list(_metadata_problems(definition, obj["metadata"]))
    if definition.schema is not None:
        # The API server judges these three itself, the CRD the rest.
        own = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
        found += [text.removeprefix(".") for text in problems(own, definition.schema, "")]
    elif definition.kind in _RULES:
        found += _RULES[definition.kind](obj)
    return found


def change_problems(definition: Definition, before: Object, after: Object) -> Iterator[str]:
    """What is wrong with a change."""
    was, is_ = before["metadata"], after["metadata"]
    new = set(is_.get("finalizers") or ()) - set(was.get("finalizers") or ())
    if "deletionTimestamp" in was and new:
        yield f"metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted: {new}"
    if definition.kind == POD:
        gates, kept = (item["spec"].get("schedulingGates") or [] for item in (before, after))
        if any(gate not in gates for gate in kept):
            yield "spec.schedulingGates: Forbidden: only deletion is allowed"
        may_change = ("schedulingGates", *(("affinity", "nodeSelector") if gates else ()))
        was_spec, is_spec = (_unchangeable(item["spec"], may_change) for item in (before, after))
        if was_spec != is_spec:
            yield "spec: Forbidden: pod updates may not change fields other than the images"
    if (
        definition.kind == CONFIG_MAP
        and before.get("immutable")
        and (before.get("data") != after.get("data") or not after.get("immutable"))
    ):
        yield "data: Forbidden: field is immutable when `immutable` is set"


def _metadata_problems(definition: Definition, metadata: Mapping[str, Any]) -> Iterator[str]:
    name = metadata["name"]
    if definition.kind in (SERVICE, NAMESPACE):
        is_name = _LABEL.fullmatch(name) and len(name) <= 63
    else:
        is_name = _SUBDOMAIN.fullmatch(name) and len(name) <= 253
    if not is_name and definition.kind != EVENT:
        yield f"metadata.name: Invalid value: {name!r}: a lowercase RFC 1123 subdomain must be used"
    for key, value in (metadata.get("labels") or {}).items():
        if not _is_qualified(key):
            yield f"metadata.labels: Invalid value: {key!r}: name part must consist of alphanumeric characters"
        if value and not (_NAME.fullmatch(value) and len(value) <= 63):
            yield f"metadata.labels: Invalid value: {value!r}: a valid label must consist of alphanumeric characters"
    for key in metadata.get("annotations") or {}:
        if not _is_qualified(key.lower()):
            yield f"metadata.annotations: Invalid value: {key!r}: name part must consist of alphanumeric characters"
    for finalizer in metadata.get("finalizers") or ():
        is_known = "/" in finalizer or finalizer in _OWN_FINALIZERS or definition.is_custom
        if not (is_known and _is_qualified(finalizer)):
            yield f"metadata.finalizers: Invalid value: {finalizer!r}: name is neither standard nor fully qualified"
    owners = metadata.get("ownerReferences") or ()
    if any(not owner.get(field) for owner in owners for field in _OWNER_FIELDS):
        yield "metadata.ownerReferences: Invalid value: must not be empty"
    if sum(bool(owner.get("controller")) for owner in owners) > 1:
        yield "metadata.ownerReferences: Invalid value: Only one reference can have Controller set to true"


_OWN_FINALIZERS = ("foregroundDeletion", "orphan", "kubernetes")


def _is_qualified(key: str) -> bool:
    """Whether it is a name with or without a domain before it."""
    domain, slash, name = key.rpartition("/")
    is_domain = not slash or (_SUBDOMAIN.fullmatch(domain) and len(domain) <= 253)
    return bool(is_domain and _NAME.fullmatch(name) and len(name) <= 63)


def _unchangeable(spec: Mapping[str, Any], besides: Sequence[str]) -> Mapping[str, Any]:
    """Of a pod what no update may change; that a gated pod's affinity may only be narrowed is not looked at."""
    containers = [
        {key: value for key, value in container.items() if key != "image"} for container in spec["containers"]
    ]
    free = ("tolerations", "activeDeadlineSeconds", *besides)
    kept = {key: value for key, value in spec.items() if key not in free}
    return kept | {"containers": containers}


def _data_problems(obj: Object) -> Iterator[str]:
    for key in obj.get("data") or {}:
        if not _DATA_KEY.fullmatch(key):
            yield f"data[{key}]: Invalid value: a valid config key must consist of alphanumeric characters"


def _containers(pod: Object) -> list[dict[str, Any]]:
    return (pod.get("spec") or {}).get("containers") or []


def _pod_problems(obj: Object) -> Iterator[str]:
    containers = _containers(obj)
    if not containers:
        yield "spec.containers: Required value"
    names = [container.get("name") or "" for container in containers]
    for name in names:
        if not _LABEL.fullmatch(name) or len(name) > 63:
            yield f"spec.containers.name: Invalid value: {name!r}: a lowercase RFC 1123 label must be used"
        if names.count(name) > 1:
            yield f"spec.containers.name: Duplicate value: {name!r}"
    for container in containers:
        if not container.get("image"):
            yield "spec.containers.image: Required value"
        amounts = container.get("resources") or {}
        limits = amounts.get("limits") or {}
        for resource, amount in (amounts.get("requests") or {}).items():
            wanted = parse_quantity(resource, str(amount), round_up=True)
            most = parse_quantity(resource, str(limits.get(resource, amount)), round_up=True)
            if wanted > most:
                yield f"spec.containers.resources.requests: Invalid value: {amount}: must be at most {resource} limit"
            if "/" in resource and (resource not in limits or wanted != most):
                yield f"spec.containers.resources.limits: Required value: {resource} cannot be overcommitted"


def _quota_problems(obj: Object) -> Iterator[str]:
    for resource, amount in ((obj.get("spec") or {}).get("hard") or {}).items():
        if not (_COUNTED.fullmatch(resource) or "/" in resource):
            yield f"spec.hard[{resource}]: Invalid value: must be a standard resource for quota"
        if str(amount).startswith("-"):
            yield f"spec.hard[{resource}]: Invalid value: {amount}: must be greater than or equal to 0"


_RULES = {CONFIG_MAP: _data_problems, POD: _pod_problems, QUOTA: _quota_problems}
