"""The two problems, with real TensorFlow processes, as data."""

import json

import pytest
from runs import gangplan, left_behind, nothing_left, start, until


def demo(home, *words):
    done = gangplan(home, "demo", *words, "-o", "json", timeout_s=200)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_pod_by_pod_both_jobs_are_stuck_and_as_gangs_both_succeed(tmp_path):
    found = demo(tmp_path / "home", "deadlock", "--stuck-seconds", "3")
    baseline, ours = found["baseline"], found["ours"]
    assert baseline["running"] == {"job-a": 2, "job-b": 2}
    assert len({pid for pids in baseline["pids"].values() for pid in pids}) == 4
    assert baseline["finished"] == []
    assert ours["first"] == "job-a"
    assert (ours["rejection"]["needs"], ours["rejection"]["has"]) == (4, 0)
    assert ours["rejection"]["changes"][0] == "wait until job-a has ended"
    assert ours["outcomes"] == {"job-a": "Succeeded", "job-b": "Succeeded"}
    assert left_behind(tmp_path / "home") == []


def test_with_gpus_for_both_both_run_at_once_either_way(tmp_path):
    found = demo(tmp_path / "home", "deadlock", "--gpus", "8")
    assert found["baseline"]["running"] == {"job-a": 4, "job-b": 4}
    assert sorted(found["baseline"]["finished"]) == ["job-a", "job-b"]
    assert found["ours"]["rejection"] is None
    assert found["ours"]["outcomes"] == {"job-a": "Succeeded", "job-b": "Succeeded"}


def test_each_job_lies_on_one_node_and_costs_no_traffic(tmp_path):
    found = demo(tmp_path / "home", "affinity")
    for job, roles in found["ours"]["nodes"].items():
        assert len({node for nodes in roles.values() for node in nodes}) == 1
        assert found["ours"]["traffic"][job] == 0
        assert found["baseline"]["traffic"][job] > 0
    assert set(found["ours"]["outcomes"].values()) == {"Succeeded"}


@pytest.mark.parametrize("name", ["deadlock", "affinity"])
def test_a_second_demo_in_the_same_folder_is_refused_and_leaves_the_first_alone(name, tmp_path):
    home = tmp_path / "home"
    first = start(home, "demo", name, log=tmp_path / "first")
    try:
        until((tmp_path / "first.err").read_text, "the first demo")
        second = gangplan(home, "demo", name)
        assert second.returncode == 4
        assert "another --home" in second.stderr
        assert first.poll() is None
    finally:
        first.terminate()
        first.wait(timeout=20)
    nothing_left(home)
