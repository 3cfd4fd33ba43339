"""What a case states of the right answer: one file for each kind of fact."""

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.judge.facts import counts, evictions, places, queues, ranks
from conformance.judge.outcome import Outcome

KINDS = counts.FACTS | places.FACTS | evictions.FACTS | queues.FACTS | ranks.FACTS
"""Name of a fact → what tests it, given the outcome and the value that the case states."""

ELSEWHERE = {"why", "quality", "reference", "tie_break", "notes"}


def missed(outcome: Outcome, facts: Mapping[str, Any]) -> Iterator[str]:
    """Every fact that does not hold, as a sentence each.

    Raises:
        KeyError: The case states a fact of an unknown kind, which nobody would judge.
    """
    for kind, value in facts.items():
        if kind not in ELSEWHERE:
            yield from KINDS[kind](outcome, value)
