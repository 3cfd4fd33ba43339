"""The doctor finds each thing that a job would fail for, says why and what mends it, and is content when it is mended."""

import contextlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml
from apimodel.server import ApiServer, Fault

from gangplan import moments
from gangplan.errors import Forbidden, InvalidInput, Refused, Unreachable
from gangplan.kube import kinds
from gangplan.kube.cluster import SYSTEM
from gangplan.kube.doctor.checks import MATTERS, checks, examine
from gangplan.kube.doctor.exam import Exam
from gangplan.kube.doctor.finding import Finding
from gangplan.kube.doctor.installed import OPERATOR
from gangplan.kube.doctor.nodes import GPU_PLUGIN
from gangplan.kube.doctor.rights import GRANTS
from gangplan.kube.kinds import Kind

DEPLOY = Path(__file__).parents[2] / "deploy"
PREFIX = "training.kubeflow.org"
VERSION = "0.1.0"
OTHERS = (kinds.VOLCANO_QUEUE, kinds.VOLCANO_GROUP)
ALL = {kind.name: kind for kind in vars(kinds).values() if isinstance(kind, Kind)}


@dataclass
class Operator:
    """What training-operator does whenever somebody sleeps, and what others do to its pods."""

    looks: bool = True
    makes_pods: bool = True
    gang_flag: bool = False
    keeps_gates: bool = True
    sidecar: bool = False
    refusal: str = ""

    def work(self, server: ApiServer) -> None:
        for job in server.list(kinds.TFJOB).items:
            if not self.looks or job["metadata"].get("deletionTimestamp"):
                continue
            name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
            conditions = [{"type": "Created", "status": "True"}]
            server.patch(
                kinds.TFJOB,
                name,
                {"status": {"conditions": conditions}},
                namespace=namespace,
                subresource="status",
            )
            owner = {
                "apiVersion": "kubeflow.org/v1",
                "kind": "TFJob",
                "name": name,
                "uid": job["metadata"]["uid"],
            }
            owned = {"namespace": namespace, "ownerReferences": [{**owner, "blockOwnerDeletion": True}]}
            if self.gang_flag and not server.list(kinds.VOLCANO_GROUP).items:
                server.create(
                    kinds.VOLCANO_GROUP,
                    {**typed(kinds.VOLCANO_GROUP), "metadata": {"name": name, **owned}},
                )
            if self.refusal:
                refuse(server, job, self.refusal)
            elif self.makes_pods and not server.list(kinds.POD, labels=f"{PREFIX}/job-name={name}").items:
                template = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]
                spec = dict(template["spec"])
                if not self.keeps_gates:
                    del spec["schedulingGates"]
                if self.sidecar:
                    spec["containers"] = [*spec["containers"], {"name": "istio-proxy", "image": "i"}]
                labels = {**template["metadata"]["labels"], f"{PREFIX}/job-name": name}
                metadata = {"name": f"{name}-worker-0", "labels": labels, **owned}
                try:
                    server.create(kinds.POD, {"metadata": metadata, "spec": spec})
                except Refused as error:
                    refuse(server, job, str(error))


def refuse(server: ApiServer, job: dict, message: str) -> None:
    """What the operator notes when the server refuses a pod."""
    metadata = {"generateName": "e-", "namespace": job["metadata"]["namespace"]}
    about = {"uid": job["metadata"]["uid"]}
    event = {"reason": "FailedCreatePod", "message": message, "involvedObject": about}
    server.create(kinds.EVENT, {"metadata": metadata, **event})


def typed(kind: Kind) -> dict:
    return {"apiVersion": kind.api_version, "kind": kind.name}


