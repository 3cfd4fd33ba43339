"""One sequence of operations on the model and on a real API server, and the comparison of what came of it."""

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import yaml
from apimodel import quota
from apimodel.definition import CONFIG_MAP
from apimodel.server import ApiServer

from cluster.random_operations import KINDS, WIDGET, Operation, operations
from cluster.world import OF_EVERY_NAMESPACE, World, plain
from gangplan.errors import Refused
from gangplan.kube.api import Object
from gangplan.kube.client import Connection
from gangplan.kube.kinds import POD, QUOTA, Kind
from gangplan.kube.refusals import About

WIDGETS = yaml.safe_load((Path(__file__).parent / "widget.yaml").read_text())
SECRET = Kind(name="Secret", plural="secrets", api_version="v1")

POLL_S = 0.05
REST_S = 120.0
"""How long the controllers of a real server may take to come to rest. They take milliseconds, but what the garbage
collector tries again it tries ten times a second, all of it together."""
NUDGE_S = 1.5
"""After how long the quota controller is made to count again."""


def wait_until(what: str, is_so: Callable[[], bool]) -> None:
    """Wait until something is so, and say what is not if that takes too long."""
    deadline = time.monotonic() + REST_S
    while not is_so():
        assert time.monotonic() < deadline, f"not so after {REST_S:.0f} s: {what}"
        time.sleep(POLL_S)


@dataclass(kw_only=True)
class Sequence:
    """One sequence of operations on both servers.

    Attributes:
        seed: Where its operations come from.
        count: How many there are.
        connection: The way to the real server.
        collected: Kinds that the garbage collector there knows.
        counts: How often something happened.
        done: The operations that were done.
        touched: Names of the objects that controllers changed.
    """

    seed: int
    count: int
    connection: Connection
    collected: tuple[Kind, ...]
    counts: Counter[str] = field(default_factory=Counter)
    done: list[Operation] = field(default_factory=list)
    touched: set[str] = field(default_factory=lambda: {OF_EVERY_NAMESPACE})

    def __post_init__(self) -> None:
        self.namespace = f"sequence-{self.seed}"
        self.holds = self.seed % 2 == 0
        self.server = ApiServer(crds=[WIDGETS], namespaces=[self.namespace])
        self.server.create(
            CONFIG_MAP, {"metadata": {"name": OF_EVERY_NAMESPACE, "namespace": self.namespace}}
        )
        self.model, self.real = (
            World(api, self.namespace, holds=self.holds) for api in (self.server, self.connection)
        )

    def run(self) -> Self:
        """Do all operations, and compare what clients saw of them and of what followed."""
        starts = [
            (kind, self.server.moment(), self.connection.moment()) for kind in (CONFIG_MAP, POD, WIDGET)
        ]
        for operation in operations(
            random.Random(self.seed), self.count, collected=self.collected, holds=self.holds
        ):
            self.done.append(operation)
            expected, found = self.model.do(operation), self.real.do(operation)
            self.agree("outcomes", expected, found)
            self.note(operation, expected.error, any(is_news for _, is_news in expected.objects))
            if expected.dry_run:
                self.counts[f"dry run: {expected.dry_run}"] += 1
            self.rest(operation.kind)
        for kind, model_start, real_start in starts:
            self.compare_watches(kind, model_start, real_start)
        self.wait_for_rest()
        return self

    def note(self, operation: Operation, error: str, is_news: bool) -> None:
        """Count what came of an operation."""
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
        """Wait until the real server has what the model has, of the kinds in which something changed."""
        last_nudge = time.monotonic()
        deadline = last_nudge + REST_S
        expected = self.model.state(changed)
        while (found := self.real.state(changed)) != expected:
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
        """What admission does say to it; it is not created."""
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
        """See that both servers say the same."""
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
    """A pod that every quota refuses."""
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
    """Its name."""
    return str(obj["metadata"]["name"])
