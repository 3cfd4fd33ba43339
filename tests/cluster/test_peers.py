"""What other schedulers declare is read from a real server, whichever of them is installed."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from cluster.bed.kwok import GPU, fake_node
from cluster.bed.outside import Cluster
from cluster.bed.training_operator import DEFINITIONS, group_definitions
from cluster.manifests import pod
from cluster.objects import create
from gangplan.cli.main import app
from gangplan.kube.client import connect
from gangplan.kube.snapshot import SnapshotReader
from gangplan.store import Cluster as Seen

DEPLOY = Path(__file__).parents[2] / "deploy"


@pytest.fixture(scope="module")
def own(new_cluster: Callable[..., Cluster]) -> Cluster:
    """Four fake nodes and our kinds."""
    cluster = new_cluster()
    cluster.add_fake_nodes(fake_node(f"p{i}", labels={"rack": f"r{i // 2}"}) for i in range(4))
    cluster.kubectl("apply", "-k", str(DEPLOY))
    cluster.kubectl("wait", "--for=condition=Established", "crd", "-l", "app.kubernetes.io/name=gangplan")
    return cluster


@pytest.fixture
def install(own: Cluster) -> Iterator[Callable[[Path], None]]:
    """Installs definitions of others; they are removed after the test, with all of their objects."""
    installed: list[str] = []

    def act(file: Path) -> None:
        names = [item["metadata"]["name"] for item in yaml.safe_load_all(file.read_text()) if item]
        installed.extend(names)
        own.kubectl("apply", "--server-side", "-f", str(file))
        own.kubectl("wait", "--for=condition=Established", *(f"crd/{name}" for name in names))

    yield act
    for name in installed:
        own.kubectl("delete", "crd", name)


def read(cluster: Cluster) -> Seen:
    with connect(kubeconfig=cluster.kubeconfig()) as connection:
        return SnapshotReader(connection).read()


def add(cluster: Cluster, api: str, kind: str, name: str, **more: Any) -> None:
    document = {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **more}
    cluster.kubectl("create", "-f", "-", document=document)


def test_queues_and_pod_groups_of_volcano(
    own: Cluster, install: Callable[[Path], None], new_namespace: Callable[[Cluster], str]
) -> None:
    namespace = new_namespace(own)
    install(DEFINITIONS / "volcano.yaml")
    volcano = "scheduling.volcano.sh/v1beta1"
    spec = {"weight": 3, "capability": {GPU: 8}, "guarantee": {"resource": {GPU: "2"}}}
    add(own, volcano, "Queue", "vision", spec=spec)
    group = {"apiVersion": volcano, "kind": "PodGroup", "metadata": {"name": "job"}}
    create(own, namespace, group | {"spec": {"minMember": 2, "queue": "vision"}})
    notes = {"scheduling.k8s.io/group-name": "job", "volcano.sh/task-spec": "worker"}
    for index in range(2):
        create(own, namespace, pod(f"w{index}", gpus=1, annotations=notes, nodeName="p0"))
    seen = read(own)
    (queue,) = seen.snapshot.queues
    assert (queue.weight, queue.limit, queue.guarantee) == (3, {GPU: "8"}, {GPU: "2"})
    (gang,) = seen.snapshot.gangs
    assert (gang.name, gang.queue) == (f"{namespace}/podgroup/job", "vision")
    assert {item.gang for item in seen.snapshot.running if item.name.startswith(namespace)} == {gang.name}
    listed = CliRunner().invoke(app, ["queue", "list", "-o", "json", "--kubeconfig", str(own.kubeconfig())])
    assert listed.exit_code == 0, listed.output
    assert '"vision"' in listed.stdout


def test_pod_groups_of_the_scheduler_plugins(
    own: Cluster, install: Callable[[Path], None], new_namespace: Callable[[Cluster], str]
) -> None:
    namespace = new_namespace(own)
    (definition,) = group_definitions("any other")
    install(definition)
    group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "job"}}
    create(own, namespace, group | {"spec": {"minMember": 2}})
    for index in range(2):
        label = {"scheduling.x-k8s.io/pod-group": "job"}
        create(own, namespace, pod(f"w{index}", labels=label, nodeName="p1"))
    (gang,) = read(own).snapshot.gangs
    assert (gang.name, [role.replicas for role in gang.roles]) == (f"{namespace}/podgroup/job", [2])


@pytest.mark.parametrize(
    ("file", "api"),
    [
        ("kueue.yaml", "kueue.x-k8s.io/v1beta1"),
        ("kueue-old.yaml", "kueue.x-k8s.io/v1alpha1"),
        ("kai.yaml", "kai.scheduler/v1alpha1"),
    ],
)
def test_topologies_by_labels(own: Cluster, install: Callable[[Path], None], file: str, api: str) -> None:
    install(DEFINITIONS / file)
    levels = [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
    add(own, api, "Topology", "default", spec={"levels": levels})
    assert read(own).snapshot.topology == ("rack",)


def test_hyper_nodes_and_what_stands_beside_them(own: Cluster, install: Callable[[Path], None]) -> None:
    """The tree counts by itself; beside a topology that says something else none does, and gangs are told."""
    install(DEFINITIONS / "hypernode.yaml")
    for switch, pattern in (("s0", "^p[01]$"), ("s1", "^p[23]$")):
        members = [{"type": "Node", "selector": {"regexMatch": {"pattern": pattern}}}]
        add(own, "topology.volcano.sh/v1alpha1", "HyperNode", switch, spec={"tier": 1, "members": members})
    seen = read(own).snapshot
    assert seen.topology == ("tier-1",)
    assert [node.labels["tier-1"] for node in seen.nodes] == ["s0", "s0", "s1", "s1"]
    install(DEFINITIONS / "kai.yaml")
    add(own, "kai.scheduler/v1alpha1", "Topology", "net", spec={"levels": [{"nodeLabel": "rack"}]})
    found = read(own)
    assert found.snapshot.topology == ()
    assert "HyperNodes of Volcano, KAI Topology net" in found.gaps.levels
