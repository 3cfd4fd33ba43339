"""What a launcher does about what it sees, and how it says a TFJob has ended: a test for each way."""

from dataclasses import replace

import pytest
from launches.seen import CREATED, PLACES, RUNNING, disrupted, ended, job, pod, pods, record, waiting

from gangplan.kube.actions import Admit, Again, Bind, Create, Delete, End, Pin, Renew, Seen
from gangplan.kube.launch import Launch
from gangplan.kube.patience import Patience


@pytest.fixture
def launch() -> Launch:
    """A launch that has just begun."""
    return Launch(run_id="run", reservation_s=600.0)


def test_an_admitted_gang_gets_its_job(launch):
    assert launch.step(Seen(job=None, pods=(), record=record()), 1.0) == [Create(attempt=1, placement=PLACES)]


def test_each_gated_pod_is_told_its_node_and_no_other(launch):
    seen = Seen(
        job=job(CREATED),
        pods=(*pods(gated=True), pod(index=2, gated=True), pod("ps", node="n1")),
        record=record(),
    )
    told = launch.step(seen, 1.0)
    assert [(pin.pod["metadata"]["name"], pin.node) for pin in told] == [
        ("j-ps-0", "n1"),
        ("j-worker-0", "n1"),
        ("j-worker-1", "n2"),
    ]
    assert all(isinstance(pin, Pin) for pin in told)


def test_a_gang_is_bound_when_its_last_replica_has_its_node(launch):
    some = Seen(job=job(CREATED), pods=pods()[:2], record=record())
    assert launch.step(some, 1.0) == []
    assert launch.step(replace(some, pods=pods()), 2.0) == [Bind()]
    assert launch.step(Seen(job=job(RUNNING), pods=pods(), record=record("Bound")), 3.0) == []


def test_a_reservation_is_renewed_before_half_of_its_time_is_over(launch):
    seen = Seen(job=job(CREATED), pods=(), record=record())
    assert launch.step(seen, 299.0) == []
    assert launch.step(seen, 300.0) == [Renew(expires_at=900.0)]


@pytest.mark.parametrize("phase", ["Reserved", "Bound"])
def test_another_launcher_goes_on_where_one_was_killed(launch, phase):
    seen = Seen(job=job(RUNNING), pods=pods(), record=record(phase))
    assert not any(isinstance(action, Create) for action in launch.step(seen, 5.0))
    assert launch.step(replace(seen, job=job(RUNNING, ("Succeeded", "done"))), 6.0) == [
        End(outcome="Succeeded", reason="done")
    ]


def test_it_has_succeeded_only_if_its_controller_says_so(launch):
    done = pods(phase="Succeeded")
    assert launch.step(Seen(job=job(RUNNING), pods=done, record=record("Bound")), 1.0) == []


ENDS = {
    "a crash": (ended(3), "", "it ended with exit code 3"),
    "too little memory": (ended(137, "OOMKilled"), "", "needed more memory than its limit (OOMKilled)"),
    "preemption": (disrupted("PreemptionByScheduler", "by p"), "Preempted", "it was preempted: by p"),
    "eviction": (disrupted("EvictionByEvictionAPI", "drain"), "Evicted", "it was evicted: drain"),
    "eviction by the node": (
        ended(137, reason="Error") | {"reason": "Evicted", "message": "disk"},
        "Evicted",
        "it was evicted: disk",
    ),
    "deletion by hand": (
        ended(143) | {"deleted": True},
        "",
        "its pod was deleted by somebody else",
    ),
    "a crash before the operator deleted it": (
        ended(3) | {"deleted": "2026-01-01T00:00:06Z"},
        "",
        "it ended with exit code 3",
    ),
    "a crash that its phase does not tell yet": (
        ended(3) | {"phase": "Running"},
        "",
        "it ended with exit code 3",
    ),
    "a lost node": (
        disrupted("DeletionByTaintManager", "not ready"),
        "NodeLost",
        "its node is gone: not ready",
    ),
}


@pytest.mark.parametrize(("status", "no_fault", "reason"), ENDS.values(), ids=ENDS)
def test_a_failure_names_the_replica_that_failed_first_and_why(status, no_fault, reason):
    later = ended(1, at="2026-01-01T00:00:09Z")
    seen = Seen(
        job=job(RUNNING, ("Failed", "TFJob j has failed because 2 replicas failed.")),
        pods=(pod("ps", **later), pod(index=0), pod(index=1, **status)),
        record=record("Bound"),
    )
    (end,) = Launch(run_id="run", reservation_s=600.0, attempts=1).step(seen, 1.0)
    assert (end.outcome, end.replica) == ("Failed", "worker-1")
    assert reason in end.reason
    (then,) = Launch(run_id="run", reservation_s=600.0, attempts=2).step(seen, 1.0)
    assert then == (Again(reason=f"attempt 1 of 2 ended: {end.reason}") if no_fault else end)


