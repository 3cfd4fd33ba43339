"""What cannot be submitted is refused at once, says what to do, and leaves the cluster as it was; on a modelled server."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from apimodel import limit_cases
from apimodel.server import ApiServer, Fault
from builders import tfjob
from cli.clusters import CRDS, Commands, new_server

from gangplan.cli import submit as command
from gangplan.errors import Busy, Forbidden, Refused, Unreachable
from gangplan.kube.cluster import KubeCluster
from gangplan.kube.kinds import GANG, LEASE, LIMIT_RANGE, NODE, POD, QUOTA, TFJOB

TEMPLATE = "$.spec.tfReplicaSpecs.Worker.template.spec"
_POD = {
    "type": "object",
    "properties": {
        "containers": {"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": True}},
        "schedulingGates": {"x-kubernetes-preserve-unknown-fields": True},
    },
}
_REPLICAS = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer"},
        "template": {
            "type": "object",
            "properties": {"spec": _POD, "metadata": {"x-kubernetes-preserve-unknown-fields": True}},
        },
    },
}
STRICT_TFJOB = {
    "metadata": {"name": "tfjobs.kubeflow.org"},
    "spec": {
        "group": "kubeflow.org",
        "names": {"kind": "TFJob", "plural": "tfjobs"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "tfReplicaSpecs": {"type": "object", "additionalProperties": _REPLICAS}
                                },
                            },
                            "status": {"x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}
"""As much of the CRD of training-operator as these tests need."""


@pytest.fixture
def cluster(monkeypatch, tmp_path) -> Commands:
    """Two nodes with four GPUs each."""
    monkeypatch.chdir(tmp_path)
    # What is asked for now is attended for some minutes from its creation.
    server = new_server("gangplan-system", clock=lambda: datetime.now(UTC))
    commands = Commands(server, monkeypatch)
    for node in ("n1", "n2"):
        commands.add_node(node)
    return commands


def everything(server: ApiServer) -> list[dict]:
    return [item for kind in (GANG, TFJOB, POD, NODE, QUOTA, LEASE) for item in server.list(kind).items]


def refused(cluster: Commands, job: dict | str, *words: str, code: int) -> str:
    """Submit a job that is refused, and see that nothing has changed; what is told, in one line."""
    Path("job.yaml").write_text(job if isinstance(job, str) else yaml.safe_dump(job))
    faults, cluster.server.faults = cluster.server.faults, None
    before = everything(cluster.server)
    cluster.server.faults = faults
    done = cluster("submit", "job.yaml", *words, code=code)
    cluster.server.faults = None
    assert everything(cluster.server) == before
    assert done.stdout == ""
    return " ".join(done.stderr.split())


def job(name: str = "mnist", **worker: object) -> dict:
    return tfjob(name, {"Worker": {"replicas": 2, **worker}})


def container(**fields: object) -> dict:
    """A template whose only container has these fields."""
    return {"template": {"spec": {"containers": [{"name": "tensorflow", "image": "i", **fields}]}}}


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        (job(replicas=0), "$.spec.tfReplicaSpecs.Worker.replicas: must be at least 1, not 0"),
        (job(replicas=10**9), "Worker.replicas: must be from 0 to 1000000, not 1000000000"),
        (job("m" * 60), "$.metadata.name: " + "m" * 60 + "-worker-1 would be longer than 63 characters"),
        (job(**container(name="main")), f"{TEMPLATE}.containers: must have one container named tensorflow"),
        ("a: [", "job.yaml: 1 problem"),
        (yaml.safe_dump_all([job(), job("other")]), "job.yaml: 1 problem $: holds 2 documents: give one"),
        ({"kind": "Job"}, "$: must be kubeflow.org/v1 TFJob, not Job without apiVersion"),
        ({"apiVersion": "v1"}, "$: must be kubeflow.org/v1 TFJob, not v1 without kind"),
        ({"a": 1}, "$: must be kubeflow.org/v1 TFJob, not a document without apiVersion and kind"),
        ({"apiVersion": "batch/v1", "kind": "Job"}, "$: must be kubeflow.org/v1 TFJob, not batch/v1 Job"),
    ],
    ids=[
        "no replicas",
        "too many",
        "long name",
        "no tensorflow",
        "no YAML",
        "two documents",
        "no version",
        "no kind",
        "neither",
        "no TFJob",
    ],
)
def test_a_file_that_is_wrong_is_told_with_its_places(cluster, manifest, told):
    assert told in refused(cluster, manifest, code=3)


@pytest.mark.parametrize(
    ("labels", "said", "told"),
    [
        (
            "r1",
            "Succeeded",
            "there is a finished TFJob mnist in default; delete it with: gangplan delete mnist",
        ),
        ("r1", "Failed", "there is a finished TFJob mnist in default; delete it with: gangplan delete mnist"),
        ("r1", "Running", "there is a TFJob mnist in default already (Running): wait for its end"),
        (
            "",
            "Running",
            "that no run of gangplan made: choose another name, or delete it with: kubectl delete",
        ),
    ],
)
def test_a_name_that_a_job_has_is_refused_before_anything_is_asked_for(cluster, labels, said, told):
    cluster.add_job("mnist", labels, said=said)
    assert told in refused(cluster, job(), code=1)


@pytest.mark.parametrize("by", ["a job", "a gang"])
def test_a_dry_run_of_a_name_that_is_taken_says_where_it_would_go_all_the_same(cluster, by):
    if by == "a job":
        cluster.add_job("mnist", "r1")
    else:
        cluster.add_gang("mnist", 9, runId="r1")
    Path("job.yaml").write_text(yaml.safe_dump(job()))
    told = " ".join(cluster("submit", "job.yaml", "--dry-run", code=1).stdout.split())
    assert "default/mnist may start: both replicas have a place, on n1" in told
    assert "Its name is taken: there is a " in told
    found = json.loads(cluster("submit", "job.yaml", "--dry-run", "-o", "json", code=1).stdout)
    assert found["placement"] == {"worker": ["n1", "n1"]}
    assert "gangplan delete mnist -n default" in found["taken"]


def test_a_dry_run_prints_either_the_verdict_or_the_manifest(cluster):
    """What it prints as YAML can be given to kubectl."""
    Path("job.yaml").write_text(yaml.safe_dump(job()))
    done = cluster("submit", "job.yaml", "--dry-run")
    assert "tfReplicaSpecs" not in done.stdout
    assert done.stdout.endswith("As it would be sent: add -o yaml\n")
    done = cluster("submit", "job.yaml", "--dry-run", "-o", "yaml")
    assert yaml.safe_load(done.stdout)["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] == 2
    assert "default/mnist may start" in done.stderr


def test_a_namespace_that_is_not_there_is_told(cluster):
    told = refused(cluster, job(), "-n", "nowhere", code=1)
    assert "there is no namespace nowhere: create it, or name another with --namespace" in told


@pytest.mark.parametrize("run", ["a b", "a/b", "-", "x" * 64])
def test_what_can_be_no_id_of_a_run_is_told_by_its_flag(cluster, run):
    told = refused(cluster, job(), "--run-id", run, code=3)
    assert "--run-id: must be at most 63 letters, digits, '-', '_' and '.'" in told


def test_a_namespace_that_the_file_contradicts_is_not_overruled(cluster):
    elsewhere = job()
    elsewhere["metadata"]["namespace"] = "gangplan-system"
    told = refused(cluster, elsewhere, "-n", "default", code=3)
    assert "$.metadata.namespace: is gangplan-system, and --namespace default: give one of both" in told
    assert cluster("submit", "job.yaml", "-n", "gangplan-system", "--dry-run").exit_code == 0


def test_a_name_that_a_waiting_gang_has_is_refused(cluster):
    cluster.add_gang("mnist", 1, runId="r1")
    told = refused(cluster, job(), code=1)
    assert (
        "there is a gang default/mnist already (Pending: it was not looked at yet): wait for its end" in told
    )
    assert "gangplan delete mnist -n default" in told


def test_the_record_of_a_finished_gang_makes_way(cluster):
    """Both can never fit, so that each submission ends with its record finished."""
    big = {**container(), "replicas": 3}
    big["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "7"}}
    Path("job.yaml").write_text(yaml.safe_dump(job(**big)))
    runs = set()
    for _ in range(2):
        assert (
            "cannot fit this cluster even when nothing runs"
            in cluster("submit", "job.yaml", "--queue-wait", "0", code=1).stdout
        )
        (gang,) = cluster.server.list(GANG).items
        assert gang["status"]["phase"] == "Finished"
        runs.add(gang["spec"]["runId"])
        assert gang["status"]["outcome"] == "NotAdmitted", "nobody canceled it"
        for words in (("list", "-A"), ("get", "mnist", "-n", "default")):
            told = cluster(*words).stdout
            assert "NotAdmitted" in told
            assert "Canceled" not in told
    assert len(runs) == 2
    assert cluster.server.list(TFJOB).items == ()


def test_what_can_never_fit_is_told_with_a_change_that_would_let_it_fit(cluster):
    """All GPUs are held, and each worker wants more than a node has."""
    cluster.add_gang("holds", 8)
    cluster.reserve("holds", *["n1"] * 4, *["n2"] * 4)
    wants = container(resources={"limits": {"nvidia.com/gpu": "5"}})
    Path("job.yaml").write_text(yaml.safe_dump(job(**wants)))
    ways = {
        ("--queue-wait", "0"): "it could start with:",
        ("--dry-run",): "instead of 5, once nothing else runs",
    }
    for words, verb in ways.items():
        told = " ".join(cluster("submit", "job.yaml", *words, code=1).stdout.split())
        assert "10 " in told
        assert "8 in all, 0 free" in told
        assert verb in told
        assert "request 4 nvidia.com/gpu for each worker instead of 5" in told


def test_a_gang_that_is_not_admitted_is_told_as_a_document_too(cluster):
    """The same that tells how a job has ended, with what the solver says of it."""
    told = {}
    for name, cpu in (("never", "100"), ("later", "7")):
        Path("job.yaml").write_text(
            yaml.safe_dump(job(name, **container(resources={"requests": {"cpu": cpu}})))
        )
        if name == "later":
            cluster.add_gang("holds", 8)
            cluster.reserve("holds", *["n1"] * 4, *["n2"] * 4)
            patch = {"spec": {"roles": [{"name": "worker", "replicas": 8, "requests": {"cpu": "1"}}]}}
            cluster.server.patch(GANG, "holds", patch, namespace="default")
        done = cluster("submit", "job.yaml", "--queue-wait", "0", "--run-id", name, "-o", "json", code=1)
        told[name] = json.loads(done.stdout)
    for name, answer in told.items():
        rejection, reason = answer.pop("rejection"), answer.pop("reason")
        assert rejection["message"] in reason
        assert rejection["impossible"] == (name == "never")
        wanted = {"placement": None, "outcome": "NotAdmitted", "last_lines": []}
        assert answer == {"name": f"default/{name}", "run_id": name, **wanted}


@pytest.mark.parametrize("ends", [True, False])
def test_a_gang_whose_job_is_gone_is_waited_for_while_others_decide(cluster, monkeypatch, ends):
    """Who leads ends it in a moment; where it does not end, that is told."""
    cluster.add_gang("mnist", 1, runId="r1")
    cluster.set_status("mnist", phase="Bound", reservation={"placement": {"worker": ["n1"]}})
    Path("job.yaml").write_text(yaml.safe_dump(job()))
    sleeps = []

    def sleep(seconds: float) -> None:
        sleeps.append(seconds)
        if ends and len(sleeps) == 3:
            cluster.set_status("mnist", phase="Finished", outcome="Canceled", reason="its TFJob is gone")

    monkeypatch.setattr(command.time, "sleep", sleep)
    other = KubeCluster(cluster.server, clock=time.time, monotonic=time.monotonic).store()
    with other.leadership() as leads:
        assert leads
        done = cluster("submit", "job.yaml", "--queue-wait", "0", code=1)
    (gang,) = cluster.server.list(GANG).items
    assert (gang["spec"]["runId"] != "r1") == ends
    assert ("gang default/mnist already (Bound)" in " ".join(done.stderr.split())) == (not ends)


def test_a_gang_whose_job_is_gone_makes_way(cluster):
    """Nobody looked when its TFJob was deleted, so that it still holds room."""
    cluster.add_gang("mnist", 1, runId="r1")
    cluster.set_status("mnist", phase="Bound", reservation={"placement": {"worker": ["n1"]}})
    Path("job.yaml").write_text(yaml.safe_dump(job(requests={"cpu": "100"})))
    assert (
        "cannot fit this cluster even when nothing runs"
        in cluster("submit", "job.yaml", "--queue-wait", "0", code=1).stdout
    )
    (gang,) = cluster.server.list(GANG).items
    assert gang["spec"]["runId"] != "r1"


def test_what_a_quota_can_never_allow_is_refused_at_once(cluster):
    quota = {
        "metadata": {"name": "small", "namespace": "default"},
        "spec": {"hard": {"requests.cpu": "150m"}},
    }
    cluster.server.create(QUOTA, quota)
    Path("job.yaml").write_text(yaml.safe_dump(job()))
    told = " ".join(cluster("submit", "job.yaml", "--queue-wait", "0", code=1).stdout.split())
    never = "is more than the quota of its namespace lets in"
    assert f"default/mnist: not admitted: it {never} even when nothing runs: needs 200m cpu" in told
    way = "sk for less, or raise the quota small (requests.cpu 150m): kubectl edit quota small -n default"
    assert f"a{way}" in told
    told = " ".join(cluster("submit", "job.yaml", "--dry-run", code=1).stdout.split())
    assert f"default/mnist {never}, even when nothing else runs" in told
    assert f"A{way}" in told
    assert cluster.server.list(TFJOB).items == ()


def test_a_job_that_does_not_say_what_a_quota_counts_is_refused_before_it_waits(cluster):
    """Its pods would be, one by one, while it holds its room."""
    hard = {"hard": {"limits.cpu": "9", "limits.memory": "9Gi", "requests.cpu": "9"}}
    cluster.server.create(QUOTA, {"metadata": {"name": "team", "namespace": "default"}, "spec": hard})
    words = ("submit", "--name", "j", "--image", "i", "--workers", "1", "--worker-gpus", "1", "--dry-run")
    told = " ".join(cluster(*words, code=3).stderr.split())
    for resource in ("cpu", "memory"):
        path = f"{TEMPLATE}.containers[0].resources.limits.{resource}"
        assert f"{path}: must be given: the quota team counts it" in told
    assert "requests.cpu" not in told
    defaults = {"type": "Container", "default": {"cpu": "2", "memory": "2Gi"}}
    about = {"metadata": {"name": "defaults", "namespace": "default"}}
    cluster.server.create(LIMIT_RANGE, {**about, "spec": {"limits": [defaults]}})
    assert "may start" in cluster(*words).stdout
    cluster.server.faults = lambda about: Fault(error=Forbidden) if about.kind == "LimitRange" else None
    assert "may start" in cluster(*words).stdout, "who may not know finds out when pods are made"


def add_limits(cluster: Commands, **item: object) -> None:
    """A LimitRange of the default namespace."""
    item = {"type": "Container", **item}
    metadata = {"name": "small", "namespace": "default"}
    cluster.server.create(LIMIT_RANGE, {"metadata": metadata, "spec": {"limits": [item]}})


def test_a_default_of_ours_that_a_limit_range_does_not_allow_is_told_before_it_waits(cluster):
    """Nobody has typed the 512Mi that the server would refuse once the gang is admitted."""
    add_limits(cluster, default={"memory": "128Mi"}, max={"memory": "256Mi"}, min={"cpu": "20m"})
    words = ("submit", "--name", "j", "--image", "i", "--workers", "1", "--worker-cpu", "10m")
    for dry_run in ((), ("--dry-run",)):
        told = " ".join(cluster(*words, *dry_run, code=3).stderr.split())
        memory = (
            "--worker-memory: must be at most 128Mi, not 512Mi: the LimitRange small has for each container"
        )
        assert f"{memory} max 256Mi, default 128Mi, defaultRequest 128Mi" in told
        assert "--worker-cpu: must be at least 20m, not 10m: the LimitRange small" in told
        assert cluster.server.list(GANG).items == ()
    fits = ("--worker-memory", "128Mi", "--worker-cpu", "20m", "--dry-run")
    assert "may start" in cluster(*words, *fits).stdout
    cluster.server.faults = lambda about: Fault(error=Forbidden) if about.kind == "LimitRange" else None
    assert "may start" in cluster(*words, "--dry-run").stdout, "who may not know finds out when pods are made"


@pytest.mark.parametrize("limits", limit_cases.LIMITS, ids=str)
@pytest.mark.parametrize("of", limit_cases.OF)
def test_what_a_limit_range_is_said_to_forbid_is_what_the_server_refuses(cluster, limits, of):
    """With a second container, whose share counts where the limits are those of whole pods."""
    add_limits(cluster, **limit_cases.item(of, limits))
    said, judged = [], []
    for pod in limit_cases.pods("default"):
        manifest = job(replicas=1, template={"spec": pod["spec"]})
        Path("job.yaml").write_text(yaml.safe_dump(manifest))
        said.append(cluster.run("submit", "job.yaml", "--dry-run").exit_code == 3)
        judged.append(limit_cases.is_refused(cluster.server, pod))
    assert said == judged


@pytest.fixture
def strict(cluster, monkeypatch) -> Commands:
    """A server that knows the fields of TFJobs."""
    server = ApiServer(
        crds=[STRICT_TFJOB, *(yaml.safe_load(file.read_text()) for file in CRDS.glob("*.yaml"))],
        namespaces=("default", "gangplan-system"),
    )
    commands = Commands(server, monkeypatch)
    commands.add_node("n1")
    return commands


def test_fields_that_the_server_does_not_know_are_told_before_it_waits(strict):
    wrong = job()
    wrong["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"] |= {"nodeSelektor": {"a": "b"}}
    wrong["spec"]["runPolitics"] = {}
    told = refused(strict, wrong, code=3)
    assert "TFJob mnist, as the server judges it: 2 problems" in told
    assert "$.spec.runPolitics: is not known to the server" in told
    assert f"{TEMPLATE}.nodeSelektor: is not known to the server" in told


def test_a_policy_at_the_wrong_place_is_told_before_it_waits(strict):
    """A server without strict fields drops it, and the pods stay (trainer#1241)."""
    wrong = job()
    wrong["spec"]["cleanPodPolicy"] = "All"
    assert "$.spec.cleanPodPolicy: is not known to the server" in refused(strict, wrong, code=3)


def on_create(kind: str, error: type[Exception]) -> Callable:
    return lambda about: Fault(error=error) if (about.verb, about.kind) == ("create", kind) else None


def test_what_a_webhook_refuses_is_told_before_it_waits(cluster):
    cluster.server.faults = on_create("TFJob", Refused)
    assert "as the server judges it: 1 problem $: create TFJob mnist" in refused(cluster, job(), code=3)


def test_who_may_not_create_jobs_may_still_try(cluster):
    cluster.server.faults = on_create("TFJob", Forbidden)
    assert "create TFJob mnist" in refused(cluster, job(), code=4)
    cluster.server.faults = on_create("TFJob", Forbidden)
    done = cluster("submit", "job.yaml", "--dry-run")
    assert "whether the server would take the TFJob is not known" in done.stderr
    assert "default/mnist may start" in done.stdout


@pytest.mark.parametrize("error", [Unreachable, Busy])
def test_a_server_that_does_not_answer_at_the_beginning_is_told(cluster, monkeypatch, error):
    monkeypatch.setattr(command, "FIRST_CONTACT_S", 0.0)
    cluster.server.faults = lambda _: Fault(error=error)
    assert "create TFJob mnist" in refused(cluster, job(), code=4)


def test_a_cluster_without_the_operator_is_told(monkeypatch, cluster):
    bare = ApiServer(crds=[yaml.safe_load(file.read_text()) for file in CRDS.glob("*.yaml")])
    Path("job.yaml").write_text(yaml.safe_dump(job()))
    done = Commands(bare, monkeypatch)("submit", "job.yaml", code=4)
    assert "create TFJob mnist" in done.stderr
    assert bare.list(GANG).items == ()


@pytest.mark.parametrize("version", [None, "v1beta1"])
def test_a_cluster_without_our_version_of_gangs_is_told(monkeypatch, cluster, version):
    """Whether the CRD is missing or serves another version only."""
    crds = [yaml.safe_load(file.read_text()) for file in CRDS.glob("*.yaml")]
    kept = [crd for crd in crds if crd["spec"]["names"]["kind"] != "Gang"]
    (gangs,) = (crd for crd in crds if crd["spec"]["names"]["kind"] == "Gang")
    if version is not None:
        gangs["spec"]["versions"][0]["name"] = version
        kept.append(gangs)
    commands = Commands(ApiServer(crds=kept, kinds=[TFJOB]), monkeypatch)
    Path("job.yaml").write_text(yaml.safe_dump(job()))
    assert "Gang" in commands("submit", "job.yaml", code=4).stderr
    assert commands.server.list(TFJOB).items == ()
    for words in (("list", "-A"), ("get", "x", "-n", "default"), ("explain", "-A")):
        assert "Gang" in commands(*words, code=4).stderr
