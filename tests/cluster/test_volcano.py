"""Volcano mode with the real training-operator, which makes the PodGroups; Volcano's scheduler is a stand-in."""

import json
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from cluster.bed.kwok import fake_node
from cluster.bed.outside import Cluster
from cluster.manifests import pod, tfjob
from cluster.objects import create, pods_of
from cluster.volcano import API, volcano
from gangplan import verdict
from gangplan.cli.main import app
from gangplan.config import Enforcement, Settings
from gangplan.kube.actions import End
from gangplan.kube.client import connect
from gangplan.kube.cluster import KubeCluster
from gangplan.kube.launch import Launch
from gangplan.kube.launcher import Launcher
from gangplan.kube.patience import Patience
from gangplan.kube.submission import submission
from gangplan.record import new

DEPLOY = Path(__file__).parents[2] / "deploy"
TERMS = Settings().terms
NewNamespace = Callable[[Cluster], str]


@pytest.fixture(scope="module")
def cluster(new_cluster: Callable[..., Cluster]) -> Cluster:
    """Three fake nodes with four GPUs each, an operator that leaves gangs to Volcano, and what ``deploy/`` installs."""
    made = new_cluster()
    made.add_fake_nodes(fake_node(f"v{i}", gpus=4) for i in range(3))
    made.start_operator("volcano")
    made.kubectl("apply", "-k", str(DEPLOY))
    made.kubectl("wait", "--for=condition=Established", "crd", "-l", "app.kubernetes.io/name=gangplan")
    return made


def job(name: str, *, workers: int) -> dict:
    """A TFJob with a parameter server and workers with a GPU each."""
    made = tfjob(name, ["train"], workers=workers)
    specs = made["spec"]["tfReplicaSpecs"]
    del specs["Chief"]
    specs["PS"] = yaml.safe_load(yaml.safe_dump(specs["PS"]))
    del specs["PS"]["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"]
    return made


@contextmanager
def submitting(
    cluster: Cluster, file: Path, namespace: str, job: dict, *words: str
) -> Iterator[subprocess.Popen]:
    """``gangplan submit`` beside the test."""
    file.write_text(yaml.safe_dump(job))
    command = [sys.executable, "-m", "gangplan.cli.main", "submit", str(file), "-n", namespace]
    command += ["--kubeconfig", str(cluster.kubeconfig()), "--enforcement", "volcano", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        try:
            yield run
        finally:
            run.kill()


def group(cluster: Cluster, namespace: str, name: str) -> dict | None:
    return cluster.admin.get(f"{API}/namespaces/{namespace}/podgroups/{name}")


def places(cluster: Cluster, namespace: str, job: str) -> dict[str, Counter]:
    """Role → how many of its replicas lie on which node."""
    found: dict[str, Counter] = defaultdict(Counter)
    for name, item in pods_of(cluster, namespace).items():
        if name.startswith(f"{job}-"):
            role = item["metadata"]["labels"]["training.kubeflow.org/replica-type"]
            found[role][item["spec"].get("nodeName")] += 1
    return found


def test_a_job_lies_as_it_is_reserved_although_its_nodes_could_be_filled_up(
    cluster: Cluster, new_namespace: NewNamespace, tmp_path: Path
) -> None:
    """Six workers in two equal parts on nodes with room for four each; in a queue that is Volcano's alone."""
    namespace = new_namespace(cluster)
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "vision"}}
    cluster.kubectl("create", "-f", "-", document=queue | {"spec": {"weight": 1}})
    six = job("six", workers=6)
    six["metadata"]["annotations"] = {"scheduling.volcano.sh/queue-name": "vision"}
    create(cluster, namespace, pod("busy", gpus=2, nodeName="v0"))
    with (
        volcano(cluster),
        submitting(cluster, tmp_path / "job.yaml", namespace, six) as run,
    ):
        out, err = run.communicate(timeout=60)
    assert run.returncode == 0, err
    record = cluster.admin.get(f"/apis/gangplan.dev/v1alpha1/namespaces/{namespace}/gangs/six")
    assert record is not None
    reserved = record["status"]["reservation"]["placement"]
    assert record["status"]["phase"] == "Bound", out
    assert places(cluster, namespace, "six") == {role: Counter(nodes) for role, nodes in reserved.items()}
    assert sorted(Counter(reserved["worker"]).values()) == [3, 3]
    assert "the plan has no place" not in err
    made = group(cluster, namespace, "six")
    assert made is not None
    assert (made["spec"]["minMember"], made["spec"]["queue"]) == (7, "vision")
    assert made["metadata"]["annotations"]["volcano.sh/task-topology-affinity"] == "ps,worker"


