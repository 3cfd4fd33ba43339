"""A node vanishes while a job starts on it: the gang starts elsewhere, and nothing is left of its first start."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from cluster.bed.kwok import fake_node
from cluster.bed.outside import Cluster
from cluster.manifests import tfjob
from cluster.objects import pods_of

HOLD = {"name": "test.gangplan.dev/hold"}
DEPLOY = Path(__file__).parents[2] / "deploy"


@pytest.fixture
def cluster(new_cluster: Callable[[], Cluster]) -> Iterator[Cluster]:
    """Three fake nodes with two GPUs each, and the training-operator."""
    made = new_cluster()
    made.add_fake_nodes(fake_node(f"f{number}", gpus=2) for number in range(3))
    made.start_operator()
    made.kubectl("apply", "-k", str(DEPLOY))
    made.kubectl("wait", "--for=condition=Established", "crd", "-l", "app.kubernetes.io/name=gangplan")
    yield made
    made.end()


def release(cluster: Cluster) -> None:
    """Let those pods go that only the test still holds."""
    for name, pod in pods_of(cluster, "default").items():
        if pod["spec"].get("schedulingGates") == [HOLD]:
            patch = json.dumps({"spec": {"schedulingGates": None}})
            cluster.kubectl("patch", "pod", name, "--type=merge", "-p", patch)


def test_a_gang_starts_elsewhere_when_a_node_vanishes_under_it(cluster: Cluster, tmp_path: Path) -> None:
    """Its pods are held when they have been told their nodes, until one of these is gone."""
    job = tfjob("j", ["true"], workers=2, gpus=2)
    job["spec"]["tfReplicaSpecs"] = {"Worker": job["spec"]["tfReplicaSpecs"]["Worker"]}
    worker = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    worker["schedulingGates"] = [HOLD]
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    command = [sys.executable, "-m", "gangplan.cli.main", "submit", str(tmp_path / "job.yaml"), "-o", "json"]
    command += ["--kubeconfig", str(cluster.kubeconfig())]
    settings = {**os.environ, "GANGPLAN_HOME": str(tmp_path)}
    gang = "/apis/gangplan.dev/v1alpha1/namespaces/default/gangs/j"
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=settings
    ) as run:

        def are_told() -> bool:
            pods = pods_of(cluster, "default").values()
            return len(pods) == 2 and all(pod["spec"].get("schedulingGates") == [HOLD] for pod in pods)

        cluster.wait_until("its pods are told their nodes", are_told)
        first = cluster.admin.get(gang)["status"]["reservation"]["placement"]["worker"]
        cluster.kubectl("delete", "node", first[0])

        def is_bound() -> bool:
            release(cluster)
            return cluster.admin.get(gang)["status"]["phase"] == "Bound"

        cluster.wait_until("it has started elsewhere", is_bound, seconds=240)
        out, err = run.communicate(timeout=30)
    assert run.returncode == 0, err
    assert json.loads(out)["outcome"] == "Bound"
    left = {f"f{number}" for number in range(3)} - {first[0]}
    assert {pod["spec"]["nodeName"] for pod in pods_of(cluster, "default").values()} == left
    status = cluster.admin.get(gang)["status"]
    assert (status["phase"], set(status["reservation"]["placement"]["worker"])) == ("Bound", left)
    assert any(first[0] in entry["reason"] or "attempt" in entry["reason"] for entry in status["history"])
