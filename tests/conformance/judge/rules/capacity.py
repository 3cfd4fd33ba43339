"""A node holds what it offers: in each resource that something new asks of it."""

from collections.abc import Iterator
from fractions import Fraction

from conformance.judge.outcome import Outcome
from conformance.judge.quantity import total


def broken(outcome: Outcome) -> Iterator[str]:
    """What already stood there may owe more than there is; the debt shuts that resource for new pods."""
    for node, offered in outcome.world.allocatable.items():
        fresh = total(*(place.pod.asks for place in outcome.fresh.values() if place.node == node))
        if not fresh:
            continue
        used = total(*(place.pod.asks for place in outcome.standing.values() if place.node == node))
        for resource in sorted(fresh):
            if not fresh[resource] or (resource == "pods" and "pods" not in offered):
                continue
            if used[resource] > offered.get(resource, Fraction(0)):
                yield f"{node}: {used[resource]} of {resource} in use, {offered.get(resource, 0)} there"