def test_what_was_removed_after_a_job_had_failed_is_not_why(launch):
    """The pod that failed is gone, and so it is told only what the operator says."""
    failed = job(("Failed", "1 Worker replica(s) failed"))
    failed["status"]["conditions"][0]["lastTransitionTime"] = "2026-01-01T00:00:05Z"
    late, early = "2026-01-01T00:00:06Z", "2026-01-01T00:00:03Z"
    removed = pod("ps", phase="Running", deleted=late)
    (end,) = launch.step(Seen(job=failed, pods=(removed,), record=record("Bound")), 1.0)
    assert (end.reason, end.replica) == ("1 Worker replica(s) failed", "")
    crashed = pod(index=1, **ended(3))
    (end,) = launch.step(Seen(job=failed, pods=(removed, crashed), record=record("Bound")), 1.0)
    assert (end.reason, end.replica) == ("worker-1: it ended with exit code 3", "worker-1")
    by_hand = pod(index=0, phase="Running", deleted=early)
    (end,) = launch.step(Seen(job=failed, pods=(removed, by_hand, crashed), record=record("Bound")), 1.0)
    assert (end.reason, end.replica) == ("worker-0: its pod was deleted by somebody else", "worker-0")


def test_a_job_that_passed_its_deadline_is_told_so(launch):
    failed = ("Failed", "TFJob j has failed because it was active longer than specified deadline")
    (end,) = launch.step(Seen(job=job(failed), pods=(), record=record("Bound")), 1.0)
    assert (end.outcome, end.reason) == ("TimedOut", failed[1])
    failed = ("Failed", "TFJob deadline-study has failed because 1 Worker replica(s) failed.")
    (end,) = launch.step(Seen(job=job(failed), pods=(), record=record("Bound")), 1.0)
    assert end.outcome == "Failed"


def test_a_failure_without_pods_says_what_the_controller_said(launch):
    (end,) = launch.step(Seen(job=job(("Failed", "no pods")), pods=(), record=record("Bound")), 1.0)
    assert end == End(outcome="Failed", reason="no pods")


def test_a_job_that_somebody_deleted_is_not_made_again(launch):
    there = Seen(job=job(RUNNING), pods=pods(), record=record())
    launch.step(there, 1.0)
    (end,) = launch.step(replace(there, job=None, pods=()), 2.0)
    assert end == End(outcome="Canceled", reason="the TFJob was deleted by somebody else")
    bound = Seen(job=None, pods=(), record=record("Bound"))
    assert Launch(run_id="run", reservation_s=1.0).step(bound, 1.0) == [end]


def test_a_job_that_somebody_suspended_is_told_so(launch):
    (end,) = launch.step(Seen(job=job(CREATED, ("Suspended", "")), pods=(), record=record("Bound")), 1.0)
    assert end.outcome == "Canceled"
    assert "suspended by somebody else" in end.reason


def test_a_job_of_another_run_is_left_alone(launch):
    (end,) = launch.step(Seen(job=job(RUNNING, run_id="other"), pods=pods(), record=record()), 1.0)
    assert end.outcome == "Failed"
    assert "belongs to another run, other" in end.reason


@pytest.mark.parametrize(
    ("found", "outcome", "reason"),
    [
        (None, "Canceled", "the record of the gang was removed"),
        (record("Finished"), "Canceled", "deleted by the user"),
        (record(run_id="other"), "Failed", "belongs to another run, other"),
    ],
)
def test_a_job_whose_gang_holds_no_room_is_deleted_and_nothing_left_of_it(launch, found, outcome, reason):
    seen = Seen(job=job(RUNNING), pods=pods(), record=found)
    assert launch.step(seen, 1.0) == [Delete(uid="1")]
    assert launch.step(replace(seen, job=job(RUNNING, deleting=True)), 2.0) == []
    assert launch.step(replace(seen, job=None), 3.0) == [], "its pods are still there"
    (end,) = launch.step(replace(seen, job=None, pods=()), 4.0)
    assert end.outcome == outcome
    assert reason in end.reason


