"""What is read of a cluster is what is there, at one moment, counted once."""

from pathlib import Path

import pytest
import yaml
from apimodel.server import ApiServer
from builders import GPU

import gangplan as gp
from gangplan.documents import encode
from gangplan.kube.enforce import pinned
from gangplan.kube.kinds import GANG, GANG_QUEUE, GANG_TOPOLOGY, NODE, POD, QUOTA, TFJOB
from gangplan.kube.snapshot import SnapshotReader
from gangplan.solver import validate
from gangplan.store import Ending, Member

CRDS = Path(__file__).parents[2] / "deploy" / "crds"


@pytest.fixture
def server() -> ApiServer:
    """A server that knows our resources."""
    return ApiServer(crds=[yaml.safe_load(file.read_text()) for file in sorted(CRDS.glob("*.yaml"))])


def add(server, kind, body):
    server.create(kind, {"apiVersion": kind.api_version, "kind": kind.name, **body})


def add_node(server, name="n1", *, spec=None, labels=None, ready="True", gpus=4):
    allocatable = {"cpu": "8", "memory": "16Gi", "pods": "110", GPU: str(gpus)}
    status = {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": ready}]}
    body = {"metadata": {"name": name, "labels": labels or {}}, "spec": spec or {}, "status": status}
    server.create(NODE, body)
    server.patch(NODE, name, {"status": status}, subresource="status")


def add_pod(server, name, *, node=None, phase="Running", labels=None, gpus=1, annotations=None, **spec):
    amounts = {"requests": {"cpu": "500m"}, "limits": {GPU: str(gpus)}}
    container = {"name": "c", "image": "i", "resources": amounts}
    where = {"nodeName": node} if node else {}
    metadata = {
        "name": name,
        "namespace": "default",
        "labels": labels or {},
        "annotations": annotations or {},
    }
    server.create(POD, {"metadata": metadata, "spec": {"containers": [container], **where, **spec}})
    server.patch(POD, name, {"status": {"phase": phase}}, namespace="default", subresource="status")


def read(server):
    return SnapshotReader(server).read()


def test_nodes_are_read_as_they_are(server):
    add_node(server, "b", labels={"rack": "r1"}, spec={"unschedulable": True})
    taints = [{"key": "gpu", "effect": "NoSchedule"}, {"key": "a", "value": "b", "effect": "NoExecute"}]
    add_node(server, "a", spec={"taints": taints}, ready="Unknown")
    first, second = read(server).snapshot.nodes
    assert first == gp.Node(
        name="a",
        allocatable={"cpu": "8", "memory": "16Gi", "pods": "110", GPU: "4"},
        taints=(
            gp.Taint(key="gpu", effect="NoSchedule"),
            gp.Taint(key="a", value="b", effect="NoExecute"),
        ),
        ready=False,
    )
    assert (second.labels, second.unschedulable, second.ready) == ({"rack": "r1"}, True, True)


def test_a_pod_that_was_told_its_node_holds_room_there_before_it_is_bound(server):
    """Its gang may have given its room up meanwhile, and the scheduler may bind the pod until it is deleted."""
    add_node(server, "n1")
    add_pod(server, "waits", phase="Pending", schedulingGates=[{"name": "gangplan.dev/placement"}])
    pod = server.get(POD, "waits", namespace="default")
    server.patch(POD, "waits", pinned(pod, "n1"), namespace="default")
    add_pod(server, "lost", phase="Pending", annotations={"gangplan.dev/node": "gone"})
    add_pod(
        server,
        "leaves",
        phase="Pending",
        annotations={"gangplan.dev/node": "n1"},
    )
    leaving = {"metadata": {"finalizers": ["example.org/stays"]}}
    server.patch(POD, "leaves", leaving, namespace="default")
    server.delete(POD, "leaves", namespace="default")
    assert [(holder.name, holder.node) for holder in read(server).snapshot.running] == [
        ("default/waits", "n1")
    ]


def test_every_pod_with_a_node_holds_its_place_until_it_has_ended(server):
    add_node(server)
    for name, phase in [
        ("runs", "Running"),
        ("starts", "Pending"),
        ("done", "Succeeded"),
        ("failed", "Failed"),
    ]:
        add_pod(server, name, node="n1", phase=phase)
    add_pod(server, "waits", phase="Pending")
    sidecar = {"name": "s", "image": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}
    add_pod(server, "complex", node="n1", initContainers=[sidecar], overhead={"memory": "1Mi"}, priority=7)
    found = {holder.name: holder for holder in read(server).snapshot.running}
    assert sorted(found) == ["default/complex", "default/runs", "default/starts"]
    asked = gp.Container(requests={"cpu": "500m"}, limits={GPU: "1"})
    assert found["default/runs"].pod == gp.Pod(containers=(asked,))
    assert found["default/complex"].priority == 7
    assert found["default/complex"].pod == gp.Pod(
        containers=(asked,),
        init_containers=(gp.Container(requests={"cpu": "1"}, sidecar=True),),
        overhead={"memory": "1Mi"},
    )


def test_a_pod_whose_node_is_gone_holds_nothing_and_stops_nobody(server):
    add_node(server)
    add_pod(server, "left", node="gone")
    add_pod(server, "runs", node="n1")
    found = read(server).snapshot
    assert [holder.name for holder in found.running] == ["default/runs"]
    assert list(validate("snapshot", encode(found))) == []


def test_pods_of_gangs_are_told_as_their_replicas(server):
    """Those of an earlier run of the same name leave, and hold their places until they have."""
    add_node(server)
    spec = {"runId": "r", "roles": [{"name": "chief", "replicas": 1, "requests": {"cpu": "1"}}]}
    for name, phase in [("g", "Reserved"), ("waits", "Pending")]:
        add(server, GANG, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})
        server.patch(GANG, name, {"status": {"phase": phase}}, namespace="default", subresource="status")

    def labels(gang, kind="master", index="0", run="r"):
        prefix = "training.kubeflow.org/replica-"
        own = {"gangplan.dev/gang": gang, "gangplan.dev/run-id": run}
        return own | {f"{prefix}type": kind, f"{prefix}index": index}

    add_pod(server, "replica", node="n1", labels=labels("g"))
    add_pod(server, "earlier", node="n1", labels=labels("g", run="before"))
    add_pod(server, "waits", node="n1", labels=labels("waits"))
    add_pod(server, "of-none", node="n1", labels=labels("gone"))
    add_pod(server, "no-role", node="n1", labels=labels("g", kind="launcher"))
    add_pod(server, "no-index", node="n1", labels=labels("g", index="first"))
    found = read(server)
    assert found.members == {
        f"default/{pod}": Member(gang=f"default/{gang}", role="chief", index=0)
        for pod, gang in [("replica", "g"), ("waits", "waits")]
    }
    assert len(found.snapshot.running) == 6


