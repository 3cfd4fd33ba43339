"""How many pods hold a node afterwards."""

from collections.abc import Iterator, Mapping

from conformance.judge.outcome import Outcome


def placed(outcome: Outcome, wanted: Mapping[str, int]) -> Iterator[str]:
    for name, count in wanted.items():
        found = len(outcome.members(name))
        if found != count:
            yield f"{name}: {found} pods hold a node, {count} should"


def placed_total(outcome: Outcome, wanted: int) -> Iterator[str]:
    found = sum(1 for name in outcome.fresh if name in outcome.world.waiting)
    if found != wanted:
        yield f"{found} new placements, {wanted} should be"


def not_placed(outcome: Outcome, names: list[str]) -> Iterator[str]:
    for name in names:
        new = [place for place in outcome.members(name) if place.pod.name in outcome.fresh]
        if any(place.pod.name in outcome.world.waiting for place in new):
            yield f"{name} is placed, it should wait"


FACTS = {"placed": placed, "placed_total": placed_total, "not_placed": not_placed}
