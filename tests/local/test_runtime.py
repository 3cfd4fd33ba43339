"""The local runtime through its public door, with small programs as replicas."""

import errno
import json
import os
import signal
import socket
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest

from gangplan.errors import Conflict, InvalidInput, NotFound, StoreError
from gangplan.local.keeper import Keeper
from gangplan.local.runtime import LocalRuntime
from gangplan.local.survivors import survivors
from gangplan.runtime import FINAL, Runtime


def states(status):
    return {replica.name: replica.state for replica in status.replicas}


def test_it_is_a_runtime(runtime: LocalRuntime):
    door: Runtime = runtime
    assert door is runtime


def test_a_job_succeeds_with_its_chief_and_its_servers_are_stopped(runtime, job, replica, no_survivors):
    work = job(replica("chief-0", "print('done')"), replica("ps-0"), replica("worker-0"))
    runtime.submit(work)
    status = runtime.wait("mnist")
    assert status.state == "Succeeded"
    assert states(status) == {"chief-0": "Succeeded", "ps-0": "Stopped", "worker-0": "Stopped"}
    assert [r.exit_code for r in status.replicas] == [0, 143, 143]
    assert list(runtime.logs("mnist", "chief-0")) == ["done"]
    no_survivors(work.run_id)


def test_replicas_know_their_peers_and_themselves(runtime, job, replica):
    show = "import os, json; print(json.dumps(dict(os.environ)))"
    work = job(
        replica("master-0", show), replica("worker-0", env={"MINE": "yes"}), replica("evaluator-0", node=None)
    )
    runtime.submit(work)
    runtime.wait("mnist")
    env = json.loads(next(runtime.logs("mnist", "master-0")))
    config = json.loads(env["TF_CONFIG"])
    assert {role: len(hosts) for role, hosts in config["cluster"].items()} == {"chief": 1, "worker": 1}
    assert config["task"] == {"type": "chief", "index": 0}
    assert len({host for hosts in config["cluster"].values() for host in hosts}) == 2
    assert all(host.startswith("127.0.0.1:") for hosts in config["cluster"].values() for host in hosts)
    assert (env["GANGPLAN_RUN_ID"], env["GANGPLAN_GANG"], env["GANGPLAN_REPLICA"]) == (
        work.run_id,
        "mnist",
        "master-0",
    )
    assert (env["TF_CPP_MIN_LOG_LEVEL"], env["CUDA_VISIBLE_DEVICES"]) == ("3", "")


@pytest.mark.parametrize(
    ("tasks", "sizes"),
    [
        (
            {"master-0": ("chief", 0), "worker-0": ("worker", 0), "evaluator-0": ("evaluator", 0)},
            {"chief": 1, "worker": 1},
        ),
        (
            {"ps-0": ("ps", 0), "worker-0": ("chief", 0), "worker-1": ("worker", 0)},
            {"chief": 1, "ps": 1, "worker": 1},
        ),
    ],
)
def test_each_replica_gets_a_tf_config_that_tensorflow_2_can_use(
    runtime, job, replica, eventually, tasks, sizes
):
    """Also a trainer that is not ours, and knows nothing of what the operator writes."""
    show = "import os, time; print(os.environ['TF_CONFIG'], flush=True); time.sleep(600)"
    runtime.submit(job(*(replica(name, show) for name in tasks)))
    eventually(lambda: all(list(runtime.logs("mnist", name)) for name in tasks))
    configs = {name: json.loads(next(runtime.logs("mnist", name))) for name in tasks}
    runtime.delete("mnist")
    assert {name: (each["task"]["type"], each["task"]["index"]) for name, each in configs.items()} == tasks
    clusters = [each["cluster"] for each in configs.values()]
    assert {role: len(hosts) for role, hosts in clusters[0].items()} == sizes
    assert all(cluster == clusters[0] for cluster in clusters)


def test_a_lone_replica_gets_no_tf_config(runtime, job, replica, monkeypatch):
    """As training-operator does; and nothing of the step around it comes along."""
    monkeypatch.setenv("TF_CONFIG", "{}")
    monkeypatch.setenv("_KFP_RUNTIME", "true")
    monkeypatch.setenv("KFP_POD_NAME", "pod")
    runtime.submit(job(replica("worker-0", "import os; print(sorted(os.environ))")))
    runtime.wait("mnist")
    (line,) = runtime.logs("mnist", "worker-0")
    assert "TF_CONFIG" not in line
    assert "KFP" not in line