def test_pods_of_gangs_that_hold_no_room_any_more_are_still_their_replicas(server):
    """They count in the queue until they are gone; a quota counts them as the pods that they are."""
    add_node(server)
    spec = {"runId": "r", "roles": [{"name": "worker", "replicas": 1, "requests": {"cpu": "1"}}]}
    prefix = "training.kubeflow.org/replica-"
    for phase in ("Suspended", "Finished", "Bound"):
        name = phase.lower()
        add(server, GANG, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})
        status = {"phase": phase} | ({"outcome": "Canceled"} if phase == "Finished" else {})
        server.patch(GANG, name, {"status": status}, namespace="default", subresource="status")
        own = {"gangplan.dev/gang": name, "gangplan.dev/run-id": "r"}
        add_pod(server, name, node="n1", labels=own | {f"{prefix}type": "worker", f"{prefix}index": "0"})
    add(server, QUOTA, {"metadata": {"name": "q", "namespace": "default"}, "spec": {"hard": {"pods": "9"}}})
    server.patch(POD, "suspended", {"metadata": {"finalizers": ["test/keep"]}}, namespace="default")
    server.delete(POD, "suspended", namespace="default")
    found = read(server)
    leaving = {pod: member.leaving for pod, member in found.members.items()}
    assert leaving == {"default/suspended": True, "default/finished": False, "default/bound": False}
    (quota,) = found.snapshot.quotas
    assert quota.used == {"pods": "2"}, "the third is counted by its gang"


