"""On which nodes and in which domains pods are."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.judge.outcome import Outcome


def nodes(outcome: Outcome, wanted: Mapping[str, list[str]]) -> Iterator[str]:
    for name, allowed in wanted.items():
        for place in outcome.members(name):
            if place.node not in allowed:
                yield f"{place.pod.name} is on {place.node}, not on one of {', '.join(allowed)}"


def node_counts(outcome: Outcome, wanted: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    for name, counts in wanted.items():
        found = Counter(place.node for place in outcome.members(name))
        if found != Counter(counts):
            yield f"{name}: on nodes {dict(sorted(found.items()))}, should be {dict(counts)}"


def at_least(outcome: Outcome, wanted: list[Mapping[str, Any]]) -> Iterator[str]:
    for fact in wanted:
        found = sum(1 for place in outcome.members(fact["of"]) if place.node in fact["nodes"])
        if found < fact["min"]:
            yield f"{fact['of']}: {found} pods on {', '.join(fact['nodes'])}, at least {fact['min']} should be"


def same_domain(outcome: Outcome, wanted: list[Mapping[str, Any]]) -> Iterator[str]:
    yield from max_domains(outcome, [{**fact, "max": 1} for fact in wanted])


def max_domains(outcome: Outcome, wanted: list[Mapping[str, Any]]) -> Iterator[str]:
    for fact in wanted:
        found = len(_domains(outcome, fact))
        if found > fact["max"]:
            yield f"{fact['of']}: in {found} domains of {fact['level']}, at most {fact['max']} should be"


def domain_counts(outcome: Outcome, wanted: list[Mapping[str, Any]]) -> Iterator[str]:
    for fact in wanted:
        found = sorted(_domains(outcome, fact).values())
        if found != sorted(fact["counts"]):
            yield f"{fact['of']}: {found} pods in the domains, should be {sorted(fact['counts'])}"


def _domains(outcome: Outcome, fact: Mapping[str, Any]) -> Counter[tuple[str, ...] | None]:
    members = outcome.members(fact["of"])
    return Counter(outcome.world.domain(place.node, fact.get("level")) for place in members)


FACTS = {
    "nodes": nodes,
    "node_counts": node_counts,
    "at_least": at_least,
    "same_domain": same_domain,
    "max_domains": max_domains,
    "domain_counts": domain_counts,
}
