"""Whatever fails and whoever is killed: no node is given twice, a run has one TFJob, and its true outcome is told."""

import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from cluster.bed.outside import Cluster
from cluster.history import History, gpus_of_nodes, overbooked, runs_with_several_jobs, use
from cluster.kill_points import OUTCOMES, play, points
from cluster.objects import conditions, pods_of
from cluster.submissions import Submitter, gangs_of, install, tfjobs_of

POINTS = int(os.environ.get("KILL_POINTS", "30"))
SEED = int(os.environ.get("KILL_SEED", "20261130"))
AT_ONCE = 10


@pytest.mark.timeout(300 + 10 * POINTS)
def test_submissions_that_are_killed_while_requests_fail_do_nothing_twice_and_leave_nothing(
    wide: Cluster, new_namespace: Callable[[Cluster], str], capsys: pytest.CaptureFixture[str]
) -> None:
    install(wide)
    namespace, nodes, begun = new_namespace(wide), gpus_of_nodes(wide), time.monotonic()
    planned = points(POINTS, SEED)
    with (
        History(wide) as history,
        Submitter(wide.kubeconfig()) as submit,
        ThreadPoolExecutor(AT_ONCE) as hands,
    ):
        told = list(hands.map(lambda point: play(wide, namespace, submit, point), planned))
        wide.wait_until("no pod runs any more", lambda: not use([], pods_of(wide, namespace).values()))
        events = history.complete()
    killed = Counter(each.point.moment for each in told if each.killed)
    faults = sum((each.faults for each in told), Counter[str]())
    passed = faults.pop("", 0)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{POINTS} jobs in {time.monotonic() - begun:.0f} s, {killed.total()} of them killed: {dict(killed)}; "
            f"{passed} requests passed and {faults.total()} met a fault: {dict(faults)}; "
            f"{sum(each.calls for each in told)} calls\n"
        )
    assert [each for each in told if each.has_gone_wrong()] == []
    assert overbooked(events, nodes) == []
    assert runs_with_several_jobs(events) == {}
    expected = {f"k{point.number}": OUTCOMES[point.code][0] for point in planned}
    statuses = gangs_of(wide, namespace)
    assert {name: (status["phase"], status["outcome"]) for name, status in statuses.items()} == {
        name: ("Finished", outcome) for name, outcome in expected.items()
    }
    jobs = tfjobs_of(wide, namespace)
    assert {
        name: [kind for kind in ("Succeeded", "Failed") if conditions(job).get(kind) == "True"]
        for name, job in jobs.items()
    } == {name: [outcome] for name, outcome in expected.items()}
    # One that others admit, place and see to its end has less to send than most.
    assert killed.total() >= 0.9 * POINTS
    assert faults.total() >= POINTS / 2
