"""A step may run again after it was killed; what it finds then decides, not what it hopes."""

import json
import os
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from runs import job, nothing_left, python, records, until
from steps.conftest import Steps

from gangplan.errors import ConfigError, Conflict, JobCanceled, JobFailed, JobTimedOut
from gangplan.steps.conclude import conclude
from gangplan.steps.launch_tfjob import LOG_LINES
from gangplan.steps.release import release
from gangplan.steps.run import gang_name


def test_a_run_is_admitted_launched_and_released(steps, home):
    assert steps.admit().outcome == "Admitted"
    (record,) = records(home)
    assert record.phase == "Reserved"
    assert record.owner is None, "between two steps no process of this run has to be there"
    assert steps.launch().outcome == "Succeeded"
    assert release(**steps.common) == "Succeeded"
    nothing_left(home)


def test_a_second_attempt_of_admit_takes_over_the_gang_with_its_place(steps, home):
    steps.admit()
    (first,) = records(home)
    assert steps.admit().outcome == "Admitted"
    (second,) = records(home)
    assert (second.uid, second.phase) == (first.uid, "Reserved")


def test_an_attempt_after_a_refused_one_asks_anew(steps, home):
    many = job(Worker=(python("pass"), 50)).replace("100m", "'1000'")
    assert steps.admit(tfjob=many).outcome == "NotAdmitted"
    assert steps.admit().outcome == "Admitted"
    assert [record.phase for record in records(home)] == ["Reserved"]


def test_a_launch_that_was_killed_is_not_repeated_blindly(steps, home):
    """Locally the replicas die with the step: the second attempt says so instead of training again."""
    steps.admit(tfjob=job(Worker=python("import time; time.sleep(60)")))
    program = (
        "import sys; sys.path.insert(0, 'tests')\n"
        "from pathlib import Path\n"
        "from steps.conftest import Steps\n"
        f"Steps(Path({str(steps.folder)!r})).launch()\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], cwd=Path(__file__).parents[2])
    try:
        until(lambda: [record.phase for record in records(home)] == ["Bound"], "the start")
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    outcome = steps.launch()
    assert outcome.outcome == "Failed"
    assert "ended before the job did" in outcome.reason
    assert release(**steps.common) == "Failed"
    nothing_left(home)


def test_launch_passes_over_a_gang_that_was_not_admitted(steps, home):
    assert steps.launch("NotAdmitted", "no room") == ("NotAdmitted", "no room")
    assert json.loads(Path(steps.path("status")).read_text())["state"] == "Canceled"
    assert records(home) == ()


def test_launch_without_room_fails_with_the_reason(steps):
    steps.admit()
    release(**steps.common)
    outcome = steps.launch()
    assert outcome.outcome == "Failed"
    assert "holds no room any more" in outcome.reason


def test_release_is_idempotent_and_needs_no_gang(steps, home):
    assert release(**steps.common) == ""
    steps.admit()
    assert release(**steps.common) == "Canceled"
    assert release(**steps.common) == "Canceled"
    nothing_left(home)


def test_release_leaves_the_gang_of_another_run_alone(steps, home, tmp_path):
    steps.admit()
    other = Steps(tmp_path, "run-2")
    assert other.admit().outcome == "Admitted"
    release(**steps.common)
    assert {record.run_id: record.phase for record in records(home)} == {
        steps.common["run_id"]: "Finished",
        other.common["run_id"]: "Reserved",
    }
    release(**other.common)


def test_a_gang_of_the_same_name_but_another_run_is_refused(steps, home, monkeypatch):
    """Names carry a hash of the run id; should they ever collide, nothing is taken from the other run."""
    monkeypatch.setattr("gangplan.steps.run.gang_name", lambda *_: "same")
    steps.admit()
    with pytest.raises(Conflict):
        Steps(steps.folder, "run-2").admit()
    assert [record.run_id for record in records(home)] == [steps.common["run_id"]]


@pytest.mark.parametrize(
    ("outcome", "error"),
    [("Failed", JobFailed), ("NotAdmitted", JobFailed), ("Canceled", JobCanceled), ("TimedOut", JobTimedOut)],
)
def test_conclude_raises_the_reason(outcome, error):
    with pytest.raises(error, match="because"):
        conclude(outcome=outcome, reason="because")


def test_conclude_ends_green_after_success():
    assert conclude(outcome="Succeeded", reason="") == "Succeeded"


def test_a_step_in_a_pod_without_a_token_says_so(steps, tmp_path, monkeypatch):
    """In a pod, with neither a local run above it nor a home: KFP started it there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GANGPLAN_HOME")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    with pytest.raises(ConfigError, match="does its service account mount its token"):
        steps.admit()


@pytest.mark.parametrize(
    "name", ["mnist", "A very long name with spaces and Ümläuts " * 3, "42", "---", "it's"]
)
def test_every_job_name_gives_a_label_that_children_can_extend(name):
    made = gang_name(name, "run")
    assert made == gang_name(name, "run") != gang_name(name, "other run")
    assert made[0].isalpha()
    assert made.replace("-", "").isalnum()
    assert made.isascii()
    assert len(f"{made}-evaluator-99") <= 63


def test_long_logs_are_cut_without_being_held_whole(steps):
    """Of 20 MB of a replica the last lines are kept, and never much more is in memory."""
    says = python("for i in range(200_000): print(f'{i:0100}')")
    assert steps.admit(tfjob=job(Worker=(says, 1))).outcome == "Admitted"
    tracemalloc.start()
    assert steps.launch().outcome == "Succeeded"
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    head, *lines = Path(steps.path("logs")).read_text().splitlines()
    assert head.startswith("==== worker-0 on ")
    assert [int(line) for line in lines[:LOG_LINES]] == list(range(200_000 - LOG_LINES, 200_000))
    assert most < 10e6
