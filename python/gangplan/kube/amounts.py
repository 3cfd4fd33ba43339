"""Amounts of resources in a pod: what Kubernetes refuses about them beyond how they are written."""

from collections.abc import Iterator, Mapping
from typing import Any

from gangplan.errors import InvalidQuantity, Problem
from gangplan.kube.paths import below
from gangplan.solver import parse_quantity


def pod_amount_problems(path: str, pod: Mapping[str, Any]) -> Iterator[Problem]:
    """Name fractions of what comes in whole units, and requests that their limits do not allow.

    Amounts that are no quantities are passed over: the rules of documents name them.

    Args:
        path: The place of the pod's spec in the manifest.
        pod: The pod's spec, of sound shape.
    """
    for field in ("initContainers", "containers"):
        for place, container in enumerate(pod.get(field) or ()):
            resources = container.get("resources") or {}
            where = f"{path}.{field}[{place}].resources"
            requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
            yield from _fractions(f"{where}.requests", requests)
            yield from _fractions(f"{where}.limits", limits)
            yield from _above_limits(f"{where}.requests", requests, limits)
    yield from _fractions(f"{path}.overhead", pod.get("overhead") or {})


def _fractions(path: str, amounts: Mapping[str, Any]) -> Iterator[Problem]:
    for resource, amount in amounts.items():
        if _is_extended(resource) and _units(resource, amount, up=True) != _units(resource, amount, up=False):
            message = f"must be a whole number: {resource} comes in whole units, not {amount}"
            yield Problem(below(path, resource), "BAD_QUANTITY", message)


def _above_limits(path: str, requests: Mapping[str, Any], limits: Mapping[str, Any]) -> Iterator[Problem]:
    for resource, amount in requests.items():
        limit = limits.get(resource)
        requested, allowed = _units(resource, amount, up=True), _units(resource, limit, up=True)
        if requested is None or allowed is None:
            continue
        if requested > allowed:
            message = f"must be at most the limit, {limit}, not {amount}"
        elif requested < allowed and (_is_extended(resource) or resource.startswith("hugepages-")):
            message = f"must be equal to the limit, {limit}, not {amount}: {resource} cannot be overcommitted"
        else:
            continue
        yield Problem(below(path, resource), "CONTRADICTION", message)


def _is_extended(resource: str) -> bool:
    """Whether a device plugin or the like offers it, such as ``nvidia.com/gpu``."""
    return "/" in resource


def _units(resource: str, amount: Any, *, up: bool) -> int | None:
    """Base units; None where there is no quantity."""
    if amount is None:
        return None
    try:
        return parse_quantity(resource, str(amount), round_up=up)
    except InvalidQuantity:
        return None
