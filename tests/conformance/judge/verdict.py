"""What is wrong with an answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.judge import facts, trial, why
from conformance.judge.outcome import outcome
from conformance.judge.rules import broken
from conformance.judge.world import World


@dataclass(frozen=True)
class Verdict:
    """``failures`` make the answer wrong; ``wishes`` are nice things that it misses."""

    failures: tuple[str, ...]
    wishes: tuple[str, ...]


def judge(case: Mapping[str, Any], answer: Mapping[str, Any]) -> Verdict:
    """Judge an answer in the format's form: rules, then facts, then reasons and offered changes."""
    after = outcome(World(case), answer)
    expect = case["expect"]
    failures = [
        *broken(after),
        *facts.missed(after, expect),
        *why.missed(after, expect.get("why", {})),
        *trial.useless(after),
    ]
    return Verdict(tuple(failures), tuple(facts.missed(after, expect.get("quality", {}))))
