"""Amounts of resources: how many units they are, and how the server writes them."""

from collections.abc import Mapping
from typing import Any

from gangplan.kube.api import Object
from gangplan.kube.kinds import POD, QUOTA, Kind
from gangplan.solver import parse_quantity


def units(resource: str, amount: Any) -> int:
    """How many: thousandths of CPUs, else whole ones or bytes."""
    return parse_quantity("cpu" if _is_milli(resource) else resource, str(amount), round_up=True)


def text(resource: str, count: int) -> str:
    """How the server writes so many units."""
    if not _is_milli(resource):
        return str(count)
    return f"{count}m" if count % 1000 else str(count // 1000)


def with_plain_amounts(kind: Kind, obj: Object) -> Object:
    """An object in which equal amounts of CPUs are written equally, as ``500m`` and ``0.5``.

    The server writes all amounts so; of memory nobody here writes the same one in two ways.
    """
    spec = obj.get("spec") or {}
    if kind == QUOTA and spec.get("hard"):
        return obj | {"spec": spec | {"hard": _plain(spec["hard"])}}
    if kind == POD and spec.get("containers"):
        return obj | {"spec": spec | {"containers": [_container(each) for each in spec["containers"]]}}
    return obj


def _container(container: Mapping[str, Any]) -> Object:
    resources = container.get("resources") or {}
    plain = {part: _plain(amounts or {}) for part, amounts in resources.items()}
    return {**container, **({"resources": plain} if plain else {})}


def _plain(amounts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        resource: text(resource, units(resource, amount)) if _is_milli(resource) else amount
        for resource, amount in amounts.items()
    }


def _is_milli(resource: str) -> bool:
    return resource.rpartition(".")[2] == "cpu"
