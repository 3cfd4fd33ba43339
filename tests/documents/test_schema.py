"""Python and Rust declare the same documents: names, types, required fields, enum values, defaults."""

import json
from typing import Any

import pytest

from gangplan import _core
from gangplan.documents import KINDS, schema


def _flat(root: dict[str, Any], part: Any, seen: tuple[str, ...] = ()) -> Any:
    """Say what a schema allows in one form, whichever generator wrote it."""
    if "$ref" in part:
        name = part["$ref"].rsplit("/", 1)[-1]
        return f"recursive {name}" if name in seen else _flat(root, root["$defs"][name], (*seen, name))
    if "allOf" in part and len(part["allOf"]) == 1:
        return _flat(root, part["allOf"][0], seen)
    if choices := part.get("anyOf") or part.get("oneOf"):
        flat = [_flat(root, choice, seen) for choice in choices]
        return {"one of": sorted(flat, key=json.dumps)} if len(flat) > 1 else flat[0]
    kind = part.get("type")
    if isinstance(kind, list):
        return {"one of": sorted((_flat(root, {**part, "type": one}, seen) for one in kind), key=json.dumps)}
    if "enum" in part or "const" in part:
        values = part.get("enum", [part.get("const")])
        return {"enum": sorted((value for value in values if value is not None), key=str)}
    if kind == "object" and "properties" in part:
        return {
            "fields": {
                name: {
                    "type": _flat(root, field, seen),
                    "default": field.get("default", "none")
                    if name not in part.get("required", [])
                    else "required",
                }
                for name, field in sorted(part["properties"].items())
            }
        }
    if kind == "object":
        return {"map of": _flat(root, part["additionalProperties"], seen)}
    if kind == "array":
        return {"list of": _flat(root, part["items"], seen)}
    return kind


def _comparable(flat: Any) -> Any:
    """Both generators say "no entries" for a collection in their own way, or not at all."""
    if isinstance(flat, dict):
        return {
            key: "made"
            if key == "default" and (value == "none" or isinstance(value, dict | list | tuple))
            else _comparable(value)
            for key, value in flat.items()
        }
    return [_comparable(item) for item in flat] if isinstance(flat, list) else flat


@pytest.mark.parametrize("kind", KINDS)
def test_python_and_rust_declare_the_same_document(kind):
    python, rust = schema(kind), json.loads(_core.schema(kind))
    ours, theirs = (_comparable(_flat(root, root)) for root in (python, rust))
    assert ours == theirs
    assert len(json.dumps(ours)) > 100, "a comparison of nothing proves nothing"
