"""Another attempt at a job that ended without its own fault: not too often, and never beside the one before."""

import contextlib
import itertools
from dataclasses import replace

import pytest
from apimodel.server import Fault
from launches.seen import CREATED, PLACES, RUNNING, disrupted, job, pod, pods, record
from launches.world import Killed, World

from gangplan import admission, attempts
from gangplan.errors import Expired, Forbidden, Unreachable
from gangplan.kube.actions import Admit, Again, Create, Delete, End, Seen
from gangplan.kube.kinds import TFJOB
from gangplan.kube.launch import Launch
from gangplan.kube.names import ATTEMPT
from gangplan.kube.patience import Patience
from gangplan.record import GangRecord, enter

PREEMPTED = (*pods()[:2], pod(index=1, **disrupted("PreemptionByScheduler", "by p")))
FAILED = ("Failed", "TFJob j has failed because 1 replica failed.")


def waiting(attempt: int = 2) -> GangRecord:
    found = record("Bound")
    for number in range(1, attempt):
        found = enter(found, "Pending", now=float(number), reason="again")
        if number + 1 < attempt:
            held = record("Bound").reservation
            found = enter(found, "Reserved", now=float(number), reason="admitted", reservation=held)
    return found


def reserved(attempt: int = 2) -> GangRecord:
    held = record().reservation
    return enter(waiting(attempt), "Reserved", now=9.0, reason="admitted", reservation=held)


@pytest.fixture
def launch() -> Launch:
    """A launch that has just begun."""
    return Launch(run_id="run", reservation_s=600.0)


def test_a_record_knows_which_attempt_it_is():
    assert [waiting(number).attempt for number in (1, 2, 3)] == [1, 2, 3]
    assert reserved(3).attempt == 3
    finished = enter(record("Bound"), "Finished", now=2.0, reason="", outcome="Failed")
    assert enter(finished, "Pending", now=3.0, reason="again").attempt == 2


def test_the_next_attempt_begins_when_nothing_is_left_of_the_last(launch):
    seen = Seen(job=job(RUNNING, FAILED), pods=PREEMPTED, record=record("Bound"))
    assert launch.step(seen, 1.0) == [Again(reason="attempt 1 of 3 ended: worker-1: it was preempted: by p")]
    assert launch.step(replace(seen, record=waiting()), 2.0) == [Delete(uid="1"), Admit()]
    leaving = replace(seen, job=job(FAILED, deleting=True), record=waiting())
    assert launch.step(leaving, 3.0) == [Admit()]
    assert launch.step(replace(leaving, record=reserved()), 4.0) == [], "its pods are leaving yet"
    assert launch.step(Seen(job=None, pods=(), record=waiting()), 5.0) == [Admit()]
    assert launch.step(Seen(job=None, pods=(), record=reserved()), 6.0) == [
        Create(attempt=2, placement=PLACES)
    ]


def test_a_launcher_that_knows_nothing_of_the_first_attempt_goes_on_with_the_second():
    late = Seen(job=job(RUNNING, FAILED), pods=PREEMPTED, record=reserved())
    assert Launch(run_id="run", reservation_s=600.0).step(late, 10.0) == [Delete(uid="1")]
    early = Seen(job=None, pods=(), record=reserved())
    assert Launch(run_id="run", reservation_s=600.0).step(early, 10.0) == [
        Create(attempt=2, placement=PLACES)
    ]


def test_a_late_success_counts(launch):
    """Its reservation expired unseen, but the job ran to its end."""
    (end,) = launch.step(Seen(job=job(("Succeeded", "")), pods=(), record=reserved()), 10.0)
    assert end.outcome == "Succeeded"


def test_the_last_attempt_is_the_last(launch):
    third = job(RUNNING, FAILED)
    third["metadata"]["labels"][ATTEMPT] = "3"
    bound = enter(
        reserved(3), "Bound", now=10.0, reason="", reservation=replace(record().reservation, expires_at=None)
    )
    (end,) = launch.step(Seen(job=third, pods=PREEMPTED, record=bound), 11.0)
    assert end == End(
        outcome="Failed", reason="worker-1: it was preempted: by p", replica="worker-1", cause="Preempted"
    )


def test_who_leads_may_see_the_failure_first(launch):
    """Then the record is Finished before the launcher looks."""
    finished = enter(record("Bound"), "Finished", now=2.0, reason="preempted", outcome="Failed")
    seen = Seen(job=job(RUNNING, FAILED), pods=PREEMPTED, record=finished)
    assert [type(action) for action in launch.step(seen, 3.0)] == [Again]


@pytest.mark.parametrize("outcome", ["Canceled", "TimedOut"])
def test_what_somebody_ended_is_not_tried_again(launch, outcome):
    finished = enter(record("Bound"), "Finished", now=2.0, reason="deleted by the user", outcome=outcome)
    (end,) = launch.step(Seen(job=job(RUNNING, FAILED), pods=PREEMPTED, record=finished), 3.0)
    assert end.outcome == "Failed"


