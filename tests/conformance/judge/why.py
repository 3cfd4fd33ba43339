"""The reason that a refusal gives: stage, numbers, place and changes are those that the case allows."""

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.judge.outcome import Outcome
from conformance.judge.quantity import amount


def missed(outcome: Outcome, wanted: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    given = {item["gang"]: item for item in outcome.rejected if isinstance(item, Mapping)}
    for gang, right in wanted.items():
        if gang not in given:
            yield f"{gang}: refused without a reason"
            continue
        said = given[gang]
        if said["stage"] not in right["stage"]:
            yield f"{gang}: stage {said['stage']}, should be {' or '.join(right['stage'])}"
        if "numbers" in right and not any(_same_numbers(said, triple) for triple in right["numbers"]):
            told = " ".join(f"{key}={said.get(key)}" for key in ("resource", "needs", "has"))
            yield f"{gang}: numbers {told}, should be {_choice(right['numbers'])}"
        if "at" in right and said.get("at") not in right["at"]:
            yield f"{gang}: at {said.get('at')}, should be {' or '.join(right['at'])}"
        offered = [_plain(change) for change in said.get("changes", ())]
        if "changes" in right and not any(_plain(change) in offered for change in right["changes"]):
            yield f"{gang}: offers {offered}, not one of {right['changes']}"


def _same_numbers(said: Mapping[str, Any], right: Mapping[str, str]) -> bool:
    return said.get("resource") == right["resource"] and all(
        said.get(key) is not None and amount(said[key]) == amount(right[key]) for key in ("needs", "has")
    )


def _plain(change: Mapping[str, Any]) -> dict[str, Any]:
    """A change in which equal amounts are equal values."""
    as_number = {"limit": ("to",), "free": ("amount",)}.get(change["kind"], ())
    return {key: amount(value) if key in as_number else value for key, value in change.items()}


def _choice(triples: list[Mapping[str, str]]) -> str:
    return " or ".join(f"{item['resource']} needs={item['needs']} has={item['has']}" for item in triples)
