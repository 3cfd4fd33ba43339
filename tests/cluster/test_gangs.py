"""Gangs of a real cluster as a user submits them from flags, lists, shows, reads, explains and deletes them."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from cluster.bed.image import BUSYBOX
from cluster.bed.kwok import GPU
from cluster.bed.outside import Cluster
from cluster.manifests import gang_of_workers
from cluster.objects import pods_of

DEPLOY = Path(__file__).parents[2] / "deploy"
NewNamespace = Callable[[Cluster], str]
GREET = 'trap "exit 0" TERM; echo "hello from $HOSTNAME"; sleep 1000 & wait'


@pytest.fixture(scope="module")
def cluster(real: Cluster) -> Cluster:
    """Two real nodes with two GPUs each, and what `deploy/` installs."""
    real.kubectl("apply", "-k", str(DEPLOY))
    real.kubectl("wait", "--for=condition=Established", "crd", "-l", "app.kubernetes.io/name=gangplan")
    return real


@pytest.fixture
def namespace(cluster: Cluster, new_namespace: NewNamespace) -> Iterator[str]:
    """A namespace whose jobs have given back their GPUs when the test ends."""
    name = new_namespace(cluster)
    yield name
    cluster.kubectl("delete", "tfjobs", "--all", "-n", name, "--cascade=foreground", "--timeout=60s")
    cluster.wait_until("its pods are gone", lambda: not pods_of(cluster, name))
    cluster.kubectl("delete", "gangs", "--all", "-n", name)


Started = Callable[..., subprocess.Popen]


@pytest.fixture
def start(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Started]:
    """Starts a command on the namespace, beside the test; none outlives it."""
    with ExitStack() as ends:

        def run(*words: str, **environment: str) -> subprocess.Popen:
            where = ("-n", namespace, "--kubeconfig", str(cluster.kubeconfig()))
            command = [sys.executable, "-m", "gangplan.cli.main", words[0], *where, *words[1:]]
            settings = {**os.environ, "GANGPLAN_HOME": str(tmp_path / "home"), **environment}
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=settings
            )
            ends.enter_context(process)
            ends.callback(process.kill)
            return process

        yield run


Run = Callable[..., str]


@pytest.fixture
def gangplan(start: Started) -> Run:
    """Runs a command on the namespace to its end, which it reaches with a code; gives what it says."""

    def run(*words: str, code: int = 0, **environment: str) -> str:
        process = start(*words, **environment)
        out, err = process.communicate(timeout=90)
        assert process.returncode == code, (out, err)
        return out if code == 0 else out + err

    return run


def flags(name: str, workers: int, script: str, image: str = BUSYBOX) -> tuple[str, ...]:
    what = ("--name", name, "--image", image, "--workers", str(workers), "--worker-gpus", "1")
    size = ("--worker-cpu", "50m", "--worker-memory", "64Mi")
    return ("submit", *what, *size, "--", "sh", "-c", script)


def everything(cluster: Cluster, namespace: str) -> dict[str, list[str]]:
    paths = {
        "gangs": "/apis/gangplan.dev/v1alpha1",
        "tfjobs": "/apis/kubeflow.org/v1",
        "pods": "/api/v1",
    }
    found = {
        plural: cluster.admin.get(f"{group}/namespaces/{namespace}/{plural}")
        for plural, group in paths.items()
    }
    return {plural: [item["metadata"]["name"] for item in each["items"]] for plural, each in found.items()}


def test_the_life_of_a_gang_as_a_user_sees_it(
    cluster: Cluster, namespace: str, gangplan: Run, start: Started
) -> None:
    gangplan(*flags("greets", 3, GREET))
    cluster.wait_until(
        "its replicas run",
        lambda: all(pod["status"]["phase"] == "Running" for pod in pods_of(cluster, namespace).values()),
    )
    followed = start("logs", "greets", "-f")
    gang = json.loads(gangplan("get", "greets", "-o", "json"))
    assert gang["phase"] == "Bound"
    assert [(item["role"], item["index"], item["state"]) for item in gang["replicas"]] == [
        ("worker", index, "Running") for index in range(3)
    ]
    assert [item["node"] for item in gang["replicas"]] == gang["reservation"]["placement"]["worker"]
    assert {"Created", "Running"} <= {item["type"] for item in gang["conditions"]}
    assert any(item["reason"] == "Started" for item in gang["events"])
    assert gangplan("logs", "greets", "worker-1") == "hello from greets-worker-1\n"
    assert sorted(gangplan("logs", "greets").splitlines()) == [
        f"worker-{index}: hello from greets-worker-{index}" for index in range(3)
    ]
    assert "runs: all 3 replicas have their place" in gangplan("explain", "greets")

    waits = start(*flags("waits", 2, GREET))
    cluster.wait_until("the second one is entered", lambda: len(everything(cluster, namespace)["gangs"]) == 2)
    text = gangplan("explain", "waits")
    assert f"{namespace}/waits waits" in text
    assert f"{namespace}/greets" in text, "who holds what is short"
    table = gangplan("list")
    assert "Bound" in table
    assert "Pending" in table

    assert f"{namespace}/greets (Bound) with its TFJob would be deleted" in gangplan(
        "delete", "greets", "--dry-run"
    )
    assert gangplan("delete", "greets") == f"{namespace}/greets deleted\n"
    out, _ = followed.communicate(timeout=60)
    assert sorted(out.splitlines()) == [
        f"worker-{index}: hello from greets-worker-{index}" for index in range(3)
    ]
    _, err = waits.communicate(timeout=60)
    assert waits.returncode == 0, err
    assert everything(cluster, namespace)["tfjobs"] == ["waits"]
    cluster.kubectl("delete", "gang", "waits", "-n", namespace)
    assert "had no record" in gangplan("delete", "waits")
    assert everything(cluster, namespace) == {"gangs": [], "tfjobs": [], "pods": []}


def test_a_running_gang_is_suspended_for_another_and_runs_again(
    cluster: Cluster, namespace: str, gangplan: Run
) -> None:
    """The other one needs all GPUs, so that it has room only while this one holds none."""
    jobs = f"/apis/kubeflow.org/v1/namespaces/{namespace}/tfjobs/naps"

    def runs() -> bool:
        pods = pods_of(cluster, namespace).values()
        return len(pods) == 3 and all(pod["status"]["phase"] == "Running" for pod in pods)

    gangplan(*flags("naps", 3, GREET))
    cluster.wait_until("its replicas run", runs)
    before = cluster.admin.get(jobs)["metadata"]["uid"]
    assert "naps suspended; its TFJob stays" in gangplan("suspend", "naps")
    assert pods_of(cluster, namespace) == {}
    assert json.loads(gangplan("get", "naps", "-o", "json"))["phase"] == "Suspended"
    other = flags("other", 4, "true")
    assert "Succeeded" in gangplan(*other[:-4], "--wait", *other[-4:])
    gangplan("resume", "naps")
    cluster.wait_until(
        "its replicas run again",
        lambda: sum(pod["status"]["phase"] == "Running" for pod in pods_of(cluster, namespace).values()) == 3,
    )
    assert json.loads(gangplan("get", "naps", "-o", "json"))["phase"] == "Bound"
    assert cluster.admin.get(jobs)["metadata"]["uid"] == before


def test_a_name_is_free_again_when_its_job_is_gone(cluster: Cluster, namespace: str, gangplan: Run) -> None:
    gangplan(*flags("again", 1, "true"))
    job = f"/apis/kubeflow.org/v1/namespaces/{namespace}/tfjobs/again"

    def has_ended() -> bool:
        conditions = cluster.admin.get(job)["status"]["conditions"]
        return any(item["type"] == "Succeeded" and item["status"] == "True" for item in conditions)

    cluster.wait_until("its job has succeeded", has_ended)
    told = gangplan(*flags("again", 1, "true"), code=1)
    assert f"there is a finished TFJob again in {namespace}; delete it with: gangplan delete again" in told
    cluster.kubectl("delete", "tfjob", "again", "-n", namespace)
    gangplan(*flags("again", 1, "true"))
    gangplan("delete", "again")
    assert everything(cluster, namespace) == {"gangs": [], "tfjobs": [], "pods": []}


def test_what_the_server_refuses_is_told_before_anything_is_asked_for(
    cluster: Cluster, namespace: str, gangplan: Run, tmp_path: Path
) -> None:
    """A field that training-operator's CRD does not know, which the server would else drop without a word."""
    job = json.loads(gangplan(*flags("odd", 1, "true")[:-4], "--dry-run", "-o", "json"))["manifest"]
    job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["nodeSelektor"] = {"a": "b"}
    (tmp_path / "odd.json").write_text(json.dumps(job))
    told = gangplan("submit", str(tmp_path / "odd.json"), code=3)
    assert "$.spec.tfReplicaSpecs.Worker.template.spec.nodeSelektor: is not known to the server" in told
    assert everything(cluster, namespace) == {"gangs": [], "tfjobs": [], "pods": []}