def test_a_trainer_in_the_working_folder_is_found_whatever_protects_the_step_around_it(
    runtime, job, replica, monkeypatch, tmp_path
):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "own_trainer.py").write_text("import own_part")
    (tmp_path / "mine" / "own_part.py").write_text("print('found')")
    (tmp_path / "mine" / "queue.py").write_text("raise RuntimeError('this is not the library')")
    monkeypatch.chdir(tmp_path / "mine")
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    runtime.submit(job(replica("worker-0", command=("python", "-m", "own_trainer"))))
    assert runtime.wait("mnist").state == "Succeeded"
    assert list(runtime.logs("mnist", "worker-0")) == ["found"]


def test_temporary_files_of_a_replica_are_removed_when_its_job_has_ended(
    runtime, job, replica, monkeypatch, tmp_path, eventually
):
    """A folder for each replica, which it keeps when it is started again."""
    (tmp_path / "outer").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "outer"))
    leave = (
        "import os, tempfile, time\n"
        "folder = tempfile.gettempdir()\n"
        "again = os.listdir(folder)\n"
        "tempfile.mkstemp()\n"
        "print(folder, flush=True)\n"
        "if not again: os._exit(1)\n"
        "time.sleep(600)\n"
    )
    names = ("worker-0", "worker-1")
    work = job(*(replica(name, leave, restart="OnFailure") for name in names))
    runtime.submit(work)
    eventually(lambda: all(len(list(runtime.logs("mnist", name))) == 2 for name in names))
    folders = {name: {*runtime.logs("mnist", name)} for name in names}
    scratch = runtime._root / "mnist" / work.run_id / "tmp"
    assert folders == {name: {str(scratch / name)} for name in names}
    assert all(len(list((scratch / name).iterdir())) == 2 for name in names)
    runtime.close()
    assert runtime.status("mnist").state == "Canceled"
    assert not scratch.exists()
    assert list((tmp_path / "outer").iterdir()) == []


def test_a_failure_names_the_replica_its_exit_code_and_its_last_lines(runtime, job, replica):
    fail = (
        "import sys; print('E0000 00:00:17 grpc noise', file=sys.stderr); raise ValueError('no such image')"
    )
    runtime.submit(job(replica("worker-0"), replica("worker-1", fail)))
    status = runtime.wait("mnist")
    assert status.state == "Failed"
    assert status.replica == "worker-1"
    assert status.reason == "worker-1 failed with exit code 1: ValueError: no such image"
    assert states(status) == {"worker-0": "Stopped", "worker-1": "Failed"}
    failed = status.replicas[1]
    assert failed.last_lines[-1] == "ValueError: no such image"
    assert not any("grpc noise" in line for line in failed.last_lines)


def test_a_replica_is_started_again_in_the_same_log(runtime, job, replica, tmp_path):
    flag = tmp_path / "flag"
    code = f"import pathlib, sys; f = pathlib.Path({str(flag)!r}); print('hi'); again = f.exists(); f.touch(); sys.exit(0 if again else 3)"
    runtime.submit(job(replica("worker-0", code, restart="OnFailure")))
    status = runtime.wait("mnist")
    assert status.state == "Succeeded"
    assert status.replicas[0].restarts == 1
    assert list(runtime.logs("mnist", "worker-0")) == ["hi", "hi"]


def test_a_replica_that_ignores_sigterm_is_killed_with_all_its_descendants(
    runtime, job, replica, eventually, no_survivors
):
    """Grandchildren in the group and outside of it, and one that has thrown its environment away."""
    stubborn = (
        "import signal, subprocess, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "subprocess.Popen(['sleep', '600'])\n"
        "subprocess.Popen(['setsid', 'sleep', '600'])\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)\n"
    )
    work = job(replica("worker-0", stubborn), replica("worker-1"))
    runtime.submit(work)
    eventually(lambda: list(runtime.logs("mnist", "worker-0")) == ["ready"])
    eventually(lambda: len(survivors(work.run_id)) == 4)
    runtime.delete("mnist")
    assert survivors(work.run_id) == []


