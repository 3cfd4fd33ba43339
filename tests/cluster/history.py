"""All that happened to gangs, TFJobs and pods of a cluster, in its order; and what must never have been so.

Watches tell every change, and one counter of the server orders the changes of all kinds.
"""

import json
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

from cluster.bed.kwok import GPU
from cluster.bed.outside import Cluster
from gangplan.errors import ClusterError
from gangplan.kube.api import Listing
from gangplan.kube.client import Connection, connect
from gangplan.kube.kinds import GANG, POD, TFJOB, Kind
from gangplan.kube.names import GANG_LABEL, REPLICA_INDEX, REPLICA_TYPE, RUN_ID

Object = dict[str, Any]
KINDS = (GANG, TFJOB, POD)
HOLDING = {"Reserved", "Binding", "Bound"}
ENDED = {"Succeeded", "Failed"}


class Event(NamedTuple):
    """A change: how the object was after it."""

    version: int
    kind: Kind
    removed: bool
    obj: Object


class Replica(NamedTuple):
    """A replica of a run's gang."""

    gang: str
    run: str
    role: str
    index: int


class History:
    """Writes down what happens while the context lasts."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._file = cluster, cluster.kubeconfig()
        self._events: list[Event] = []
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        with connect(kubeconfig=self._file) as connection:
            for kind in KINDS:
                listing = connection.list(kind)
                self._events += [_event(kind, item) for item in listing.items]
                follow = threading.Thread(target=self._follow, args=(kind, listing.version), daemon=True)
                self._threads.append(follow)
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()

    def complete(self) -> list[Event]:
        """All events until now; waits until the watches have told of them."""
        with connect(kubeconfig=self._file) as connection:
            listings = {kind: connection.list(kind) for kind in KINDS}
        self._cluster.wait_until("the watches have told all", lambda: self._has_all(listings))
        return sorted(self._events, key=lambda event: event.version)

    def _has_all(self, listings: Mapping[Kind, Listing]) -> bool:
        """Whether what was told is at least as new as some lists."""
        last: dict[tuple[Kind, str], Event] = {}
        for event in sorted(self._events, key=lambda event: event.version):
            last[event.kind, _name(event.obj)] = event
        there = {
            (kind, _name(item)): _version(item) for kind, found in listings.items() for item in found.items
        }
        return all(key in last and last[key].version >= version for key, version in there.items()) and all(
            key in there or event.removed or event.version > int(listings[event.kind].version)
            for key, event in last.items()
        )

    def _follow(self, kind: Kind, version: str) -> None:
        with connect(kubeconfig=self._file) as connection:
            while not self._ended.is_set():
                with suppress(ClusterError):  # it is taken up again from the last that was told
                    version = self._changes(connection, kind, version)

    def _changes(self, connection: Connection, kind: Kind, version: str) -> str:
        for change in connection.watch(kind, version=version, timeout_s=5.0):
            version = change.object["metadata"]["resourceVersion"]
            if change.type != "BOOKMARK":
                self._events.append(_event(kind, change.object, removed=change.type == "DELETED"))
        return version


def overbooked(events: Iterable[Event], nodes: Mapping[str, int]) -> list[str]:
    """Moments at which more GPUs of a node were given than it has, bound and reserved together.

    Args:
        events: All of them, in their order.
        nodes: Node → its GPUs.
    """
    gangs: dict[str, Object] = {}
    pods: dict[str, Object] = {}
    found = []
    for event in events:
        held = {GANG: gangs, POD: pods}.get(event.kind)
        if held is None:
            continue
        name = _name(event.obj)
        before = held.pop(name, None)
        if not event.removed:
            held[name] = event.obj
        if before is not None and _takes(before) == _takes(event.obj) and not event.removed:
            continue
        given = use(gangs.values(), pods.values())
        found += [
            f"{event.version}: {node} has {nodes[node]}, given are {count}, by {event.kind.name} {name}"
            for node, count in given.items()
            if node in nodes and count > nodes[node]
        ]
    return found


def use(gangs: Iterable[Object], pods: Iterable[Object]) -> Counter[str]:
    """Node → GPUs that are bound or reserved there. A replica that has a node counts there and nowhere else."""
    taken: Counter[str] = Counter()
    bound: set[Replica | None] = set()
    for pod in pods:
        node = pod["spec"].get("nodeName")
        if node and (pod.get("status") or {}).get("phase") not in ENDED:
            taken[node] += _gpus_of_pod(pod)
            bound.add(_replica_of(pod))
    for gang in gangs:
        taken.update(_reserved(gang, bound))
    return taken


def runs_with_several_jobs(events: Iterable[Event]) -> dict[str, set[str]]:
    """Runs for which more than one TFJob was ever created at a time, and which those were."""
    there: dict[str, set[str]] = {}
    several: dict[str, set[str]] = {}
    for event in events:
        run = (event.obj["metadata"].get("labels") or {}).get(RUN_ID)
        if event.kind == TFJOB and run:
            jobs = there.setdefault(run, set())
            (jobs.discard if event.removed else jobs.add)(event.obj["metadata"]["uid"])
            if len(jobs) > 1:
                several[run] = set(jobs)
    return several


def gpus_of_nodes(cluster: Cluster) -> dict[str, int]:
    """Node → its GPUs."""
    found = (cluster.admin.get("/api/v1/nodes") or {"items": []})["items"]
    return {node["metadata"]["name"]: int(node["status"]["allocatable"].get(GPU, 0)) for node in found}


def requests_by(audit_log: Path, program: str) -> Counter[str]:
    """``verb resource`` → how often a program asked for it."""
    asked: Counter[str] = Counter()
    with audit_log.open() as lines:
        for line in lines:
            event = json.loads(line)
            if event.get("userAgent", "").startswith(program):
                about = event.get("objectRef", {})
                resource = "/".join(filter(None, (about.get("resource"), about.get("subresource"))))
                asked[f"{event['verb']} {resource}"] += 1
    return asked


def _reserved(gang: Object, bound: set[Replica | None]) -> Iterator[Any]:
    status = gang.get("status") or {}
    if status.get("phase") not in HOLDING:
        return
    name, run = _name(gang), gang["spec"].get("runId", "")
    amounts = {role["name"]: int((role.get("requests") or {}).get(GPU, 0)) for role in gang["spec"]["roles"]}
    for role, places in (status.get("reservation") or {}).get("placement", {}).items():
        for index, node in enumerate(places):
            if Replica(name, run, role, index) not in bound:
                yield from [node] * amounts[role]


def _replica_of(pod: Object) -> Replica | None:
    labels = pod["metadata"].get("labels") or {}
    if GANG_LABEL not in labels:
        return None
    gang = f"{pod['metadata']['namespace']}/{labels[GANG_LABEL]}"
    role, index = labels.get(REPLICA_TYPE, ""), labels.get(REPLICA_INDEX, "")
    return Replica(gang, labels.get(RUN_ID, ""), role, int(index or -1))


def _gpus_of_pod(pod: Object) -> int:
    return sum(
        int((container["resources"].get("limits") or {}).get(GPU, 0))
        for container in pod["spec"]["containers"]
    )


def _takes(obj: Object) -> object:
    """Of an object what decides about how much it takes and where."""
    status = obj.get("status") or {}
    return obj["spec"].get("nodeName"), status.get("phase"), status.get("reservation")


def _event(kind: Kind, obj: Object, *, removed: bool = False) -> Event:
    return Event(_version(obj), kind, removed, obj)


def _version(obj: Object) -> int:
    return int(obj["metadata"]["resourceVersion"])


def _name(obj: Object) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
