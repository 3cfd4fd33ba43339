"""Who has to go, and who stays."""

from collections.abc import Iterator

from conformance.judge.outcome import Outcome


def evicted(outcome: Outcome, wanted: list[str]) -> Iterator[str]:
    if outcome.gone != set(wanted):
        yield f"evicted: {_list(outcome.gone)}, should be {_list(wanted)}"


def evicted_one_of(outcome: Outcome, wanted: list[list[str]]) -> Iterator[str]:
    if outcome.gone not in [set(names) for names in wanted]:
        yield f"evicted: {_list(outcome.gone)}, should be {' or '.join(_list(names) for names in wanted)}"


def evicted_count(outcome: Outcome, wanted: int) -> Iterator[str]:
    if len(outcome.gone) != wanted:
        yield f"{len(outcome.gone)} evicted, {wanted} should be"


def kept(outcome: Outcome, wanted: list[str]) -> Iterator[str]:
    for name in wanted:
        if name in outcome.gone:
            yield f"{name} is evicted, it should be kept"


def _list(names: "set[str] | list[str]") -> str:
    return ", ".join(sorted(names)) or "none"


FACTS = {
    "evicted": evicted,
    "evicted_one_of": evicted_one_of,
    "evicted_count": evicted_count,
    "kept": kept,
}