def test_a_server_that_ignores_sigterm_does_not_hold_up_the_end_of_its_job(runtime, job, replica):
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)"
    chief = "import sys, time\nwhile 'ready' not in open(sys.argv[1]).read(): time.sleep(0.01)"
    run_id = f"run-{time.time_ns()}"
    log = runtime._root / "mnist" / run_id / "ps-0.log"
    work = job(
        replica("chief-0", command=("python", "-c", chief, str(log))),
        replica("ps-0", stubborn),
        run_id=run_id,
    )
    runtime.submit(work)
    status = runtime.wait("mnist")
    assert status.state == "Succeeded"
    assert [(r.name, r.state, r.exit_code) for r in status.replicas] == [
        ("chief-0", "Succeeded", 0),
        ("ps-0", "Stopped", 137),
    ]


def test_what_a_replica_leaves_in_its_group_ends_with_it(runtime, job, replica, eventually):
    """As everything in a container ends with its first process, while the job goes on."""
    leave = "import subprocess; print(subprocess.Popen(['env', '-i', '/bin/sleep', '600']).pid)"
    runtime.submit(job(replica("worker-0"), replica("worker-1", leave)))
    eventually(lambda: states(runtime.status("mnist"))["worker-1"] == "Succeeded")
    (pid,) = runtime.logs("mnist", "worker-1")
    eventually(lambda: not Path(f"/proc/{pid}").exists())
    assert runtime.status("mnist").state == "Running"


def test_what_leaves_the_group_and_its_environment_ends_with_the_runtime(tmp_path, job, replica, eventually):
    marker = tmp_path / "pid"
    code = (
        "import subprocess, sys\n"
        f"subprocess.Popen(['setsid', 'env', '-i', 'sh', '-c', 'echo $$ > {marker}.new; mv {marker}.new {marker}; exec /bin/sleep 600'])\n"
        "import time; time.sleep(600)\n"
    )
    with LocalRuntime(tmp_path / "jobs", preload=()) as runtime:
        runtime.submit(job(replica("worker-0", code)))
        eventually(marker.exists)
        pid = int(marker.read_text())
        assert Path(f"/proc/{pid}").exists()
    assert not Path(f"/proc/{pid}").exists()


def test_a_deadline_ends_the_job(runtime, job, replica, no_survivors):
    work = job(replica("worker-0"), deadline_s=0.2)
    runtime.submit(work)
    status = runtime.wait("mnist")
    assert (status.state, status.reason) == ("TimedOut", "did not end within its deadline of 0.2 s")
    no_survivors(work.run_id)


def test_wait_gives_up_in_time_and_reports_each_change_once(runtime, job, replica):
    runtime.submit(job(replica("worker-0")))
    assert runtime.wait("mnist", timeout_s=0).state in {"Pending", "Running"}
    seen = []
    assert runtime.wait("mnist", timeout_s=2, on_change=seen.append).state == "Running"
    assert seen
    assert all(one != other for one, other in pairwise(seen))


def test_replicas_without_a_node_stay_pending_and_the_others_wait_for_them(runtime, job, replica, eventually):
    """Pod by pod: those that have a place hold it and wait for peers that never come."""
    runtime.submit(job(replica("worker-0"), replica("worker-1", node=None)))
    eventually(lambda: runtime.status("mnist").state == "Running")
    assert states(runtime.wait("mnist", timeout_s=0.5)) == {"worker-0": "Running", "worker-1": "Pending"}


def test_logs_follow_until_the_replica_ends(runtime, job, replica):
    code = "import time\nfor i in range(5): print(i, flush=True); time.sleep(0.1)\nprint('last', end='')"
    runtime.submit(job(replica("worker-0", code)))
    assert list(runtime.logs("mnist", "worker-0", follow=True)) == ["0", "1", "2", "3", "4", "last"]


def test_another_process_can_read_and_delete(runtime, job, replica, tmp_path, eventually):
    work = job(replica("worker-0", "print('hello', flush=True); import time; time.sleep(600)"))
    runtime.submit(work)
    other = LocalRuntime(tmp_path / "jobs", preload=())
    eventually(lambda: list(other.logs("mnist", "worker-0")) == ["hello"])
    assert other.status("mnist") == runtime.status("mnist")
    other.delete("mnist")
    other.delete("mnist")
    assert survivors(work.run_id) == []
    assert runtime.wait("mnist").state == "Canceled"
    with pytest.raises(NotFound):
        other.status("mnist")


def test_what_is_not_there_is_not_found(runtime, job, replica):
    for ask in (runtime.status, runtime.wait, lambda name: runtime.logs(name, "worker-0")):
        with pytest.raises(NotFound):
            ask("nobody")
    runtime.delete("nobody")
    runtime.submit(job(replica("worker-0")))
    with pytest.raises(NotFound):
        runtime.logs("mnist", "worker-1")


