"""Virtual nodes: this machine divided, or any cluster that a file describes."""

import os
from collections.abc import Iterable
from pathlib import Path

from gangplan.errors import InvalidInput, Problem
from gangplan.local.store import LocalStore
from gangplan.record import Owner
from gangplan.snapshot import Node, Snapshot
from gangplan.solver import load

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


def start_ticks(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot; None if there is none, or if it only waits to be reaped."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *rest = text.rpartition(")")[2].split()
    return None if state in {"Z", "X"} else int(rest[18])


def this_process() -> Owner:
    """The calling process as an owner of gangs."""
    ticks = start_ticks(os.getpid())
    assert ticks is not None, "a running process has an entry in /proc"
    return Owner(pid=os.getpid(), started=ticks)


class LocalCluster:
    """The cluster as the admission cycle sees it: :class:`gangplan.admission.ClusterView` on one machine."""

    def __init__(self, store: LocalStore) -> None:
        self._store = store

    def snapshot(self) -> Snapshot:
        """Nodes and queues of the store; this machine divided in two where nobody has told any."""
        cluster = self._store.cluster()
        if cluster is None:
            cluster = divide_machine()
            self._store.set_cluster(cluster)
        return cluster

    def gone(self, owners: Iterable[Owner]) -> frozenset[Owner]:
        """Owners whose process has ended."""
        return frozenset(owner for owner in owners if start_ticks(owner.pid) != owner.started)
