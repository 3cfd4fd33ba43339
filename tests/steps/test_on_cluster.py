"""A run on a modelled cluster: launched, published, released; each may come twice, or after somebody was killed."""

import copy
import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from apimodel.server import Fault
from launches.world import World

from gangplan.closeness import Closeness
from gangplan.config import settings
from gangplan.errors import Busy, InvalidInput, Unreachable
from gangplan.kube import own_pod
from gangplan.kube.cluster import KubeCluster
from gangplan.kube.kinds import GANG, GANG_QUEUE, GANG_TOPOLOGY, NODE, POD, TFJOB, Kind
from gangplan.steps.admit import check_names
from gangplan.steps.on_cluster import OnCluster
from gangplan.steps.run import Run

WORKFLOW = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": "run-1", "uid": "w"}


@pytest.fixture
def world() -> World:
    """An admitted gang that nobody has launched yet, and nodes with room for more."""
    made = World()
    offer = {"cpu": "4", "memory": "4Gi", "pods": "110"}
    status = {"allocatable": offer, "conditions": [{"type": "Ready", "status": "True"}]}
    for name in ("n1", "n2"):
        made.server.create(NODE, {"metadata": {"name": name}, "spec": {}, "status": status})
    return made


def place(world: World, folder: Path, run_id: str = "run") -> OnCluster:
    run = Run(run_id=run_id, name="j", folder=folder, settings=settings(environment={}))
    return OnCluster(run, world.server, namespace="default", owners=(), sleep=world.sleep)


def manifest(world: World) -> dict:
    """The TFJob as admit hands it on: without what only a launch adds."""
    made = {**copy.deepcopy(world.wanted.manifest), "metadata": {"name": "j"}}
    for spec in made["spec"]["tfReplicaSpecs"].values():
        del spec["template"]["spec"]["schedulingGates"]
        del spec["template"]["metadata"]
    return made


def test_a_job_is_launched_and_told_replica_by_replica(world, tmp_path):
    lines: list[str] = []
    ended = place(world, tmp_path).launch(manifest(world), tell=lines.append)
    assert (ended.name, ended.state) == ("default/j", "Succeeded")
    assert [(item.name, item.node) for item in ended.replicas] == [
        ("ps-0", "n1"),
        ("worker-0", "n1"),
        ("worker-1", "n2"),
    ]
    assert [line for line in lines if line.startswith("worker-1")] == ["worker-1 on n2: Pending"], (
        "not that it has no node yet"
    )


def test_a_launch_that_comes_twice_tells_the_same_and_starts_nothing(world, tmp_path):
    first = place(world, tmp_path).launch(manifest(world), tell=lambda _: None)
    place(world, tmp_path).published()
    uid = world.server.get(TFJOB, "j", namespace="default")["metadata"]["uid"]
    again = place(world, tmp_path).launch(manifest(world), tell=lambda _: None)
    assert (again.state, again.reason) == (first.state, first.reason)
    assert world.server.get(TFJOB, "j", namespace="default")["metadata"]["uid"] == uid


def test_only_a_published_failure_is_launched_anew(world, tmp_path):
    world.disrupted_attempts = 3
    failed = place(world, tmp_path).launch(manifest(world), tell=lambda _: None)
    adopted = place(world, tmp_path).launch(manifest(world), tell=lambda _: None)
    assert (failed.state, adopted.state, adopted.reason) == ("Failed", "Failed", failed.reason)
    place(world, tmp_path).published()
    assert place(world, tmp_path).launch(manifest(world), tell=lambda _: None).state == "Succeeded"
    assert world.store.get("default/j").attempt == 4


@pytest.mark.parametrize("first", range(12))
@pytest.mark.parametrize("error", [Unreachable, Busy])
@pytest.mark.parametrize("applied", [False, True])
def test_a_step_outlasts_a_server_that_answers_now_and_then(world, tmp_path, first, error, applied):
    requests = itertools.count()
    fails = lambda _: Fault(error=error, applied=applied) if next(requests) % 12 == first else None  # noqa: E731
    world.server.faults = fails
    assert place(world, tmp_path).launch(manifest(world), tell=lambda _: None).state == "Succeeded"
    place(world, tmp_path).published()
    assert place(world, tmp_path).release().outcome == "Succeeded"
    world.server.faults = None
    assert world.store.get("default/j").published
    assert world.left()[0] == ["j"]


