"""What other schedulers declare in a cluster is read where it is there, and what contradicts itself stops nobody else."""

from contextlib import nullcontext
from pathlib import Path

import pytest
import yaml
from apimodel.server import ApiServer, Fault
from builders import GPU
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import gangplan as gp
from gangplan import admission
from gangplan.cli.main import app
from gangplan.config import Settings
from gangplan.documents import encode
from gangplan.errors import Forbidden
from gangplan.kube.cluster import KubeCluster
from gangplan.kube.kinds import (
    GANG_QUEUE,
    GANG_TOPOLOGY,
    HYPER_NODE,
    KAI_TOPOLOGY,
    KUEUE_TOPOLOGY,
    NODE,
    OLD_KUEUE_TOPOLOGY,
    PLUGINS_GROUP,
    POD,
    VOLCANO_GROUP,
    VOLCANO_QUEUE,
)
from gangplan.kube.queue_tree import queues_of
from gangplan.kube.snapshot import PEERS, SnapshotReader
from gangplan.kube.taking import take
from gangplan.record import new
from gangplan.solver import validate

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
TERMS = Settings().terms


def server_with(*kinds) -> ApiServer:
    """A server with our kinds and some of others."""
    crds = [yaml.safe_load(file.read_text()) for file in sorted(CRDS.glob("*.yaml"))]
    return ApiServer(crds=crds, kinds=kinds)


def add(
    server: ApiServer, kind, name: str, spec: dict, *, status: dict | None = None, namespace: str = ""
) -> None:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    about = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata}
    server.create(kind, about | {"spec": spec})
    if status is not None:
        server.patch(kind, name, {"status": status}, namespace=namespace, subresource="status")


