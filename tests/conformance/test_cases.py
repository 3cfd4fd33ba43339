"""Every case that a snapshot can say: solved through the public door, judged by both judges."""

from pathlib import Path

import pytest

from conformance import cases, check_case
from conformance.__main__ import unsupported
from conformance.answer import solved
from conformance.judge import judge

CASES = [
    case for case in cases.read(Path(__file__).parents[1] / "data" / "cases") if unsupported(case) is None
]
EXACT_COMPLAINTS = {"17", "18", "19", "27", "28", "31", "54", "56", "59"}
"""Public complaints with exact numbers; 47 needs evictions, 57 parts of GPUs, 55 is in ``test_golden.py``."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_plan_meets_the_case_and_both_judges_say_so(case):
    answer = solved(case)
    for refusal in answer["rejected"]:
        check_case.REJECTION(refusal, case["id"])  # well formed for whoever else reads it
    failures, theirs = judge(case, answer).failures, check_case.check(case, answer)[0]
    assert bool(failures) == bool(theirs), (failures, theirs)
    assert failures == ()


def test_the_exact_complaints_are_among_them():
    numbers = {case["id"].split("-")[1] for case in CASES if case["id"].startswith("complaint-")}
    assert numbers >= EXACT_COMPLAINTS
    assert len(CASES) >= 196