def test_release_ends_a_job_whose_record_is_gone(world, tmp_path):
    world.runs_for = 1_000
    sleeps = itertools.count()

    def remove(seconds: float) -> None:
        if next(sleeps) == 3:
            world.server.delete(GANG, "j", namespace="default")
            raise SystemExit
        world.sleep(seconds)

    launch = place(world, tmp_path)
    launch._sleep = remove
    with pytest.raises(SystemExit):
        launch.launch(manifest(world), tell=lambda _: None)
    assert place(world, tmp_path).release() is None
    assert world.server.list(TFJOB).items == ()


def test_a_job_of_another_namespace_is_refused(world, tmp_path):
    elsewhere = manifest(world)
    elsewhere["metadata"]["namespace"] = "kubeflow"
    with pytest.raises(InvalidInput, match="must be left out, or be default"):
        place(world, tmp_path).describe(elsewhere, now=0.0)


def test_release_leaves_a_job_that_has_ended(world, tmp_path):
    place(world, tmp_path).launch(manifest(world), tell=lambda _: None)
    released = place(world, tmp_path).release()
    assert (released.phase, released.outcome) == ("Finished", "Succeeded")
    assert world.left()[0] == ["j"]


@pytest.mark.parametrize("looks", range(5))
def test_release_ends_a_job_that_runs_wherever_it_stands(world, tmp_path, looks):
    world.runs_for = 1_000
    sleeps = iter(range(looks + 1))

    def until_killed(seconds: float) -> None:
        if next(sleeps) == looks:
            raise SystemExit
        world.sleep(seconds)

    launch = place(world, tmp_path)
    launch._sleep = until_killed
    with pytest.raises(SystemExit):
        launch.launch(manifest(world), tell=lambda _: None)
    assert world.server.get(TFJOB, "j", namespace="default"), "who is told to end deletes nothing"
    released = place(world, tmp_path).release()
    assert (released.phase, released.outcome, released.reason) == (
        "Finished",
        "Canceled",
        "the run ended first",
    )
    assert world.left()[:2] == ([], [])
    assert place(world, tmp_path).release() == released


def test_release_knows_only_its_own_run(world, tmp_path):
    before = world.store.get("default/j")
    assert place(world, tmp_path, run_id="another").release() is None
    assert world.store.get("default/j") == before
    world.store.remove(before)
    assert place(world, tmp_path).release() is None


def test_what_a_step_makes_goes_with_its_workflow(world):
    owners = [WORKFLOW | {"controller": True}, {**WORKFLOW, "apiVersion": "v1", "kind": "Node"}]
    metadata = {"name": "step", "namespace": "default", "ownerReferences": owners}
    world.server.create(POD, {"metadata": metadata, "spec": {"containers": [{"name": "main", "image": "i"}]}})
    assert own_pod.owners(world.server, namespace="default", name="step") == (
        WORKFLOW | {"blockOwnerDeletion": False},
    )
    assert own_pod.owners(world.server, namespace="default", name="run-by-hand") == ()


def test_what_cannot_be_understood_is_not_said_to_be_missing(world):
    """A queue whose parent is not there, and levels that two topologies have in another order."""
    for name, parent in (("research", {"parent": "nosuch"}), ("open", {})):
        world.server.create(GANG_QUEUE, custom(GANG_QUEUE, name, parent))
    for name, levels in (("one", ["rack", "row"]), ("two", ["row", "rack"])):
        world.server.create(GANG_TOPOLOGY, custom(GANG_TOPOLOGY, name, {"levels": levels}))
    cluster = KubeCluster(world.server, clock=lambda: 0.0, monotonic=lambda: 0.0).read()
    asked = replace(world.wanted.gang, queue="research", topology=Closeness(required="rack"))
    with pytest.raises(InvalidInput) as caught:
        check_names(asked, cluster)
    queue, level = (problem.message for problem in caught.value.problems)
    assert queue == f"queue research cannot be understood: {cluster.gaps.queues['research']}"
    assert cluster.gaps.levels
    assert cluster.gaps.levels in level
    with pytest.raises(InvalidInput, match=r"there is no queue 'closed'; known: .*open"):
        check_names(replace(asked, queue="closed", topology=None), cluster)


def custom(kind: Kind, name: str, spec: dict) -> dict:
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}, "spec": spec}