def test_queues_and_levels_are_read(server):
    add_node(server, labels={"zone": "z", "rack": "r"})
    spec = {"limit": {GPU: 8}, "weight": 3, "open": False, "deserved": {"cpu": "4"}}
    add(server, GANG_QUEUE, {"metadata": {"name": "q"}, "spec": spec})
    add(server, GANG_TOPOLOGY, {"metadata": {"name": "net"}, "spec": {"levels": ["zone", "rack"]}})
    found = read(server).snapshot
    assert found.topology == ("zone", "rack")
    (queue,) = found.queues
    assert (queue.limit, queue.weight, queue.open, queue.deserved) == ({GPU: "8"}, 3, False, {"cpu": "4"})
    assert queue.created > 0


def test_levels_may_be_told_by_a_tree(server):
    for name in ("n1", "n2", "n3"):
        add_node(server, name)
    domains = [
        {"name": "z1", "level": "zone"},
        {"name": "r1", "level": "rack", "parent": "z1", "nodes": ["n1"]},
        {"name": "r2", "level": "rack", "parent": "z1", "nodes": ["n2"]},
    ]
    body = {"metadata": {"name": "net"}, "spec": {"levels": ["zone", "rack"], "domains": domains}}
    add(server, GANG_TOPOLOGY, body)
    found = {node.name: node.labels for node in read(server).snapshot.nodes}
    assert found == {"n1": {"zone": "z1", "rack": "r1"}, "n2": {"zone": "z1", "rack": "r2"}, "n3": {}}


def test_all_that_is_wrong_with_a_tree_is_told(server):
    domains = [
        {"name": "z1", "level": "zone", "parent": "world"},
        {"name": "r1", "level": "rack", "parent": "z9", "nodes": ["n1"]},
        {"name": "r1", "level": "rack", "parent": "z1"},
    ]
    body = {"metadata": {"name": "net"}, "spec": {"levels": ["zone", "rack"], "domains": domains}}
    add(server, GANG_TOPOLOGY, body)
    found = read(server)
    assert found.snapshot.topology == ()
    for text in (
        "$.spec.domains[0].parent: must be left out: this level is the coarsest, not 'world'",
        "$.spec.domains[1].parent: must be a domain of zone, not 'z9'",
        "$.spec.domains[1].name: there is another rack 'r1'",
    ):
        assert text in found.gaps.levels
    assert found.gaps.levels.startswith("GangTopology net: ")


def test_of_several_topologies_the_default_one_counts(server):
    for name, levels in [("a", ["zone"]), ("b", ["rack"])]:
        add(server, GANG_TOPOLOGY, {"metadata": {"name": name}, "spec": {"levels": levels}})
    found = read(server)
    assert found.snapshot.topology == ()
    assert found.gaps.levels == (
        "there are several GangTopology objects (a, b): name the one that counts 'default'"
    )
    add(server, GANG_TOPOLOGY, {"metadata": {"name": "default"}, "spec": {"levels": ["block"]}})
    assert read(server).snapshot.topology == ("block",)


