"""What an API server refuses about objects of kinds that it brings itself, and about the metadata of all."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from apimodel.definition import CONFIG_MAP, Definition
from apimodel.schema import problems
from gangplan.errors import InvalidQuantity
from gangplan.kube.api import Object
from gangplan.kube.kinds import EVENT, NAMESPACE, POD, QUOTA, SERVICE
from gangplan.solver import parse_quantity

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_COUNTED = re.compile(
    r"(requests\.|limits\.)?(cpu|memory|ephemeral-storage)|pods|configmaps|services|secrets|persistentvolumeclaims|replicationcontrollers|resourcequotas|requests\.storage|services\.\w+"
)

_OWNER = {
    "type": "object",
    "required": ["apiVersion", "kind", "name", "uid"],
    "properties": {
        **{field: {"type": "string"} for field in ("apiVersion", "kind", "name", "uid")},
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
_CONTAINER = {
    "type": "object",
    "required": ["name", "image"],
    "properties": {"name": {"type": "string"}, "image": {"type": "string"}},
}
_BUILT_IN: dict[Any, Mapping[str, Any]] = {
    CONFIG_MAP: {"type": "object", "properties": {"data": _TEXTS, "binaryData": _TEXTS}},
    POD: {
        "type": "object",
        "required": ["spec"],
        "properties": {
            "spec": {
                "type": "object",
                "required": ["containers"],
                "properties": {"containers": {"type": "array", "minItems": 1, "items": _CONTAINER}},
            }
        },
    },
    QUOTA: {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "hard": {
                        "type": "object",
                        "nullable": True,
                        "additionalProperties": {"x-kubernetes-int-or-string": True},
                    }
                },
            }
        },
    },
}
"""Of the schemas of built-in kinds what the tests of this project could offend."""


def object_problems(definition: Definition, obj: Object) -> list[str]:
    """What is wrong with an object, whatever it was before."""
    if definition.schema is not None:
        # The API server judges these three itself, the CRD the rest.
        own = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
        found = [text.removeprefix(".") for text in problems(own, definition.schema, "")]
    else:
        found = [text.removeprefix(".") for text in problems(obj, _BUILT_IN.get(definition.kind, {}), "")]
        if not found and definition.kind in _EXTRA:
            found += _EXTRA[definition.kind](obj)
    return [*_metadata_problems(definition, obj["metadata"]), *found]


def change_problems(definition: Definition, before: Object, after: Object) -> Iterator[str]:
    """What is wrong with a change."""
    was, is_ = before["metadata"], after["metadata"]
    for field in ("uid", "creationTimestamp"):
        if is_[field] != was[field]:
            yield f"metadata.{field}: Invalid value: {is_[field]!r}: field is immutable"
    new = set(is_.get("finalizers") or ()) - set(was.get("finalizers") or ())
    if "deletionTimestamp" in was and new:
        yield f"metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted: {new}"
    if definition.kind == POD and _unchangeable(before["spec"]) != _unchangeable(after["spec"]):
        yield "spec: Forbidden: pod updates may not change fields other than the images"
    if (
        definition.kind == CONFIG_MAP
        and before.get("immutable")
        and (before.get("data") != after.get("data") or not after.get("immutable"))
    ):
        yield "data: Forbidden: field is immutable when `immutable` is set"


def _metadata_problems(definition: Definition, metadata: Mapping[str, Any]) -> Iterator[str]:
    wrong = list(problems(metadata, _METADATA, "metadata"))
    yield from wrong
    if wrong:
        return
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
        if not _is_qualified(finalizer) or ("/" not in finalizer and finalizer not in _OWN_FINALIZERS):
            yield f"metadata.finalizers: Invalid value: {finalizer!r}: name is neither standard nor fully qualified"
    owners = metadata.get("ownerReferences") or ()
    if any(not owner[field] for owner in owners for field in _OWNER["required"]):
        yield "metadata.ownerReferences: Invalid value: must not be empty"
    if sum(bool(owner.get("controller")) for owner in owners) > 1:
        yield "metadata.ownerReferences: Invalid value: Only one reference can have Controller set to true"


_OWN_FINALIZERS = ("foregroundDeletion", "orphan", "kubernetes")


def _is_qualified(key: str) -> bool:
    """Whether it is a name with or without a domain before it."""
    domain, slash, name = key.rpartition("/")
    is_domain = not slash or (_SUBDOMAIN.fullmatch(domain) and len(domain) <= 253)
    return bool(is_domain and _NAME.fullmatch(name) and len(name) <= 63)


def _unchangeable(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of a pod what no update may change."""
    containers = [
        {key: value for key, value in container.items() if key != "image"} for container in spec["containers"]
    ]
    kept = {key: value for key, value in spec.items() if key not in ("tolerations", "activeDeadlineSeconds")}
    return kept | {"containers": containers}


def _data_problems(obj: Object) -> Iterator[str]:
    for key in obj.get("data") or {}:
        if not _DATA_KEY.fullmatch(key):
            yield f"data[{key}]: Invalid value: a valid config key must consist of alphanumeric characters"


def _pod_problems(obj: Object) -> Iterator[str]:
    names = [container["name"] for container in obj["spec"]["containers"]]
    for name in names:
        if not _LABEL.fullmatch(name) or len(name) > 63:
            yield f"spec.containers.name: Invalid value: {name!r}: a lowercase RFC 1123 label must be used"
        if names.count(name) > 1:
            yield f"spec.containers.name: Duplicate value: {name!r}"
    for container in obj["spec"]["containers"]:
        amounts = container.get("resources") or {}
        requests, limits = amounts.get("requests") or {}, amounts.get("limits") or {}
        for resource, amount in requests.items():
            try:
                wanted = parse_quantity(resource, str(amount), round_up=True)
                most = parse_quantity(resource, str(limits.get(resource, amount)), round_up=True)
            except InvalidQuantity as error:
                yield f"spec.containers.resources: {error}"
                continue
            if wanted > most:
                yield f"spec.containers.resources.requests: Invalid value: {amount}: must be at most {resource} limit"
            if "/" in resource and (resource not in limits or wanted != most):
                yield f"spec.containers.resources.limits: Required value: {resource} cannot be overcommitted"


def _quota_problems(obj: Object) -> Iterator[str]:
    for resource, amount in ((obj.get("spec") or {}).get("hard") or {}).items():
        if not (_COUNTED.fullmatch(resource) or "/" in resource):
            yield f"spec.hard[{resource}]: Invalid value: must be a standard resource for quota"
        try:
            if parse_quantity(resource, str(amount), round_up=True) < 0:
                yield f"spec.hard[{resource}]: Invalid value: {amount}: must be greater than or equal to 0"
        except InvalidQuantity as error:
            yield f"spec.hard[{resource}]: {error}"


_EXTRA = {CONFIG_MAP: _data_problems, POD: _pod_problems, QUOTA: _quota_problems}
