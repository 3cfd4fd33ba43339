"""Structural schemas of CRDs: unknown fields are dropped, defaults set, and the rest is judged.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/ says how.
"""

import copy
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": int | float,
}


def prune(value: Any, schema: Mapping[str, Any]) -> Any:
    """Leave out the fields that the schema does not know."""
    if schema.get("x-kubernetes-preserve-unknown-fields") and "properties" not in schema:
        return value
    if isinstance(value, dict):
        fields, others = schema.get("properties", {}), schema.get("additionalProperties")
        if schema.get("x-kubernetes-embedded-resource"):
            fields = {"apiVersion": {}, "kind": {}, "metadata": _ANYTHING} | fields
        if schema.get("x-kubernetes-preserve-unknown-fields"):
            others = others or _ANYTHING
        return {
            key: prune(
                item, fields[key] if key in fields else others if isinstance(others, dict) else _ANYTHING
            )
            for key, item in value.items()
            if key in fields or others
        }
    if isinstance(value, list):
        return [prune(item, schema.get("items", _ANYTHING)) for item in value]
    return value


def unknown_fields(value: Any, schema: Mapping[str, Any]) -> Iterator[str]:
    """What strict decoding says about the fields that the schema does not know."""
    lost = list(_lost(value, prune(value, schema), ""))
    if lost:
        yield f"strict decoding error: {', '.join(f'unknown field {json.dumps(path)}' for path in lost)}"


def _lost(before: Any, after: Any, path: str) -> Iterator[str]:
    if isinstance(before, dict):
        for key, item in before.items():
            where = f"{path}.{key}" if path else key
            if key in after:
                yield from _lost(item, after[key], where)
            else:
                yield where
    elif isinstance(before, list):
        for place, (item, kept) in enumerate(zip(before, after, strict=True)):
            yield from _lost(item, kept, f"{path}[{place}]")


_ANYTHING: Mapping[str, Any] = {"x-kubernetes-preserve-unknown-fields": True}


def with_defaults(value: Any, schema: Mapping[str, Any]) -> Any:
    """Set what is absent and has a default; null where null is not allowed counts as absent."""
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        found = {
            key: item
            for key, item in value.items()
            if item is not None or key not in fields or fields[key].get("nullable")
        }
        missing = {
            key: copy.deepcopy(field["default"])
            for key, field in fields.items()
            if "default" in field and key not in found
        }
        others = schema.get("additionalProperties")
        others = others if isinstance(others, dict) else {}
        return {key: with_defaults(item, fields.get(key, others)) for key, item in (found | missing).items()}
    if isinstance(value, list):
        return [with_defaults(item, schema.get("items", {})) for item in value]
    return value


def problems(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    """Name what the schema forbids."""
    if value is None and schema.get("nullable"):
        return
    if schema.get("x-kubernetes-int-or-string"):
        if isinstance(value, bool) or not isinstance(value, int | str):
            yield f"{path}: Invalid value: must be a whole number or a text"
        return
    wanted = schema.get("type")
    if wanted and (
        not isinstance(value, _TYPES[wanted]) or (isinstance(value, bool) and wanted != "boolean")
    ):
        yield f"{path}: Invalid value: {value!r}: must be of type {wanted}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: Unsupported value: {value!r}: supported values: {schema['enum']}"
    if isinstance(value, dict):
        yield from _object_problems(value, schema, path)
    elif isinstance(value, list):
        yield from _size_problems(len(value), schema, "Items", path)
        for place, item in enumerate(value):
            yield from problems(item, schema.get("items", {}), f"{path}[{place}]")
    elif isinstance(value, str):
        yield from _size_problems(len(value), schema, "Length", path)
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{path}: Invalid value: {value!r}: should match {schema['pattern']}"
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _range_problems(value, schema, path)


def _object_problems(value: Mapping[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[str]:
    yield from (f"{path}.{key}: Required value" for key in schema.get("required", ()) if key not in value)
    yield from _size_problems(len(value), schema, "Properties", path)
    fields, others = schema.get("properties", {}), schema.get("additionalProperties")
    for key, item in value.items():
        inner = fields.get(key, others)
        if isinstance(inner, Mapping):
            yield from problems(item, inner, f"{path}.{key}")


def _size_problems(size: int, schema: Mapping[str, Any], what: str, path: str) -> Iterator[str]:
    if size > schema.get(f"max{what}", size):
        yield f"{path}: Too long: may not be more than {schema[f'max{what}']}"
    if size < schema.get(f"min{what}", size):
        yield f"{path}: Invalid value: should have at least {schema[f'min{what}']}"


def _range_problems(value: float, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if value > schema.get("maximum", value) or (
        value == schema.get("maximum") and schema.get("exclusiveMaximum")
    ):
        yield f"{path}: Invalid value: {value}: should be at most {schema['maximum']}"
    if value < schema.get("minimum", value) or (
        value == schema.get("minimum") and schema.get("exclusiveMinimum")
    ):
        yield f"{path}: Invalid value: {value}: should be at least {schema['minimum']}"
