"""Clusters for the tests of this folder, each started when a test first asks for it, and a namespace for each test.

They are shared by all tests of a run: a test leaves nodes and processes as it found them, or starts its own cluster.
"""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cluster.bed.kwok import fake_node
from cluster.bed.outside import Cluster

WIDE_NODES = 100

NewCluster = Callable[..., Cluster]
NewNamespace = Callable[[Cluster], str]


@pytest.fixture(scope="session")
def clusters() -> Iterator[list[Cluster]]:
    """All clusters that ``new_cluster`` has started so far; they end with the run."""
    started: list[Cluster] = []
    yield started
    for cluster in started:
        cluster.end()


@pytest.fixture(scope="session")
def new_cluster(tmp_path_factory: pytest.TempPathFactory, clusters: list[Cluster]) -> NewCluster:
    """Starts a control plane."""

    def start(**settings: int) -> Cluster:
        cluster = Cluster(tmp_path_factory.mktemp("cluster"))
        clusters.append(cluster)
        cluster.start(**settings)
        return cluster

    return start


@pytest.fixture
def short_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for a cluster of the test's own; the usual one has the test's name in it, which is too long for sockets."""
    return tmp_path_factory.mktemp("c")


@pytest.fixture(scope="session")
def control_plane(new_cluster: NewCluster) -> Cluster:
    """A cluster without nodes: what is created stays as it is."""
    return new_cluster()


@pytest.fixture(scope="session")
def real(new_cluster: NewCluster) -> Cluster:
    """Two real nodes, ``n0`` and ``n1``, with two GPUs each in racks of their own, and the training-operator."""
    cluster = new_cluster(node_grace_s=20)
    for number in range(2):
        cluster.add_node(f"n{number}", gpus=2, labels={"rack": f"r{number}"})
    cluster.start_operator()
    return cluster


@pytest.fixture(scope="session")
def wide(new_cluster: NewCluster) -> Cluster:
    """A hundred fake nodes, ``f0`` to ``f99``, with eight GPUs each, sixteen to a rack; and the training-operator."""
    cluster = new_cluster()
    cluster.add_fake_nodes(fake_node(f"f{i}", labels={"rack": f"r{i // 16}"}) for i in range(WIDE_NODES))
    cluster.start_operator()
    return cluster


@pytest.fixture
def new_namespace() -> Iterator[NewNamespace]:
    """Makes namespaces in which pods can be created; they are deleted after the test, which nobody waits for."""
    made: list[tuple[Cluster, str]] = []

    def make(cluster: Cluster) -> str:
        name = f"test-{next(_numbers)}"
        cluster.kubectl("create", "namespace", name)
        made.append((cluster, name))
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        cluster.wait_until(f"namespace {name} has its account", lambda: cluster.admin.get(account))
        return name

    yield make
    for cluster, name in made:
        cluster.kubectl("delete", "namespace", name, "--wait=false")


_numbers = itertools.count()
