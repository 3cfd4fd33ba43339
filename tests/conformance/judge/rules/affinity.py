"""Required pod affinity holds for new pods, required anti-affinity between new pods and all others."""

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.judge.outcome import Outcome
from conformance.judge.world import Place


def broken(outcome: Outcome) -> Iterator[str]:
    for place in outcome.standing.values():
        role = outcome.world.roles.get((place.pod.gang or "", place.pod.role or ""), {})
        for term in role.get("pod_affinity", ()):
            if not term["required"]:
                continue
            if term["anti"]:
                yield from _apart(outcome, place, term)
            elif place.pod.name in outcome.fresh:
                yield from _together(outcome, place, term)


def _apart(outcome: Outcome, place: Place, term: Mapping[str, Any]) -> Iterator[str]:
    """A pod that stood there first keeps new ones away, as in Kubernetes."""
    for other in outcome.standing.values():
        new = {place.pod.name, other.pod.name} & outcome.fresh.keys()
        if other is not place and new and _matches(other, term) and _same(outcome, place, other, term):
            yield f"{place.pod.name} shares {term['topology_key']} with {other.pod.name}, which it avoids"


def _together(outcome: Outcome, place: Place, term: Mapping[str, Any]) -> Iterator[str]:
    wanted = [other for other in outcome.standing.values() if other is not place and _matches(other, term)]
    if any(_same(outcome, place, other, term) for other in wanted):
        return
    if not wanted and _matches(place, term):
        return  # the first of its kind has nobody to join
    yield f"{place.pod.name} shares {term['topology_key']} with none of the pods that it must join"


def _matches(place: Place, term: Mapping[str, Any]) -> bool:
    labels = place.pod.labels or {}
    return all(labels.get(key) == value for key, value in term["match_labels"].items())


def _same(outcome: Outcome, a: Place, b: Place, term: Mapping[str, Any]) -> bool:
    """A node that lacks the label shares it with none, not even itself."""
    left, right = (
        outcome.world.nodes[place.node].get("labels", {}).get(term["topology_key"]) for place in (a, b)
    )
    return left is not None and left == right
