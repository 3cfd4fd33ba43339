"""Whatever ends the process that runs a job, no process of the job is left, and its end is told honestly."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gangplan.local.runtime import LocalRuntime
from gangplan.local.survivors import survivors

PROGRAM = """
import sys
from pathlib import Path
from gangplan.local.runtime import LocalRuntime
from gangplan.runtime import Job, ReplicaSpec

CODE = '''
import signal, subprocess, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(["sleep", "600"])
subprocess.Popen(["setsid", "sleep", "600"])
print("ready", flush=True)
time.sleep(600)
'''
print("begun", flush=True)
with LocalRuntime(Path(sys.argv[1]), preload=()) as runtime:
    runtime.submit(Job(name="mnist", run_id=sys.argv[2], replicas=tuple(
        ReplicaSpec(role="worker", index=i, node="n1", command=("python", "-c", CODE)) for i in range(2))))
    print("submitted", flush=True)
    runtime.wait("mnist")
"""


@pytest.fixture
def program(tmp_path):
    """Start a program that runs a job, in a session of its own as a terminal would."""
    started = []

    def start(run_id):
        child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path / "jobs"), run_id],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        started.append(child)
        return child

    yield start
    for child in started:
        child.kill()
        child.communicate()


@pytest.mark.parametrize(
    ("number", "state", "reason"),
    [
        (signal.SIGKILL, "Failed", "ended before the job did"),
        (signal.SIGTERM, "Canceled", "the process that waited for it was told to end"),
        (signal.SIGINT, "Canceled", "interrupted by its user"),
        (signal.SIGQUIT, "Failed", "ended before the job did"),
    ],
)
def test_a_signal_to_the_program_ends_everything(
    program, tmp_path, eventually, no_survivors, number, state, reason
):
    run_id = f"run-{time.time_ns()}"
    child = program(run_id)
    eventually(lambda: len(survivors(run_id)) == 6)
    child.send_signal(number)
    child.wait(timeout=30)
    no_survivors(run_id)
    reader = LocalRuntime(tmp_path / "jobs")
    status = reader.status("mnist")
    assert status.state == state
    assert reason in status.reason
    assert {replica.state for replica in status.replicas} == {"Stopped"}
    assert list(reader.logs("mnist", "worker-0", follow=True)) == ["ready"]
    reader.delete("mnist")


def test_ctrl_c_at_any_moment_leaves_nothing(program, no_survivors):
    """Before, while and after processes are started; seeded, so that a failure can be repeated."""
    rng = random.Random(7)
    for attempt in range(12):
        run_id = f"run-{attempt}-{time.time_ns()}"
        child = program(run_id)
        assert child.stdout.readline() == b"begun\n"
        time.sleep(rng.uniform(0, 0.25))
        os.killpg(child.pid, signal.SIGINT)
        child.wait(timeout=30)
        no_survivors(run_id)
        # The next attempt finds the name taken unless the interrupted one is cleared away.
        LocalRuntime(Path(child.args[3])).delete("mnist")


def test_impatient_ctrl_c_leaves_nothing_either(program, eventually, no_survivors):
    run_id = f"run-{time.time_ns()}"
    child = program(run_id)
    eventually(lambda: len(survivors(run_id)) == 6)
    for _ in range(5):
        os.killpg(child.pid, signal.SIGINT)
        time.sleep(0.05)
    child.wait(timeout=30)
    no_survivors(run_id)


def test_program_and_fork_server_killed_together_leave_no_replica(program, eventually):
    """Nobody is left to clean up: the kernel ends the replicas. What they started is found by the next delete."""
    run_id = f"run-{time.time_ns()}"
    child = program(run_id)
    eventually(lambda: len(survivors(run_id)) == 6)
    reader = LocalRuntime(Path(child.args[3]))
    pids = [replica.pid for replica in reader.status("mnist").replicas]
    parent = int(Path(f"/proc/{pids[0]}/stat").read_text().rpartition(")")[2].split()[1])
    child.send_signal(signal.SIGSTOP)
    os.kill(parent, signal.SIGKILL)
    child.send_signal(signal.SIGKILL)
    child.wait(timeout=30)
    eventually(lambda: not any(identity.pid in pids for identity in survivors(run_id)))
    reader.delete("mnist")
    assert survivors(run_id) == []