def test_a_name_is_taken_until_it_is_deleted(runtime, job, replica):
    runtime.submit(job(replica("worker-0", "pass"), run_id="first"))
    runtime.wait("mnist")
    with pytest.raises(Conflict, match="run first; delete it first"):
        runtime.submit(job(replica("worker-0")))
    runtime.delete("mnist")
    runtime.submit(job(replica("worker-0", "print('second')"), run_id="second"))
    assert runtime.wait("mnist").state == "Succeeded"
    assert list(runtime.logs("mnist", "worker-0")) == ["second"]


def test_all_that_is_wrong_with_a_job_is_told_at_once(runtime, job, replica, tmp_path):
    bad = job(
        replica("chief-0", command=("no-such-program",)),
        replica("master-0", command=()),
        replica("worker-1", env={"A=B": ""}),
        replica("launcher-0", restart="Sometimes"),
        name="a/b",
        deadline_s=0,
        backoff_limit=-1,
    )
    with pytest.raises(InvalidInput) as caught:
        runtime.submit(bad)
    assert [(problem.path, problem.code) for problem in caught.value.problems] == [
        ("$.backoff_limit", "OUT_OF_RANGE"),
        ("$.deadline_s", "OUT_OF_RANGE"),
        ("$.name", "BAD_VALUE"),
        ("$.replicas", "CONTRADICTION"),
        ("$.replicas", "MISSING_FIELD"),
        ("$.replicas[0].command[0]", "UNKNOWN_NAME"),
        ("$.replicas[1].command", "MISSING_FIELD"),
        ("$.replicas[2].env", "BAD_VALUE"),
        ("$.replicas[3].restart", "BAD_VALUE"),
        ("$.replicas[3].role", "UNKNOWN_NAME"),
    ]
    assert not (tmp_path / "jobs").exists()


