"""Kubernetes quantities as exact fractions, and what a pod asks for."""

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

GPU = "nvidia.com/gpu"
UNITS = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{unit: Fraction(1000 ** (power + 1)) for power, unit in enumerate("kMGTPE")},
    **{f"{unit}i": Fraction(1024 ** (power + 1)) for power, unit in enumerate("KMGTPE")},
}

Amounts = dict[str, Fraction]


@lru_cache(maxsize=4096)
def amount(text: str) -> Fraction:
    """The number that a quantity stands for."""
    unit = next((unit for unit in sorted(UNITS, key=len, reverse=True) if text.endswith(unit)), "")
    return Fraction(text.removesuffix(unit)) * UNITS.get(unit, 1)


def amounts(given: Mapping[str, str] | None) -> Amounts:
    return {resource: amount(text) for resource, text in (given or {}).items()}


def total(*parts: Amounts) -> Amounts:
    found: Amounts = {}
    for part in parts:
        for resource, more in part.items():
            found[resource] = found.get(resource, Fraction(0)) + more
    return found


def larger(a: Amounts, b: Amounts) -> Amounts:
    return {name: max(a.get(name, Fraction(0)), b.get(name, Fraction(0))) for name in {*a, *b}}


def requested(holder: Mapping[str, Any]) -> Amounts:
    """What one pod of a role, or a lone pod, takes of its node, ``pods`` included."""
    asked = _of_containers(holder["pod"]) if "pod" in holder else amounts(holder.get("requests"))
    return asked | {"pods": Fraction(1)}


def _of_containers(pod: Mapping[str, Any]) -> Amounts:
    running = total(*(_of_container(item) for item in pod["containers"]))
    peak: Amounts = {}
    sidecars: Amounts = {}
    for item in pod.get("init_containers", ()):
        step = total(sidecars, _of_container(item))
        if item.get("sidecar"):
            sidecars = step
        peak = larger(peak, step)
    return total(larger(total(running, sidecars), peak), amounts(pod.get("overhead")))


def _of_container(container: Mapping[str, Any]) -> Amounts:
    return amounts(container.get("limits")) | amounts(container.get("requests"))