TROUBLES = {
    "image": (
        waiting("ImagePullBackOff", "no such image"),
        180.0,
        "its image cannot be pulled: no such image",
    ),
    "volume or secret": (
        waiting("CreateContainerConfigError", "no secret"),
        60.0,
        "cannot be made: no secret",
    ),
}


@pytest.mark.parametrize(("status", "patience", "reason"), TROUBLES.values(), ids=TROUBLES)
def test_what_may_pass_is_waited_for_and_then_given_up(launch, status, patience, reason):
    seen = Seen(job=job(CREATED), pods=(pod("ps"), pod(), pod(index=1, **status)), record=record("Bound"))
    assert launch.step(seen, 10.0) == []
    assert launch.step(replace(seen, pods=pods()), 20.0) == [], "it had passed"
    assert launch.step(seen, 30.0) == []
    assert launch.step(seen, 29.0 + patience) == []
    assert launch.step(seen, 30.0 + patience) == [Delete(uid="1")]
    (end,) = launch.step(replace(seen, job=None, pods=()), 31.0 + patience)
    assert (end.outcome, end.replica) == ("Failed", "worker-1")
    assert reason in end.reason


def test_a_replica_that_finds_its_room_taken_is_tried_again_or_given_up(launch):
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes"}
    lost = pod(index=1, node=None, conditions=[condition])
    seen = Seen(job=job(CREATED), pods=(*pods()[:2], lost), record=record())
    assert launch.step(seen, 0.0) == []
    reason = "worker-1: it cannot be scheduled: 0/2 nodes; waited for 60 s"
    assert launch.step(seen, 60.0) == [Again(reason=f"attempt 1 of 3 ended: {reason}")]
    last = Launch(run_id="run", reservation_s=600.0, attempts=1)
    assert last.step(seen, 0.0) == []
    assert last.step(seen, 60.0) == [Delete(uid="1")]
    (end,) = last.step(replace(seen, job=None, pods=()), 61.0)
    assert end.reason == reason


def test_pods_of_an_earlier_run_and_those_that_leave_are_not_its_replicas(launch):
    old = [pod("ps"), pod(), pod(index=1)]
    for item in old:
        item["metadata"]["labels"]["gangplan.dev/run-id"] = "earlier"
    assert launch.step(Seen(job=job(CREATED), pods=tuple(old), record=record()), 1.0) == []
    leaving = pods()
    leaving[0]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert launch.step(Seen(job=job(CREATED), pods=leaving, record=record()), 1.0) == []


def test_pods_that_never_come_are_given_up(launch):
    seen = Seen(job=job(CREATED), pods=pods()[:1], record=record())
    assert launch.step(seen, 0.0) == []
    assert launch.step(replace(seen, pods=pods(gated=True)), 60.0), "they had come"
    assert launch.step(seen, 100.0) == []
    assert launch.step(seen, 220.0) == [Delete(uid="1")]
    (end,) = launch.step(replace(seen, job=None, pods=()), 221.0)
    assert "a quota or an admission rule may refuse them" in end.reason


def test_no_pod_is_told_a_node_that_is_not_kept_for_it_any_more(launch):
    seen = Seen(job=job(CREATED), pods=pods(gated=True), record=record(expires_at=50.0))
    assert [type(action) for action in launch.step(seen, 49.0)] == [Renew, Pin, Pin, Pin]
    assert [type(action) for action in launch.step(seen, 50.0)] == [Renew]


def test_a_job_that_no_controller_looks_at_is_given_up():
    launch = Launch(run_id="run", reservation_s=600.0, patience=Patience(controller=30.0))
    seen = Seen(job=job(), pods=(), record=record())
    assert launch.step(seen, 0.0) == []
    assert launch.step(seen, 30.0) == [Delete(uid="1")]
    (end,) = launch.step(replace(seen, job=None), 31.0)
    assert "is the training-operator running" in end.reason


def test_a_gang_that_starts_with_less_is_bound_without_the_rest(launch):
    """What has no place waits at its gate."""
    seen = Seen(job=job(CREATED), pods=(*pods(), pod(index=2, gated=True)), record=record())
    assert launch.step(seen, 1.0) == [Bind()]
    gated = Seen(job=job(CREATED), pods=(*pods(gated=True), pod(index=2, gated=True)), record=record())
    assert [action.pod["metadata"]["name"] for action in launch.step(gated, 2.0)] == [
        "j-ps-0",
        "j-worker-0",
        "j-worker-1",
    ]


UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/2 nodes",
    "lastTransitionTime": "2026-01-01T00:00:01Z",
}


def test_what_has_not_ended_is_not_blamed_for_an_end():
    seen = Seen(
        job=job(RUNNING, ("Failed", "1 replica failed")),
        pods=(pod("ps"), pod(index=0, **ended(1)), pod(index=1, node=None, conditions=[UNSCHEDULABLE])),
        record=record("Bound"),
    )
    (end,) = Launch(run_id="run", reservation_s=600.0).step(seen, 1.0)
    assert (end.reason, end.cause) == ("worker-0: it ended with exit code 1", "Crashed")


def test_a_replica_whose_node_does_not_answer_is_tried_elsewhere(launch):
    """Its pod stays Terminating: nobody there can say that it has ended."""
    lost = pod(
        index=1, deleted=True, **disrupted("DeletionByTaintManager", "node n2 is gone") | {"phase": "Running"}
    )
    seen = Seen(job=job(RUNNING), pods=(*pods()[:2], lost), record=record("Bound"))
    assert launch.step(seen, 0.0) == []
    assert launch.step(seen, 119.0) == []
    reason = "worker-1: its node is gone: node n2 is gone; waited for 120 s"
    assert launch.step(seen, 120.0) == [Again(reason=f"attempt 1 of 3 ended: {reason}")]


def test_what_never_ends_is_told_and_not_waited_for_any_longer(launch):
    seen = Seen(job=job(RUNNING, deleting=True), pods=(pod(index=1, node="n2", deleted=True),), record=None)
    assert launch.step(seen, 0.0) == []
    assert launch.step(seen, 599.0) == []
    (end,) = launch.step(seen, 600.0)
    assert end.outcome == "Canceled"
    assert "worker-1 on n2 had not ended when it was last looked at" in end.reason
    assert "kubectl delete pod --force j-worker-1" in end.reason


def test_a_pod_is_waited_for_at_least_as_long_as_it_was_given_to_end(launch):
    slow = pod(index=1, node="n2", deleted=True)
    slow["metadata"]["deletionGracePeriodSeconds"] = 900
    seen = Seen(job=job(RUNNING, deleting=True), pods=(slow,), record=None)
    assert launch.step(seen, 0.0) == []
    assert launch.step(seen, 1499.0) == []
    (end,) = launch.step(seen, 1500.0)
    assert "had not ended" in end.reason


def test_what_was_waited_for_in_an_earlier_phase_does_not_count(launch):
    waits = replace(record("Pending"), history=record().history)
    assert launch.step(Seen(job=None, pods=(), record=waits), 0.0) == [Admit()]
    launch.step(Seen(job=None, pods=(), record=record(expires_at=9_000.0)), 3_000.0)
    assert launch.step(Seen(job=None, pods=(), record=waits), 3_700.0) == [Admit()]


def test_a_group_that_may_not_be_looked_at_is_not_missing():
    volcano = Launch(run_id="run", reservation_s=600.0, enforcement="volcano")
    seen = Seen(job=job(CREATED), pods=(), record=record(), group_is_hidden=True)
    assert volcano.step(seen, 0.0) == []
    assert volcano.step(seen, 61.0) == []


def test_pods_that_the_server_refuses_are_told_and_given_up(launch):
    seen = Seen(job=job(), pods=(), record=record(), refused="spec.priorityClassName is unknown")
    assert launch.step(seen, 0.0) == []
    assert launch.step(seen, 20.0) == [Delete(uid="1")]
    (end,) = launch.step(replace(seen, job=None), 21.0)
    assert end.reason == "its pods are refused: spec.priorityClassName is unknown"


def test_a_quota_that_wants_to_be_told_something_does_not_pass_by_waiting(launch):
    said = "failed quota: team: must specify limits.cpu for: tensorflow"
    seen = Seen(job=job(), pods=(), record=record(), refused=said)
    assert launch.step(seen, 0.0) == []
    assert launch.step(seen, 20.0) == [Delete(uid="1")]
    (end,) = launch.step(replace(seen, job=None), 21.0)
    assert end.reason.startswith(f"its pods are refused: {said}; ")
    assert "LimitRange" in end.reason


def test_a_quota_that_is_used_up_is_waited_for_longer(launch):
    seen = Seen(job=job(), pods=(), record=record(), refused="exceeded quota: team")
    assert launch.step(seen, 0.0) == []
    assert launch.step(seen, 119.0) == []
    assert launch.step(seen, 120.0) == [Delete(uid="1")]
