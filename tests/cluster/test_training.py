"""Real TensorFlow in containers, submitted as a gang: trained to its end, near together."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.bed.kwok import GPU
from cluster.bed.outside import Cluster
from cluster.manifests import tfjob
from cluster.objects import pods_of
from cluster.submissions import Submitter, gangs_of, install
from cluster.volumes import share, users

PROGRAM = "python -m gangplan.train.classifier --data digits --out /volume --strategy ps --epochs 1"
ENDS_WITHIN_S = 240.0


@pytest.fixture(scope="module")
def cluster(real: Cluster) -> Cluster:
    """Two real nodes with two GPUs each, and what ``deploy/`` installs."""
    install(real)
    return real


def test_chief_ps_and_workers_train_on_one_node_where_they_fit(
    cluster: Cluster,
    new_namespace: Callable[[Cluster], str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The default scheduler alone would spread them; how long it takes is told, and judged by nobody."""
    namespace = new_namespace(cluster)
    job = tfjob("train", PROGRAM.split(), gpus=0)
    share(cluster, namespace, "training", tmp_path / "volume")
    for kind, replicas in job["spec"]["tfReplicaSpecs"].items():
        spec = replicas["template"]["spec"] = dict(replicas["template"]["spec"])
        (container,) = spec["containers"]
        limits = container["resources"]["limits"] | ({GPU: "1"} if kind == "Worker" else {})
        spec["containers"] = [container | {"resources": container["resources"] | {"limits": limits}}]
    begun = time.monotonic()
    with Submitter(cluster.kubeconfig()) as submit:
        run = submit(namespace, job, "--wait", "--volume", "training:/volume")
        out, err = run.communicate(timeout=ENDS_WITHIN_S)
        seconds = time.monotonic() - begun
    assert run.returncode == 0, err
    assert out.startswith(f"{namespace}/train: Succeeded: ")
    pods = pods_of(cluster, namespace)
    assert len(pods) == 4
    assert len({pod["spec"]["nodeName"] for pod in pods.values()}) == 1
    assert gangs_of(cluster, namespace)["train"]["outcome"] == "Succeeded"
    assert (tmp_path / "volume" / "model" / "saved_model.pb").exists()
    still = users(cluster, namespace, "training")
    assert still["train-ps-0"] == pods["train-ps-0"]["spec"]["nodeName"], "who mounts it is told"
    # A parameter server never ends by itself, and holds what the next test counts on.
    cluster.kubectl("delete", "tfjob", "train", "-n", namespace, "--cascade=foreground", "--wait=false")
    cluster.wait_until("its pods are gone", lambda: not pods_of(cluster, namespace))
    with capsys.disabled():
        sys.stdout.write(f"\nsubmitted to Succeeded in {seconds:.0f} s\n")
