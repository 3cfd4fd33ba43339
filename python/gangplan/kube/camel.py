"""Dataclasses of ours ↔ maps as Kubernetes writes them: ``node_selector`` is ``nodeSelector`` there.

Only names of fields change; keys of maps are data of the user. What has its default is left out.
"""

import dataclasses
import types
import typing
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, TypeVar

from gangplan.documents import convert

T = TypeVar("T")


def camel(name: str) -> str:
    """``min_member`` → ``minMember``."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def to_map(value: Any, *, without: Collection[str] = ()) -> dict[str, Any]:
    """Write a dataclass as a map.

    Args:
        value: The dataclass.
        without: Its fields that are left out.
    """
    written = {}
    for field in dataclasses.fields(value):
        item = getattr(value, field.name)
        if field.name not in without and item != _default(field):
            written[camel(field.name)] = _plain(item)
    return written


def _default(field: "dataclasses.Field[Any]") -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _plain(item: Any) -> Any:
    if dataclasses.is_dataclass(item):
        return to_map(item)
    if isinstance(item, Mapping):
        return {key: _plain(inner) for key, inner in item.items()}
    if isinstance(item, tuple | list | frozenset):
        return [_plain(inner) for inner in item]
    return item


def from_map(kind: type[T], written: Mapping[str, Any], **given: Any) -> T:
    """Read a dataclass from a map; keys that it does not know are passed over.

    Args:
        kind: The dataclass.
        written: The map.
        given: Fields that the map does not have.

    Raises:
        InvalidInput: A field is missing or has another type; the first problem is named.
    """
    return convert({**_fields(kind, written), **given}, kind)


def _fields(kind: type, written: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _read(hint, written[key]) for name, key, hint in _names(kind) if key in written}


@cache
def _names(kind: type) -> tuple[tuple[str, str, Any], ...]:
    hints = typing.get_type_hints(kind)
    return tuple((field.name, camel(field.name), hints[field.name]) for field in dataclasses.fields(kind))


def _read(hint: Any, item: Any) -> Any:
    """Name the fields of the dataclasses in a value as ours; what has another shape is for the codec to refuse."""
    if dataclasses.is_dataclass(hint) and isinstance(item, Mapping):
        return _fields(typing.cast(type, hint), item)
    if hint is str and isinstance(item, int) and not isinstance(item, bool):
        return str(item)  # quantities may be numbers there
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is types.UnionType:
        inner = next((part for part in arguments if part is not type(None)), None)
        return item if item is None else _read(inner, item)
    if isinstance(item, Mapping) and len(arguments) == 2:
        return {key: _read(arguments[1], inner) for key, inner in item.items()}
    if isinstance(item, list) and arguments:
        return [_read(arguments[0], inner) for inner in item]
    return item
