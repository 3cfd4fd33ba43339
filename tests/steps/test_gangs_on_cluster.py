"""A run with several gangs on a modelled cluster: all at once or in turn, killed anywhere, begun again, released."""

import re
from pathlib import Path

import pytest
from launches.several import Several

from gangplan.config import settings
from gangplan.errors import InvalidInput
from gangplan.steps.gangs import Patience, run_all, run_gang
from gangplan.steps.on_cluster import OnCluster
from gangplan.steps.run import Run, one_of
from gangplan.steps.scaling import throughput

PATTERN = re.compile("total images/sec: ([0-9.]+)")
PATIENCE = Patience(seconds=300.0)


def run_of(folder: Path) -> Run:
    return Run(run_id="run", name="sweep-0a1b2c3d", folder=folder, settings=settings(environment={}))


def place(world: Several, run: Run) -> OnCluster:
    return OnCluster(run, world.server, namespace="default", owners=(), sleep=world.sleep)


def go(world: Several, run: Run, gangs: int = 4, *, workers: int = 1):
    manifests = [world.manifest(one_of(run, index).name, workers) for index in range(gangs)]
    return run_all(
        place(world, run), run, manifests, patience=PATIENCE, tell=lambda _: None, sleep=world.sleep
    )


def released(world: Several, run: Run, gangs: int = 4) -> None:
    world.dies_after = None
    for index in range(gangs):
        place(world, run).of(one_of(run, index), sleep=world.sleep).release()


def test_all_wait_in_the_queue_at_once_and_each_has_its_turn(tmp_path):
    world, run = Several(room=1), run_of(tmp_path)
    ended = go(world, run)
    assert [each.gang for each in ended] == [f"sweep-{index:02}-0a1b2c3d" for index in range(4)]
    assert [each.outcome for each in ended] == ["Succeeded"] * 4
    assert world.waiting >= 3
    assert all([item.node for item in each.status.replicas] == ["n1"] for each in ended)
    assert set(world.phases().values()) == {("Finished", "Succeeded")}


def test_one_that_can_never_have_room_keeps_no_other_waiting(tmp_path):
    world, run = Several(room=2), run_of(tmp_path)
    names = [one_of(run, index).name for index in range(3)]
    manifests = [world.manifest(names[0], 9), *(world.manifest(name) for name in names[1:])]
    ended = run_all(
        place(world, run), run, manifests, patience=PATIENCE, tell=lambda _: None, sleep=world.sleep
    )
    assert [each.outcome for each in ended] == ["NotAdmitted", "Succeeded", "Succeeded"]
    assert "cannot fit this cluster" in ended[0].reason
    assert names[0] not in world.jobs()


@pytest.mark.parametrize("looks", [3, 8, 12, 14, 18])
def test_a_step_that_is_killed_deletes_nothing_and_the_next_goes_on(tmp_path, looks):
    world, run = Several(room=2), run_of(tmp_path)
    world.dies_after = looks
    with pytest.raises(SystemExit):
        go(world, run)
    before = world.jobs()
    world.dies_after = None
    ended = go(world, run)
    assert [each.outcome for each in ended] == ["Succeeded"] * 4
    after = world.jobs()
    assert {name: after[name] for name in before} == before, "no job was made a second time"


@pytest.mark.parametrize("looks", [3, 12, 18])
def test_release_leaves_nothing_that_runs_wherever_the_step_was_killed(tmp_path, looks):
    world, run = Several(room=2), run_of(tmp_path)
    world.dies_after = looks
    with pytest.raises(SystemExit):
        go(world, run)
    released(world, run)
    assert {phase for phase, _ in world.phases().values()} == {"Finished"}
    finished = {name for name, (_, outcome) in world.phases().items() if outcome == "Succeeded"}
    assert set(world.jobs()) <= finished
    released(world, run)


def test_gangs_in_turn_are_measured_again_from_what_their_pods_have_said(tmp_path):
    """The step's pod is lost with the logs that it had read; the next one starts no gang a second time."""
    world = Several(room=2)
    for index in range(2):
        pod = f"{one_of(run_of(tmp_path), index).name}-worker-0"
        world.server.logs["default", pod, "tensorflow"] = [
            f"2026-01-01T00:00:00Z total images/sec: {index + 5}\n".encode()
        ]
    found = []
    for attempt in ("first", "second"):
        run = run_of(tmp_path / attempt)
        for index in range(2):
            ended = run_gang(
                place(world, run),
                run,
                index,
                world.manifest(one_of(run, index).name),
                patience=PATIENCE,
                tell=lambda _: None,
                sleep=world.sleep,
            )
            found.append((ended.outcome, throughput(ended.status, PATTERN, "gang")))
    assert found == [("Succeeded", 5.0), ("Succeeded", 6.0)] * 2
    assert len(world.jobs()) == 2


def test_a_queue_that_nobody_knows_is_told_before_anything_waits(tmp_path):
    world, run = Several(room=2), run_of(tmp_path)
    lost = world.manifest(one_of(run, 0).name)
    lost["metadata"]["annotations"] = {"gangplan.dev/queue": "nosuch"}
    with pytest.raises(InvalidInput, match="there is no queue 'nosuch'"):
        run_all(place(world, run), run, [lost], patience=PATIENCE, tell=lambda _: None, sleep=world.sleep)
    assert world.phases() == {}