def test_what_volcano_says_is_told_while_no_pod_is_there(
    cluster: Cluster, new_namespace: NewNamespace, tmp_path: Path
) -> None:
    namespace = new_namespace(cluster)
    with submitting(cluster, tmp_path / "job.yaml", namespace, job("held", workers=2)) as run:
        assert run.stderr is not None
        cluster.wait_until("its PodGroup is there", lambda: group(cluster, namespace, "held"))
        said = {"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources", "message": "full"}
        patch = json.dumps({"status": {"phase": "Pending", "conditions": [said]}})
        scope = ("-n", namespace, "--type=merge", "-p", patch)
        cluster.kubectl("patch", "podgroups.scheduling.volcano.sh", "held", *scope)
        lines: list[str] = []
        while not any("full" in line for line in lines):
            lines.append(run.stderr.readline())
            assert lines[-1], lines
        assert pods_of(cluster, namespace) == {}
        with volcano(cluster):
            _, err = run.communicate(timeout=60)
    assert run.returncode == 0, err
    assert "Volcano has its PodGroup Pending: NotEnoughResources: full\n" in lines
    assert sum(places(cluster, namespace, "held")["worker"].values()) == 2


def launched(cluster: Cluster, namespace: str, name: str, enforcement: Enforcement) -> End:
    """How a launch ends that waits for Volcano for two seconds only."""
    with connect(kubeconfig=cluster.kubeconfig()) as connection:
        view = KubeCluster(connection, clock=time.time, monotonic=time.monotonic)
        wanted = submission(
            job(name, workers=2), namespace=namespace, run_id=name, now=time.time(), enforcement=enforcement
        )
        store = view.store()
        admitted = verdict.wait(
            store,
            view,
            store.create(new(wanted.gang, uid="", run_id=name, now=time.time())),
            clock=time.time,
            sleep=time.sleep,
            terms=TERMS,
            deadline=time.time() + 30,
            poll_s=0.1,
        )
        assert admitted.admitted, admitted.reason
        return Launcher(
            connection,
            store,
            wanted.manifest,
            Launch(
                run_id=name,
                reservation_s=TERMS.reservation_s,
                enforcement=enforcement,
                patience=Patience(group=2.0),
            ),
            clock=time.time,
            sleep=time.sleep,
            poll_s=0.2,
        ).run()


def test_a_job_that_only_volcano_would_start_is_told_so_and_leaves_nothing(
    cluster: Cluster, new_namespace: NewNamespace
) -> None:
    """The operator makes no pod before its PodGroup's turn, which nobody gives it."""
    namespace = new_namespace(cluster)
    end = launched(cluster, namespace, "plain", "default")
    assert end.outcome == "Failed"
    assert "started with --gang-scheduler-name=volcano; submit with --enforcement volcano" in end.reason
    assert pods_of(cluster, namespace) == {}
    assert cluster.admin.get(f"/apis/kubeflow.org/v1/namespaces/{namespace}/tfjobs/plain") is None


@pytest.mark.parametrize(("asked", "code"), [("volcano", 0), ("default", 1)])
def test_the_doctor_sees_that_the_operator_leaves_gangs_to_volcano(
    cluster: Cluster, new_namespace: NewNamespace, asked: str, code: int
) -> None:
    where = ["-n", new_namespace(cluster), "--kubeconfig", str(cluster.kubeconfig())]
    ran = CliRunner().invoke(app, ["doctor", *where, "--enforcement", asked, "-o", "json"])
    faults = [found for found in json.loads(ran.stdout)["findings"] if found["level"] == "fault"]
    assert (ran.exit_code, [fault["check"] for fault in faults]) == (code, ["enforcement"] * code), faults


def test_an_operator_without_the_flag_is_named(cluster: Cluster, new_namespace: NewNamespace) -> None:
    """Nobody binds its pods here; Volcano would bind them one by one."""
    namespace = new_namespace(cluster)
    cluster.start_operator()
    cluster.stop("scheduler")
    try:
        end = launched(cluster, namespace, "loose", "volcano")
    finally:
        cluster.start_again("scheduler")
        cluster.start_operator("volcano")
    assert end.outcome == "Failed"
    assert "there is no PodGroup of Volcano for it" in end.reason
    assert pods_of(cluster, namespace) == {}
