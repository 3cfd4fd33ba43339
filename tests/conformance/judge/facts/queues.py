"""What queues hold afterwards."""

from collections.abc import Iterator, Mapping
from fractions import Fraction

from conformance.judge.outcome import Outcome
from conformance.judge.quantity import amounts
from conformance.judge.rules.queues import usage


def queue_allocated(outcome: Outcome, wanted: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for name, holds in wanted.items():
        used = usage(outcome, name, list(outcome.standing.values()))
        for resource, right in amounts(holds).items():
            found = used.get(resource, Fraction(0))
            if found != right:
                yield f"queue {name} holds {found} of {resource}, should be {right}"


FACTS = {"queue_allocated": queue_allocated}
