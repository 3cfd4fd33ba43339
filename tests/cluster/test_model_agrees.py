"""The model of an API server agrees with a real one on what its clients see.

Random sequences of operations by three clients run on both, each sequence in a namespace of its own. After operations
that give the controllers something to do, both are let come to rest.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from apimodel import limit_cases
from apimodel.definition import CONFIG_MAP
from apimodel.server import ApiServer

from cluster.agreement import WIDGETS, Sequence, name_of, wait_until
from cluster.bed.outside import Cluster
from cluster.random_operations import WIDGET
from cluster.world import OF_EVERY_NAMESPACE
from gangplan.errors import NotFound, NotInstalled
from gangplan.kube.client import Connection, connect
from gangplan.kube.kinds import LIMIT_RANGE, NAMESPACE, POD, Kind

SEQUENCES = 500
OPERATIONS = 30
SIDE_BY_SIDE = 16
CONNECTIONS = 2
"""Enough for that many: on two cores one keeps ten ways to the server open."""
MOST_TOLD = 12

SEEN = (
    *("create", "get", "list", "replace", "patch", "delete", "replace status", "patch status"),
    *("patch, nothing new", "replace, nothing new"),
    *(f"dry run: {verdict}" for verdict in ("accepted", "AlreadyExists", "Refused", "Refused by a quota")),
    *("AlreadyExists", "Conflict", "NotFound", "NotInstalled", "Refused", "Refused by a quota"),
    *(f"{name} deleted by a controller" for name in ("ConfigMap", "Pod", "Widget")),
    *(f"{name} modified by a controller" for name in ("ConfigMap", "Pod", "Widget", "ResourceQuota")),
    *("watched ADDED", "watched MODIFIED", "watched DELETED"),
)
"""What must be among the outcomes: agreement on what never happened says nothing."""

CRD = Kind(
    name="CustomResourceDefinition",
    plural="customresourcedefinitions",
    api_version="apiextensions.k8s.io/v1",
    namespaced=False,
)


@pytest.fixture(scope="module")
def real_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Connection]]:
    """A real API server with its controllers, of this test alone: it leaves hundreds of namespaces behind."""
    with Cluster(tmp_path_factory.mktemp("agreement")) as cluster, ExitStack() as stack:
        cluster.start()
        kubeconfig = cluster.kubeconfig()
        connections = [stack.enter_context(connect(kubeconfig=kubeconfig)) for _ in range(CONNECTIONS)]
        connections[0].create(CRD, WIDGETS)
        wait_until("widgets are served", lambda: is_served(connections[0]))
        yield connections


def is_served(connection: Connection) -> bool:
    try:
        connection.list(WIDGET)
    except NotInstalled:
        return False
    return True


def prepare(connection: Connection, namespaces: list[str]) -> None:
    """Make namespaces, and wait until each has what controllers put there."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        list(pool.map(lambda name: connection.create(NAMESPACE, {"metadata": {"name": name}}), namespaces))

    def have_all() -> bool:
        homes = {
            obj["metadata"]["namespace"]
            for obj in connection.list(CONFIG_MAP).items
            if name_of(obj) == OF_EVERY_NAMESPACE
        }
        return set(namespaces) <= homes

    wait_until("every namespace has the certificate of the cluster", have_all)


def collects_widgets(connection: Connection) -> bool:
    try:
        connection.get(WIDGET, "first", namespace="default")
    except NotFound:
        return True
    return False


def run_all(
    connections: list[Connection], seeds: range, collected: tuple[Kind, ...]
) -> list[Future[Sequence]]:
    def sequence(seed: int) -> Sequence:
        connection = connections[seed % len(connections)]
        return Sequence(seed=seed, count=OPERATIONS, connection=connection, collected=collected)

    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        return [pool.submit(sequence(seed).run) for seed in seeds]


def test_the_model_and_a_real_api_server_agree(
    real_server: list[Connection], capsys: pytest.CaptureFixture[str]
) -> None:
    """Without this, tests on the model would prove little."""
    seeds = range(SEQUENCES)
    first = {"apiVersion": WIDGET.api_version, "kind": "Widget", "spec": {"size": 1}}
    connection = real_server[0]
    connection.create(WIDGET, first | {"metadata": {"name": "first", "namespace": "default"}})
    connection.delete(WIDGET, "first", namespace="default", propagation="Foreground")
    prepare(connection, [f"sequence-{seed}" for seed in seeds])
    # The garbage collector asks every 30 s which kinds there are; sequences without widgets as owners need not wait.
    futures = run_all(real_server, seeds[: SEQUENCES // 2], (CONFIG_MAP, POD))
    wait_until("the garbage collector knows widgets", lambda: collects_widgets(connection))
    futures += run_all(real_server, seeds[SEQUENCES // 2 :], (CONFIG_MAP, POD, WIDGET))
    differences = [str(error) for future in futures if (error := future.exception())]
    assert not differences, "\n\n".join(
        [f"{len(differences)} of {SEQUENCES} sequences differ", *differences[:MOST_TOLD]]
    )
    sequences = [future.result() for future in futures]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        list(pool.map(Sequence.wait_for_rest, sequences))  # nothing happened to them since
    counts = sum((sequence.counts for sequence in sequences), Counter[str]())
    with capsys.disabled():
        head = f"{SEQUENCES} sequences of {OPERATIONS} operations, the same on the model and on a real API server:"
        lines = [head, *(f"{count:8} {what}" for what, count in sorted(counts.items()))]
        sys.stdout.write("\n".join(["", *lines, ""]))
    assert set(SEEN) <= set(counts), f"never seen: {sorted(set(SEEN) - set(counts))}"


def test_the_model_and_a_real_api_server_agree_on_what_limit_ranges_refuse(
    real_server: list[Connection],
) -> None:
    """So what submit says of them, which is compared with the model elsewhere, is what a server does."""
    cases = [limit_cases.item(of, limits) for of in limit_cases.OF for limits in limit_cases.LIMITS]
    names = [f"limits-{place}" for place in range(len(cases))]
    prepare(real_server[0], names)
    model = ApiServer(namespaces=names)
    verdicts: dict[str, list[list[bool]]] = {}
    for name, item in zip(names, cases, strict=True):
        body = {"metadata": {"name": "limits", "namespace": name}, "spec": {"limits": [item]}}
        for server in (real_server[0], model):
            server.create(LIMIT_RANGE, {"apiVersion": "v1", "kind": "LimitRange", **body})
            refused = [limit_cases.is_refused(server, pod) for pod in limit_cases.pods(name)]
            verdicts.setdefault(f"{name}: {item}", []).append(refused)
    assert {name: real for name, (real, _) in verdicts.items()} == {
        name: modelled for name, (_, modelled) in verdicts.items()
    }
    assert {answer for real, _ in verdicts.values() for answer in real} == {True, False}
