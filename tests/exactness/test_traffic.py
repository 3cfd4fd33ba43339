"""The traffic of one gang: near the best known, far below what best fit makes of it."""

import pytest

import gangplan as gp
from exactness.traffic_model import least_traffic
from gangplan.bench.traffic import BEST_KNOWN, instances, over_best_known, reached

QUICKLY_PROVEN = (2, 3, 10, 11, 12)
"""Instances of which the model proves the best in about a second."""


def test_there_are_fourteen_instances_with_a_best_known_traffic_each():
    assert len(instances()) == len(BEST_KNOWN) == 14


@pytest.mark.parametrize("number", QUICKLY_PROVEN)
def test_the_best_known_traffic_is_proven_by_the_model(number):
    known = BEST_KNOWN[number]
    assert least_traffic(instances()[number], 60.0) == (known, known)


def test_traffic_is_within_two_percent_of_the_best_known():
    assert over_best_known() <= 1.02


def test_traffic_is_at_least_a_fifth_below_that_of_best_fit():
    scattered = [_best_fit(instance.snapshot()) for instance in instances()]
    assert sum(reached()) <= 0.8 * sum(scattered)


def _best_fit(snapshot: gp.Snapshot) -> int:
    """Workers first, then servers, each where the fewest cores are left."""
    free = {node.name: {key: int(text) for key, text in node.allocatable.items()} for node in snapshot.nodes}
    (gang,) = snapshot.gangs
    placements: dict[str, tuple[str, ...]] = {}
    for role in sorted(gang.roles, key=lambda role: role.name, reverse=True):
        needs = {key: int(text) for key, text in role.requests.items()}
        chosen = []
        for _ in range(role.replicas):
            able = [
                name for name, room in free.items() if all(room[key] >= most for key, most in needs.items())
            ]
            best = min(able, key=lambda name: (free[name]["cpu"], name))
            chosen.append(best)
            free[best] = {key: room - needs.get(key, 0) for key, room in free[best].items()}
        placements[role.name] = tuple(chosen)
    return gp.traffic(snapshot, {gang.name: placements})[gang.name]
