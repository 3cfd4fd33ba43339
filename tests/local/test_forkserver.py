"""Replicas that are forked after one import behave as those that are started one by one."""

import os
import signal
import sys
from pathlib import Path

import pytest

from gangplan.local.runtime import LocalRuntime
from gangplan.local.survivors import survivors

HEAVY = """
import os, pathlib, time
pathlib.Path(os.environ["COUNT"]).open("a").write("x")
os.environ["SET_BY_IMPORT"] = "yes"
"""
TRAINER = """
import heavy
import atexit, json, os, random, sys, threading, time

def main():
    what = sys.argv[1]
    if what == "show":
        print(json.dumps([sys.argv, __name__, dict(os.environ), os.getsid(0) == os.getpid(), os.getppid()]))
        print(sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:3], len(os.listdir("/proc/self/fd")))
        print(open("/proc/self/comm").read().strip())
    elif what == "late":
        atexit.register(print, "goodbye")
        threading.Thread(target=lambda: (time.sleep(0.2), print("thread"))).start()
    elif what == "sleep":
        print("asleep", flush=True); time.sleep(600)
    elif what == "message":
        sys.exit("a message")
    elif what == "raise":
        raise ValueError("a defect")
    else:
        sys.exit(int(what))

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def trainer(tmp_path, monkeypatch):
    """Give the name of a module that imports another, and the file in which imports are counted."""
    folder = tmp_path / "lib"
    folder.mkdir()
    (folder / "heavy.py").write_text(HEAVY)
    (folder / "trainer.py").write_text(TRAINER)
    (folder / "broken.py").write_text("import os\nraise RuntimeError('does not import here')")
    (folder / "deadly.py").write_text(
        "import os, sys\nif 'GANGPLAN_REPLICA' not in os.environ: os._exit(3)\nprint('alive')"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *sys.path]))
    monkeypatch.setenv("COUNT", str(tmp_path / "count"))
    return tmp_path / "count"


@pytest.fixture
def forking(tmp_path):
    """Give a runtime that forks the trainer."""
    with LocalRuntime(tmp_path / "jobs", preload=("trainer", "broken", "deadly")) as runtime:
        yield runtime


def run(runtime, job, replica, *words, module="trainer", name="mnist", **other):
    runtime.submit(job(replica("worker-0", command=("python", "-m", module, *words), **other), name=name))
    return runtime.wait(name)


def test_replicas_share_one_import(trainer, forking, job, replica):
    replicas = [replica(f"worker-{i}", command=("python", "-m", "trainer", "0")) for i in range(4)]
    forking.submit(job(*replicas, success_policy="AllWorkers"))
    assert forking.wait("mnist").state == "Succeeded"
    assert trainer.read_text() == "x"


def test_a_forked_replica_sees_what_a_started_one_sees(trainer, forking, job, replica, tmp_path):
    import json

    with LocalRuntime(tmp_path / "plain", preload=()) as plain:
        seen = []
        for runtime in (forking, plain):
            run(runtime, job, replica, "show", "and more", env={"MINE": "1"})
            shown, *lines = runtime.logs("mnist", "worker-0")
            argv, name, env, leads, _ = json.loads(shown)
            env.pop("GANGPLAN_RUN_ID")
            assert Path(env.pop("TMPDIR")).is_relative_to(tmp_path)
            seen.append((argv[1:], name, env, leads, lines[0]))
            assert lines[1] in {"gp:worker-0", Path(sys.executable).resolve().name[:15], "python"}
    assert seen[0] == seen[1]
    assert seen[0][2]["SET_BY_IMPORT"] == "yes"


@pytest.mark.parametrize(
    ("word", "code", "last"),
    [
        ("0", 0, None),
        ("3", 3, None),
        ("255", 255, None),
        ("message", 1, "a message"),
        ("raise", 1, "ValueError: a defect"),
    ],
)
def test_exit_codes_and_last_words_are_the_programs_own(trainer, forking, job, replica, word, code, last):
    status = run(forking, job, replica, word)
    assert status.replicas[0].exit_code == code
    if last:
        assert status.replicas[0].last_lines[-1] == last
    assert trainer.read_text() == "x"


def test_threads_and_exit_functions_come_to_their_end(trainer, forking, job, replica):
    assert run(forking, job, replica, "late").state == "Succeeded"
    assert list(forking.logs("mnist", "worker-0")) == ["thread", "goodbye"]


def test_a_forked_replica_is_found_by_its_run_id(trainer, forking, job, replica, eventually, no_survivors):
    """Its /proc/<pid>/environ would be the fork server's."""
    work = job(replica("worker-0", command=("python", "-m", "trainer", "sleep")))
    forking.submit(work)
    eventually(lambda: list(forking.logs("mnist", "worker-0")) == ["asleep"])
    (found,) = survivors(work.run_id)
    # What is written down of it may be a moment behind.
    eventually(lambda: forking.status("mnist").replicas[0].pid == found.pid)
    os.kill(forking._supervisor._keeper.pid, signal.SIGKILL)
    assert forking.wait("mnist").state == "Failed"
    no_survivors(work.run_id)


def test_other_commands_are_started_as_usual(trainer, forking, job, replica):
    forking.submit(job(replica("worker-0", "import os; print(os.environ['GANGPLAN_REPLICA'])")))
    assert forking.wait("mnist").state == "Succeeded"
    assert not trainer.exists()


def test_variables_that_an_import_reads_are_honoured(trainer, forking, job, replica):
    """A replica that asks for other ones cannot share the import."""
    assert run(forking, job, replica, "0", env={"OMP_NUM_THREADS": "3"}).state == "Succeeded"
    assert run(forking, job, replica, "0", name="second").state == "Succeeded"
    assert run(forking, job, replica, "0", name="third").state == "Succeeded"
    assert trainer.read_text() == "xx"


def test_a_module_that_does_not_import_fails_in_the_replicas_own_log(trainer, forking, job, replica):
    status = run(forking, job, replica, module="broken")
    assert status.reason == "worker-0 failed with exit code 1: RuntimeError: does not import here"


def test_a_fork_server_that_dies_while_importing_is_done_without(trainer, forking, job, replica):
    status = run(forking, job, replica, module="deadly")
    assert status.state == "Succeeded"
    assert list(forking.logs("mnist", "worker-0")) == ["alive"]


def test_a_job_can_be_canceled_while_its_module_is_imported(
    trainer, forking, job, replica, tmp_path, eventually
):
    (tmp_path / "lib" / "heavy.py").write_text(
        "import os, pathlib, time\npathlib.Path(os.environ['COUNT']).touch()\nwhile True: time.sleep(0.01)"
    )
    forking.submit(job(replica("worker-0", command=("python", "-m", "trainer", "0"))))
    eventually(trainer.exists)
    forking.delete("mnist")
    server = forking._supervisor._keeper.pid
    forking.close()
    assert not Path(f"/proc/{server}").exists()
