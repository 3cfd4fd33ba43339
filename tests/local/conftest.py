"""Jobs of small programs, and a runtime that leaves nothing behind."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gangplan.local.runtime import LocalRuntime
from gangplan.local.survivors import survivors
from gangplan.runtime import Job, ReplicaSpec

FOREVER = "import time; time.sleep(600)"


@pytest.fixture
def replica() -> Callable[..., ReplicaSpec]:
    """Make a replica from ``worker-0`` and a line of Python; without one it sleeps."""

    def make(name: str, code: str = FOREVER, **other) -> ReplicaSpec:
        role, _, index = name.rpartition("-")
        other.setdefault("node", "n1")
        other.setdefault("command", ("python", "-c", code))
        return ReplicaSpec(role=role, index=int(index), **other)

    return make


@pytest.fixture
def job() -> Callable[..., Job]:
    """Make a job; only its replicas matter."""

    def make(*replicas: ReplicaSpec, name: str = "mnist", run_id: str | None = None, **other) -> Job:
        return Job(name=name, run_id=run_id or f"run-{time.time_ns()}", replicas=replicas, **other)

    return make


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[LocalRuntime]:
    """Give a runtime that imports nothing beforehand."""
    with LocalRuntime(tmp_path / "jobs", preload=()) as open_runtime:
        yield open_runtime


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], None]:
    """Wait until something holds; a minute without it fails the test."""

    def wait(holds: Callable[[], object]) -> None:
        end = time.monotonic() + 60
        while not holds():
            assert time.monotonic() < end, "it never came to hold"
            time.sleep(0.02)

    return wait


@pytest.fixture
def no_survivors() -> Callable[[str], None]:
    """Assert that within ten seconds no process of a run is left."""

    def check(run_id: str) -> None:
        end = time.monotonic() + 10
        while left := survivors(run_id):
            assert time.monotonic() < end, f"still there: {left}"
            time.sleep(0.05)

    return check
