"""The way on which requests fail lets all through but what it is told to, and fails as servers and networks do."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from cluster.bed import fault_proxy
from cluster.bed.fault_proxy import BY_READS, BY_WRITES, ONE_IN, FaultProxy, seeded
from cluster.bed.outside import Cluster
from cluster.kill_points import kubeconfig_of
from cluster.manifests import pod
from gangplan.errors import Busy, Conflict, Expired, NotFound, Unreachable
from gangplan.kube.client import Connection, connect
from gangplan.kube.kinds import POD

NewNamespace = Callable[[Cluster], str]
Through = Callable[[str], AbstractContextManager[Connection]]


@pytest.fixture
def through(control_plane: Cluster, tmp_path: Path) -> Through:
    """Opens connections on which each request meets a fault."""

    @contextmanager
    def open_(fault: str) -> Iterator[Connection]:
        pki = control_plane.folder / "pki"
        with FaultProxy(control_plane.server, pki, lambda _method, _path: fault) as proxy:
            file = kubeconfig_of(control_plane, proxy, tmp_path / "kubeconfig")
            with connect(kubeconfig=file) as connection:
                yield connection

    return open_


def a_pod(namespace: str, name: str) -> dict:
    made = pod(name)
    return made | {"metadata": made["metadata"] | {"namespace": namespace}}


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("conflict", Conflict),
        ("expired", Expired),
        ("busy", Busy),
        ("broken", Unreachable),
        ("reset", Unreachable),
    ],
)
def test_a_request_that_fails_is_not_done(
    control_plane: Cluster, new_namespace: NewNamespace, through: Through, fault: str, error: type[Exception]
) -> None:
    namespace = new_namespace(control_plane)
    with through(fault) as connection, pytest.raises(error):
        connection.create(POD, a_pod(namespace, "p"))
    with through("") as connection, pytest.raises(NotFound):
        connection.get(POD, "p", namespace=namespace)


def test_an_answer_can_be_lost_although_all_was_done(
    control_plane: Cluster, new_namespace: NewNamespace, through: Through
) -> None:
    namespace = new_namespace(control_plane)
    with through("applied") as connection, pytest.raises(Unreachable):
        connection.create(POD, a_pod(namespace, "p"))
    with through("") as connection:
        assert connection.get(POD, "p", namespace=namespace)["metadata"]["name"] == "p"


def test_what_passes_is_as_it_was(
    control_plane: Cluster, new_namespace: NewNamespace, through: Through, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streams too; and a slow answer is an answer."""
    monkeypatch.setattr(fault_proxy, "SLOW_S", 0.1)
    namespace = new_namespace(control_plane)
    with through("slow") as connection:
        moment = connection.moment()
        made = connection.create(POD, a_pod(namespace, "p"))
        (listed,) = connection.list(POD, namespace=namespace).items
        assert listed["metadata"]["uid"] == made["metadata"]["uid"]
        change = next(iter(connection.watch(POD, namespace=namespace, version=moment, timeout_s=5.0)))
        assert (change.type, change.object["metadata"]["uid"]) == ("ADDED", made["metadata"]["uid"])


def test_the_same_seed_gives_the_same_faults_and_each_of_them() -> None:
    asked = [("GET", "/a") if number % 2 else ("PUT", "/b") for number in range(4000)]
    plan, same, other = seeded(1), seeded(1), seeded(2)
    given = [plan(*request) for request in asked]
    assert given == [same(*request) for request in asked]
    assert given != [other(*request) for request in asked]
    assert {fault for fault in given if fault} == {*BY_READS, *BY_WRITES}
    assert 0.5 < sum(map(bool, given)) * ONE_IN / len(asked) < 2
