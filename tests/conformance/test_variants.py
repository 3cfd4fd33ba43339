"""Cases that nobody wrote: the committed ones changed at random, judged by rules, by truth and by completeness."""

import copy
import random
from collections import Counter
from pathlib import Path

import pytest

from conformance import cases, check_case, variants
from conformance.__main__ import unsupported
from conformance.answer import solved
from conformance.judge import judge
from conformance.judge.complete import left_waiting
from conformance.judge.outcome import outcome
from conformance.judge.reasons import untrue
from conformance.judge.smallest import overdone
from conformance.judge.world import World

FOLDER = Path(__file__).parents[1] / "data" / "cases"
CASES = {case["id"]: case for case in cases.read(FOLDER) if unsupported(case) is None}
OF_EACH = 4
BLOCKS = 14


@pytest.mark.parametrize("block", range(BLOCKS))
def test_varied_cases_are_solved_by_the_rules_with_true_reasons_and_nothing_left_waiting(block):
    seen = Counter()
    for name in sorted(CASES)[block::BLOCKS]:
        for number in range(OF_EACH):
            case = variants.variant(CASES[name], random.Random(f"{name} {number}"))
            answer = solved(case)
            after = outcome(World(case), answer)
            assert judge(case, answer).failures == (), (name, number)
            assert check_case.check(case, answer)[0] == [], (name, number)
            for wrong in (left_waiting, untrue, overdone):
                assert list(wrong(after)) == [], (name, number)
            seen.update(placed=bool(answer["placements"]), refused=bool(answer["rejected"]), all=True)
    assert min(seen["placed"], seen["refused"]) > 0


def test_rows_in_another_order_give_the_same_answer():
    compared = 0
    for name, case in CASES.items():
        shuffled = copy.deepcopy(dict(case))
        variants.order(shuffled, random.Random(name))
        answer = solved(case)
        again = solved(shuffled)
        assert again["placements"] == answer["placements"], name
        assert sorted(again["rejected"], key=str) == sorted(answer["rejected"], key=str), name
        compared += 1
    assert compared >= 196


RACKS = CASES["complaint-63-a"]
"""Six workers in one rack; the racks hold 4, 3 and 4."""


def refused(**said):
    rejection = {
        "gang": "g1",
        "stage": "topology",
        "resource": "nvidia.com/gpu",
        "needs": "6",
        "has": "4",
        "at": "x/a",
    }
    return outcome(World(RACKS), {"placements": {}, "rejected": [rejection | said]})


def test_a_true_reason_with_the_smallest_changes_is_accepted():
    changes = [
        {"kind": "replicas", "role": "worker", "to": 4},
        {"kind": "level", "to": "topology.test/block"},
    ]
    assert [*untrue(refused()), *overdone(refused(changes=changes)), *left_waiting(refused())] == []


@pytest.mark.parametrize(
    "said",
    [{"stage": "capacity"}, {"stage": "packing"}, {"has": "3"}, {"needs": "5"}, {"at": "x/b"}],
    ids=str,
)
def test_a_reason_that_is_not_so_is_found(said):
    assert len(list(untrue(refused(**said)))) == 1


@pytest.mark.parametrize(
    "change", [{"kind": "replicas", "role": "worker", "to": 3}, {"kind": "level"}], ids=str
)
def test_a_change_that_asks_for_more_than_is_needed_is_found(change):
    assert len(list(overdone(refused(changes=[change])))) == 1


def test_a_gang_that_fits_but_is_refused_is_found():
    case = CASES["complaint-18"]
    after = outcome(World(case), {"placements": {}, "rejected": ["g1"]})
    assert list(left_waiting(after)) == ["g1 is refused but fits as things stand"]
