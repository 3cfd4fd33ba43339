"""A launcher on a modelled server, with an operator played by the test: what is left, whatever goes wrong."""

import itertools
import sys

import pytest
import yaml
from apimodel.server import ApiServer, Fault
from launches.seen import ended
from launches.world import CRDS, OPERATOR, PLACES, Killed, World, places
from stores.gangs import gang_stores

from gangplan import admission
from gangplan.errors import Busy, Forbidden, Refused, Unreachable
from gangplan.kube.kinds import EVENT, POD, TFJOB
from gangplan.record import Reservation, enter, new


@pytest.fixture
def world() -> World:
    """An admitted gang that nobody has launched yet."""
    return World()


def test_a_job_runs_where_its_gang_has_room(world):
    end = world.launcher().run()
    assert (end.outcome, end.reason) == ("Succeeded", "Succeeded")
    assert places(world) == PLACES
    assert world.left()[2:] == ("Finished", "Succeeded")


@pytest.mark.parametrize("first", range(24))
@pytest.mark.parametrize("error", [Unreachable, Busy])
@pytest.mark.parametrize("applied", [False, True])
def test_a_launch_outlasts_a_server_that_answers_now_and_then(world, first, error, applied):
    """Whichever request fails, done or not: one job, each replica at its place, the true outcome."""
    requests = itertools.count(1)
    world.server.faults = lambda _: (
        Fault(error=error, applied=applied)
        if next(requests) % 12 == first % 12 or next(requests) == first
        else None
    )
    assert world.launcher().run().outcome == "Succeeded"
    assert places(world) == PLACES
    assert world.left() == (["j"], sorted(PLACES), "Finished", "Succeeded")


@pytest.mark.parametrize("at", range(1, 40))
def test_a_launcher_that_is_killed_is_followed_by_another_that_goes_on(world, at):
    requests = itertools.count(1)

    def kill(about: object) -> None:
        if next(requests) == at:
            raise Killed

    world.server.faults = kill
    killed = False
    try:
        world.launcher().run()
    except Killed:
        killed = True
    world.server.faults = None
    end = world.launcher().run()
    assert end.outcome == "Succeeded"
    assert places(world) == PLACES
    assert world.left() == (["j"], sorted(PLACES), "Finished", "Succeeded")
    assert killed or at > 20


@pytest.mark.parametrize("looks", range(5))
def test_a_launch_that_is_canceled_before_it_is_bound_leaves_nothing(world, looks):
    launcher, sleeps = world.launcher(), itertools.count()

    def interrupt(seconds: float) -> None:
        if next(sleeps) == looks:
            raise KeyboardInterrupt
        world.sleep(seconds)

    launcher._sleep = interrupt
    world.makes_pods = looks < 3
    try:
        launcher.run()
    except KeyboardInterrupt:
        bound = world.store.get("default/j").phase == "Bound"
        launcher._sleep = world.sleep
        launcher.cancel("the submission ended")
        assert world.left() == (
            (["j"], sorted(PLACES), "Bound", None) if bound else ([], [], "Finished", "Canceled")
        )


def test_a_job_of_somebody_else_is_not_touched(world):
    foreign = {"apiVersion": TFJOB.api_version, "kind": "TFJob", "spec": {"tfReplicaSpecs": {}}}
    world.server.create(TFJOB, foreign | {"metadata": {"name": "j", "namespace": "default"}})
    before = world.server.get(TFJOB, "j", namespace="default")
    launcher = world.launcher()
    launcher.cancel("the submission ended")
    assert world.server.get(TFJOB, "j", namespace="default") == before
    assert world.left()[2:] == ("Finished", "Failed")


def test_a_pod_that_is_refused_its_node_ends_the_launch_with_nothing_left(world):
    world.server.faults = lambda about: (
        Fault(error=Refused) if (about.verb, about.name) == ("patch", "j-worker-1") else None
    )
    end = world.launcher().run()
    assert end.outcome == "Failed"
    assert "patch Pod j-worker-1" in end.reason
    assert world.left() == ([], [], "Finished", "Failed")


def test_who_may_not_launch_is_told_and_gives_the_room_back(world):
    world.server.faults = lambda about: (
        Fault(error=Forbidden) if (about.verb, about.kind) == ("create", "TFJob") else None
    )
    end = world.launcher().run()
    assert end.outcome == "Failed"
    assert world.left() == ([], [], "Finished", "Failed")


def test_without_an_operator_the_room_is_given_back(world):
    crds = [yaml.safe_load(file.read_text()) for file in sorted(CRDS.glob("*.yaml"))]
    bare = ApiServer(crds=crds)
    store = gang_stores(bare, "default", world.time).open()
    asked = store.create(new(world.wanted.gang, uid="", run_id="run", now=0.0))
    place = Reservation(placement={"ps": ("n1",), "worker": ("n1", "n2")}, expires_at=600.0)
    store.update(enter(asked, "Reserved", now=0.0, reason="admitted", reservation=place))
    world.server, world.store = bare, store
    end = world.launcher().run()
    assert (end.outcome, "TFJob" in end.reason) == ("Failed", True)
    assert store.get("default/j").phase == "Finished"


