"""What every answer must keep to, whatever the case states: one file for each rule."""

from collections.abc import Iterator

from conformance.judge.outcome import Outcome
from conformance.judge.rules import (
    affinity,
    capacity,
    eligibility,
    evictions,
    minimums,
    queues,
    shares,
    topology,
    zones,
)

RULES = (capacity, shares, zones, eligibility, minimums, topology, affinity, queues, evictions)


def broken(outcome: Outcome) -> Iterator[str]:
    """Every rule that the outcome breaks, as a sentence each."""
    yield from outcome.malformed
    for rule in RULES:
        yield from rule.broken(outcome)