class Cluster:
    """A modelled cluster on which a job would run, and who examines it."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0
        self.server_ahead = 0.0
        self.operator = Operator()
        self.version = VERSION
        self.scheduler_runs = True
        crds = [yaml.safe_load(file.read_text()) for file in sorted((DEPLOY / "crds").glob("*.yaml"))]
        self.server = ApiServer(
            crds=crds,
            kinds=[kinds.TFJOB, *OTHERS],
            namespaces=("default", "kube-system", "volcano-system", "kubeflow", SYSTEM),
            clock=lambda: datetime.fromtimestamp(self.now + self.server_ahead, UTC),
        )
        self.exam = Exam(api=self.server, namespace="default", clock=lambda: self.now, sleep=self.sleep)
        self.add_node("n1", {"cpu": "8", "nvidia.com/gpu": "4"})
        self.add_service("kube-dns", "kube-system")
        self.add_lease("kube-scheduler", "kube-system")
        self.add_claim("shared", "ReadWriteMany")

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        faults, self.server.faults = self.server.faults, None
        self.operator.work(self.server)
        if self.scheduler_runs:
            renew(self)
        self.server.settle()
        self.server.faults = faults

    def findings(self, **more: object) -> list[Finding]:
        return list(examine(replace(self.exam, **more), self.version))

    def add(self, kind: Kind, name: str, *, namespace: str = "", **body: object) -> None:
        where = {"namespace": namespace} if namespace else {}
        self.server.create(kind, {**typed(kind), "metadata": {"name": name, **where}, **body})

    def status(self, kind: Kind, name: str, status: dict, *, namespace: str = "") -> None:
        self.server.patch(kind, name, {"status": status}, namespace=namespace, subresource="status")

    def change(self, kind: Kind, name: str, *, namespace: str = "", **body: object) -> None:
        self.server.patch(kind, name, body, namespace=namespace)

    def remove(self, kind: Kind, name: str, *, namespace: str = "") -> None:
        self.server.delete(kind, name, namespace=namespace)
        self.server.settle()

    def add_node(self, name: str, allocatable: dict[str, str]) -> None:
        conditions = [{"type": "Ready", "status": "True"}]
        self.add(kinds.NODE, name, spec={})
        self.status(kinds.NODE, name, {"allocatable": allocatable, "conditions": conditions})

    def add_service(self, name: str, namespace: str, *, addresses: int = 1) -> None:
        self.add(kinds.SERVICE, name, namespace=namespace, spec={"ports": [{"port": 53}]})
        self.server.create(
            kinds.ENDPOINTS,
            {
                "metadata": {
                    "name": f"{name}-1",
                    "namespace": namespace,
                    "labels": {"kubernetes.io/service-name": name},
                },
                "endpoints": [{"addresses": ["10.0.0.1"]}] * addresses,
            },
        )

    def add_lease(self, name: str, namespace: str) -> None:
        spec = {"holderIdentity": "host_1", "leaseDurationSeconds": 15, "renewTime": moments.text(self.now)}
        self.add(kinds.LEASE, name, namespace=namespace, spec=spec)

    def add_claim(self, name: str, mode: str, phase: str = "Bound") -> None:
        self.add(kinds.CLAIM, name, namespace="default", spec={"accessModes": [mode]})
        self.status(kinds.CLAIM, name, {"phase": phase}, namespace="default")

    def deny(self, **asked: str) -> None:
        """Let everybody lack a right."""

        def allows(spec: dict) -> bool:
            return not asked.items() <= {**spec, **spec["resourceAttributes"]}.items()

        self.server.allows = allows

    def allow(self) -> None:
        self.server.allows = lambda _: True


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def bad(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.level in {"warning", "fault"}]


def test_nothing_is_wrong_with_a_sound_cluster_and_nothing_is_left_of_the_examination(cluster):
    cluster.exam = replace(cluster.exam, claim="shared")
    found = cluster.findings()
    assert bad(found) == []
    assert {finding.check for finding in found} >= {
        "server", "crds", "tfjobs", "rights", "nodes", "gpus", "levels", "dns", "schedulers", "queues", "quota", "volumes",
        "clock", "operator", "enforcement", "istio",
    }  # fmt: skip
    assert cluster.server.list(kinds.TFJOB).items == ()
    assert cluster.server.list(kinds.POD).items == ()


def wrong(
    check: str,
    level: str,
    says: str,
    break_: Callable[[Cluster], object],
    mend: Callable[[Cluster], object],
    **exam: object,
) -> object:
    """A thing that is wrong, and how it is mended."""
    return pytest.param(check, level, says, break_, mend, exam, id=f"{check}: {says}")


def crd(name: str) -> dict:
    return yaml.safe_load((DEPLOY / "crds" / f"{name}.yaml").read_text())


def volcano_queue(state: str) -> Callable[[Cluster], object]:
    def make(cluster: Cluster) -> None:
        if not cluster.server.list(kinds.VOLCANO_QUEUE).items:
            cluster.add(kinds.VOLCANO_QUEUE, "research", spec={})
        cluster.status(kinds.VOLCANO_QUEUE, "research", {"state": state})

    return make


def profile(cluster: Cluster) -> None:
    labels = {"app.kubernetes.io/part-of": "kubeflow-profile"}
    cluster.change(kinds.NAMESPACE, "default", metadata={"labels": labels})


def editor(cluster: Cluster) -> None:
    cluster.add(kinds.ACCOUNT, "default-editor", namespace="default")


def editor_that_may_not(cluster: Cluster) -> None:
    profile(cluster)
    editor(cluster)
    cluster.deny(user="system:serviceaccount:default:default-editor", verb="create", resource="tfjobs")


def runner_that_may_not(cluster: Cluster) -> None:
    cluster.add(kinds.ACCOUNT, "pipeline-runner", namespace="default")
    cluster.deny(user="system:serviceaccount:default:pipeline-runner", verb="create", resource="tfjobs")


def quota(cluster: Cluster, hard: str = "4", used: str = "4") -> None:
    if not cluster.server.list(kinds.QUOTA).items:
        cluster.add(
            kinds.QUOTA, "gpus", namespace="default", spec={"hard": {"requests.nvidia.com/gpu": hard}}
        )
    hard_, used_ = ({"requests.nvidia.com/gpu": amount} for amount in (hard, used))
    cluster.status(kinds.QUOTA, "gpus", {"hard": hard_, "used": used_}, namespace="default")


def no_pods(cluster: Cluster, hard: str = "0") -> None:
    if not cluster.server.list(kinds.QUOTA).items:
        cluster.add(kinds.QUOTA, "none", namespace="default", spec={})
    cluster.change(kinds.QUOTA, "none", namespace="default", spec={"hard": {"pods": hard}})
    status = {"hard": {"pods": hard}, "used": {"pods": "0"}}
    cluster.status(kinds.QUOTA, "none", status, namespace="default")


def set_(of: str, name: str, value: object) -> Callable[[Cluster], object]:
    return lambda cluster: setattr(getattr(cluster, of) if of else cluster, name, value)


def scheduler_hangs(cluster: Cluster) -> None:
    cluster.scheduler_runs = False
    cluster.now += 100.0


def scheduler_runs(cluster: Cluster) -> None:
    cluster.scheduler_runs = True
    renew(cluster)


def renew(cluster: Cluster) -> None:
    spec = {"renewTime": moments.text(cluster.now)}
    cluster.change(kinds.LEASE, "kube-scheduler", namespace="kube-system", spec=spec)


def taken_from(kind: Kind, name: str, namespace: str = "") -> Callable[[Cluster], object]:
    return lambda cluster: cluster.remove(kind, name, namespace=namespace)


DNS = "kube-system"
WRONG = [
    wrong("server", "fault", "the API server is v1.29.3", set_("server", "version", "v1.29.3"),
          set_("server", "version", "v1.30.0")),
    wrong("crds", "warning", "is installed as of 0.1.0, and this is gangplan 0.2.0", set_("", "version", "0.2.0"),
          set_("", "version", VERSION)),
    wrong("namespace", "fault", "there is no namespace nowhere", lambda _: None,
          lambda c: c.add(kinds.NAMESPACE, "nowhere"), namespace="nowhere"),
    wrong("nodes", "fault", "none of 1 nodes is ready and open",
          lambda c: c.change(kinds.NODE, "n1", spec={"unschedulable": True}),
          lambda c: c.change(kinds.NODE, "n1", spec={"unschedulable": None})),
    wrong("nodes", "fault", "none of 1 nodes is ready and open",
          lambda c: c.status(kinds.NODE, "n1", {"conditions": [{"type": "Ready", "status": "Unknown"}]}),
          lambda c: c.status(kinds.NODE, "n1", {"conditions": [{"type": "Ready", "status": "True"}]})),
    wrong("gpus", "warning", "no node offers a GPU",
          lambda c: c.status(kinds.NODE, "n1", {"allocatable": {"cpu": "8", "nvidia.com/gpu": "0"}}),
          lambda c: c.status(kinds.NODE, "n1", {"allocatable": {"nvidia.com/gpu": "4"}})),
    wrong("levels", "warning", "1 of 1 nodes have no rack (n1)",
          lambda c: c.add(kinds.GANG_TOPOLOGY, "default", spec={"levels": ["rack"]}),
          lambda c: c.change(kinds.NODE, "n1", metadata={"labels": {"rack": "r0"}})),
    wrong("levels", "warning", "there are several GangTopology objects (a, b)",
          lambda c: [c.add(kinds.GANG_TOPOLOGY, name, spec={"levels": ["kubernetes.io/os"]}) for name in "ab"],
          lambda c: [c.server.delete(kinds.GANG_TOPOLOGY, "b"),
                     c.change(kinds.NODE, "n1", metadata={"labels": {"kubernetes.io/os": "linux"}})]),
    wrong("dns", "fault", "there is no Service kube-dns", taken_from(kinds.SERVICE, "kube-dns", DNS),
          lambda c: c.add(kinds.SERVICE, "kube-dns", namespace=DNS, spec={"ports": [{"port": 53}]})),
    wrong("dns", "fault", "has no endpoint that is ready",
          lambda c: c.change(kinds.ENDPOINTS, "kube-dns-1", namespace=DNS,
                             endpoints=[{"addresses": ["10.0.0.1"], "conditions": {"ready": False}}]),
          lambda c: c.change(kinds.ENDPOINTS, "kube-dns-1", namespace=DNS,
                             endpoints=[{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}])),
    wrong("schedulers", "fault", "kube-scheduler has not been heard of for 100 s", scheduler_hangs, scheduler_runs),
    wrong("queues", "warning", "the queue research is closed",
          lambda c: c.add(kinds.GANG_QUEUE, "research", spec={"open": False}),
          lambda c: c.change(kinds.GANG_QUEUE, "research", spec={"open": True})),
    wrong("queues", "fault", "the queue research is closed",
          lambda c: c.add(kinds.GANG_QUEUE, "research", spec={"open": False}),
          lambda c: c.change(kinds.GANG_QUEUE, "research", spec={"open": True}), queue="research"),
    wrong("queues", "fault", "there is no queue research; known: other",
          lambda c: c.add(kinds.GANG_QUEUE, "other", spec={}),
          lambda c: c.add(kinds.GANG_QUEUE, "research", spec={}), queue="research"),
    wrong("queues", "warning", "Volcano's queue research is Closed", volcano_queue("Closed"), volcano_queue("Open")),
    wrong("quota", "warning", "requests.nvidia.com/gpu 4 of 4", quota, lambda c: quota(c, used="3")),
    wrong("quota", "fault", "pods 0 of 0", no_pods, lambda c: no_pods(c, "9")),
    wrong("volumes", "fault", "there is no claim mine in default; known: shared", lambda _: None,
          lambda c: c.add_claim("mine", "ReadWriteMany"), claim="mine"),
    wrong("volumes", "fault", "the claim mine is not bound", lambda c: c.add_claim("mine", "ReadWriteMany", "Pending"),
          lambda c: c.status(kinds.CLAIM, "mine", {"phase": "Bound"}, namespace="default"), claim="mine"),
    wrong("volumes", "warning", "the claim mine is not bound", lambda c: c.add_claim("mine", "ReadWriteMany", "Pending"),
          lambda c: c.status(kinds.CLAIM, "mine", {"phase": "Bound"}, namespace="default")),
    wrong("volumes", "fault", "the claim mine is ReadWriteOnce", lambda c: c.add_claim("mine", "ReadWriteOnce"),
          lambda c: (taken_from(kinds.CLAIM, "mine", "default")(c), c.add_claim("mine", "ReadWriteMany")),
          claim="mine"),
    wrong("profile", "fault", "is a Kubeflow profile without the account default-editor", profile, editor),
    wrong("profile", "fault", "default/default-editor may not create tfjobs", editor_that_may_not, Cluster.allow),
    wrong("steps", "warning", "default/pipeline-runner may not create tfjobs", runner_that_may_not, Cluster.allow),
    wrong("rights", "fault", "admin may not in default: create tfjobs (kubeflow.org)",
          lambda c: c.deny(verb="create", resource="tfjobs", namespace="default"), Cluster.allow),
    wrong("rights", "fault", "admin may not in all namespaces: patch gangs/status (gangplan.dev)",
          lambda c: c.deny(verb="patch", resource="gangs", subresource="status"), Cluster.allow),
    wrong("rights", "fault", "admin may not in gangplan-system: update leases (coordination.k8s.io)",
          lambda c: c.deny(verb="update", resource="leases", name="gangplan-admission"), Cluster.allow),
    wrong("rights", "warning", "admin may not in all namespaces: list hypernodes (topology.volcano.sh)",
          lambda c: c.deny(verb="list", resource="hypernodes"), Cluster.allow),
    wrong("clock", "warning", "the server's clock is 90 s ahead of this one", set_("", "server_ahead", 90.0),
          set_("", "server_ahead", 0.0)),
    wrong("clock", "warning", "the server's clock is 89 s behind this one", set_("", "server_ahead", -90.0),
          set_("", "server_ahead", 0.0)),
    wrong("operator", "fault", "nothing has looked at a TFJob", set_("operator", "looks", False),
          set_("operator", "looks", True)),
    wrong("operator", "fault", "made no pod of it", set_("operator", "makes_pods", False),
          set_("operator", "makes_pods", True)),
    wrong("operator", "fault", "the server refuses the pods of a TFJob: exceeded quota",
          set_("operator", "refusal", "exceeded quota: pods"), set_("operator", "refusal", "")),
    wrong("enforcement", "fault", "training-operator runs with --gang-scheduler-name=volcano",
          lambda c: setattr(c, "operator", Operator(gang_flag=True, makes_pods=False)),
          lambda c: setattr(c, "operator", Operator())),
    wrong("enforcement", "fault", "training-operator runs without --gang-scheduler-name=volcano",
          lambda _: None, lambda c: setattr(c, "operator", Operator(gang_flag=True)), enforcement="volcano"),
    wrong("enforcement", "fault", "lose the scheduling gate", set_("operator", "keeps_gates", False),
          set_("operator", "keeps_gates", True)),
    wrong("istio", "fault", "puts a container into pods of jobs: istio-proxy", set_("operator", "sidecar", True),
          set_("operator", "sidecar", False)),
    wrong("pipelines", "warning", "the Service kubeflow/ml-pipeline has no endpoint",
          lambda c: c.add_service("ml-pipeline", "kubeflow", addresses=0),
          lambda c: c.change(kinds.ENDPOINTS, "ml-pipeline-1", namespace="kubeflow",
                             endpoints=[{"addresses": ["10.0.0.2"]}])),
]  # fmt: skip


@pytest.mark.parametrize(("check", "level", "says", "break_", "mend", "exam"), WRONG)
def test_what_is_wrong_is_found_alone_and_not_found_any_more_when_it_is_mended(
    cluster, check, level, says, break_, mend, exam
):
    break_(cluster)
    found = [finding for finding in bad(cluster.findings(**exam)) if says in finding.what]
    assert found, cluster.findings(**exam)
    assert {(finding.check, finding.level) for finding in found} == {(check, level)}
    assert all(finding.why and finding.cure for finding in found)
    mend(cluster)
    assert bad(cluster.findings(**exam)) == []
    assert cluster.server.list(kinds.TFJOB).items == ()


@pytest.mark.parametrize("name", ["gangs", "gangqueues", "gangtopologies"])
def test_a_kind_of_ours_that_is_not_installed_is_found(name):
    crds = [crd(other) for other in ("gangs", "gangqueues", "gangtopologies") if other != name]
    cluster = Cluster()
    cluster.exam = replace(cluster.exam, api=ApiServer(crds=crds, kinds=[kinds.TFJOB]), probe=False)
    (found,) = [finding for finding in bad(cluster.findings()) if finding.check == "crds"]
    assert (found.level, found.cure) == (
        "fault" if name == "gangs" else "warning",
        "kubectl apply -k deploy/    # from a checkout of gangplan 0.1.0",
    )
    assert crd(name)["spec"]["names"]["kind"] in found.what


def test_a_cluster_without_an_operator_has_no_tfjobs():
    cluster = Cluster()
    cluster.exam = replace(cluster.exam, api=ApiServer())
    found = [finding for finding in bad(cluster.findings()) if finding.check == "tfjobs"]
    assert [finding.level for finding in found] == ["fault"]


def test_what_may_not_be_seen_is_a_note_and_the_others_are_looked_at(cluster):
    cluster.server.faults = lambda about: Fault(error=Forbidden) if about.kind == "Node" else None
    found = cluster.findings()
    assert bad(found) == []
    (told,) = [finding for finding in found if finding.check == "nodes"]
    assert told.level == "note"
    assert "cannot be seen by you" in told.what
    bind = "kubectl create clusterrolebinding gangplan-admit-admin --clusterrole=gangplan-admit --user=admin"
    assert told.cure == f"{bind}    # as an administrator"
    assert any(finding.check == "operator" for finding in found)


def test_of_a_namespace_that_is_not_there_only_that_is_said(cluster):
    found = cluster.findings(namespace="nowhere")
    assert {finding.check for finding in found}.isdisjoint(
        {"rights", "quota", "volumes", "operator", "image"}
    )
    assert [finding.check for finding in bad(found)] == ["namespace"]


def test_what_a_right_that_lacks_causes_is_no_fault_of_its_own(cluster):
    cluster.deny(verb="create", resource="tfjobs")
    cluster.server.faults = lambda about: (
        Fault(error=Forbidden) if (about.kind, about.verb) == ("TFJob", "create") else None
    )
    assert [finding.check for finding in bad(cluster.findings())] == ["rights"]


def test_cures_name_who_asks_as_kubectl_takes_it(cluster):
    """All that one role has is one finding."""
    cluster.server.user = "system:serviceaccount:team:bob"
    cluster.server.allows = lambda _: False
    told = [finding for finding in bad(cluster.findings(probe=False)) if finding.check == "rights"]
    assert len(told) == 5, "what is needed and what is not, of launching and of admitting, and the Lease"
    assert {finding.cure.partition(" # ")[0].split()[-1] for finding in told} == {"--serviceaccount=team:bob"}
    cluster.server.user = "Ann Smith"
    told = [finding for finding in bad(cluster.findings(probe=False)) if finding.check == "rights"]
    assert all("--user='Ann Smith'" in finding.cure and "ann-smith" in finding.cure for finding in told)


@pytest.mark.parametrize(
    ("asked", "lacks", "goes_wrong"),
    [
        ({"verb": "patch", "resource": "tfjobs"}, "patch tfjobs (kubeflow.org)", "gangs cannot be suspended"),
        ({"verb": "delete", "resource": "gangs", "namespace": "default"}, "delete gangs", "gangs cannot be"),
        ({"subresource": "portforward"}, "create pods/portforward", "TensorBoard cannot be shown"),
    ],
    ids=str,
)
def test_who_may_submit_and_not_suspend_delete_or_look_is_told_what_grants_it(
    cluster, asked, lacks, goes_wrong
):
    """A job of theirs runs all the same."""
    cluster.deny(**asked)
    found = cluster.findings()
    assert bad(found) == []
    (told,) = [finding for finding in found if "may not" in finding.what]
    assert (told.check, told.level) == ("rights", "note")
    assert lacks in told.what
    assert goes_wrong in told.why
    assert told.cure.startswith(
        "kubectl create rolebinding gangplan-edit-admin -n default --clusterrole=gangplan-edit --user=admin"
    )
    assert any("admin may submit in default" in finding.what for finding in found)


def test_what_steps_of_pipelines_lack_is_given_to_their_account_by_commands(cluster):
    runner_that_may_not(cluster)
    (told,) = bad(cluster.findings())
    assert told.cure.partition("  ")[0] == (
        "kubectl create rolebinding gangplan-launch-default-pipeline-runner -n default --clusterrole=gangplan-launch"
        " --serviceaccount=default:pipeline-runner"
    )


def test_where_pipelines_run_that_their_image_was_not_tried_is_a_note(cluster):
    cluster.add_service("ml-pipeline", "kubeflow")
    (told,) = [finding for finding in cluster.findings() if finding.check == "image"]
    assert (told.level, "gangplan doctor --image" in told.cure) == ("note", True)


@pytest.mark.parametrize(
    ("message", "cure"),
    [
        ("failed calling webhook validator.tfjob: connection refused", "validatingwebhookconfigurations"),
        ("exceeded quota: jobs", "raise the quota"),
        ("denied by policy", "a rule of this cluster"),
    ],
)
def test_a_tfjob_that_is_refused_is_told_with_what_refuses_it(cluster, message, cure):
    class Refusing:
        def __getattr__(self, name: str) -> object:
            return getattr(cluster.server, name)

        def would_create(self, kind: Kind, _: object) -> None:
            error = Unreachable if "webhook" in message else Refused
            raise error(message, verb="create", kind=kind.name)

    (told,) = bad(cluster.findings(api=Refusing()))
    assert (told.check, told.level) == ("operator", "fault")
    assert message in told.what
    assert cure in told.cure


def test_how_much_of_a_quota_is_used_is_told(cluster):
    quota(cluster, used="3")
    assert any("requests.nvidia.com/gpu 3 of 4" in finding.what for finding in cluster.findings())


def test_a_quota_that_counts_limits_is_a_fault_unless_a_limit_range_gives_them(cluster):
    """No job from flags could ever run; the cure is a command."""

    def of_quota() -> list[Finding]:
        return [finding for finding in bad(cluster.findings()) if finding.check == "quota"]

    hard = {"limits.cpu": "9", "requests.memory": "9Gi"}
    cluster.add(kinds.QUOTA, "team", namespace="default", spec={"hard": hard})
    cluster.status(kinds.QUOTA, "team", {"hard": hard, "used": dict.fromkeys(hard, "0")}, namespace="default")
    (told,) = of_quota()
    assert told.what == "the quota team counts limits.cpu, and no LimitRange sets a default"
    (document,) = re.findall(r"echo '(.+)' \| kubectl apply -f -", told.cure)
    cluster.server.create(kinds.LIMIT_RANGE, json.loads(document))
    assert of_quota() == []


def small_limits(cluster: Cluster, **item: object) -> None:
    limits = [{"type": "Container", **item}]
    cluster.add(kinds.LIMIT_RANGE, "small", namespace="default", spec={"limits": limits})


def test_the_probe_asks_for_what_a_limit_range_demands(cluster):
    """That the server refuses what the doctor asks for says nothing of a job."""
    small_limits(cluster, min={"cpu": "20m"}, max={"cpu": "2"}, maxLimitRequestRatio={"cpu": "8"})
    found = cluster.findings(image="i")
    assert bad([finding for finding in found if finding.check == "operator"]) == []
    assert [finding for finding in found if "the server refuses" in finding.what] == []
    assert ("limits", "ok") in {(finding.check, finding.level) for finding in found}


def test_a_limit_range_that_forbids_what_jobs_from_flags_ask_for_is_found(cluster):
    """The cure is the flag with an amount that is allowed."""
    small_limits(cluster, default={"memory": "128Mi"}, min={"cpu": "300m"})
    (told,) = bad(cluster.findings())
    assert (told.check, told.level) == ("limits", "warning")
    assert "memory must be at most 128Mi, not 512Mi: the LimitRange small" in told.what
    assert "--worker-cpu 300m --worker-memory 128Mi …" in told.cure


def test_a_limit_range_that_wants_a_limit_and_gives_none_is_a_fault(cluster):
    small_limits(cluster, maxLimitRequestRatio={"cpu": "4"})
    (told,) = bad(cluster.findings())
    assert (told.check, told.level) == ("limits", "fault")
    assert "limits.cpu must be given" in told.what


def test_an_account_of_a_profile_that_may_launch_and_not_admit_is_found(cluster):
    profile(cluster)
    editor(cluster)
    cluster.deny(user="system:serviceaccount:default:default-editor", verb="list", resource="nodes")
    (told,) = [finding for finding in bad(cluster.findings()) if finding.check == "profile"]
    assert told.what == "default/default-editor may not list nodes"
    assert told.cure.startswith(
        "kubectl kustomize deploy/overlays/kubeflow-profile | sed s/my-profile/default/"
    )


def test_what_installs_others_is_as_the_page_on_installing_has_it():
    page = (DEPLOY.parent / "docs" / "install.md").read_text()
    assert OPERATOR in page
    assert GPU_PLUGIN in page


def test_a_claim_that_is_read_only_is_a_note(cluster):
    cluster.add_claim("data", "ReadOnlyMany")
    (told, said) = [finding for finding in cluster.findings(claim="data") if finding.check == "volumes"]
    assert (told.level, said.level) == ("note", "ok")
    assert "nobody can write checkpoints" in told.what


def test_a_mode_that_nobody_offers_yet_is_said_to_be_so(cluster):
    (told,) = bad(cluster.findings(enforcement="gangplan"))
    assert (told.check, "no scheduler of ours" in told.what) == ("enforcement", True)


def test_a_check_that_fails_does_not_end_the_others(cluster):
    cluster.server.faults = lambda about: Fault(error=Refused) if about.kind == "ResourceQuota" else None
    found = cluster.findings()
    (told,) = bad(found)
    assert (told.check, told.level) == ("quota", "warning")
    assert any(finding.check == "operator" for finding in found)


def test_sidecars_of_a_namespace_are_a_note_since_our_pods_ask_for_none(cluster):
    cluster.change(kinds.NAMESPACE, "default", metadata={"labels": {"istio-injection": "enabled"}})
    (told,) = [finding for finding in cluster.findings() if finding.check == "istio"]
    assert (told.level, bool(told.why)) == ("note", True)


def test_a_pod_for_an_image_that_the_server_refuses_is_told(cluster):
    cluster.server.faults = lambda about: (
        Fault(error=Refused) if (about.kind, about.verb) == ("Pod", "create") else None
    )
    (told,) = [finding for finding in cluster.findings(image="i", probe=False) if finding.check == "image"]
    assert (told.level, "the server refuses a pod" in told.what) == ("fault", True)


@pytest.mark.parametrize(
    ("status", "level", "says"),
    [
        (
            {"imageID": "sha256:1", "state": {"terminated": {"exitCode": 127}}},
            "ok",
            "n1 has pulled registry/i:1",
        ),
        (
            {"state": {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}},
            "fault",
            "not found",
        ),
        ({"state": {"waiting": {"reason": "ContainerCreating"}}}, "warning", "was not pulled in 300 s"),
    ],
)
def test_an_image_is_pulled_by_a_pod_that_is_gone_afterwards(cluster, status, level, says):
    def work(server: ApiServer) -> None:
        for pod in server.list(kinds.POD, namespace="default").items:
            name = pod["metadata"]["name"]
            if not pod["spec"].get("nodeName"):
                server.bind(name, namespace="default", node="n1")
            cluster.status(
                kinds.POD, name, {"containerStatuses": [{"name": "image", **status}]}, namespace="default"
            )

    cluster.operator.work = work
    (told,) = [
        finding for finding in cluster.findings(image="registry/i:1", probe=False) if finding.check == "image"
    ]
    assert (told.level, says in told.what) == (level, True), told
    assert cluster.server.list(kinds.POD).items == ()


@pytest.mark.parametrize("after", range(12))
def test_an_examination_that_is_interrupted_leaves_no_probe(cluster, after):
    """Whatever request of the probe it is that ends."""
    probing = [0]

    def interrupt(about: object) -> Fault | None:
        if about.kind in {"TFJob", "Pod"} and about.verb != "delete":
            probing[0] += 1
            if probing[0] == after + 3:
                raise KeyboardInterrupt
        return None

    cluster.server.faults = interrupt
    with contextlib.suppress(KeyboardInterrupt):
        cluster.findings()
    cluster.server.faults = None
    cluster.server.settle()
    assert cluster.server.list(kinds.TFJOB).items == ()
    assert cluster.server.list(kinds.POD).items == ()


def test_who_may_not_see_a_lease_is_told_the_command_that_lets_them(cluster):
    """The role view of Kubernetes does not."""
    cluster.server.faults = lambda about: Fault(error=Forbidden) if about.kind == "Lease" else None
    (told,) = [finding for finding in cluster.findings() if finding.check == "schedulers"]
    role = "look-at-leases --verb=get,list,watch --resource=leases.coordination.k8s.io"
    binding = "look-at-leases-admin -n kube-system --clusterrole=look-at-leases --user=admin"
    assert f"kubectl create clusterrole {role} && kubectl create rolebinding {binding}" in told.cure


def test_who_wants_no_probe_is_not_told_of_one(cluster):
    said = []
    cluster.findings(probe=False, tell=said.append)
    assert said == []
    cluster.server.faults = lambda about: Fault(error=Forbidden) if about.kind == "TFJob" else None
    (told,) = [finding for finding in cluster.findings(probe=False) if finding.check == "operator"]
    assert told.what == "whether the operator works was not tried"
    (told,) = [finding for finding in cluster.findings(tell=said.append) if finding.check == "operator"]
    assert "--clusterrole=gangplan-launch --user=admin" in told.cure


def test_checks_can_be_left_out_and_an_unknown_one_is_named(cluster):
    taken_from(kinds.SERVICE, "kube-dns", DNS)(cluster)
    assert bad(list(examine(cluster.exam, VERSION, skip=["dns"]))) == []
    assert list(examine(cluster.exam, VERSION, skip=checks(VERSION))) == []
    with pytest.raises(InvalidInput, match="no check is named coffee; known: server, crds"):
        list(examine(cluster.exam, VERSION, skip=["coffee"]))


def test_each_name_that_is_printed_can_be_left_out(cluster):
    editor_that_may_not(cluster)
    names = {finding.check for finding in cluster.findings()}
    assert names >= {"istio", "profile", "gpus", "clock", "enforcement"}
    for name in names:
        left = {finding.check for finding in examine(cluster.exam, VERSION, skip=[name])}
        assert name not in left
        assert names - left <= {name, *MATTERS}


def test_the_rights_that_are_asked_for_are_those_that_deploy_grants():
    granted = set()
    for file in {grant.file for grant in GRANTS}:
        for role in yaml.safe_load_all((DEPLOY.parent / file).read_text()):
            if role["kind"] not in {"Role", "ClusterRole"}:
                continue
            granted |= {
                (role["metadata"]["name"], file, group, resource, verb, name)
                for rule in role["rules"]
                for group in rule["apiGroups"]
                for resource in rule["resources"]
                for verb in rule["verbs"]
                for name in rule.get("resourceNames") or [""]
            }
    asked = {
        (grant.role, grant.file, rule.group, rule.resource, verb, rule.name)
        for grant in GRANTS
        for rule in grant.rules
        for verb in rule.verbs
    }
    assert asked == granted
    assert len(asked) > 30


@pytest.fixture
def pipelines() -> Iterator[tuple[str, dict[str, object]]]:
    """A server in the place of Kubeflow Pipelines; its answer can be set."""
    answer: dict[str, object] = {"status": 200, "body": {"tag_name": "2.5.0"}}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(answer["status"] if self.path == "/apis/v2beta1/healthz" else 404)
            self.end_headers()
            self.wfile.write(json.dumps(answer["body"]).encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", answer
        server.shutdown()
        thread.join()


def test_pipelines_are_asked_where_they_are_said_to_be(cluster, pipelines):
    url, answer = pipelines
    cluster.exam = replace(cluster.exam, pipelines=url)
    (told,) = [finding for finding in cluster.findings() if finding.check == "pipelines"]
    assert (told.level, told.what) == ("ok", f"Kubeflow Pipelines answers at {url}: version 2.5.0")
    for status, body in ((503, {}), (200, "a page of something else")):
        answer.update(status=status, body=body)
        (told,) = [finding for finding in bad(cluster.findings()) if finding.check == "pipelines"]
        assert told.level == "warning"
    cluster.exam = replace(cluster.exam, pipelines="localhost:8888")
    (told,) = bad(cluster.findings())
    assert "must begin with http://" in told.what
    cluster.exam = replace(cluster.exam, pipelines="http://127.0.0.1:1")
    (told,) = bad(cluster.findings())
    assert "nothing that is Kubeflow Pipelines answers" in told.what