def test_a_gang_that_the_user_deletes_takes_its_job_along(world):
    launcher = world.launcher()
    world.runs_for = 1_000
    sleeps = itertools.count()

    def sleep(seconds: float) -> None:
        if next(sleeps) == 5:
            admission.finish(
                world.store,
                "default/j",
                run_id="run",
                outcome="Canceled",
                reason="deleted by the user",
                now=5.0,
            )
        world.sleep(seconds)

    launcher._sleep = sleep
    end = launcher.run()
    assert (end.outcome, end.reason) == ("Canceled", "deleted by the user")
    assert world.left() == ([], [], "Finished", "Canceled")


def test_a_refusal_that_passes_ends_no_job_that_runs(world):
    """An API server that is just started says no to everybody for a while."""
    requests = itertools.count()
    world.server.faults = lambda about: (
        Fault(error=Forbidden) if about.verb == "list" and 1 < next(requests) < 4 else None
    )
    assert world.launcher().run().outcome == "Succeeded"
    assert next(requests) > 4


def test_a_refusal_that_lasts_ends_the_launch(world):
    world.runs_for = 1_000
    world.server.faults = lambda about: (
        Fault(error=Forbidden) if about.verb == "list" and world.time[0] > 5.0 else None
    )
    assert world.launcher().run().outcome == "Failed"
    assert 300.0 < world.time[0] < 320.0


def test_a_cancellation_that_nobody_answers_says_what_is_left(world):
    launcher = world.launcher()
    world.makes_pods = False
    launcher._sleep = lambda _: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        launcher.run()
    launcher._sleep = world.sleep
    world.server.faults = lambda _: Fault(error=Unreachable)
    with pytest.raises(Unreachable, match="gangplan delete j -n default"):
        launcher.cancel("the submission ended")
    assert world.time[0] < 60.0


def test_pods_of_a_job_of_another_kind_are_not_waited_for(world):
    """training-operator labels the pods of all its kinds with the name of their job."""
    labels = {
        f"{OPERATOR}/job-name": "j",
        f"{OPERATOR}/replica-type": "worker",
        f"{OPERATOR}/replica-index": "0",
    }
    metadata = {"name": "of-a-pytorchjob", "namespace": "default", "labels": labels}
    world.server.create(
        POD, {"metadata": metadata, "spec": {"containers": [{"name": "pytorch", "image": "i"}]}}
    )
    launcher = world.launcher()
    world.runs_for = 1_000
    launcher._sleep = lambda seconds: world.sleep(seconds) if world.time[0] < 2.0 else sys.exit()
    with pytest.raises(SystemExit):
        launcher.run()
    launcher._sleep = world.sleep
    assert launcher.end("the run ended first").outcome == "Canceled"
    assert world.left()[:2] == ([], ["of-a-pytorchjob"])


def test_a_pod_that_was_made_anew_is_not_blamed_for_what_ended_the_job_later(world):
    world.runs_for = 1_000
    looks = itertools.count()

    def sleep(seconds: float) -> None:
        look = next(looks)
        if look == 4:  # worker-1 is evicted, and made anew at once
            (pod,) = [
                item for item in world.server.list(POD).items if item["metadata"]["name"] == "j-worker-1"
            ]
            world.disrupt("j-worker-1")
            world.server.delete(POD, "j-worker-1", namespace="default")
            metadata = {
                key: pod["metadata"][key] for key in ("name", "namespace", "labels", "ownerReferences")
            }
            world.server.create(POD, {"metadata": metadata, "spec": pod["spec"]})
        if look == 8:  # worker-0 crashes
            status = ended(1)
            world.server.patch(
                POD, "j-worker-0", {"status": status}, namespace="default", subresource="status"
            )
            failed = {"conditions": [{"type": "Failed", "status": "True", "message": "1 replica failed"}]}
            world.server.patch(TFJOB, "j", {"status": failed}, namespace="default", subresource="status")
            world.time[0] += seconds
            return
        world.sleep(seconds)

    launcher = world.launcher()
    launcher._sleep = sleep
    end = launcher.run()
    assert (end.outcome, end.reason) == ("Failed", "worker-0: it ended with exit code 1")


def test_why_there_are_no_pods_is_found_where_the_operator_notes_it(world):
    world.makes_pods = False
    launcher = world.launcher()

    def sleep(seconds: float) -> None:
        world.sleep(seconds)
        for job in world.server.list(TFJOB).items:
            about = {"kind": "TFJob", "name": "j", "namespace": "default", "uid": job["metadata"]["uid"]}
            message = 'Pod "j-ps-0" is invalid: no such volume'
            event = {"involvedObject": about, "reason": "FailedCreatePod", "message": message}
            world.server.create(EVENT, {"metadata": {"generateName": "j.", "namespace": "default"}, **event})

    launcher._sleep = sleep
    end = launcher.run()
    assert end.reason == 'its pods are refused: Pod "j-ps-0" is invalid: no such volume'
    assert world.time[0] < 40.0
    assert world.left()[:2] == ([], [])