def test_quotas_limit_what_pods_ask_for_and_count_those_that_have_no_node(server):
    add_node(server)
    add_pod(server, "runs", node="n1")
    add_pod(server, "waits", phase="Pending")
    add_pod(server, "done", node="n1", phase="Succeeded")
    hard = {f"requests.{GPU}": "8", "limits.cpu": "1", "count/configmaps": "9"}
    for name, more in [("q1", {"requests.cpu": "4", "pods": "10"}), ("q2", {"cpu": "3"})]:
        spec = {"hard": hard | more}
        server.create(QUOTA, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})
    scoped = {"hard": {"pods": "1"}, "scopes": ["BestEffort"]}
    server.create(QUOTA, {"metadata": {"name": "q3", "namespace": "default"}, "spec": scoped})
    (quota,) = read(server).snapshot.quotas
    assert quota.hard == {"cpu": "3", "pods": "10", GPU: "8"}
    assert quota.used == {"cpu": "1", "pods": "2", GPU: "2"}


def test_a_cluster_without_our_resources_is_read_too():
    server = ApiServer()
    add_node(server)
    add_pod(server, "runs", node="n1")
    found = read(server)
    assert (len(found.snapshot.nodes), len(found.snapshot.running), found.members) == (1, 1, {})
    assert (found.snapshot.queues, found.snapshot.topology) == ((), ())


def test_all_kinds_are_read_as_of_one_moment(server):
    """A pod that is replaced while the cluster is read is seen once, or not at all: never twice."""
    add_node(server)
    add_pod(server, "old", node="n1")
    state = {"lists": 0}

    def replace_pod(about):
        if about.verb == "list":
            state["lists"] += 1
            if state["lists"] == 3:
                server.faults = None
                server.delete(POD, "old", namespace="default")
                add_pod(server, "new", node="n1")

    server.faults = replace_pod
    assert [holder.name for holder in read(server).snapshot.running] == ["default/old"]
    assert [holder.name for holder in read(server).snapshot.running] == ["default/new"]


def test_bound_gangs_whose_job_has_ended_are_told():
    server = ApiServer(
        crds=[yaml.safe_load(file.read_text()) for file in sorted(CRDS.glob("*.yaml"))], kinds=[TFJOB]
    )
    roles = [{"name": "worker", "replicas": 1, "requests": {"cpu": "1"}}]
    about = {"apiVersion": GANG.api_version, "kind": GANG.name}

    def add(name, *, phase="Bound", run="r", job="r", state=None, code=None):
        spec = {"roles": roles, "runId": run}
        server.create(GANG, {**about, "metadata": {"name": name, "namespace": "default"}, "spec": spec})
        server.patch(GANG, name, {"status": {"phase": phase}}, namespace="default", subresource="status")
        if job is not None:
            metadata = {"name": name, "namespace": "default", "labels": {"gangplan.dev/run-id": job}}
            server.create(TFJOB, {"apiVersion": TFJOB.api_version, "kind": "TFJob", "metadata": metadata})
        if state is not None:
            told = {"conditions": [{"type": state, "status": "True", "message": "said"}]}
            server.patch(TFJOB, name, {"status": told}, namespace="default", subresource="status")
        if code is not None:
            prefix = "training.kubeflow.org"
            labels = {f"{prefix}/job-name": name, f"{prefix}/replica-type": "worker"}
            labels[f"{prefix}/replica-index"] = "0"
            add_pod(server, f"{name}-worker-0", node="n1", phase="Failed", labels=labels)
            end = {"exitCode": code, "finishedAt": "2026-01-01T00:00:00Z"}
            status = {"containerStatuses": [{"name": "tensorflow", "state": {"terminated": end}}]}
            server.patch(
                POD, f"{name}-worker-0", {"status": status}, namespace="default", subresource="status"
            )

    add("runs", state="Running")
    add("waits", phase="Pending", job=None)
    add("done", state="Succeeded")
    add("failed", state="Failed", code=3)
    add("deleted", job=None)
    add("another", job="other")
    add("by-hand", run="", job=None)
    gone = Ending(outcome="Canceled", reason="the TFJob was deleted by somebody else")
    assert read(server).ended == {
        "default/done": Ending(outcome="Succeeded", reason="said"),
        "default/failed": Ending(outcome="Failed", reason="worker-0: it ended with exit code 3"),
        "default/deleted": gone,
        "default/another": gone,
    }
