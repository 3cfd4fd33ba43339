"""The program that measures images a second: each network, alone and with others, and what it refuses."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gangplan.local.runtime import LocalRuntime
from gangplan.runtime import Job, ReplicaSpec

SMALL = ("--pixels", "8", "--batch", "2", "--steps", "2", "--warmup", "1", "--threads", "1")


def measured(runtime: LocalRuntime, name: str, roles: dict[str, int], *flags: str) -> list[str]:
    """The lines of the leader of a gang that has measured itself."""
    command = ("python", "-m", "gangplan.train.benchmark", *flags)
    replicas = tuple(
        ReplicaSpec(role=role, index=index, node="n", command=command)
        for role, count in roles.items()
        for index in range(count)
    )
    runtime.submit(Job(name=name, run_id=f"run-of-{name}", replicas=replicas))
    ended = runtime.wait(name, timeout_s=200)
    lines = list(runtime.logs(name, "chief-0" if "chief" in roles else "worker-0"))
    assert ended.state == "Succeeded", (ended.reason, lines)
    return lines


@pytest.mark.parametrize(
    ("name", "roles", "flags"),
    [
        ("alone", {"worker": 1}, ("--network", "residual", *SMALL)),
        ("mirrored", {"worker": 2}, ("--network", "residual", *SMALL)),
        ("servers", {"chief": 1, "ps": 1, "worker": 2}, ("--network", "classifier", *SMALL)),
        ("resnet50", {"worker": 1}, ("--network", "resnet50", *SMALL, "--pixels", "32", "--batch", "1")),
    ],
)
def test_the_leader_tells_the_speed_of_the_whole_gang_last(runtime, name, roles, flags):
    *steps, total = [line for line in measured(runtime, name, roles, *flags) if "images/sec" in line]
    assert re.fullmatch(r"total images/sec: \d+\.\d\d", total)
    assert [re.match(r"step (\d/2) images/sec: \d", line)[1] for line in steps] == ["1/2", "2/2"]


def test_all_wrong_numbers_are_told_at_once():
    flags = ["--network", "resnet50", "--pixels", "31", "--batch", "0", "--steps", "-1", "--threads", "-1"]
    done = subprocess.run(
        [sys.executable, "-m", "gangplan.train.benchmark", *flags],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 3
    for told in ("--pixels: must be at least 32", "--batch: ", "--steps: ", "--threads: must be at least 0"):
        assert told in done.stderr
