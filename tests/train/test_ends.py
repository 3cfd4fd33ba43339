"""The program that runs a training ends at any moment: no TensorFlow process is left."""

import os
import signal
import subprocess
import sys
import time

import pytest

from gangplan.local.runtime import LocalRuntime
from gangplan.local.survivors import descendants, survivors

PROGRAM = """
import sys
from pathlib import Path
from gangplan.local.runtime import LocalRuntime
from gangplan.runtime import Job, ReplicaSpec

command = ("python", "-m", "gangplan.train.classifier", "--data", "digits", "--steps", "200000", "--log-every", "20",
           "--out", sys.argv[3])
roles = [("worker", 0), ("worker", 1)] if sys.argv[4] == "mirrored" else [("chief", 0), ("ps", 0), ("worker", 0)]
with LocalRuntime(Path(sys.argv[1])) as runtime:
    runtime.submit(Job(name="mnist", run_id=sys.argv[2], replicas=tuple(
        ReplicaSpec(role=role, index=index, node="n1", command=command) for role, index in roles)))
    runtime.wait("mnist")
"""


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        ("import", signal.SIGKILL),
        ("import", signal.SIGINT),
        ("import", signal.SIGTERM),
        ("mirrored", signal.SIGKILL),
        ("mirrored", signal.SIGTERM),
        ("ps", signal.SIGKILL),
        ("ps", signal.SIGINT),
    ],
)
def test_no_training_process_outlives_its_program(tmp_path, moment, number):
    """While TensorFlow is imported, and while either kind of gang trains (mirrored workers ignore SIGTERM)."""
    run_id = f"run-{time.time_ns()}"
    out = tmp_path / "out"
    outer = tmp_path / "outer"
    outer.mkdir()
    with (tmp_path / "errors").open("w") as errors:
        child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path / "jobs"), run_id, str(out), moment],
            stdout=errors,
            stderr=errors,
            env={**os.environ, "TMPDIR": str(outer)},
            start_new_session=True,
        )
    try:
        wanted = tmp_path / "jobs" / "forkserver.log" if moment == "import" else out / "history.json"
        end = time.monotonic() + 200
        while not wanted.exists():
            assert child.poll() is None, (tmp_path / "errors").read_text()
            assert time.monotonic() < end
            time.sleep(0.05)
        time.sleep(1)
        family = descendants(child.pid)
        assert family
        child.send_signal(number)
        child.wait(timeout=30)
    finally:
        child.kill()
        child.wait()
    end = time.monotonic() + 10
    while left := [*survivors(run_id), *(each for each in family if each.alive)]:
        assert time.monotonic() < end, left
        time.sleep(0.05)
    assert list(outer.iterdir()) == [], "TensorFlow leaves files when it is killed"
    status = LocalRuntime(tmp_path / "jobs").status("mnist")
    assert status.state == ("Failed" if number == signal.SIGKILL else "Canceled")
    if status.state == "Canceled":
        assert not (tmp_path / "jobs" / "mnist" / run_id / "tmp").exists()
