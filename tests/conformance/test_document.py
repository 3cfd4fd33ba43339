"""Translation of cases: names change, nothing is dropped or put in another order in silence."""

import json
from pathlib import Path

import pytest

from conformance import cases, document
from conformance.__main__ import main, unsupported

CASES = cases.read(Path(__file__).parents[1] / "data" / "cases")
SUPPORTED = [case for case in CASES if unsupported(case) is None]


def texts(value):
    """All strings and numbers in a document, in its order, keys left out."""
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value]


def test_every_supported_case_can_be_said():
    assert len(SUPPORTED) >= 196
    for case in SUPPORTED:
        document.snapshot(case)
        document.options(case)


@pytest.mark.parametrize("part", ["nodes", "gangs", "queues"])
def test_rows_keep_their_order_and_every_value(part):
    seen = 0
    for case in SUPPORTED:
        rows = case[part] if part in case else case["cluster"][part]
        said = document.snapshot(case)[part]
        assert [row["name"] for row in said] == [row["name"] for row in rows]
        assert sorted(map(str, texts(said))) == sorted(map(str, texts(rows)))
        seen += len(rows)
    assert seen > 100


@pytest.mark.parametrize("where", ["gangs", "queues"])
def test_a_key_without_a_word_is_an_error(where):
    """Judging a case on a part of what it says would be worse than failing it."""
    case = json.loads(json.dumps(next(case for case in CASES if case["queues"])))
    case[where][0]["colour"] = "blue"
    with pytest.raises(document.Unsaid, match=r"\.colour"):
        document.snapshot(case)


def test_where_no_queue_is_listed_those_that_are_named_hold_nothing_back(tmp_path):
    case = json.loads(json.dumps(SMALL))
    case["gangs"][0]["queue"] = "q1"
    assert document.snapshot(case)["queues"] == [{"name": "q1"}]
    assert run(tmp_path, case)[0] == 0


def test_parts_of_gpus_have_no_word_yet():
    shares = [
        case for case in CASES if any("gpu_share" in role for gang in case["gangs"] for role in gang["roles"])
    ]
    assert len(shares) > 10
    for case in shares:
        with pytest.raises(document.Unsaid, match=r"\.gpu"):
            document.snapshot(case)


def test_only_cases_with_evictions_or_parts_of_gpus_may_be_skipped():
    for case in CASES:
        shares = '"gpu_share"' in json.dumps(case["gangs"])
        assert (unsupported(case) is not None) == (case["policy"]["actions"] != ["allocate"] or shares)


SMALL = {
    "format": 1, "id": "small", "source": "here", "capability": "fit", "summary": "one pod, one node",
    "policy": {"actions": ["allocate"]},
    "cluster": {"nodes": [{"name": "n1", "allocatable": {"cpu": "2"}}]},
    "queues": [],
    "gangs": [{"name": "g1", "roles": [{"name": "main", "replicas": 1, "requests": {"cpu": "1"}}]}],
    "expect": {"placed": {"g1": 1}},
}  # fmt: skip


def run(tmp_path, *given, words=()):
    (tmp_path / "cases").mkdir(exist_ok=True)
    (tmp_path / "cases" / "some.json").write_text(json.dumps(given))
    told: list[str] = []
    return main([str(tmp_path / "cases"), "--out", str(tmp_path / "out"), *words], told.append), told


def test_the_command_ends_with_the_counts_and_writes_the_answers(tmp_path):
    code, told = run(tmp_path, SMALL)
    assert code == 0
    assert told[-1] == "1 passed, 0 failed"
    answer = json.loads((tmp_path / "out" / "small.json").read_text())
    assert answer == {"placements": {"g1/main/0": "n1"}, "evicted": [], "rejected": []}


def test_a_case_that_fails_is_told_with_its_reason_and_makes_the_command_fail(tmp_path):
    asks_too_much = {**SMALL, "id": "wrong", "expect": {"placed": {"g1": 2}}}
    code, told = run(tmp_path, SMALL, asks_too_much)
    assert code == 1
    assert "FAILED wrong: g1: 1 pods hold a node, 2 should" in told
    assert told[-1] == "1 passed, 1 failed"


def test_a_case_beyond_what_is_built_fails_unless_skipping_is_asked_for(tmp_path):
    evicts = {**SMALL, "policy": {"actions": ["allocate", "preempt"]}, "expect": {"placed": {"g1": 2}}}
    assert run(tmp_path, evicts)[0] == 1
    code, told = run(tmp_path, evicts, words=["--skip-unsupported"])
    assert code == 0
    assert told == [
        "skipped small: its actions are allocate, preempt",
        "0 wishes missed, 1 cases skipped",
        "0 passed, 0 failed",
    ]


def test_a_folder_without_cases_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="no case here"):
        main([str(tmp_path)])
