"""Jobs that are submitted run whole and where they were placed, or wait and say why; on a real cluster."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cluster.bed.kwok import GPU
from cluster.bed.outside import Cluster
from cluster.manifests import gang_of_workers
from cluster.objects import pods_of
from cluster.submissions import Submitter, gangs_of, install

NewNamespace = Callable[[Cluster], str]
UNTIL_ALL_ARE_THERE = """
trap exit TERM
case "$HOSTNAME" in
*-worker-0) for i in 1 2 3; do
    until nslookup {name}-worker-$i.{namespace}.svc.cluster.local >/dev/null 2>&1; do sleep 0.2; done
  done;;
*) while :; do sleep 0.2; done;;
esac
"""
"""The first ends, and with it the job, when it sees the names of the others: a name is only there while its pod runs.

The others do not end before it: a name that is gone is never seen.
"""


@pytest.fixture(scope="module")
def cluster(real: Cluster) -> Cluster:
    """Two real nodes with two GPUs each, and what `deploy/` installs."""
    install(real)
    return real


def workers(name: str, count: int, command: list[str]) -> dict[str, Any]:
    """A TFJob of workers with a GPU each."""
    return gang_of_workers(name, command, workers=count, gpu=GPU)


@pytest.fixture
def submit(cluster: Cluster) -> Iterator[Submitter]:
    """Runs `gangplan submit` beside the test; none outlives it."""
    with Submitter(cluster.kubeconfig()) as start:
        yield start


def finished(process: subprocess.Popen) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=90)
    return process.returncode, out, err


def test_two_jobs_that_need_all_gpus_run_one_after_the_other(
    cluster: Cluster, new_namespace: NewNamespace, submit: Submitter
) -> None:
    """With the default scheduler alone each may get some of the GPUs, and both wait for ever."""
    namespace = new_namespace(cluster)
    runs = [
        submit(
            namespace,
            workers(name, 4, ["sh", "-c", UNTIL_ALL_ARE_THERE.format(name=name, namespace=namespace)]),
            "--wait",
        )
        for name in ("a", "b")
    ]
    done = [finished(run) for run in runs]
    assert [code for code, _, _ in done] == [0, 0], done
    assert any("needs 4 nvidia.com/gpu; the nodes that it may use have 0 free" in err for _, _, err in done)
    assert {name: status["outcome"] for name, status in gangs_of(cluster, namespace).items()} == {
        "a": "Succeeded",
        "b": "Succeeded",
    }
    for name in ("a", "b"):
        placed = gangs_of(cluster, namespace)[name]["history"]
        assert [entry["phase"] for entry in placed] == ["Pending", "Reserved", "Bound", "Finished"]


def test_a_job_lies_where_the_plan_has_it(
    cluster: Cluster, new_namespace: NewNamespace, submit: Submitter
) -> None:
    namespace = new_namespace(cluster)
    job = workers("near", 2, ["sleep", "1000"])
    code, _, err = finished(submit(namespace, job, "-o", "json"))
    assert code == 0, err
    nodes = {pod["spec"]["nodeName"] for pod in pods_of(cluster, namespace).values()}
    assert len(nodes) == 1, "two workers share a node that has room for both"
    status = gangs_of(cluster, namespace)["near"]
    assert (status["phase"], set(status["reservation"]["placement"]["worker"])) == ("Bound", nodes)
    cluster.kubectl("delete", "tfjob", "near", "-n", namespace)
    cluster.wait_until("its pods are gone", lambda: not pods_of(cluster, namespace))
    cluster.kubectl("delete", "gang", "near", "-n", namespace)


def test_a_failed_job_is_told_with_the_replica_that_failed(
    cluster: Cluster, new_namespace: NewNamespace, submit: Submitter
) -> None:
    namespace = new_namespace(cluster)
    job = workers(
        "bad", 2, ["sh", "-c", 'case "$HOSTNAME" in *-1) echo dying; exit 3;; *) sleep 1000;; esac']
    )
    code, out, err = finished(submit(namespace, job, "--wait"))
    assert (code, out) == (5, f"{namespace}/bad: Failed: worker-1: it ended with exit code 3\n  | dying\n"), (
        err
    )
    assert gangs_of(cluster, namespace)["bad"]["outcome"] == "Failed"


def test_what_can_never_fit_is_refused_and_leaves_nothing(
    cluster: Cluster, new_namespace: NewNamespace, submit: Submitter
) -> None:
    namespace = new_namespace(cluster)
    code, out, err = finished(submit(namespace, workers("big", 5, ["true"]), "--wait"))
    assert code == 1, err
    assert "it cannot fit this cluster even when nothing runs: needs 5 nvidia.com/gpu" in out
    assert gangs_of(cluster, namespace)["big"]["phase"] == "Finished"
    assert pods_of(cluster, namespace) == {}


def test_a_dry_run_shows_where_it_would_go_and_changes_nothing(
    cluster: Cluster, new_namespace: NewNamespace, submit: Submitter
) -> None:
    namespace = new_namespace(cluster)
    code, out, err = finished(submit(namespace, workers("try", 4, ["true"]), "--dry-run"))
    assert code == 0, err
    assert "As it would be sent: add -o yaml" in out
    assert f"{namespace}/try may start: all 4 replicas have a place" in out
    assert gangs_of(cluster, namespace) == {}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_submission_that_is_ended_before_its_gang_is_bound_leaves_nothing(
    cluster: Cluster, new_namespace: NewNamespace, submit: Submitter, number: signal.Signals
) -> None:
    """Its pods are refused, so that it is never bound."""
    namespace = new_namespace(cluster)
    job = workers("stuck", 2, ["true"])
    job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["priorityClassName"] = "there-is-none"
    run = submit(namespace, job, "--wait")
    jobs = f"/apis/kubeflow.org/v1/namespaces/{namespace}/tfjobs/stuck"
    cluster.wait_until("its TFJob is there", lambda: cluster.admin.get(jobs))
    run.send_signal(number)
    code, _, err = finished(run)
    assert code == 130, err
    cluster.wait_until("its TFJob is gone", lambda: cluster.admin.get(jobs) is None)
    status = gangs_of(cluster, namespace)["stuck"]
    assert (status["phase"], status["outcome"]) == ("Finished", "Canceled")
    assert pods_of(cluster, namespace) == {}
