"""Virtual nodes: this machine divided, or any cluster that a file describes."""

import os
from collections.abc import Iterable
from pathlib import Path

from gangplan.errors import InvalidInput, Problem
from gangplan.local.process import Identity
from gangplan.local.store import LocalStore
from gangplan.record import Owner
from gangplan.snapshot import Node, Snapshot
from gangplan.solver import load
from gangplan.store import Cluster

RACK = "rack"


def divide_machine(nodes: int = 2) -> Snapshot:
    """Divide the cores and the memory of this machine evenly into virtual nodes of one rack.

    Args:
        nodes: How many virtual nodes, at least 1.
    """
    millicores = 1000 * len(os.sched_getaffinity(0)) // nodes
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // nodes
    return Snapshot(
        topology=(RACK,),
        nodes=tuple(
            Node(
                name=f"node-{index}",
                labels={RACK: "rack-0"},
                allocatable={"cpu": f"{millicores}m", "memory": str(memory), "pods": "110"},
            )
            for index in range(nodes)
        ),
    )


def read_cluster(path: Path) -> Snapshot:
    """Read virtual nodes, topology and queues from a snapshot file.

    Raises:
        InvalidInput: The file is wrong, holds gangs, or holds no node; every problem is named.
        OSError: It cannot be read.
    """
    cluster = load(path)
    problems = [
        Problem(f"$.{name}", "CONTRADICTION", "a local cluster starts empty: leave this out")
        for name in ("gangs", "running")
        if getattr(cluster, name)
    ]
    if not cluster.nodes:
        problems.append(Problem("$.nodes", "OUT_OF_RANGE", "must have at least one node"))
    if problems:
        raise InvalidInput(problems, str(path))
    return cluster


def owner(pid: int) -> Owner | None:
    """A process as an owner of gangs; None if there is no such process."""
    found = Identity.of(pid)
    return None if found is None else Owner(pid=found.pid, started=found.started)


def this_process() -> Owner:
    """The calling process as an owner of gangs."""
    found = owner(os.getpid())
    assert found is not None, "a running process has an entry in /proc"
    return found


class LocalCluster:
    """The cluster as the admission cycle sees it: :class:`gangplan.store.ClusterView` on one machine."""

    def __init__(self, store: LocalStore) -> None:
        self._store = store

    def snapshot(self) -> Snapshot:
        """Nodes and queues of the store; this machine divided in two where nobody has told any."""
        cluster = self._store.cluster()
        if cluster is None:
            with self._store.leadership():
                cluster = self._store.cluster() or divide_machine()
                self._store.set_cluster(cluster)
        return cluster

    def read(self) -> Cluster:
        """The same; nothing runs here that has no gang record."""
        return Cluster(snapshot=self.snapshot())

    def gone(self, owners: Iterable[Owner]) -> frozenset[Owner]:
        """Owners whose process has ended."""
        return frozenset(item for item in owners if not Identity(item.pid, item.started).alive)
