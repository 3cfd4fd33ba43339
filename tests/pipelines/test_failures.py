"""What follows from each failure, as the table in docs/failures.md says: an honest end, and nothing left behind."""

import json
import os
import signal
from pathlib import Path

import pytest
from runs import gangplan, interrupt, job, left_behind, nothing_left, python, records, start, train, until

SLEEP = python("import time; time.sleep(60)")
TALKS = python("import time; print('so far so good', flush=True); time.sleep(60)")


def descendants(pid: int) -> dict[int, str]:
    """Processes below one, with their command lines."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    found, left = {}, [pid]
    while left:
        for child in children.get(left.pop(), []):
            left.append(child)
            try:
                found[child] = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
    return found


def logs(home: Path) -> list[Path]:
    """The logs of both workers, once there are two."""

    def both() -> list[Path] | None:
        found = sorted(home.glob("jobs/*/*/worker-*.log"))
        return found if len(found) == 2 else None

    return until(both, "two logs")


def steps(pid: int) -> list[int]:
    """The Python processes of KFP's executor below a run (each has a shell above it)."""
    below = descendants(pid)
    return [
        each
        for each, words in below.items()
        if "/python" in words.split(" ")[0] and "-m kfp.dsl.executor_main" in words
    ]


def test_a_failed_replica_is_named_with_its_last_lines(tmp_path):
    failing = python("import sys; print('no such column: label'); sys.exit(3)")
    code, result, told = train(tmp_path / "home", "-p", "tfjob_yaml=" + job(Worker=SLEEP, PS=failing))
    assert code == 5
    assert result["outcome"] == "Failed"
    assert "ps-0" in result["reason"]
    assert "no such column: label" in result["reason"]
    assert Path(result["report"]).is_file()
    assert "no such column: label" in Path(result["report"]).read_text()
    assert "Task 'launch-tfjob' finished with status SUCCESS" in told, "only conclude makes the run red"
    assert "Task 'report' finished with status SUCCESS" in told
    assert "Task 'conclude' finished with status FAILURE" in told
    assert "Task 'release' finished with status SUCCESS" in told
    (record,) = records(tmp_path / "home")
    assert record.outcome == "Failed"
    nothing_left(tmp_path / "home")


def test_a_gang_that_can_never_fit_is_refused_at_once_with_changes(tmp_path):
    code, result, told = train(tmp_path / "home", "-p", "role_worker_count=400")
    assert code == 1
    assert result["outcome"] == "NotAdmitted"
    assert "cannot fit this cluster even when nothing runs" in result["reason"]
    changes = result["plan"]["rejections"][result["gang"]]["changes"]
    assert any(change["kind"] == "replicas" for change in changes)
    assert "Task 'admit' finished with status SUCCESS" in told
    (record,) = records(tmp_path / "home")
    assert (record.outcome, record.reservation) == ("NotAdmitted", None)


def test_a_gang_that_waits_too_long_gives_up_its_place(tmp_path):
    home = tmp_path / "home"
    (tmp_path / "cluster.json").write_text(
        json.dumps({"nodes": [{"name": "n1", "allocatable": {"cpu": "1"}}]})
    )
    holder = job(Worker=SLEEP).replace("100m", "'1'")
    first = start(
        home,
        "run",
        "--local",
        "--cluster",
        str(tmp_path / "cluster.json"),
        "-p",
        f"tfjob_yaml={holder}",
        log=tmp_path / "first",
    )
    try:
        until(lambda: any(record.phase == "Bound" for record in records(home)), "the first gang's start")
        code, result, _ = train(
            home, "-p", f"tfjob_yaml={holder}", "-p", "gang_wait_seconds=1", "-p", "job_name=second"
        )
        assert code == 1
        assert "not admitted in time" in result["reason"]
        assert "1 cpu" in result["reason"]
        changes = result["plan"]["rejections"][result["gang"]]["changes"]
        assert changes[0]["kind"] == "wait"
    finally:
        interrupt(first)
        assert first.wait(timeout=15) == 130
    nothing_left(home)


def test_a_job_past_its_deadline_is_timed_out(tmp_path):
    late = job(Worker=SLEEP).replace(
        "spec:\n  tfReplicaSpecs", "spec:\n  runPolicy: {activeDeadlineSeconds: 2}\n  tfReplicaSpecs", 1
    )
    code, result, _ = train(tmp_path / "home", "-p", f"tfjob_yaml={late}")
    assert code == 7
    assert result["outcome"] == "TimedOut"
    nothing_left(tmp_path / "home")


def test_a_deleted_gang_ends_its_run_as_canceled(tmp_path):
    home = tmp_path / "home"
    process = start(
        home, "run", "--local", "-o", "json", "-p", "tfjob_yaml=" + job(Worker=SLEEP), log=tmp_path / "run"
    )
    (record,) = until(lambda: [r for r in records(home) if r.phase == "Bound"], "the gang's start")
    assert gangplan(home, "delete", record.name, "--dry-run").returncode == 0
    assert [r.phase for r in records(home)] == ["Bound"]
    assert gangplan(home, "delete", record.name).returncode == 0
    assert process.wait(timeout=30) == 6
    assert json.loads((tmp_path / "run.out").read_text())["outcome"] == "Canceled"
    nothing_left(home)


