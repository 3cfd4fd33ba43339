"""Snapshot reader: a cluster, as its API server had it at one moment, as a snapshot.

All kinds are listed at the same resource version: one counter of the server's store orders all writes, so that what was
read at one version was there together.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from gangplan.errors import Expired, Forbidden, NotInstalled
from gangplan.kube.api import Api
from gangplan.kube.endings import endings
from gangplan.kube.gang_object import full_name, name_of
from gangplan.kube.kinds import (
    GANG,
    GANG_QUEUE,
    GANG_TOPOLOGY,
    HYPER_NODE,
    KAI_TOPOLOGY,
    KUEUE_TOPOLOGY,
    NODE,
    OLD_KUEUE_TOPOLOGY,
    PLUGINS_GROUP,
    POD,
    QUOTA,
    TFJOB,
    VOLCANO_GROUP,
    VOLCANO_QUEUE,
    Kind,
)
from gangplan.kube.names import GANG_LABEL, REPLICA_INDEX, REPLICA_TYPE, ROLES, RUN_ID
from gangplan.kube.objects import NodeObject, PodObject, QuotaObject, items_of, pod_of
from gangplan.kube.pod_groups import groups_of
from gangplan.kube.queue_tree import queues_of
from gangplan.kube.quotas import namespace_quotas
from gangplan.kube.topology import Levels, levels_of
from gangplan.record import Phase
from gangplan.snapshot import Node, Running, Snapshot, Taint
from gangplan.store import Cluster, Gaps, Member

log = logging.getLogger(__name__)

T = TypeVar("T")

PEERS = (
    VOLCANO_QUEUE,
    VOLCANO_GROUP,
    HYPER_NODE,
    PLUGINS_GROUP,
    KUEUE_TOPOLOGY,
    OLD_KUEUE_TOPOLOGY,
    KAI_TOPOLOGY,
)
"""Kinds of others that are read where they are installed."""

ENDED = frozenset({"Succeeded", "Failed"})
"""Phases of pods that hold nothing any more."""

TRIES = 3
"""How often a read begins again because its moment became too old while it read."""


class SnapshotReader:
    """Reads one cluster, again and again."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def read(self) -> Cluster:
        """Nodes, queues, quotas and everything that holds a place on a node.

        Raises:
            ClusterError: The server does not answer or does not allow it.
            InvalidInput: What it sends has not the shape that it should have.
        """
        for _ in range(TRIES - 1):
            try:
                return self._read_at(self._api.moment())
            except Expired:
                continue
        return self._read_at(self._api.moment())

    def _read_at(self, version: str) -> Cluster:
        # The server works on some lists while others are decoded here.
        with ThreadPoolExecutor(4) as readers:
            pods = readers.submit(self._read, POD, PodObject, version)
            nodes = readers.submit(self._read, NODE, NodeObject, version)
            quotas = readers.submit(self._read, QUOTA, QuotaObject, version)
            queues = readers.submit(self._custom, GANG_QUEUE, version)
            topologies = readers.submit(self._custom, GANG_TOPOLOGY, version)
            gangs = readers.submit(self._custom, GANG, version)
            jobs = readers.submit(self._custom, TFJOB, version)
            peers = {kind: readers.submit(self._of_peer, kind, version) for kind in PEERS}
            of = {kind: found.result() for kind, found in peers.items()}
            levels = levels_of(topologies.result(), of[HYPER_NODE], _keyed(of), nodes.result())
            known, left_out = queues_of(queues.result(), of[VOLCANO_QUEUE])
            holding = [pod for pod in pods.result() if pod.status.phase not in ENDED]
            members = dict(_members(holding, dict(_runs(gangs.result()))))
            phases = {name_of(gang): _phase(gang) for gang in gangs.result()}
            counted = {
                pod for pod, member in members.items() if member.stands_for_its_replica(phases[member.gang])
            }
            # Pods outlive their node by some minutes, and hold nothing any more.
            there = {node.metadata.name for node in nodes.result()}
            placed = [pod for pod in holding if _node_of(pod) in there]
            groups = groups_of(placed, of[VOLCANO_GROUP], of[PLUGINS_GROUP], {queue.name for queue in known})
            snapshot = Snapshot(
                topology=levels.keys,
                nodes=tuple(_node(node, levels) for node in nodes.result()),
                queues=known,
                gangs=groups.gangs,
                running=tuple(groups.running.get(_name(pod)) or _running(pod) for pod in placed),
                quotas=namespace_quotas(quotas.result(), holding, counted),
            )
        ended = dict(endings(self._api, gangs.result(), jobs.result()))
        gaps = Gaps(queues=left_out, levels=levels.unknown)
        return Cluster(snapshot=snapshot, members=members, ended=ended, gaps=gaps)

    def _read(self, kind: Kind, type_: type[T], version: str) -> list[T]:
        return [item for page in self._api.pages(kind, version=version) for item in items_of(page, type_)]

    def _custom(self, kind: Kind, version: str) -> tuple[dict[str, Any], ...]:
        """Objects of a kind that may not be installed: then there are none."""
        try:
            return self._api.list(kind, version=version).items
        except NotInstalled:
            return ()

    def _of_peer(self, kind: Kind, version: str) -> tuple[dict[str, Any], ...]:
        """The same of a peer's kind, which who reads may not be allowed to read: what it says then goes unsaid."""
        try:
            return self._custom(kind, version)
        except Forbidden as error:
            log.debug("not read: %s", error)
            return ()


