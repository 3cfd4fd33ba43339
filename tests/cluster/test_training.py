"""Real TensorFlow in containers, submitted as gangs: near together, on one volume, and killed in between."""

import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cluster.bed.image import PROJECT
from cluster.bed.kwok import GPU
from cluster.bed.outside import Cluster
from cluster.manifests import tfjob
from cluster.objects import pods_of
from cluster.submissions import Submitter, gangs_of, install
from cluster.volumes import share, users

PROGRAM = "python -m gangplan.train.classifier --data digits --out /volume/out --strategy ps --resume"
EVERY = "--log-every 25 --checkpoint-every 50"
FURTHER = 50
"""Steps of the second training after the first."""
ENDS_WITHIN_S = 240.0
NAMESPACE = "training"


@pytest.fixture(scope="module")
def cluster(real: Cluster) -> Iterator[Cluster]:
    """Two real nodes with two GPUs each, what ``deploy/`` installs, and a namespace for the trainings."""
    install(real)
    real.kubectl("create", "namespace", NAMESPACE)
    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
    real.wait_until("the namespace has its account", lambda: real.admin.get(account))
    yield real
    # A parameter server never ends by itself, and holds what the next test counts on.
    real.kubectl("delete", "tfjobs", "--all", "-n", NAMESPACE, "--cascade=foreground", "--wait=false")
    real.wait_until("its pods are gone", lambda: not pods_of(real, NAMESPACE))
    real.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


@dataclass(frozen=True, slots=True, kw_only=True)
class Killed:
    """A training that was killed while its servers wrote checkpoints.

    Attributes:
        out: Its folder on the volume.
        nodes: Replica → node.
        last: The last whole checkpoint.
    """

    out: Path
    nodes: dict[str, str]
    last: str

    @property
    def step(self) -> int:
        return int(self.last.removeprefix("ckpt-"))