def test_a_folder_that_cannot_be_written_is_told_before_anything_starts(job, replica, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    work = job(replica("worker-0"))
    with LocalRuntime(blocked, preload=()) as runtime:
        with pytest.raises(StoreError, match="nothing was started"):
            runtime.submit(work)
        with pytest.raises(NotFound):
            runtime.status("mnist")
    assert survivors(work.run_id) == []


def test_a_full_disk_is_told_before_anything_starts(job, replica, tmp_path, monkeypatch):
    """A file system on which no block is free."""
    real = os.statvfs

    def full(path):
        fields = list(real(path))
        fields[4] = 0  # f_bavail
        return os.statvfs_result(fields)

    monkeypatch.setattr(os, "statvfs", full)
    with LocalRuntime(tmp_path / "jobs", preload=()) as runtime:
        with pytest.raises(StoreError, match="free"):
            runtime.submit(job(replica("worker-0")))
        assert not (tmp_path / "jobs" / "mnist").exists()


def test_taken_ports_are_answered_with_others(runtime, job, replica, tmp_path, eventually):
    """Three times worker-1 finds its port taken; the fourth is free."""
    code = (
        "import json, os, sys, time\n"
        "config = json.loads(os.environ['TF_CONFIG'])\n"
        "used = open(sys.argv[1], 'a')\n"
        "print(config['cluster']['worker'][1], file=used, flush=True)\n"
        "sys.exit(98 if len(open(sys.argv[1]).readlines()) < 4 else 0)\n"
    )
    log = tmp_path / "used"
    command = ("python", "-c", code, str(log))
    runtime.submit(
        job(replica("worker-0"), replica("worker-1", command=command), replica("chief-0", node=None))
    )
    eventually(lambda: states(runtime.status("mnist"))["worker-1"] == "Succeeded")
    status = runtime.status("mnist")
    used = log.read_text().split()
    assert len(used) == len(set(used)) == 4
    assert all(r.restarts == 0 for r in status.replicas)


def test_streams_files_and_terminal_are_the_replicas_own(runtime, job, replica):
    """A child that inherits a step's stdout keeps the step from ending."""
    code = (
        "import os, sys\n"
        "print(sys.stdin.read() == '', sorted(map(int, os.listdir('/proc/self/fd')))[:3], len(os.listdir('/proc/self/fd')))\n"
        "print(os.getsid(0) == os.getpid() == os.getpgrp())\n"
    )
    with socket.socket():
        runtime.submit(job(replica("worker-0", code)))
        runtime.wait("mnist")
    assert list(runtime.logs("mnist", "worker-0")) == ["True [0, 1, 2] 4", "True"]


def test_many_jobs_run_side_by_side_from_many_threads(runtime, job, replica):
    def one(i):
        runtime.submit(job(replica("worker-0", f"print({i})"), name=f"job-{i}"))

    threads = [threading.Thread(target=one, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(8):
        assert runtime.wait(f"job-{i}").state == "Succeeded"
        assert list(runtime.logs(f"job-{i}", "worker-0")) == [str(i)]


def test_the_end_of_the_fork_server_ends_its_jobs_and_the_runtime_goes_on(
    runtime, job, replica, eventually, no_survivors
):
    work = job(
        replica(
            "worker-0", "import subprocess; subprocess.Popen(['sleep', '600']); import time; time.sleep(600)"
        )
    )
    runtime.submit(work)
    eventually(lambda: len(survivors(work.run_id)) == 2)
    keeper: Keeper = runtime._supervisor._keeper
    os.kill(keeper.pid, signal.SIGKILL)
    status = runtime.wait("mnist")
    assert status.state == "Failed"
    assert "fork server" in status.reason
    no_survivors(work.run_id)
    runtime.submit(job(replica("worker-0", "pass"), name="next"))
    assert runtime.wait("next").state == "Succeeded"


def test_a_killed_replica_is_told_honestly(runtime, job, replica, eventually):
    runtime.submit(
        job(
            replica("worker-0"),
            replica("worker-1", "print('working', flush=True); import time; time.sleep(600)"),
        )
    )
    eventually(lambda: list(runtime.logs("mnist", "worker-1")) == ["working"])
    os.kill(runtime.status("mnist").replicas[1].pid, signal.SIGKILL)
    status = runtime.wait("mnist")
    assert status.reason == "worker-1 was ended by SIGKILL (exit code 137): working"


def test_leaving_the_block_cancels_what_runs(tmp_path, job, replica):
    work = job(replica("worker-0"))

    def interrupted():
        with LocalRuntime(tmp_path / "jobs", preload=()) as runtime:
            runtime.submit(work)
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError):
        interrupted()
    assert survivors(work.run_id) == []
    status = LocalRuntime(tmp_path / "jobs").status("mnist")
    assert (status.state, status.reason) == ("Canceled", "who waited for it failed: RuntimeError: broken")


def test_the_status_file_is_whole_at_any_time(runtime, job, replica, tmp_path):
    """Another process reads while it is written."""
    workers = [replica(f"worker-{i}", f"import time; time.sleep({i} / 100)") for i in range(20)]
    runtime.submit(job(*workers, success_policy="AllWorkers"))
    other = LocalRuntime(tmp_path / "jobs", preload=())
    reads = 0
    while other.status("mnist").state not in FINAL:
        reads += 1
        time.sleep(0.001)
    assert reads > 0
    assert other.status("mnist").state == "Succeeded"


def test_the_interpreter_is_ours(runtime, job, replica):
    runtime.submit(job(replica("worker-0", "import sys; print(sys.executable)")))
    runtime.wait("mnist")
    assert list(runtime.logs("mnist", "worker-0")) == [sys.executable]


def test_errno_of_a_taken_address_is_the_exit_code_for_it():
    """98 is Linux's number; the trainer and the runtime must mean the same."""
    assert errno.EADDRINUSE == 98


def test_of_many_who_want_a_name_at_once_one_gets_it(job, replica, tmp_path):
    """Also with the same run id, as when a step is started twice; the losers break nothing of the winner's."""
    runtimes = [LocalRuntime(tmp_path / "jobs", preload=()) for _ in range(6)]
    outcomes = []
    gate = threading.Barrier(len(runtimes))

    def submit(runtime):
        gate.wait()
        try:
            runtime.submit(job(replica("worker-0", "print('the one')"), run_id="same"))
            outcomes.append("ran")
        except Conflict:
            outcomes.append("conflict")

    threads = [threading.Thread(target=submit, args=(runtime,)) for runtime in runtimes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["conflict"] * 5 + ["ran"]
    assert runtimes[0].wait("mnist").state == "Succeeded"
    assert list(runtimes[-1].logs("mnist", "worker-0")) == ["the one"]
    for runtime in runtimes:
        runtime.close()