def _keyed(of: Mapping[Kind, tuple[dict[str, Any], ...]]) -> dict[str, tuple[dict[str, Any], ...]]:
    """Topologies by labels: those of Kueue in the newest version that is served."""
    return {"Kueue": of[KUEUE_TOPOLOGY] or of[OLD_KUEUE_TOPOLOGY], "KAI": of[KAI_TOPOLOGY]}


def _name(pod: PodObject) -> str:
    return full_name(pod.metadata.namespace, pod.metadata.name)


def _runs(gangs: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Gangs, and the run of each."""
    for gang in gangs:
        yield name_of(gang), gang["spec"].get("runId") or ""


def _phase(gang: Mapping[str, Any]) -> Phase:
    return (gang.get("status") or {}).get("phase") or "Pending"


def _members(pods: list[PodObject], runs: Mapping[str, str]) -> Iterator[tuple[str, Member]]:
    """Pods that are replicas of gangs, whatever these hold now. Those of an earlier run of the same name are not."""
    for pod in pods:
        labels = pod.metadata.labels or {}
        gang = full_name(pod.metadata.namespace, labels.get(GANG_LABEL, ""))
        role = ROLES.get(labels.get(REPLICA_TYPE, ""))
        index = labels.get(REPLICA_INDEX, "")
        if gang in runs and runs[gang] == labels.get(RUN_ID, "") and role is not None and index.isdecimal():
            yield (
                full_name(pod.metadata.namespace, pod.metadata.name),
                Member(
                    gang=gang,
                    role=role,
                    index=int(index),
                    leaving=pod.metadata.deletion_timestamp is not None,
                ),
            )


def _node(node: NodeObject, levels: Levels) -> Node:
    name = node.metadata.name
    ready = any(item.type == "Ready" and item.status == "True" for item in node.status.conditions or ())
    return Node(
        name=name,
        allocatable=node.status.allocatable or {},
        labels={**(node.metadata.labels or {}), **levels.of_node(name)},
        taints=tuple(
            Taint(key=taint.key, value=taint.value or "", effect=taint.effect)  # type: ignore[arg-type]
            for taint in node.spec.taints or ()
        ),
        unschedulable=bool(node.spec.unschedulable),
        ready=ready and node.metadata.deletion_timestamp is None,
    )


def _node_of(pod: PodObject) -> str:
    """The node of a pod: the one that it is bound to, or that it was told and may be bound to at any moment."""
    metadata = pod.metadata
    told = metadata.annotations and not metadata.deletion_timestamp and metadata.annotations.told_node
    return pod.spec.node_name or told or ""


def _running(pod: PodObject) -> Running:
    """A pod that holds a place. One that is being deleted holds it until it is gone."""
    return Running(
        name=_name(pod),
        node=_node_of(pod),
        pod=pod_of(pod),
        priority=pod.spec.priority,
        labels=pod.metadata.labels or {},
    )
