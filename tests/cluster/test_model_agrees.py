"""The model of an API server agrees with a real one on what its clients see.

Random sequences of operations by three clients run on both, each sequence in a namespace of its own. After operations
that give the controllers something to do, both are let come to rest.
"""

import random
import re
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from apimodel import quota
from apimodel.definition import CONFIG_MAP
from apimodel.server import ApiServer

from cluster.bed.outside import Cluster
from cluster.random_operations import KINDS, OF_EVERY_NAMESPACE, WIDGET, Operation, World, operations, plain
from gangplan.errors import ClusterError, NotInstalled, Refused
from gangplan.kube.api import Object
from gangplan.kube.client import Connection, connect
from gangplan.kube.kinds import NAMESPACE, POD, QUOTA, Kind
from gangplan.kube.refusals import About

SEQUENCES = 500
OPERATIONS = 32
SIDE_BY_SIDE = 16
MOST_TOLD = 12
POLL_S = 0.05
NUDGE_S = 1.5
REST_S = 120.0
"""How long the controllers of a real server may take to come to rest. They take milliseconds, but what the garbage
collector tries again it tries ten times a second, all of it together."""

SEEN = (
    *("create", "get", "list", "replace", "patch", "delete", "replace status", "patch status"),
    *("patch, nothing new", "replace, nothing new"),
    *("AlreadyExists", "Conflict", "NotFound", "NotInstalled", "Refused", "Refused by a quota"),
    *(f"{name} deleted by a controller" for name in ("ConfigMap", "Pod", "Widget")),
    *(f"{name} modified by a controller" for name in ("ConfigMap", "Pod", "Widget", "ResourceQuota")),
    *("watched ADDED", "watched MODIFIED", "watched DELETED"),
)
"""What must be among the outcomes: agreement on what never happened says nothing."""

SECRET = Kind(name="Secret", plural="secrets", api_version="v1")
CRD = Kind(
    name="CustomResourceDefinition",
    plural="customresourcedefinitions",
    api_version="apiextensions.k8s.io/v1",
    namespaced=False,
)
WIDGETS = yaml.safe_load((Path(__file__).parent / "widget.yaml").read_text())


def wait_until(what: str, is_so: Any) -> None:
    deadline = time.monotonic() + REST_S
    while not is_so():
        assert time.monotonic() < deadline, f"not so after {REST_S:.0f} s: {what}"
        time.sleep(POLL_S)


@pytest.fixture(scope="module")
def real_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """A real API server with its controllers, of this test alone: it leaves hundreds of namespaces behind."""
    with Cluster(tmp_path_factory.mktemp("agreement")) as cluster:
        cluster.start()
        with connect(kubeconfig=cluster.kubeconfig()) as connection:
            connection.create(CRD, WIDGETS)
            wait_until("widgets are served", lambda: is_served(connection))
            yield connection


def is_served(connection: Connection) -> bool:
    try:
        connection.list(WIDGET)
    except NotInstalled:
        return False
    return True


