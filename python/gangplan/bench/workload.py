"""A workload as a file: rows of integers and names that any scheduler can read."""

from dataclasses import dataclass
from pathlib import Path

from gangplan.documents import decode, encode, write_atomic


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """A node: ``cpu`` in millicores, ``memory`` in MiB, ``gpu`` and ``pods`` as counts, and where it stands."""

    name: str
    cpu: int
    memory: int
    gpu: int
    pods: int
    block: str
    rack: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleRow:
    """``count`` replicas, and what one of them takes, in the units of :class:`NodeRow`."""

    name: str
    count: int
    cpu: int
    memory: int
    gpu: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GangRow:
    """A gang: it waits if ``running`` is None, else each role has the position in ``nodes`` of each replica."""

    name: str
    queue: str = "q0"
    priority: int = 0
    required: str = ""
    preferred: str = ""
    roles: tuple[RoleRow, ...]
    running: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """A queue without limits."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A cluster, what runs on it and who waits, in the order of arrival."""

    workload: str
    seed: int
    levels: tuple[str, ...] = ("block", "rack", "host")
    nodes: tuple[NodeRow, ...]
    queues: tuple[QueueRow, ...] = (QueueRow(name="q0"),)
    gangs: tuple[GangRow, ...]

    @property
    def waiting(self) -> tuple[GangRow, ...]:
        """Gangs that wait."""
        return tuple(gang for gang in self.gangs if gang.running is None)


def read(path: Path) -> Workload:
    """Read a workload file.

    Raises:
        InvalidInput: It is no such file.
        OSError: It cannot be read.
    """
    return decode(path.read_bytes(), Workload)


def path_in(folder: Path, workload: Workload) -> Path:
    """Where a workload is written in a folder."""
    return folder / f"{workload.workload}.json"


def write(workload: Workload, folder: Path) -> Path:
    """Write a workload into a folder, which is made if need be; equal workloads give equal bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    path = path_in(folder, workload)
    write_atomic(path, encode(workload))
    return path
