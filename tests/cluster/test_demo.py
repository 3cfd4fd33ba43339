"""`make demo-cluster` tells both stories, and leaves nothing but its report, whatever ends it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.bed.outside import TESTS
from cluster.test_tear_down import processes_of, wait_until

WITHIN_S = 560


def start(folder: Path, report: Path) -> "subprocess.Popen[str]":
    """Start it, in a process group of its own as a terminal does."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])}
    command = [sys.executable, "-m", "cluster.demo", "--folder", str(folder), "--report", str(report)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        start_new_session=True,
    )


@pytest.mark.timeout(600)
def test_both_stories_are_told_and_nothing_but_the_report_is_left(short_path: Path, tmp_path: Path) -> None:
    report = tmp_path / "r" / "report.html"
    with start(short_path, report) as demo:
        said, _ = demo.communicate(timeout=WITHIN_S)
    assert demo.returncode == 0, said
    lines = said.splitlines()
    titles = [line for line in lines if line.startswith("── ")]
    assert len(titles) == 6, said
    for words in (
        "job-a has 2 GPUs and job-b 2: each waits for what the other holds",
        "Insufficient nvidia.com/gpu",
        "Pending at position 1: needs 4 nvidia.com/gpu; the nodes that it may use have 0 free",
        "deadlock: solved",
    ):
        assert any(words in line for line in lines), words
    assert lines[-1] == f"report: {report}"
    assert any(line.startswith("affinity: traffic ") and line.endswith(" → 0") for line in lines)
    page = report.read_text()
    for words in ("Deadlock: two jobs of 4 workers", "Affinity: parameter servers", "<svg", "steps/s"):
        assert words in page, words
    assert processes_of(short_path) == {}
    assert list(short_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_an_end_in_the_middle_leaves_nothing(
    short_path: Path, tmp_path: Path, number: signal.Signals
) -> None:
    with start(short_path, tmp_path / "report.html") as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            if "node n0 is ready" in line:
                break
        if number == signal.SIGINT:
            os.killpg(demo.pid, number)  # as Ctrl-C in a terminal does
        else:
            demo.send_signal(number)
        said, _ = demo.communicate(timeout=WITHIN_S)
    assert demo.returncode == 130, said
    assert "Traceback" not in said
    wait_until(lambda: processes_of(short_path) == {})
    assert list(short_path.iterdir()) == []