def add_node(server: ApiServer, name: str, labels: dict | None = None) -> None:
    status = {
        "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110", GPU: "4"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    server.create(NODE, {"metadata": {"name": name, "labels": labels or {}}})
    server.patch(NODE, name, {"status": status}, subresource="status")


def add_pod(server: ApiServer, name: str, *, labels=None, notes=None, gpus: int = 1, cpu: str = "1") -> None:
    container = {
        "name": "c",
        "image": "i",
        "resources": {"requests": {"cpu": cpu}, "limits": {GPU: str(gpus)}},
    }
    metadata = {"name": name, "namespace": "default", "labels": labels or {}, "annotations": notes or {}}
    server.create(POD, {"metadata": metadata, "spec": {"nodeName": "n1", "containers": [container]}})


def read(server: ApiServer):
    found = SnapshotReader(server).read()
    assert list(validate("snapshot", encode(found.snapshot))) == []
    return found


def decided(server: ApiServer, *gangs: gp.Gang):
    view = KubeCluster(server, clock=lambda: 0.0, monotonic=lambda: 0.0)
    seen = view.read()
    records = [new(gang, uid=gang.name, run_id="r", now=0.0) for gang in gangs]
    decided = admission.decide(
        seen.snapshot, records, now=0.0, terms=TERMS, members=seen.members, gaps=seen.gaps
    )
    return decided.plan, decided.unsound


def gang(name: str, **more) -> gp.Gang:
    return gp.Gang(name=name, roles=(gp.Role(name="worker", replicas=1, requests={"cpu": "1"}),), **more)


# ---- queues


def test_queues_of_volcano_are_queues():
    server = server_with(VOLCANO_QUEUE)
    add(server, VOLCANO_QUEUE, "root", {"weight": 1})
    spec = {
        "weight": 4,
        "parent": "root",
        "priority": 2,
        "capability": {GPU: 8, "cpu": "16"},
        "deserved": {GPU: "4"},
        "guarantee": {"resource": {GPU: "2"}},
    }
    add(server, VOLCANO_QUEUE, "vision", spec)
    add(server, VOLCANO_QUEUE, "closed", {}, status={"state": "Closing"})
    queues = {queue.name: queue for queue in read(server).snapshot.queues}
    assert sorted(queues) == ["closed", "root", "vision"]
    assert queues["vision"] == gp.Queue(
        name="vision",
        created=queues["vision"].created,
        parent="root",
        priority=2,
        weight=4,
        limit={GPU: "8", "cpu": "16"},
        deserved={GPU: "4"},
        guarantee={GPU: "2"},
    )
    assert (queues["closed"].open, queues["root"].open, queues["root"].deserved) == (False, True, None)


def test_a_root_that_is_not_there_is_above_all():
    server = server_with(VOLCANO_QUEUE)
    add(server, VOLCANO_QUEUE, "vision", {"parent": "root"})
    (queue,) = read(server).snapshot.queues
    assert queue.parent is None


def test_a_queue_of_ours_wins():
    server = server_with(VOLCANO_QUEUE)
    add(server, VOLCANO_QUEUE, "q", {"capability": {GPU: 1}, "parent": "nobody"})
    add(server, GANG_QUEUE, "q", {"limit": {GPU: "2"}})
    found = read(server)
    assert [(queue.name, queue.limit) for queue in found.snapshot.queues] == [("q", {GPU: "2"})]
    assert found.gaps.queues == {}


def test_a_queue_that_contradicts_itself_stops_only_its_own_gangs():
    server = server_with()
    add_node(server, "n1")
    add(server, GANG_QUEUE, "good", {})
    add(server, GANG_QUEUE, "lost", {"parent": "nowhere"})
    add(server, GANG_QUEUE, "child", {"parent": "lost"})
    plan, unsound = decided(
        server, gang("d/a", queue="good"), gang("d/b", queue="lost"), gang("d/c", queue="child"), gang("d/d")
    )
    assert sorted(plan.placements) == ["d/a", "d/d"]
    assert unsound == {
        "d/b": "queue lost cannot be understood: parent: there is no queue 'nowhere'",
        "d/c": (
            "queue child cannot be understood: its parent lost cannot be understood: parent: there is no queue 'nowhere'"
        ),
    }


def test_queues_in_a_circle_are_left_out_with_all_below_them():
    server = server_with()
    for name, parent in [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("e", None)]:
        add(server, GANG_QUEUE, name, {"parent": parent} if parent else {})
    found = read(server)
    assert [queue.name for queue in found.snapshot.queues] == ["e"]
    assert sorted(found.gaps.queues) == ["a", "b", "c", "d"]
    assert sorted(take(server, now=0.0).left_out) == ["queue a", "queue b", "queue c", "queue d"]


names = st.sampled_from("abcdef")


@given(parents=st.dictionaries(names, st.none() | names, min_size=1))
@settings(deadline=None)
def test_a_queue_counts_exactly_if_all_above_it_are_there(parents):
    """Whatever else contradicts itself."""
    created = {"creationTimestamp": "2026-01-01T00:00:00Z"}
    items = [
        {"metadata": {"name": name} | created, "spec": {"parent": parent} if parent else {}}
        for name, parent in parents.items()
    ]

    def is_rooted(name: str | None) -> bool:
        for _ in parents:
            if name not in parents:
                return False
            name = parents[name]
            if name is None:
                return True
        return False

    found, left_out = queues_of(items, [])
    assert {queue.name for queue in found} == {name for name in parents if is_rooted(name)}
    assert left_out.keys() == parents.keys() - {queue.name for queue in found}
    assert list(validate("snapshot", encode(gp.Snapshot(queues=found)))) == []


def test_left_out_queues_are_told_beside_the_list(monkeypatch):
    server = server_with()
    add(server, GANG_QUEUE, "good", {})
    add(server, GANG_QUEUE, "lost", {"parent": "nowhere"})
    monkeypatch.setattr("gangplan.kube.client.connect", lambda **_: nullcontext(server))
    done = CliRunner().invoke(app, ["queue", "list"])
    assert "good" in done.stdout
    assert "lost" not in done.stdout
    assert "queue lost is left out: parent: there is no queue 'nowhere'" in done.stderr


def test_an_amount_that_nobody_can_read_is_told():
    server = server_with(VOLCANO_QUEUE)
    add(server, VOLCANO_QUEUE, "odd", {"capability": {"cpu": "many"}})
    add(server, VOLCANO_QUEUE, "odder", {"capability": "all"})
    found = read(server)
    assert found.snapshot.queues == ()
    assert 'limit.cpu: "many" is not a quantity' in found.gaps.queues["odd"]
    assert "limit" in found.gaps.queues["odder"]


# ---- levels


def test_levels_of_kueue_and_of_kai_are_levels():
    labels = [{"nodeLabel": "zone"}, {"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
    for kind in (KUEUE_TOPOLOGY, OLD_KUEUE_TOPOLOGY, KAI_TOPOLOGY):
        server = server_with(kind)
        add_node(server, "n1", {"zone": "z", "rack": "r"})
        add(server, kind, "default", {"levels": labels})
        assert read(server).snapshot.topology == ("zone", "rack")


def test_a_topology_of_ours_wins():
    server = server_with(KUEUE_TOPOLOGY)
    add(server, KUEUE_TOPOLOGY, "t", {"levels": [{"nodeLabel": "rack"}]})
    add(server, GANG_TOPOLOGY, "t", {"levels": ["block"]})
    assert read(server).snapshot.topology == ("block",)


def test_peers_that_say_the_same_agree():
    server = server_with(KUEUE_TOPOLOGY, KAI_TOPOLOGY)
    for kind in (KUEUE_TOPOLOGY, KAI_TOPOLOGY):
        add(server, kind, "t", {"levels": [{"nodeLabel": "rack"}]})
    assert read(server).snapshot.topology == ("rack",)


@pytest.mark.parametrize("ours", [True, False])
def test_several_topologies_stop_only_gangs_that_name_a_level(ours):
    server = server_with(KUEUE_TOPOLOGY)
    add_node(server, "n1", {"zone": "z", "rack": "r"})
    for name in ("rack", "zone"):
        if ours:
            add(server, GANG_TOPOLOGY, name, {"levels": [name]})
        else:
            add(server, KUEUE_TOPOLOGY, name, {"levels": [{"nodeLabel": name}]})
    near = gp.Closeness(required="rack")
    plan, unsound = decided(server, gang("d/a"), gang("d/b", topology=near))
    assert list(plan.placements) == ["d/a"]
    (said,) = unsound.values()
    assert (
        "there are several GangTopology objects (rack, zone): name the one that counts 'default'"
        if ours
        else "there are several topologies (Kueue Topology rack, Kueue Topology zone): make a GangTopology"
    ) in said


def test_a_level_that_is_not_there_is_told_with_those_that_are():
    server = server_with()
    add_node(server, "n1", {"rack": "r"})
    add(server, GANG_TOPOLOGY, "t", {"levels": ["rack"]})
    _, unsound = decided(server, gang("d/a", topology=gp.Closeness(required="zone")))
    assert unsound["d/a"].endswith("the levels of this cluster are rack, node")


def hyper(server: ApiServer, name: str, tier: int, *members: tuple[str, dict], **more) -> None:
    listed = [{"type": kind, "selector": selector} for kind, selector in members]
    add(server, HYPER_NODE, name, {"tier": tier, "members": listed, **more})


def test_hyper_nodes_are_levels_by_tier():
    server = server_with(HYPER_NODE)
    for name in ("n1", "n2", "n3", "n4", "n5"):
        add_node(server, name, {"switch": "c"} if name == "n4" else {})
    hyper(server, "s1", 1, ("Node", {"exactMatch": {"name": "n1"}}), ("Node", {"exactMatch": {"name": "n2"}}))
    hyper(server, "s2", 1, ("Node", {"regexMatch": {"pattern": "^n3$"}}))
    hyper(server, "top", 3, ("HyperNode", {"regexMatch": {"pattern": "^s"}}), tierName="pod")
    hyper(server, "lone", 2, ("Node", {"labelMatch": {"matchLabels": {"switch": "c"}}}))
    found = read(server).snapshot
    assert found.topology == ("pod", "tier-2", "tier-1")
    labels = {node.name: [node.labels.get(level) for level in found.topology] for node in found.nodes}
    assert labels == {
        "n1": ["top", "s1", "s1"],
        "n2": ["top", "s1", "s1"],
        "n3": ["top", "s2", "s2"],
        "n4": ["lone", "lone", "n4"],
        "n5": [None, None, None],
    }


def test_hyper_nodes_that_are_no_tree_are_told():
    server = server_with(HYPER_NODE)
    add_node(server, "n1")
    for name in ("s1", "s2"):
        hyper(server, name, 1, ("Node", {"exactMatch": {"name": "n1"}}))
    hyper(server, "a", 2, ("HyperNode", {"exactMatch": {"name": "b"}}))
    hyper(server, "b", 3, ("HyperNode", {"exactMatch": {"name": "a"}}))
    found = read(server)
    assert found.snapshot.topology == ()
    assert "n1 lies in s1 and in s2, both of tier 1" in found.gaps.levels
    assert "HyperNodes in a circle: a → b → a" in found.gaps.levels


# ---- gangs of others


def test_pods_of_a_pod_group_are_one_gang_and_count_in_its_queue():
    server = server_with(VOLCANO_GROUP, VOLCANO_QUEUE)
    add_node(server, "n1")
    add(server, VOLCANO_QUEUE, "vision", {"capability": {GPU: 3}})
    add(server, VOLCANO_GROUP, "job", {"minMember": 2, "queue": "vision"}, namespace="default")
    for index in range(2):
        notes = {"scheduling.k8s.io/group-name": "job", "volcano.sh/task-spec": "worker", "other": "x"}
        add_pod(server, f"job-worker-{index}", notes=notes, labels={"app": "t", "index": str(index)})
    add_pod(
        server,
        "job-ps-0",
        notes={"scheduling.k8s.io/group-name": "job", "volcano.sh/task-spec": "ps"},
        gpus=0,
    )
    add_pod(server, "alone", gpus=0)
    found = read(server).snapshot
    (told,) = found.gangs
    assert (told.name, told.queue, told.min_member) == ("default/podgroup/job", "vision", 2)
    assert {role.name: (role.replicas, role.labels) for role in told.roles} == {
        "ps": (1, {}),
        "worker": (2, {"app": "t"}),
    }
    assert {(item.name, item.gang, item.role, item.index) for item in found.running} == {
        ("default/job-worker-0", told.name, "worker", 0),
        ("default/job-worker-1", told.name, "worker", 1),
        ("default/job-ps-0", told.name, "ps", 0),
        ("default/alone", None, None, None),
    }
    two = gp.Gang(
        name="d/a", queue="vision", roles=(gp.Role(name="worker", replicas=2, requests={GPU: "1"}),)
    )
    plan, _ = decided(server, two)
    assert "vision" in plan.rejections["d/a"].message, "two of its three GPUs are taken"


@pytest.mark.parametrize("phase", ["Pending", "Inqueue", "Running"])
def test_a_group_whose_pods_have_ended_holds_nothing_whatever_its_phase_is(phase):
    """Once its pods are cleaned up a completed group may fall back to an earlier phase (volcano#2208)."""
    server = server_with(VOLCANO_GROUP, VOLCANO_QUEUE)
    add_node(server, "n1")
    add(server, VOLCANO_QUEUE, "vision", {"capability": {GPU: 3}})
    add(server, VOLCANO_GROUP, "job", {"minMember": 2, "queue": "vision"}, namespace="default")
    server.patch(VOLCANO_GROUP, "job", {"status": {"phase": phase}}, namespace="default")
    for index in range(2):
        add_pod(server, f"job-worker-{index}", notes={"scheduling.k8s.io/group-name": "job"})
        status = {"status": {"phase": "Succeeded"}}
        server.patch(POD, f"job-worker-{index}", status, namespace="default", subresource="status")
    three = gp.Gang(
        name="d/a", queue="vision", roles=(gp.Role(name="worker", replicas=3, requests={GPU: "1"}),)
    )
    plan, _ = decided(server, three)
    assert "d/a" in plan.placements
    assert read(server).snapshot.running == ()


def test_pods_of_the_scheduler_plugins_are_one_gang_too():
    server = server_with(PLUGINS_GROUP)
    add_node(server, "n1")
    add(server, PLUGINS_GROUP, "job", {"minMember": 2}, namespace="default")
    label = {"scheduling.x-k8s.io/pod-group": "job"}
    add_pod(server, "small", labels=label)
    add_pod(server, "large", labels=label, cpu="2")
    found = read(server).snapshot
    (told,) = found.gangs
    assert (told.queue, told.min_member) == (None, None)
    assert sorted(role.replicas for role in told.roles) == [1, 1], (
        "pods that need different things are no one role"
    )
    assert {item.gang for item in found.running} == {told.name}


def test_pods_of_our_own_gangs_and_of_groups_that_are_gone_are_as_before():
    server = server_with(VOLCANO_GROUP)
    add_node(server, "n1")
    add(server, VOLCANO_GROUP, "ours", {"minMember": 1, "queue": "unknown"}, namespace="default")
    add_pod(server, "a", notes={"scheduling.k8s.io/group-name": "ours"}, labels={"gangplan.dev/gang": "ours"})
    add_pod(server, "b", notes={"scheduling.k8s.io/group-name": "gone"})
    found = read(server).snapshot
    assert found.gangs == ()
    assert {item.gang for item in found.running} == {None}
    add_pod(server, "c", notes={"scheduling.k8s.io/group-name": "ours"})
    assert [told.queue for told in read(server).snapshot.gangs] == [None], "a queue that nobody knows"


def test_whoever_may_not_read_what_is_others_reads_the_rest():
    server = server_with(*PEERS)
    add_node(server, "n1")
    names = {kind.name for kind in PEERS}
    server.faults = lambda about: Fault(error=Forbidden) if about.kind in names else None
    assert [node.name for node in SnapshotReader(server).read().snapshot.nodes] == ["n1"]