def test_room_for_another_attempt_is_waited_for_but_not_for_ever():
    launch = Launch(run_id="run", reservation_s=600.0, patience=Patience(room=100.0))
    seen = Seen(job=None, pods=(), record=waiting())
    assert launch.step(seen, 0.0) == [Admit()]
    assert launch.step(seen, 99.0) == [Admit()]
    (end,) = launch.step(seen, 100.0)
    assert (end.outcome, end.reason) == ("Failed", "there was no room for it any more in 100 s: again")


def test_a_reservation_that_expired_before_its_job_ran_is_asked_for_again(launch):
    expired = enter(record(), "Pending", now=2.0, reason="its reservation expired before it ran")
    seen = Seen(job=job(CREATED), pods=pods(gated=True), record=expired)
    assert launch.step(seen, 3.0) == [Delete(uid="1"), Admit()]


@pytest.fixture
def world() -> World:
    """An admitted gang whose first attempt is preempted."""
    world = World()
    world.disrupted_attempts = 1
    return world


def test_a_preempted_job_runs_again_where_there_is_room(world):
    end = world.launcher().run()
    assert end.outcome == "Succeeded"
    jobs, pods, phase, outcome = world.left()
    assert (jobs, len(pods), phase, outcome) == (["j"], 3, "Finished", "Succeeded")
    assert world.server.get(TFJOB, "j", namespace="default")["metadata"]["labels"][ATTEMPT] == "2"
    phases = [event.phase for event in world.store.get("default/j").history]
    assert phases == ["Pending", "Reserved", "Bound", "Pending", "Reserved", "Bound", "Finished"]


def test_a_pod_that_was_preempted_and_is_gone_at_the_next_look_is_not_forgotten(world):
    world.lets_see_disruption = False
    assert world.launcher().run().outcome == "Succeeded"
    assert "worker-1: it was preempted: by another" in world.store.get("default/j").history[3].reason


def test_who_may_not_watch_pods_goes_without(world):
    world.disrupted_attempts = 0
    world.server.faults = lambda about: Fault(error=Forbidden) if about.verb == "watch" else None
    assert world.launcher().run().outcome == "Succeeded"


def test_a_watch_that_breaks_off_or_is_too_old_loses_no_job(world):
    failures = itertools.cycle([Expired, Unreachable, None])
    world.server.faults = lambda about: (
        Fault(error=error) if about.verb == "watch" and (error := next(failures)) else None
    )
    assert world.launcher().run().outcome == "Succeeded"


def test_after_its_last_attempt_it_has_failed(world):
    world.disrupted_attempts = 3
    end = world.launcher().run()
    assert (end.outcome, end.reason) == ("Failed", "worker-1: it was preempted: by another")
    assert world.server.get(TFJOB, "j", namespace="default")["metadata"]["labels"][ATTEMPT] == "3"


@pytest.mark.parametrize("at", range(1, 60))
def test_a_launcher_that_is_killed_between_attempts_is_followed_by_another(world, at):
    requests = itertools.count(1)

    def kill(about: object) -> None:
        if next(requests) == at:
            raise Killed

    world.server.faults = kill
    with contextlib.suppress(Killed):
        world.launcher().run()
    world.server.faults = None
    assert world.launcher().run().outcome == "Succeeded"
    jobs, pods, phase, outcome = world.left()
    assert (jobs, len(pods), phase, outcome) == (["j"], 3, "Finished", "Succeeded")
    assert world.server.get(TFJOB, "j", namespace="default")["metadata"]["labels"][ATTEMPT] == "2"


def test_a_published_failure_may_be_tried_again_and_an_unpublished_one_is_adopted(world):
    world.disrupted_attempts = 3
    assert world.launcher().run().outcome == "Failed"
    assert world.launcher().run().outcome == "Failed", "nobody was told yet"
    attempts.publish(world.store, "default/j", run_id="run")
    assert world.store.get("default/j").published
    again = attempts.again(
        world.store, "default/j", run_id="run", reason="launched anew", now=50.0, waiter_s=600.0
    )
    assert (again.phase, again.published, again.attempt) == ("Pending", False, 4)
    assert world.launcher().run().outcome == "Succeeded"
    assert world.server.get(TFJOB, "j", namespace="default")["metadata"]["labels"][ATTEMPT] == "4"


def test_only_an_end_is_published(world):
    attempts.publish(world.store, "default/j", run_id="run")
    attempts.publish(world.store, "default/j", run_id="another")
    assert not world.store.get("default/j").published
    admission.finish(world.store, "default/j", run_id="run", outcome="Failed", reason="it failed", now=1.0)
    attempts.publish(world.store, "default/j", run_id="run")
    assert world.store.get("default/j").published
