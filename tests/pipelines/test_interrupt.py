"""Ctrl-C at any point: all processes end, the store is consistent, and the next run works."""

import signal
import time

import pytest
from runs import interrupt, left_behind, nothing_left, records, start, train, until

POINTS = (
    "Executing task 'prepare-data'",
    "Executing task 'admit'",
    "admitted",
    "Executing task 'launch-tfjob'",
    "worker-1 on",
    "loss",
    "model written",
    "Executing task 'evaluate'",
    "Executing task 'report'",
    "Executing task 'conclude'",
)
"""Ten points spread over the run: the moment that each of these is told."""

GONE_S = 10.0


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("interrupted") / "home"


def _interrupted(home, tmp_path, point, number, *, group):
    process = start(home, "run", "--local", "-o", "json", "-p", "train_epochs=4", log=tmp_path / "run")
    told = tmp_path / "run.err"
    try:
        until(lambda: point in told.read_text() or process.poll() is not None, point)
        interrupt(process, number, group=group)
        begun = time.monotonic()
        assert process.wait(timeout=GONE_S) == 130, told.read_text()
        until(
            lambda: not left_behind(home),
            f"the end of {left_behind(home)}",
            GONE_S - (time.monotonic() - begun),
        )
    finally:
        process.kill()
    assert "Traceback" not in told.read_text()
    assert (tmp_path / "run.out").read_text() == ""
    nothing_left(home)
    assert {record.phase for record in records(home)} <= {"Finished"}


@pytest.mark.parametrize("point", POINTS)
def test_ctrl_c_ends_everything_within_ten_seconds(home, tmp_path, point):
    _interrupted(home, tmp_path, point, signal.SIGINT, group=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_command_alone_ends_everything_too(home, tmp_path, number):
    """As `kill` or a supervisor sends it: the steps do not hear it themselves."""
    _interrupted(home, tmp_path, "worker-1 on", number, group=False)


def test_a_run_after_all_that_works(home):
    code, result, told = train(home)
    assert code == 0, told
    assert result["accuracy"] >= 0.93
    nothing_left(home)