def test_who_may_only_look_sees_gangs_and_logs_and_deletes_nothing(
    cluster: Cluster, namespace: str, gangplan: Run
) -> None:
    """By the role ``view`` of Kubernetes, in the namespace."""
    cluster.kubectl(
        "create", "rolebinding", "look", "-n", namespace, "--clusterrole=view",
        f"--serviceaccount={namespace}:default",
    )  # fmt: skip
    looker = ("--kubeconfig", str(cluster.kubeconfig(f"system:serviceaccount:{namespace}:default")))
    gangplan(*flags("seen", 1, GREET))
    cluster.wait_until(
        "it runs", lambda: pods_of(cluster, namespace)["seen-worker-0"]["status"]["phase"] == "Running"
    )
    assert "seen" in gangplan("list", *looker)
    assert "worker-0" in gangplan("get", "seen", *looker)
    assert gangplan("logs", "seen", *looker) == "worker-0: hello from seen-worker-0\n"
    assert "is not allowed" in gangplan("list", "-A", *looker, code=4)
    assert "is not allowed" in gangplan("explain", "seen", *looker, code=4)
    before = everything(cluster, namespace)
    assert "is not allowed" in gangplan("delete", "seen", *looker, code=4)
    assert everything(cluster, namespace) == before
    gangplan("delete", "seen")


