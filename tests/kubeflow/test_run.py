"""Steps are found among the nodes of a Workflow, and an ending is told from what is known of a run."""

from datetime import UTC, datetime, timedelta

import pytest
from kfpserver.terminal import REFUSED

from gangplan.kubeflow.outcome import Ending, ending
from gangplan.kubeflow.run import Run, Step, steps_of
from gangplan.record import GangRecord
from gangplan.snapshot import Gang, Role

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


def node(pod: str, title: str, state: str, at: int, *children: str) -> dict:
    return {
        "pod_name": pod,
        "display_name": title,
        "state": state,
        "start_time": NOON + timedelta(seconds=at),
        "end_time": NOON + timedelta(seconds=at + 1),
        "child_tasks": [{"pod_name": child} for child in children],
    }


def test_a_step_that_was_retried_is_one_step_with_the_logs_of_all_its_attempts():
    """A server as it is installed retries every template, so each node has another around it."""
    found = steps_of(
        [
            node("w", "gangplan-train-x7", "RUNNING", 0, "r"),
            node("r", "root", "RUNNING", 0, "r0"),
            node("r0", "root(0)", "RUNNING", 0, "d", "l"),
            node("d", "launch-tfjob-driver", "SUCCEEDED", 1, "d0"),
            node("d0", "launch-tfjob-driver(0)", "SUCCEEDED", 1),
            node("l", "launch-tfjob", "RUNNING", 2, "l0"),
            node("l0", "launch-tfjob(0)", "RUNNING", 2, "e"),
            node("e", "executor", "RUNNING", 2, "e0", "e1"),
            node("e0", "executor(0)", "FAILED", 2),
            node("e1", "executor(1)", "RUNNING", 3),
        ]
    )
    assert found == (
        Step(
            name="launch-tfjob",
            state="RUNNING",
            begun=NOON + timedelta(seconds=2),
            pods=("e0", "e1"),
        ),
    )


def test_steps_are_told_as_they_began_and_those_of_branches_too():
    found = steps_of(
        [
            node("c", "condition-2", "SUCCEEDED", 0),
            node("b", "b", "SUCCEEDED", 9),
            node("a", "a", "SKIPPED", 4),
            node("x", "exit-handler-1", "SUCCEEDED", 0),
            node("f", "for-loop-3", "SUCCEEDED", 0),
        ]
    )
    assert [(step.name, step.state) for step in found] == [("a", "SKIPPED"), ("b", "SUCCEEDED")]
    assert steps_of([]) == ()


def run(state: str, *states: str, reason: str = "", steps: tuple[Step, ...] = ()) -> Run:
    return Run(id="1", name="mine", state=state, states=states, reason=reason, steps=steps)


SAID = REFUSED.format(kind="JobTimedOut", outcome="TimedOut", reason="after 3600 s")


@pytest.mark.parametrize(
    ("seen", "asked", "logs", "outcome"),
    [
        (run("SUCCEEDED"), True, {}, "Succeeded"),
        (run("SUCCEEDED"), False, {"conclude": "12:00:01 skipped: NotAdmitted: no room\n"}, "NotAdmitted"),
        (run("SUCCEEDED"), False, {"admit": "skipped: NotAdmitted: somebody prints this"}, "Succeeded"),
        (run("FAILED"), True, {"conclude": SAID}, "Canceled"),
        (run("FAILED", "RUNNING", "CANCELING", "FAILED"), False, {}, "Canceled"),
        (run("CANCELED"), False, {}, "Canceled"),
        (run("FAILED"), False, {"conclude": SAID}, "TimedOut"),
        (run("FAILED"), False, {"conclude": "gangplan.errors.JobFailed: Exploded: so"}, "Failed"),
        (run("FAILED"), False, {}, "Failed"),
    ],
)
def test_an_ending_is_told_from_what_is_known(seen, asked, logs, outcome):
    assert ending(seen, asked=asked, logs=logs).outcome == outcome


def test_what_failed_without_a_word_is_told_with_what_there_is():
    crashed = Step(name="admit", state="FAILED", reason="OOMKilled")
    silent = Step(name="admit", state="FAILED")
    assert ending(run("FAILED", steps=(crashed,)), asked=False, logs={}) == Ending(
        outcome="Failed", reason="OOMKilled", step="admit"
    )
    assert ending(run("FAILED", steps=(silent,)), asked=False, logs={}).reason == "it says no reason"
    assert ending(run("FAILED", reason="no quota"), asked=False, logs={}).reason == "no quota"


def gang(name: str, outcome: str, reason: str) -> GangRecord:
    return GangRecord(
        gang=Gang(name=name, roles=(Role(name="worker", replicas=1, requests={}),)),
        uid=name,
        run_id="1",
        phase="Finished",
        outcome=outcome,
        reason=reason,
    )


def test_the_record_of_a_gang_tells_where_the_log_of_the_last_step_is_gone():
    """The pods of a run are gone with its Workflow after an hour; the record of its gang is kept for a day."""
    records = [gang("b", "TimedOut", "after 60 s"), gang("a", "Succeeded", "")]
    seen = run("FAILED", steps=(Step(name="conclude", state="FAILED"),))
    assert ending(seen, asked=False, logs={}, records=records) == Ending(
        outcome="TimedOut", reason="after 60 s", step="gang b"
    )
    failed = ending(seen, asked=False, logs={}, records=[gang("a", "Succeeded", "")])
    assert failed.outcome == "Failed", "a run whose gang succeeded may fail for another reason"
    said = REFUSED.format(kind="JobFailed", outcome="NotAdmitted", reason="no room")
    assert ending(seen, asked=False, logs={"conclude": said}, records=records).outcome == "NotAdmitted"