@pytest.fixture(scope="module")
def killed(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Killed:
    """Its chief is on one node, its servers are on the other."""
    volume = tmp_path_factory.mktemp("training") / "volume"
    share(cluster, NAMESPACE, "shared", volume)
    job = tfjob("first", f"{PROGRAM} {EVERY} --steps 100000".split(), gpus=0, workers=1)
    for kind, node in (("Chief", "n0"), ("PS", "n1"), ("Worker", "n1")):
        change(job, kind, nodeSelector={"kubernetes.io/hostname": node})
    job["spec"]["tfReplicaSpecs"]["PS"]["replicas"] = 2
    # The mode of a file tells who made it.
    change(job, "PS", command=["sh", "-c", 'umask 027 && exec "$@"', "sh"], args=command_of(job))
    out = volume / "out"
    with Submitter(cluster.kubeconfig()) as submit:
        run = submit(NAMESPACE, job, "--volume", "shared:/volume")
        _, err = run.communicate(timeout=ENDS_WITHIN_S)
        assert run.returncode == 0, err
    cluster.wait_until("two checkpoints are there", lambda: len(listed(out)) == 2, seconds=ENDS_WITHIN_S)
    nodes = {name: pod["spec"]["nodeName"] for name, pod in pods_of(cluster, NAMESPACE).items()}
    # In the foreground: when it returns no container writes any more. They do not hear SIGTERM.
    cluster.kubectl("delete", "tfjob", "first", "-n", NAMESPACE, "--cascade=foreground")
    return Killed(out=out, nodes=nodes, last=listed(out)[-1])


def test_each_server_writes_its_part_of_a_checkpoint_to_the_volume_of_a_chief_on_another_node(
    killed: Killed,
) -> None:
    assert killed.nodes["first-chief-0"] == "n0"
    assert killed.nodes["first-ps-0"] == killed.nodes["first-ps-1"] == "n1"
    parts = sorted((killed.out / "checkpoints").glob(f"{killed.last}.data-*"))
    assert [part.name for part in parts] == [f"{killed.last}.data-0000{k}-of-00003" for k in range(3)]
    assert [part.stat().st_mode & 0o777 for part in parts] == [0o644, 0o640, 0o640]


@pytest.fixture(scope="module")
def seconds(cluster: Cluster, killed: Killed) -> float:
    """How long a second job took that goes on with the first one's training, with one server less."""
    job = tfjob("train", f"{PROGRAM} {EVERY} --steps {killed.step + FURTHER}".split(), gpus=0)
    limits = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["resources"]
    change(job, "Worker", resources=limits | {"limits": limits["limits"] | {GPU: "1"}})
    begun = time.monotonic()
    with Submitter(cluster.kubeconfig()) as submit:
        run = submit(NAMESPACE, job, "--volume", "shared:/volume", "--wait")
        out, err = run.communicate(timeout=ENDS_WITHIN_S)
    assert run.returncode == 0, err
    assert out.startswith(f"{NAMESPACE}/train: Succeeded: ")
    return time.monotonic() - begun


def test_chief_ps_and_workers_train_on_one_node_where_they_fit(
    cluster: Cluster, seconds: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """The default scheduler alone would spread them; how long it takes is told, and judged by nobody."""
    pods = pods_of(cluster, NAMESPACE)
    assert len(pods) == 4
    assert len({pod["spec"]["nodeName"] for pod in pods.values()}) == 1
    assert gangs_of(cluster, NAMESPACE)["train"]["outcome"] == "Succeeded"
    still = users(cluster, NAMESPACE, "shared")
    assert still["train-ps-0"] == pods["train-ps-0"]["spec"]["nodeName"], "who mounts it is told"
    with capsys.disabled():
        sys.stdout.write(f"\nsubmitted to Succeeded in {seconds:.0f} s\n")


def test_a_killed_training_goes_on_in_a_job_with_another_number_of_servers(
    killed: Killed, seconds: float
) -> None:
    assert json.loads((killed.out / "result.json").read_text())["resumed_at"] == killed.step
    assert listed(killed.out)[-1] == f"ckpt-{killed.step + FURTHER}"
    assert len(list((killed.out / "checkpoints").glob(f"{listed(killed.out)[-1]}.data-*"))) == 2
    assert (killed.out / "model" / "saved_model.pb").exists()


def test_tensorboard_shows_the_scalars_of_a_finished_job(
    cluster: Cluster, killed: Killed, seconds: float
) -> None:
    """By a pod beside it, through a port of this machine; nothing is left on Ctrl-C."""
    command = [sys.executable, "-m", "gangplan.cli.main", "tensorboard", "train", "-n", NAMESPACE]
    command += ["--image", PROJECT, "--port", "0", "--kubeconfig", str(cluster.kubeconfig())]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), process.communicate()
        tags: dict[str, dict[str, object]] = {}

        def is_read() -> bool:
            with urllib.request.urlopen(f"{address}data/plugin/scalars/tags") as answer:
                tags.update(json.load(answer))
            return bool(tags)

        cluster.wait_until("TensorBoard has read the events", is_read)
        assert {"loss", "accuracy", "images_per_s", "test_accuracy"} <= tags["events"].keys()
        with urllib.request.urlopen(f"{address}data/plugin/scalars/scalars?run=events&tag=loss") as answer:
            steps = [step for _, step, _ in json.load(answer)]
        assert killed.step + FURTHER in steps
        # What is large comes whole, and several at once, as a browser asks.
        with ThreadPoolExecutor(6) as pool:
            pages = list(pool.map(lambda _: _read(f"{address}index.js"), range(6)))
        assert len(pages[0]) > 1_000_000
        assert len(set(pages)) == 1
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, "Traceback" in err) == (0, False), err
    cluster.wait_until("its pod is gone", lambda: "train-tensorboard" not in pods_of(cluster, NAMESPACE))


def _read(address: str) -> bytes:
    with urllib.request.urlopen(address) as answer:
        return answer.read()


def command_of(job: dict[str, Any]) -> list[str]:
    return job["spec"]["tfReplicaSpecs"]["PS"]["template"]["spec"]["containers"][0]["command"]


def change(job: dict[str, Any], kind: str, **fields: Any) -> None:
    """Set fields of a replica's pod, or of its container."""
    replicas = job["spec"]["tfReplicaSpecs"][kind]
    spec = dict(replicas["template"]["spec"])
    (container,) = spec["containers"]
    if "nodeSelector" in fields:
        spec |= fields
    else:
        spec |= {"containers": [container | fields]}
    replicas["template"] = {"spec": spec}


def listed(out: Path) -> list[str]:
    """The checkpoints that are whole, the last one last."""
    file = out / "checkpoints" / "checkpoint"
    lines = file.read_text().splitlines() if file.exists() else []
    return [line.split('"')[1] for line in lines if line.startswith("all_model")]
