"""Processes are found by their run id, and none is taken for another."""

import os
import subprocess
import sys
import time

from gangplan.local.ports import free_ports
from gangplan.local.process import Identity
from gangplan.local.survivors import descendants, end_survivors, survivors


def sleeper(**env):
    return subprocess.Popen(["sleep", "600"], env={**os.environ, **env}, start_new_session=True)


def test_all_processes_of_a_run_and_no_others_are_ended(eventually):
    run_id = f"run-{time.time_ns()}"
    ours = [sleeper(GANGPLAN_RUN_ID=run_id, GANGPLAN_GANG=gang) for gang in ("a", "a", "b")]
    others = [sleeper(GANGPLAN_RUN_ID=f"{run_id}0"), sleeper(OTHER=f"GANGPLAN_RUN_ID={run_id}"), sleeper()]
    try:
        eventually(lambda: len(survivors(run_id)) == 3)
        assert end_survivors(run_id, "a") == 2
        assert [identity.pid for identity in survivors(run_id)] == [ours[2].pid]
        assert end_survivors(run_id) == 1
        assert [each.wait() for each in ours] == [-9, -9, -9]
        assert all(each.poll() is None for each in others)
    finally:
        for each in (*ours, *others):
            each.kill()
            each.wait()


def test_the_caller_and_those_above_it_are_spared():
    """A step that carries the run id looks for survivors of its own run."""
    run_id = f"run-{time.time_ns()}"
    code = (
        "import os, sys\n"
        "from gangplan.local.survivors import end_survivors, survivors\n"
        "run_id = os.environ['GANGPLAN_RUN_ID']\n"
        "if len(sys.argv) > 1: print(survivors(run_id), end_survivors(run_id))\n"
        "else: import subprocess; subprocess.run([sys.executable, sys.argv[0] or '-c', *sys.orig_argv[-1:], 'inner'])\n"
    )
    child = subprocess.run(
        [sys.executable, "-c", code, "inner"],
        env={**os.environ, "GANGPLAN_RUN_ID": run_id},
        capture_output=True,
        text=True,
        check=True,
    )
    assert child.stdout == "[] 0\n"


def test_a_process_is_not_confused_with_a_later_one_of_its_number():
    child = sleeper()
    identity = Identity.of(child.pid)
    assert identity.alive
    assert not Identity(child.pid, identity.started + 1).kill()
    assert child.poll() is None
    assert identity.kill()
    child.wait()
    assert not identity.alive
    assert not identity.kill()
    assert Identity.of(child.pid) is None


def test_descendants_are_all_below_and_only_those(eventually):
    child = subprocess.Popen(["sh", "-c", "sleep 600 & setsid sleep 600 & wait"])
    try:
        eventually(lambda: len(descendants(child.pid)) == 2)
        assert child.pid in {identity.pid for identity in descendants(os.getpid())}
    finally:
        for identity in descendants(child.pid):
            identity.kill()
        child.wait()


def test_free_ports_differ():
    ports = free_ports(200)
    assert len(set(ports)) == 200
    assert all(0 < port < 65536 for port in ports)
