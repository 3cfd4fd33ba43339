"""Containers of the nodes, as containerd has them on disk: what is left of them when it cannot be asked."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

CONTROL_GROUPS = Path("/sys/fs/cgroup")
NAMESPACE = "k8s.io"
_RUNNING = f"state/io.containerd.runtime.v2.task/{NAMESPACE}/*"


def kill_all(node: Path) -> None:
    """End all containers of a node, and the processes that watch over them, as a power failure would.

    Args:
        node: The folder of the node; its containerd has ended.
    """
    socket = str(node / "containerd.sock").encode()
    watchers = [pid for pid in _pids() if socket in _arguments(pid)]
    first_processes = [int(file.read_text()) for file in node.glob(f"{_RUNNING}/init.pid")]
    for pid in (*watchers, *first_processes):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def remove_groups(cluster: Path) -> None:
    """Remove the control groups of all containers of a cluster whose processes have ended: nothing else does it.

    The group above them stays: a container of another cluster may be about to be made in it.
    """
    for container in cluster.glob(f"nodes/*/{_RUNNING}"):
        for group in _groups(f"{NAMESPACE}/{container.name}"):
            for folder, _, _ in os.walk(group, topdown=False):
                _remove(Path(folder))


def _remove(group: Path) -> None:
    """Remove a group; processes that were killed take a moment to leave it."""
    deadline = time.monotonic() + 10
    while True:
        try:
            return group.rmdir()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _groups(name: str) -> list[Path]:
    """Folders of a control group; with version 1 each controller has a hierarchy of its own."""
    places = (CONTROL_GROUPS, *(place for place in CONTROL_GROUPS.iterdir() if not place.is_symlink()))
    return [place / name for place in places if (place / name).is_dir()]


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _arguments(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return []
