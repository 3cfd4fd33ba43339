"""What KFP's local runner gets wrong, and what we do about each."""

import json
from pathlib import Path

from runs import gangplan, job, nothing_left, python, train


def test_replicas_do_not_believe_that_they_are_kfp_steps(tmp_path):
    """`_KFP_RUNTIME` cuts kfp down in whoever inherits it."""
    code, result, _ = train(
        tmp_path / "h", "-p", "tfjob_yaml=" + job(Worker=python("import os; print(sorted(os.environ))"))
    )
    assert code == 0
    log = Path(result["replicas"][0]["log"]).read_text()
    assert "GANGPLAN_RUN_ID" in log
    assert "KFP" not in log


def test_a_process_that_a_replica_leaves_does_not_hold_the_step(tmp_path):
    """A child that inherits the step's stdout would keep the step open until it ends."""
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'])"
    assert train(tmp_path / "h", "-p", "tfjob_yaml=" + job(Worker=python(code)), timeout_s=60)[0] == 0
    nothing_left(tmp_path / "h")


def test_bytes_that_are_no_text_do_not_kill_the_run(tmp_path):
    code = "import sys; sys.stdout.buffer.write(b'loss \\xff\\xfe \\x1b[31m\\n'); sys.exit(1)"
    status, result, told = train(tmp_path / "h", "-p", "tfjob_yaml=" + job(Worker=python(code)))
    assert status == 5
    assert "loss \ufffd" in result["reason"]
    assert "Task 'report' finished with status SUCCESS" in told


def test_an_argument_that_is_too_long_for_a_process_is_refused_before_the_run(tmp_path):
    done = gangplan(tmp_path / "h", "run", "--local", "-p", "job_name=" + "x" * 100_001)
    assert done.returncode == 3
    assert "at most" in done.stderr
    assert not (tmp_path / "h").exists()


def test_a_long_failure_does_not_break_the_next_steps(tmp_path):
    """The reason travels as a parameter, which is an argument of a process."""
    code = "import sys; print('x' * 300_000); [print('y' * 5000) for _ in range(100)]; sys.exit(1)"
    status, result, _ = train(tmp_path / "h", "-p", "tfjob_yaml=" + job(Worker=python(code)))
    assert status == 5
    assert result["outcome"] == "Failed"
    assert "yyy" in result["reason"]


def test_quotes_in_arguments_arrive_as_they_are(tmp_path):
    status, result, _ = train(
        tmp_path / "h", "-p", 'job_name=it\'s "mine"', "-p", "tfjob_yaml=" + job(Worker=python("pass"))
    )
    assert status == 0
    assert result["gang"].startswith("it-s-mine-")


def test_whole_numbers_stay_whole(tmp_path):
    """KFP writes 2 as 2.0 in its files; a manifest with 2.0 replicas would be refused."""
    done = train(
        tmp_path / "h",
        "-p",
        "role_worker_count=1",
        "-p",
        "role_ps_count=0",
        "-p",
        "role_chief_count=0",
        "-p",
        "train_epochs=1",
    )
    assert done[0] == 0
    (manifest,) = (tmp_path / "h").glob("outputs/*/admit/job")
    assert "replicas: 1\n" in manifest.read_text()
    assert "'1'" in manifest.read_text(), "arguments of the trainer are words"


def test_output_of_the_command_is_only_the_result(tmp_path):
    done = gangplan(
        tmp_path / "h",
        "run",
        "--local",
        "-o",
        "json",
        "-p",
        "tfjob_yaml=" + job(Worker=python("print('hello')")),
    )
    assert json.loads(done.stdout)["outcome"] == "Succeeded"
    assert "hello" in done.stderr


def test_an_artifact_that_no_step_wrote_is_no_surprise(tmp_path):
    """KFP does not notice; report and evaluate must cope with a job that left no model."""
    status, result, _ = train(tmp_path / "h", "-p", "tfjob_yaml=" + job(Worker=python("pass")))
    assert status == 0
    assert result["accuracy"] is None
    assert result["model"] is None
    assert Path(result["report"]).is_file()