@dataclass(kw_only=True)
class Sequence:
    """One sequence of operations on both servers."""

    seed: int
    connection: Connection
    collected: tuple[Kind, ...]
    counts: Counter[str] = field(default_factory=Counter)
    done: list[Operation] = field(default_factory=list)
    touched: set[str] = field(default_factory=lambda: {OF_EVERY_NAMESPACE})

    def __post_init__(self) -> None:
        self.namespace = f"sequence-{self.seed}"
        self.server = ApiServer(crds=[WIDGETS], namespaces=[self.namespace])
        self.server.create(
            CONFIG_MAP, {"metadata": {"name": OF_EVERY_NAMESPACE, "namespace": self.namespace}}
        )
        self.model, self.real = (World(api, self.namespace) for api in (self.server, self.connection))

    def run(self) -> "Sequence":
        """Do all operations, and compare what clients saw of them and of what followed."""
        starts = [
            (kind, self.server.moment(), self.connection.moment()) for kind in (CONFIG_MAP, POD, WIDGET)
        ]
        for operation in operations(random.Random(self.seed), OPERATIONS, self.collected):
            self.done.append(operation)
            expected, found = self.model.do(operation), self.real.do(operation)
            self.agree("outcomes", expected, found)
            self.count(operation, expected.error, any(is_news for _, is_news in expected.objects))
            self.rest(operation.kind)
        for kind, model_start, real_start in starts:
            self.compare_watches(kind, model_start, real_start)
        return self

    def count(self, operation: Operation, error: str, is_news: bool) -> None:
        self.counts[
            error or f"{operation.verb}{'' if is_news or operation.verb == 'delete' else ', nothing new'}"
        ] += 1

    def rest(self, kind: Kind) -> None:
        """Let the controllers of both servers come to rest."""
        before = self.server.moment()
        self.server.settle()
        if self.server.moment() == before and kind != QUOTA:
            return
        changed = {kind} & {QUOTA}
        for each in KINDS:
            for change in self.server.watch(each, version=before, namespace=self.namespace):
                if change.type != "BOOKMARK":
                    self.counts[f"{each.name} {change.type.lower()} by a controller"] += 1
                    self.touched.add(name_of(change.object))
                    changed.add(each)
        self.wait_for_rest(changed)

    def wait_for_rest(self, changed: Collection[Kind] = KINDS) -> None:
        """Wait until the real server has what the model has, first of the kinds in which something changed."""
        last_nudge = time.monotonic()
        deadline = last_nudge + REST_S
        for kinds in (changed, KINDS):
            expected = self.model.state(kinds)
            while (found := self.real.state(kinds)) != expected:
                if time.monotonic() > deadline:
                    self.agree("states at rest", expected, found)
                if time.monotonic() > last_nudge + NUDGE_S:
                    self.nudge()
                    last_nudge = time.monotonic()
                time.sleep(POLL_S)
        # Admission has a view of the quotas of its own, which may be some milliseconds behind.
        while QUOTA in changed and (found := self.real_verdict()) != (verdict := self.model_verdict()):
            if time.monotonic() > deadline:
                self.agree("verdicts of admission", verdict, found)
            time.sleep(POLL_S)

    def nudge(self) -> None:
        """Have the real quota controller count again, by deleting something that all quotas count.

        It counts a new or changed quota at once, with a view of the pods that may be some milliseconds behind, and then only
        when something is deleted.
        """
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "nudge", "namespace": self.namespace},
        }
        self.connection.create(SECRET, body)
        self.connection.delete(SECRET, "nudge", namespace=self.namespace)

    def model_verdict(self) -> str:
        """What admission would say to a very large pod."""
        pod = large_pod(self.namespace)
        return "; ".join(used_of(text) for text in quota.refusals(self.server._store, POD, pod))

    def real_verdict(self) -> str:
        about = About(verb="create", kind="Pod", name="large", namespace=self.namespace)
        pod = large_pod(self.namespace)
        path = POD.path(namespace=self.namespace)
        try:
            self.connection._requests.ask("POST", path, about, query={"dryRun": "All"}, body=pod)
        except Refused as refused:
            return used_of(str(refused))
        return ""

    def compare_watches(self, kind: Kind, model_start: str, real_start: str) -> None:
        """Watch both from the beginning.

        In how many steps controllers change an object is a race, so those that they touched are passed over.
        """
        expected: dict[str, list[Any]] = {}
        for change in self.server.watch(kind, version=model_start, namespace=self.namespace):
            if change.type != "BOOKMARK" and name_of(change.object) not in self.touched:
                seen = (change.type, plain(kind, change.object))
                expected.setdefault(name_of(change.object), []).append(seen)
        missing = sum(map(len, expected.values()))
        found: dict[str, list[Any]] = {}
        changes = self.connection.watch(kind, version=real_start, namespace=self.namespace, timeout_s=REST_S)
        while missing and (change := next(changes, None)):
            if change.type != "BOOKMARK" and name_of(change.object) not in self.touched:
                found.setdefault(name_of(change.object), []).append((change.type, plain(kind, change.object)))
                self.counts[f"watched {change.type}"] += 1
                missing -= 1
        changes.close()
        self.agree(f"changes of {kind.name}", expected, found)

    def agree(self, what: str, expected: object, found: object) -> None:
        if expected == found:
            return
        operation = f"operation {len(self.done)}: {self.done[-1]}" if self.done else "no operation"
        if isinstance(expected, dict) and isinstance(found, dict):
            same = {key for key in expected if key in found and expected[key] == found[key]}
            expected, found = (
                {key: value for key, value in each.items() if key not in same} for each in (expected, found)
            )
        raise AssertionError(
            f"seed {self.seed}, {what} differ after {operation}\n  model: {expected}\n  real:  {found}"
        )


def large_pod(namespace: str) -> Object:
    amounts = {"cpu": "1000", "nvidia.com/gpu": "1000"}
    container = {"name": "c", "image": "x", "resources": {"requests": amounts, "limits": amounts}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "large", "namespace": namespace},
        "spec": {"containers": [container]},
    }


def used_of(refusal: str) -> str:
    """Of a refusal by quota how much is used, and of how much."""
    found = re.search(r"used: .*|status unknown.*", refusal)
    assert found, refusal
    return found[0]


def name_of(obj: Object) -> str:
    return str(obj["metadata"]["name"])


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
    except ClusterError:
        return True
    return False


def run_all(connection: Connection, seeds: range, collected: tuple[Kind, ...]) -> list[Future[Sequence]]:
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        return [
            pool.submit(Sequence(seed=seed, connection=connection, collected=collected).run) for seed in seeds
        ]


def test_the_model_and_a_real_api_server_agree(
    real_server: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without this, tests on the model would prove little."""
    seeds = range(SEQUENCES)
    first = {"apiVersion": WIDGET.api_version, "kind": "Widget", "spec": {"size": 1}}
    real_server.create(WIDGET, first | {"metadata": {"name": "first", "namespace": "default"}})
    real_server.delete(WIDGET, "first", namespace="default", propagation="Foreground")
    prepare(real_server, [f"sequence-{seed}" for seed in seeds])
    # The garbage collector asks every 30 s which kinds there are; sequences without widgets as owners need not wait.
    futures = run_all(real_server, seeds[: SEQUENCES // 2], (CONFIG_MAP, POD))
    wait_until("the garbage collector knows widgets", lambda: collects_widgets(real_server))
    futures += run_all(real_server, seeds[SEQUENCES // 2 :], (CONFIG_MAP, POD, WIDGET))
    differences = [str(error) for future in futures if (error := future.exception())]
    assert not differences, "\n\n".join(
        [f"{len(differences)} of {SEQUENCES} sequences differ", *differences[:MOST_TOLD]]
    )
    sequences = [future.result() for future in futures]
    for sequence in sequences:  # nothing happened to them since
        sequence.wait_for_rest()
    counts = sum((sequence.counts for sequence in sequences), Counter[str]())
    with capsys.disabled():
        head = f"{SEQUENCES} sequences of {OPERATIONS} operations, the same on the model and on a real API server:"
        lines = [head, *(f"{count:8} {what}" for what, count in sorted(counts.items()))]
        sys.stdout.write("\n".join(["", *lines, ""]))
    assert set(SEEN) <= set(counts), f"never seen: {sorted(set(SEEN) - set(counts))}"
