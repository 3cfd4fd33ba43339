"""LimitRanges: what a server gives pods that do not say it, and what it refuses of them."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from apimodel.amounts import units
from apimodel.store import Store
from gangplan.kube.api import Object
from gangplan.kube.kinds import LIMIT_RANGE

_SIDES = ("requests", "limits")


def complete(store: Store, pod: Object) -> None:
    """Write into a pod what it is given."""
    items = list(_items(store, pod, "Container"))
    for container in _containers(pod) if items else ():
        amounts = container.setdefault("resources", {})
        limits, requests = _amounts(container).values()
        for item in items:
            default = (item.get("max") or {}) | (item.get("default") or {})
            asked = (item.get("min") or {}) | default | (item.get("defaultRequest") or {})
            limits, requests = default | limits, asked | requests
        amounts |= {"limits": limits, "requests": requests}


def refusals(store: Store, pod: Object) -> Iterator[str]:
    """Why the LimitRanges of its namespace do not admit a pod that is complete."""
    each = [_amounts(container) for container in _containers(pod)]
    for item in _items(store, pod, "Container"):
        for amounts in each:
            yield from _refused(item, "Container", {side: [amounts] for side in _SIDES})
    together = [_amounts(container) for container in pod["spec"].get("containers") or ()]
    for item in _items(store, pod, "Pod"):
        yield from _refused(item, "Pod", dict.fromkeys(_SIDES, together))


def _refused(
    item: Mapping[str, Any], what: str, found: Mapping[str, list[Mapping[str, Any]]]
) -> Iterator[str]:
    def asked(side: str, resource: str) -> int | None:
        said = [each[side][resource] for each in found[side] if resource in each[side]]
        return sum(units(resource, text) for text in said) if said else None

    for resource, text in (item.get("min") or {}).items():
        request, limit = asked("requests", resource), asked("limits", resource)
        if request is None or request < units(resource, text):
            yield f"minimum {resource} usage per {what} is {text}, but request is {request}"
        if limit is not None and limit < units(resource, text):
            yield f"minimum {resource} usage per {what} is {text}, but limit is {limit}"
    for resource, text in (item.get("max") or {}).items():
        request, limit = asked("requests", resource), asked("limits", resource)
        if limit is None or limit > units(resource, text):
            yield f"maximum {resource} usage per {what} is {text}, but limit is {limit}"
        if request is not None and request > units(resource, text):
            yield f"maximum {resource} usage per {what} is {text}, but request is {request}"
    for resource, text in (item.get("maxLimitRequestRatio") or {}).items():
        request, limit = asked("requests", resource), asked("limits", resource)
        if not request or not limit or Fraction(limit, request) > Fraction(str(text)):
            yield f"{resource} max limit to request ratio per {what} is {text}, but {limit} of {request}"


def _amounts(container: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Requests and limits; a request that is left out beside a limit is that limit."""
    said = container.get("resources") or {}
    limits = said.get("limits") or {}
    return {"limits": limits, "requests": limits | (said.get("requests") or {})}


def _items(store: Store, pod: Object, what: str) -> Iterator[Mapping[str, Any]]:
    for found in store.select(LIMIT_RANGE, pod["metadata"]["namespace"], ""):
        yield from (item for item in found["spec"].get("limits") or () if item.get("type") == what)


def _containers(pod: Object) -> list[dict[str, Any]]:
    spec = pod["spec"]
    return [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
