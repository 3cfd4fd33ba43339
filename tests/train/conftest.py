"""A runtime that imports TensorFlow once for all trainings of these tests."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gangplan.local.runtime import LocalRuntime
from gangplan.local.survivors import survivors
from gangplan.runtime import FINAL, Job, JobStatus, ReplicaSpec


@pytest.fixture(scope="session")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRuntime]:
    """Give the runtime; leaving it ends whatever a failed test left."""
    with LocalRuntime(tmp_path_factory.mktemp("jobs")) as open_runtime:
        yield open_runtime


@dataclass(kw_only=True)
class Training:
    """A job of the classifier."""

    runtime: LocalRuntime
    name: str
    run_id: str
    out: Path

    def status(self) -> JobStatus:
        return self.runtime.status(self.name)

    def wait(self) -> JobStatus:
        status = self.runtime.wait(self.name, timeout_s=200)
        assert status.state in FINAL, self.logs()
        assert survivors(self.run_id) == []
        return status

    def succeeds(self) -> dict[str, Any]:
        """Wait for success and give the result."""
        status = self.wait()
        assert status.state == "Succeeded", (status.reason, self.logs())
        return self.read("result.json")

    def read(self, name: str) -> Any:
        return json.loads((self.out / name).read_text())

    def pid(self, replica: str) -> int:
        (pid,) = (each.pid for each in self.status().replicas if each.name == replica)
        return pid

    def logs(self) -> dict[str, list[str]]:
        return {each.name: list(self.runtime.logs(self.name, each.name)) for each in self.status().replicas}

    def until_step(self, step: int) -> None:
        """Wait until the history has come so far."""
        end = time.monotonic() + 200
        while True:
            try:
                if self.read("history.json")[-1]["step"] >= step:
                    return
            except (OSError, IndexError):
                pass
            assert self.status().state not in FINAL, (self.status(), self.logs())
            assert time.monotonic() < end, self.logs()
            time.sleep(0.02)


@pytest.fixture
def train(runtime: LocalRuntime, tmp_path: Path) -> Iterator[Callable[..., Training]]:
    """Start the classifier with replicas such as ``"chief ps 2*worker"`` and more arguments.

    ``first`` names what the shell of a role, or of one replica, does before: ``{"ps-0": "umask 027"}``.
    """
    names: list[str] = []

    def start(
        roles: str,
        *words: str,
        out: Path | None = None,
        restart: str = "Never",
        env: dict | None = None,
        first: dict[str, str] | None = None,
    ) -> Training:
        name = f"job-{time.time_ns()}"
        names.append(name)
        folder = out or tmp_path / "out"
        command = ("python", "-m", "gangplan.train.classifier", "--out", str(folder), *words)
        first = first or {}

        def begun(role: str, name: str) -> tuple[str, ...]:
            before = first.get(name, first.get(role))
            if before is None:
                return command
            return ("sh", "-c", f'{before} && exec "$@"', "sh", sys.executable, *command[1:])

        replicas = []
        for part in roles.split():
            count, _, role = part.rpartition("*")
            replicas += [
                ReplicaSpec(
                    role=role,
                    index=i,
                    node="n1",
                    command=begun(role, f"{role}-{i}"),
                    restart=restart,
                    env=env or {},
                )
                for i in range(int(count or 1))
            ]
        runtime.submit(Job(name=name, run_id=name, replicas=tuple(replicas)))
        return Training(runtime=runtime, name=name, run_id=name, out=folder)

    yield start
    for name in names:
        runtime.delete(name)