def test_a_namespace_that_is_not_there_is_told(cluster: Cluster) -> None:
    submit, *words = flags("x", 1, "true")
    where = ("-n", "nowhere", "--kubeconfig", str(cluster.kubeconfig()))
    command = [sys.executable, "-m", "gangplan.cli.main", submit, *where, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "there is no namespace nowhere" in done.stderr


def test_an_image_that_cannot_be_pulled_ends_the_job_with_nothing_left(
    cluster: Cluster, namespace: str, gangplan: Run
) -> None:
    words = flags("nowhere", 2, "true", image="localhost:1/nosuch:1")
    told = gangplan(*words[:1], "--wait", *words[1:], code=5, GANGPLAN_IMAGE_PATIENCE_S="1")
    assert "its image cannot be pulled" in told
    assert "localhost:1/nosuch:1" in told
    assert everything(cluster, namespace) == {"gangs": ["nowhere"], "tfjobs": [], "pods": []}


def test_a_deletion_that_is_interrupted_is_gone_on_with(
    cluster: Cluster, namespace: str, gangplan: Run, start: Started
) -> None:
    """A finalizer holds a pod back, as a node does that is slow to answer."""
    gangplan(*flags("slow", 1, GREET))
    held = {"metadata": {"finalizers": ["gangplan.dev/test"]}}
    patch = ("patch", "pod", "slow-worker-0", "-n", namespace, "--type=merge", "-p")
    cluster.kubectl(*patch, json.dumps(held))
    try:
        deletion = start("delete", "slow")
        line = deletion.stderr.readline()
        assert line == f"{namespace}/slow: waits for worker-0 to end\n"
        deletion.send_signal(signal.SIGINT)
        out, err = deletion.communicate(timeout=30)
        assert (deletion.returncode, out) == (130, "")
        assert f"gangplan delete {namespace}/slow goes on with it" in err
        assert everything(cluster, namespace)["gangs"] == ["slow"]
    finally:
        cluster.kubectl(*patch, json.dumps({"metadata": {"finalizers": None}}))
    gangplan("delete", "slow")
    assert everything(cluster, namespace) == {"gangs": [], "tfjobs": [], "pods": []}


def test_a_cluster_that_cannot_be_used_is_told(new_cluster: Callable[[], Cluster], tmp_path: Path) -> None:
    """Without CRDs, with one that serves another version, with a token that is not accepted, and with nobody there."""
    bare = new_cluster()
    good = bare.kubeconfig().read_text()
    file = tmp_path / "kubeconfig"
    file.write_text(good)

    def told(*words: str) -> str:
        command = [sys.executable, "-m", "gangplan.cli.main", *words, "--kubeconfig", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (4, ""), done.stderr
        return done.stderr

    missing = "does not know Gang: its CRD is missing or serves other versions only"
    assert missing in told("list")
    submit = ("submit", "--name", "x", "--image", "i", "--workers", "1")
    assert "does not know TFJob: its CRD is missing" in told(*submit)
    crd = (DEPLOY / "crds" / "gangs.yaml").read_text().replace("name: v1alpha1", "name: v1beta1")
    (tmp_path / "crd.yaml").write_text(crd)
    bare.kubectl("apply", "-f", str(tmp_path / "crd.yaml"))
    bare.kubectl("wait", "--for=condition=Established", "crd", "gangs.gangplan.dev")
    assert missing in told("list")
    assert missing in told("explain")

    config = yaml.safe_load(good)
    for user in config["users"]:
        user["user"] = {"token": "expired"}
    file.write_text(yaml.safe_dump(config))
    assert "does not accept our credentials" in told("list")
    assert "log in again" in told(*submit)
    bare.end()
    file.write_text(good)
    assert "no answer from the API server https://127.0.0.1:" in told("list")


def test_a_replica_that_fails_once_starts_again_in_its_place_and_the_logs_have_both_of_its_lives(
    gangplan: Run, tmp_path: Path
) -> None:
    """`OnFailure` is the kubelet's matter: the same pod, on the same node, without another attempt of the gang."""
    twice = (
        "test -e /kept/life && echo the second life && exit 0; touch /kept/life; echo the first life; exit 1"
    )
    job = gang_of_workers(
        "again", ["sh", "-c", twice], workers=1, gpu=GPU, volumes=[{"name": "kept", "emptyDir": {}}]
    )
    worker = job["spec"]["tfReplicaSpecs"]["Worker"]
    worker["restartPolicy"] = "OnFailure"
    worker["template"]["spec"]["containers"][0]["volumeMounts"] = [{"name": "kept", "mountPath": "/kept"}]
    file = tmp_path / "again.yaml"
    file.write_text(yaml.safe_dump(job))
    gangplan("submit", str(file), "--wait")
    told = json.loads(gangplan("get", "again", "-o", "json"))
    assert [replica["restarts"] for replica in told["replicas"]] == [1], told
    assert [entry["phase"] for entry in told["history"]] == ["Pending", "Reserved", "Bound", "Finished"]
    gangplan("delete", "again")
    log = gangplan("logs", "again")
    assert [log.count(f"the {which} life") for which in ("first", "second")] == [1, 1], log
