"""A submission that was killed is gone on with by another of the same run, wherever it was; on a modelled server."""

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from apimodel.server import Fault
from builders import tfjob
from cli.clusters import Commands, new_server
from launches.world import World

from gangplan.cli import repeats, where_it_runs
from gangplan.cli import submit as command
from gangplan.errors import Unreachable
from gangplan.kube.kinds import GANG, TFJOB

AS_IN_THE_FILE = {"name": "worker", "replicas": 2, "requests": {"cpu": "100m"}}


@pytest.fixture
def cluster(monkeypatch, tmp_path) -> Commands:
    """Two nodes with four GPUs each, and a file with a job of two workers."""
    monkeypatch.chdir(tmp_path)
    commands = Commands(new_server("gangplan-system", clock=lambda: datetime.now(UTC)), monkeypatch)
    for node in ("n1", "n2"):
        commands.add_node(node)
    Path("job.yaml").write_text(yaml.safe_dump(tfjob("mnist", {"Worker": {"replicas": 2}})))
    return commands


@pytest.mark.parametrize(
    ("said", "message", "code", "outcome"),
    [("Succeeded", "all went well", 0, "Succeeded"), ("Failed", "it broke", 5, "Failed")],
)
@pytest.mark.parametrize("phase", ["Reserved", "Bound", "Finished"])
def test_an_end_that_nobody_saw_is_told_by_the_next_call_of_the_run(
    cluster, phase, said, message, code, outcome
):
    cluster.add_gang("mnist", 2, runId="r1", roles=[AS_IN_THE_FILE])
    if phase == "Finished":
        cluster.set_status("mnist", phase=phase, outcome=outcome, reason=message)
    else:
        cluster.reserve("mnist", "n1", "n1")
        cluster.set_status("mnist", phase=phase)
    cluster.add_job("mnist", "r1", said=said, message=message)
    told = cluster("submit", "job.yaml", "--wait", "--run-id", "r1", code=code).stdout
    assert told.startswith(f"default/mnist: {outcome}: ")
    assert message in told
    (gang,) = cluster.server.list(GANG).items
    assert (gang["status"]["phase"], gang["status"]["outcome"]) == ("Finished", outcome)
    assert len(cluster.server.list(TFJOB).items) == 1


def test_a_job_of_another_run_is_never_gone_on_with(cluster):
    cluster.add_gang("mnist", 2, runId="r1")
    cluster.reserve("mnist", "n1", "n1")
    cluster.add_job("mnist", "r1")
    told = cluster("submit", "job.yaml", "--wait", "--run-id", "r2", code=1).stderr
    assert "there is a TFJob mnist in default already" in " ".join(told.split())


@pytest.mark.parametrize(
    ("worker", "queue", "told"),
    [
        ({"replicas": 3}, {}, "3 × worker, not 2"),
        ({"requests": {"nvidia.com/gpu": "1"}}, {}, "worker with nvidia.com/gpu 1, not cpu 100m"),
        ({"name": "chief", "replicas": 1}, {}, "1 × chief, not 0; 0 × worker, not 2"),
        ({}, {"priority": 7}, "priority 7, not 0"),
    ],
)
def test_a_run_is_not_gone_on_with_by_another_job(cluster, worker, queue, told):
    cluster.add_gang("mnist", 2, runId="r1", roles=[AS_IN_THE_FILE | worker], **queue)
    said = cluster("submit", "job.yaml", "--wait", "--run-id", "r1", code=1).stderr
    assert f"run r1 was begun with {told}: give the job as it was then" in " ".join(said.split())
    assert cluster.server.list(TFJOB).items == ()


def test_a_run_is_not_gone_on_with_under_another_name(cluster):
    cluster.add_gang("other", 2, runId="r1", roles=[AS_IN_THE_FILE])
    (gang,) = cluster.server.list(GANG).items
    cluster.server.replace(
        GANG, {**gang, "metadata": {**gang["metadata"], "labels": {"gangplan.dev/run-id": "r1"}}}
    )
    said = cluster("submit", "job.yaml", "--wait", "--run-id", "r1", code=1).stderr
    assert "run r1 was begun as default/other, not default/mnist" in " ".join(said.split())
    assert len(cluster.server.list(GANG).items) == 1


def test_a_further_attempt_and_its_placement_are_told(monkeypatch, tmp_path):
    """The first one was preempted on n1 and n2; there is room on n3."""
    monkeypatch.chdir(tmp_path)
    world = World()
    world.disrupted_attempts = 1
    clock = SimpleNamespace(time=lambda: world.time[0], monotonic=lambda: world.time[0], sleep=world.sleep)
    monkeypatch.setattr(command, "time", clock)
    cluster = Commands(world.server, monkeypatch)
    cluster.add_node("n3")
    Path("job.yaml").write_text(yaml.safe_dump(tfjob("j", {"PS": {}, "Worker": {"replicas": 2}})))
    done = cluster("submit", "job.yaml", "--wait", "--run-id", "run", "-o", "json")
    ended = "default/j: attempt 1 of 3 ended: worker-1: it was preempted: by another"
    assert done.stderr.count(f"{ended}; attempt 2 waits for room\n") == 1
    assert done.stderr.count("default/j: Reserved: admitted: room for the whole gang is reserved\n") == 1
    answer = json.loads(done.stdout)
    assert answer["outcome"] == "Succeeded"
    assert answer["placement"] == {"ps": ["n3"], "worker": ["n3", "n3"]}


@pytest.mark.parametrize(
    ("most", "where"),
    [(8, "ps-0 on n1, worker-0 on n1, worker-1 on n2"), (2, "ps-0 on n1, worker-0 on n1 and 1 more")],
)
def test_who_does_not_wait_is_told_where_the_job_runs_and_how_to_follow_it(
    monkeypatch, tmp_path, most, where
):
    monkeypatch.chdir(tmp_path)
    world = World()
    clock = SimpleNamespace(time=lambda: world.time[0], monotonic=lambda: world.time[0], sleep=world.sleep)
    monkeypatch.setattr(command, "time", clock)
    cluster = Commands(world.server, monkeypatch)
    Path("job.yaml").write_text(yaml.safe_dump(tfjob("j", {"PS": {}, "Worker": {"replicas": 2}})))
    monkeypatch.setattr(where_it_runs, "TOLD_REPLICAS", most)
    told = cluster("submit", "job.yaml", "--run-id", "run").stdout
    assert told == f"default/j runs: {where}; follow it with gangplan logs -f j -n default\n"


def test_a_server_that_does_not_answer_for_long_is_told_once_a_minute(cluster, monkeypatch):
    """It is asked every second."""
    passed = [1e9]

    def sleep(seconds: float) -> None:
        passed[0] += seconds

    clock = SimpleNamespace(time=lambda: passed[0], monotonic=lambda: passed[0], sleep=sleep)
    monkeypatch.setattr(command, "time", clock)
    monkeypatch.setattr(repeats, "time", clock)
    monkeypatch.setattr(command, "FIRST_CONTACT_S", 150.0)
    cluster.server.faults = lambda _: Fault(error=Unreachable)
    told = cluster("submit", "job.yaml", code=4).stderr
    assert told.count("asking again: ") == 3
