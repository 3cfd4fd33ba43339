"""Steps of a pipeline in pods of a real cluster, with the rights that ``deploy/`` ships: rows of the table of failures."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from cluster.accounts import LAUNCH, add_launch_account, let_admit
from cluster.bed.image import BUSYBOX, PROJECT
from cluster.bed.outside import Cluster
from cluster.manifests import tfjob
from cluster.objects import pods_of
from cluster.pipeline import MOUNT, Run, reason_of
from cluster.submissions import install
from cluster.volumes import share
from gangplan.steps.run import gang_name

DEFINITIONS = Path(__file__).parent / "definitions"
COLLECTED_S = 60.0
"""How long collection of what a deleted run owned may take."""

NewNamespace = Callable[[Cluster], str]
NewRun = Callable[..., Run]
_runs = itertools.count()


@pytest.fixture(scope="module")
def cluster(real: Cluster) -> Cluster:
    """Two real nodes with two GPUs each, what ``deploy/`` installs, and Workflows."""
    install(real)
    real.kubectl("apply", "-f", str(DEFINITIONS / "workflow.yaml"))
    real.kubectl("wait", "--for=condition=Established", "crd/workflows.argoproj.io")
    return real


@pytest.fixture
def new_run(cluster: Cluster, new_namespace: NewNamespace, tmp_path: Path) -> NewRun:
    """Begins runs in a namespace with an account, a shared volume and a Workflow."""
    namespace = new_namespace(cluster)
    add_launch_account(cluster, namespace, tmp_path)
    let_admit(cluster, namespace)
    folder = tmp_path / "volume"
    share(cluster, namespace, "shared", folder)

    def begin(**arguments: object) -> Run:
        common = {"image": PROJECT, "volume_claim": "shared", "job_name": "j"}
        run = Run(
            cluster=cluster,
            namespace=namespace,
            account=LAUNCH,
            claim="shared",
            folder=folder,
            run_id=f"run-{next(_runs)}",
            arguments=common | arguments,
        )
        run.begin()
        return run

    return begin


def job_of(run: Run) -> dict | None:
    name = gang_name("j", run.run_id)
    return run.cluster.admin.get(f"/apis/kubeflow.org/v1/namespaces/{run.namespace}/tfjobs/{name}")


def gang_of(run: Run) -> dict | None:
    name = gang_name("j", run.run_id)
    return run.cluster.admin.get(f"/apis/gangplan.dev/v1alpha1/namespaces/{run.namespace}/gangs/{name}")


def replicas_of(run: Run) -> dict[str, dict]:
    name = gang_name("j", run.run_id)
    return {
        pod: item
        for pod, item in pods_of(run.cluster, run.namespace).items()
        if item["metadata"].get("labels", {}).get("training.kubeflow.org/job-name") == name
    }


def small(words: str, *, workers: int = 2, gpus: int = 0) -> str:
    """A TFJob of workers that are small shells."""
    made = tfjob("named-by-the-run", ["sh", "-c", words], image=BUSYBOX, workers=workers, gpus=gpus)
    made["spec"]["tfReplicaSpecs"] = {"Worker": made["spec"]["tfReplicaSpecs"]["Worker"]}
    made["spec"]["runPolicy"] = {"cleanPodPolicy": "Running"}
    return yaml.safe_dump(made)


def count_limits(run: Run) -> None:
    """Let a quota count limits, which jobs do not say and a LimitRange gives them: who admits looks for it."""
    scope, about = ("--namespace", run.namespace), {"name": "team", "namespace": run.namespace}
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": about,
        "spec": {"hard": {"limits.cpu": "99"}},
    }
    defaults = {"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "10m"}}
    given = {"apiVersion": "v1", "kind": "LimitRange", "metadata": about, "spec": {"limits": [defaults]}}
    for document in (given, quota):
        run.cluster.kubectl("apply", "-f", "-", document=document)
    seen = ("get", "quota", "team", *scope, "-o", "jsonpath={.status.hard}")
    run.cluster.wait_until("the quota is counted", lambda: run.cluster.kubectl(*seen) != "")


UNTIL_TOLD = f"while [ ! -e {MOUNT}/go ]; do sleep 0.1; done; "
"""Runs until the test makes a file on the volume."""


def go(run: Run) -> None:
    (run.folder / "go").touch()


def test_a_run_trains_and_leaves_nothing_when_it_is_deleted(new_run: NewRun) -> None:
    run = new_run(train_epochs=1, role_worker_count=1, role_worker_memory="1Gi", role_ps_memory="1Gi")
    assert run.run("prepare-data").succeeded
    admitted = run.run("admit")
    assert (admitted.succeeded, admitted.outputs["outcome"]) == (True, "Admitted"), admitted.log
    assert "persistentVolumeClaim" in run.artifact("admit", "job")
    launched = run.run("launch-tfjob")
    assert launched.outputs["outcome"] == "Succeeded", launched.log
    assert "chief-0 | " in launched.log
    assert "==== ps-0 on n" in run.artifact("launch-tfjob", "logs")
    replicas = json.loads(run.artifact("launch-tfjob", "status"))["replicas"]
    assert [(item["role"], item["state"]) for item in replicas[:2]] == [
        ("chief", "Succeeded"),
        ("ps", "Stopped"),
    ]
    assert len({item["node"] for item in replicas}) == 1, "chief, worker and parameter server fit one node"
    model = run.metadata("launch-tfjob", "model")
    assert model["tfjob_uid"] == (job_of(run) or {})["metadata"]["uid"]
    assert set(json.loads(model["placement"])) == {"chief-0", "ps-0", "worker-0"}
    (board,) = json.loads(run.artifact("launch-tfjob", "mlpipeline_ui_metadata"))["outputs"]
    (volume,) = board["pod_template_spec"]["spec"]["volumes"]
    assert volume["persistentVolumeClaim"]["claimName"] == "shared"
    assert board["source"] == f"volume://{volume['name']}/{gang_name('j', run.run_id)}/train/events"
    judged = run.run("evaluate")
    assert judged.succeeded, judged.log
    assert judged.outputs["Output"] > 0.2
    assert run.run("report").succeeded
    assert "Placement of" in run.artifact("report", "page")
    assert run.run("conclude").succeeded
    assert run.run("release").outputs["Output"] == "Succeeded"
    assert job_of(run), "a job that has ended is left to its time to live"
    run.delete()
    gone = lambda: not (job_of(run) or gang_of(run) or pods_of(run.cluster, run.namespace))  # noqa: E731
    run.cluster.wait_until("all of it is collected", gone, seconds=COLLECTED_S)


def test_a_run_that_is_deleted_takes_its_running_job_along(new_run: NewRun) -> None:
    run = new_run(tfjob_yaml=small("sleep 1000"))
    run.run("admit")
    launching = run.start("launch-tfjob")
    run.cluster.wait_until("it runs", lambda: (gang_of(run) or {}).get("status", {}).get("phase") == "Bound")
    run.delete()
    gone = lambda: not (job_of(run) or gang_of(run) or pods_of(run.cluster, run.namespace))  # noqa: E731
    run.cluster.wait_until(f"{launching} and its job are collected", gone, seconds=COLLECTED_S)


def test_a_launch_step_that_is_lost_is_followed_by_one_that_finds_the_job(new_run: NewRun) -> None:
    run = new_run(tfjob_yaml=small(f"echo begun; {UNTIL_TOLD} echo ended"))
    run.run("admit")
    first = run.start("launch-tfjob")
    run.wait_for(first, "worker-0 | begun")
    uid = (job_of(run) or {})["metadata"]["uid"]
    run.kill(first)
    second = run.start("launch-tfjob")
    run.wait_for(second, "worker-0 on ")
    go(run)
    launched = run.finish("launch-tfjob", second)
    assert launched.outputs["outcome"] == "Succeeded", launched.log
    assert (job_of(run) or {})["metadata"]["uid"] == uid, "there was one job"
    worker_0, worker_1 = run.artifact("launch-tfjob", "logs").split("====")[1:]
    assert worker_0.splitlines()[1:] == ["begun", "ended"], "all of its lines, once"
    assert worker_1.splitlines()[1:2] == ["begun"]


def test_a_step_that_is_told_to_end_deletes_nothing(new_run: NewRun) -> None:
    run = new_run(tfjob_yaml=small(f"echo begun; {UNTIL_TOLD} true"))
    run.run("admit")
    first = run.start("launch-tfjob")
    run.wait_for(first, "worker-0 | begun")
    run.end(first)
    assert not (job_of(run) or {})["metadata"].get("deletionTimestamp")
    assert (gang_of(run) or {})["status"]["phase"] == "Bound"
    go(run)
    assert run.run("launch-tfjob").outputs["outcome"] == "Succeeded"


def test_a_step_that_waits_and_is_told_to_end_keeps_its_place(new_run: NewRun) -> None:
    run = new_run(tfjob_yaml=small("true", workers=1, gpus=2), gang_required_level="")
    blocker = new_run(tfjob_yaml=small(f"{UNTIL_TOLD} true", workers=2, gpus=2))
    blocker.run("admit")
    waiting = run.start("admit")
    run.wait_for(waiting, "Pending at position 1")
    run.end(waiting)
    assert (gang_of(run) or {})["status"]["phase"] == "Pending"
    blocker.run("release")
    assert run.run("admit").outputs["outcome"] == "Admitted"
    run.run("release")


def test_release_ends_what_a_terminated_run_left(new_run: NewRun) -> None:
    run = new_run(tfjob_yaml=small("sleep 1000"))
    run.run("admit")
    launching = run.start("launch-tfjob")
    run.cluster.wait_until("it runs", lambda: (gang_of(run) or {}).get("status", {}).get("phase") == "Bound")
    run.kill(launching)
    assert run.run("release").outputs["Output"] == "Canceled"
    assert job_of(run) is None
    assert replicas_of(run) == {}
    status = (gang_of(run) or {})["status"]
    assert (status["phase"], status["outcome"]) == ("Finished", "Canceled")
    assert run.run("release").outputs["Output"] == "Canceled", "it may run any number of times"


def test_a_gang_that_is_not_admitted_in_time_ends_red_at_conclude(new_run: NewRun) -> None:
    run = new_run(tfjob_yaml=small("true", workers=3, gpus=2), gang_wait_seconds=2)
    count_limits(run)
    admitted = run.run("admit")
    assert admitted.outputs["outcome"] == "NotAdmitted"
    assert "6" in admitted.outputs["reason"]
    assert "nvidia.com/gpu" in run.artifact("admit", "explanation")
    assert run.run("launch-tfjob").outputs["outcome"] == "NotAdmitted"
    assert job_of(run) is None
    status = (gang_of(run) or {})["status"]
    assert (status["phase"], status["outcome"]) == ("Finished", "NotAdmitted")
    concluded = run.run("conclude")
    assert not concluded.succeeded
    assert admitted.outputs["reason"][:60] in concluded.log


def test_a_job_that_fails_unwatched_is_adopted_and_only_a_published_failure_is_tried_again(
    new_run: NewRun,
) -> None:
    run = new_run(tfjob_yaml=small(f"{UNTIL_TOLD} echo dying; exit 3"))
    run.run("prepare-data")
    run.run("admit")
    first = run.start("launch-tfjob")
    run.cluster.wait_until("it runs", lambda: (gang_of(run) or {}).get("status", {}).get("phase") == "Bound")
    run.kill(first)
    go(run)
    failed = lambda: "Failed" in str((job_of(run) or {}).get("status"))  # noqa: E731
    run.cluster.wait_until("it has failed", failed)
    uid = (job_of(run) or {})["metadata"]["uid"]
    adopted = run.run("launch-tfjob")
    assert (adopted.succeeded, adopted.outputs["outcome"]) == (True, "Failed")
    assert "it ended with exit code 3" in adopted.outputs["reason"]
    logs = run.artifact("launch-tfjob", "logs")
    assert "dying" in logs
    assert ": Bound: all replicas" in logs.split("==== events")[1]
    assert (job_of(run) or {})["metadata"]["uid"] == uid
    assert run.run("launch-tfjob").outputs == adopted.outputs, "nobody was told yet"
    assert run.run("evaluate").succeeded
    assert run.run("report").succeeded
    red = run.run("conclude")
    assert not red.succeeded
    assert "exit code 3" in reason_of(red)
    assert "clone the run" in red.log
    assert not run.run("conclude").succeeded, "Retry repeats only this step"
    again = run.run("launch-tfjob")
    assert again.outputs["outcome"] == "Failed"
    metadata = (job_of(run) or {})["metadata"]
    assert (metadata["uid"] != uid, metadata["labels"]["gangplan.dev/attempt"]) == (True, "2")


def test_a_replica_that_is_evicted_does_not_end_the_run(new_run: NewRun) -> None:
    """Whether the operator makes its pod anew or fails the job: the run goes on to its end, in one job at a time."""
    run = new_run(tfjob_yaml=small(f"echo begun; {UNTIL_TOLD} true"))
    run.run("admit")
    launching = run.start("launch-tfjob")
    run.wait_for(launching, "worker-0 | begun")
    name = f"{gang_name('j', run.run_id)}-worker-1"
    uid = pods_of(run.cluster, run.namespace)[name]["metadata"]["uid"]
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    path = f"/api/v1/namespaces/{run.namespace}/pods/{name}/eviction"
    run.cluster.admin.create(path, eviction | {"deleteOptions": {"gracePeriodSeconds": 1}})

    def runs_again() -> bool:
        pod = pods_of(run.cluster, run.namespace).get(name)
        return bool(pod) and pod["metadata"]["uid"] != uid and pod["status"]["phase"] == "Running"

    run.cluster.wait_until("another pod of the replica runs", runs_again)
    go(run)
    launched = run.finish("launch-tfjob", launching)
    assert launched.outputs["outcome"] == "Succeeded", launched.log