@pytest.mark.parametrize("victim", ["worker", "ps", "chief"])
def test_a_killed_replica_fails_the_job_honestly(tmp_path, victim):
    """Replicas of TensorFlow under ParameterServerStrategy, killed in the middle of training."""
    home = tmp_path / "home"
    process = start(home, "run", "--local", "-o", "json", "-p", "train_epochs=400", log=tmp_path / "run")
    try:
        until(lambda: "loss" in (tmp_path / "run.err").read_text(), "training")
        (record,) = records(home)
        shown = json.loads(gangplan(home, "get", record.name, "-o", "json").stdout)
        pid = next(item["pid"] for item in shown["replicas"] if item["role"] == victim)
        os.kill(pid, signal.SIGKILL)
        assert process.wait(timeout=60) == 5
    finally:
        process.kill()
    result = json.loads((tmp_path / "run.out").read_text())
    assert result["outcome"] == "Failed"
    assert f"{victim}-0" in result["reason"]
    failed = next(item for item in result["replicas"] if item["role"] == victim)
    assert failed["exit_code"] == 128 + signal.SIGKILL
    nothing_left(home)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_launch_step_takes_its_replicas_along(tmp_path, number):
    home = tmp_path / "home"
    process = start(
        home,
        "run",
        "--local",
        "-o",
        "json",
        "-p",
        "tfjob_yaml=" + job(Worker=(TALKS, 2)),
        log=tmp_path / "run",
    )
    until(lambda: [r for r in records(home) if r.phase == "Bound"], "the gang's start")
    step = until(lambda: steps(process.pid), "the launch step")[0]
    until(lambda: all("so far so good" in log.read_text() for log in logs(home)), "the replicas' first words")
    os.kill(step, number)
    assert process.wait(timeout=30) == 5
    result = json.loads((tmp_path / "run.out").read_text())
    assert result["outcome"] == "Error"
    assert "launch-tfjob" in result["reason"]
    assert {item["role"] for item in result["replicas"]} == {"worker"}, "what was last seen of the replicas"
    (record,) = records(home)
    assert (record.phase, record.outcome) == (
        "Finished",
        "Failed" if number == signal.SIGKILL else "Canceled",
    )
    assert record.reason in result["reason"]
    nothing_left(home)


def test_a_killed_shell_above_the_step_ends_the_step_too(tmp_path):
    """KFP starts each step through a shell; with the shell gone nobody would hear of the step's end."""
    home = tmp_path / "home"
    sleeper = "tfjob_yaml=" + job(Worker=SLEEP)
    process = start(home, "run", "--local", "-o", "json", "-p", sleeper, log=tmp_path / "run")
    until(lambda: [r for r in records(home) if r.phase == "Bound"], "the gang's start")
    step = until(lambda: steps(process.pid), "the launch step")[0]
    shell = int(Path(f"/proc/{step}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(shell, signal.SIGKILL)
    assert process.wait(timeout=30) == 5
    (record,) = records(home)
    assert record.phase == "Finished"
    assert record.outcome != "Succeeded"
    nothing_left(home)


def test_a_killed_run_leaves_no_process_and_its_gang_is_ended_by_the_next_look(tmp_path):
    """SIGKILL of the command itself: nobody can clean up, the kernel and the next cycle do."""
    home = tmp_path / "home"
    process = start(
        home, "run", "--local", "-p", "tfjob_yaml=" + job(Worker=(SLEEP, 2)), log=tmp_path / "run"
    )
    until(lambda: [r for r in records(home) if r.phase == "Bound"], "the gang's start")
    process.kill()
    process.wait()
    until(lambda: not left_behind(home), f"the end of {left_behind(home)}", 10.0)
    (shown,) = json.loads(gangplan(home, "list", "-o", "json").stdout)
    assert shown["phase"] == "Finished"
    assert train(home, "-p", "tfjob_yaml=" + job(Worker=python("pass")))[0] == 0
    nothing_left(home)


def test_bad_parameters_are_all_named_before_anything_starts(tmp_path):
    words = (
        "role_worker_cpu=lots",
        "role_ps_count=-1",
        "train_strategy=magic",
        "train_epochs=0",
        "data_seed=-1",
    )
    done = gangplan(tmp_path / "home", "run", "--local", *(word for value in words for word in ("-p", value)))
    assert done.returncode == 3
    assert done.stdout == ""
    for word in words:
        assert f"{word.split('=')[0]}: " in done.stderr
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    "words",
    [("train_strategy=ps", "role_ps_count=0"), ("train_strategy=mirrored",), ("train_strategy=alone",)],
)
def test_a_strategy_that_contradicts_the_roles_is_refused(tmp_path, words):
    done = gangplan(tmp_path / "home", "run", "--local", *(word for value in words for word in ("-p", value)))
    assert done.returncode == 3
    assert "train_strategy: " in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-p", "data_source=nosuch"], "nosuch"),
        (["-p", "gang_queue=q"], "gang_queue"),
        (["-p", "gang_required_level=planet"], "gang_required_level"),
        (["-p", "tfjob_yaml=kind: Pod"], "TFJob"),
        (["-p", "wrong=1", "-p", "train_epochs=2.5"], "wrong: is no parameter"),
        (["-p", "train_epochs=2.5"], "train_epochs"),
        (["-p", "nonsense"], "NAME=VALUE"),
        (["-p", "train_learning_rate=nan"], "finite"),
        (["-p", "train_epochs=1", "-p", "train_epochs=2"], "given twice"),
    ],
    ids=lambda value: value[1] if isinstance(value, list) else None,
)
def test_bad_input_ends_with_3_and_says_what(tmp_path, words, message):
    done = gangplan(tmp_path / "home", "run", "--local", "-o", "json", *words)
    assert done.returncode == 3, done.stderr
    assert message in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    nothing_left(tmp_path / "home")


def test_an_unwritable_home_is_refused_before_anything_starts(tmp_path):
    (tmp_path / "file").write_text("")
    done = gangplan(tmp_path / "file" / "home", "run", "--local")
    assert done.returncode == 4
    assert "cannot be written" in done.stderr
