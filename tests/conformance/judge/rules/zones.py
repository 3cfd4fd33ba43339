"""A pod of a single-zone role has all its zone resources from one zone of its node."""

from collections.abc import Iterator
from fractions import Fraction

from conformance.judge.outcome import Outcome
from conformance.judge.quantity import Amounts, amounts, total
from conformance.judge.world import Place


def broken(outcome: Outcome) -> Iterator[str]:
    for name, node in outcome.world.nodes.items():
        zones = [amounts(zone) for zone in node.get("zones", ())]
        here = [place for place in outcome.standing.values() if place.node == name]
        if not zones or not any(place.pod.name in outcome.fresh for place in here):
            continue
        resources = sorted({resource for zone in zones for resource in zone})
        bound = [place for place in here if place.zone is not None or _single(outcome, place)]
        for place in here:
            if place.zone is not None and place.pod.name not in outcome.fresh:
                zones[place.zone] = _left(zones[place.zone], place.pod.asks, resources)
        loose = [place.pod.asks for place in bound if place.zone is None]
        spread = total(*(place.pod.asks for place in here if place not in bound))
        if not _fits(loose, zones, spread, resources):
            yield f"{name}: its zones cannot hold their single-zone pods"


def _single(outcome: Outcome, place: Place) -> bool:
    role = outcome.world.roles.get((place.pod.gang or "", place.pod.role or ""), {})
    return bool(role.get("single_zone"))


def _left(zone: Amounts, asks: Amounts, resources: list[str]) -> Amounts:
    return {name: zone.get(name, Fraction(0)) - asks.get(name, Fraction(0)) for name in resources}


def _fits(loose: list[Amounts], zones: list[Amounts], spread: Amounts, resources: list[str]) -> bool:
    """Give each single-zone pod a zone; what is left over must suffice in sum for the pods that may straddle."""
    if not loose:
        return all(
            sum((max(zone.get(name, Fraction(0)), Fraction(0)) for zone in zones), Fraction(0))
            >= spread.get(name, Fraction(0))
            for name in resources
        )
    first, *rest = loose
    for index, zone in enumerate(zones):
        after = _left(zone, first, resources)
        if all(after[name] >= 0 or not first.get(name) for name in resources):
            tried = [*zones[:index], after, *zones[index + 1 :]]
            if _fits(rest, tried, spread, resources):
                return True
    return False
