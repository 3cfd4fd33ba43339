"""`gangplan tensorboard` on this machine: TensorBoard's own process, on what a run has left on the volume."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from runs import gangplan
from tensorboard.summary import Writer

Show = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A local cluster with a run that has trained."""
    writer = Writer(str(tmp_path / "home" / "volume" / "mnist-1" / "train" / "events"))
    for step in (10, 20):
        writer.add_scalar("loss", 1 / step, step)
    writer.close()
    return tmp_path / "home"


@pytest.fixture
def show(home: Path) -> Iterator[Show]:
    """Start the command; none of it outlives the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "gangplan.cli.main", "tensorboard", *words, "--home", str(home)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()
    gangplan(home, "tensorboard", "mnist-1", "--delete")


def address_of(process: "subprocess.Popen[str]") -> str:
    line = process.stdout.readline().strip()
    assert line.startswith("http://127.0.0.1:"), (line, process.communicate())
    return line


def scalars(address: str) -> list[float]:
    """Values of the loss; TensorBoard answers before it has read its first events."""
    end, found = time.monotonic() + 60, {}
    while not found:
        assert time.monotonic() < end, "it has read no events"
        with urllib.request.urlopen(f"{address}data/plugin/scalars/tags") as answer:
            found = json.load(answer)
    ((run, tags),) = found.items()
    assert (run, list(tags)) == ("train/events", ["loss"])
    with urllib.request.urlopen(f"{address}data/plugin/scalars/scalars?run={run}&tag=loss") as answer:
        return [value for _, _, value in json.load(answer)]


def is_gone(address: str) -> bool:
    try:
        urllib.request.urlopen(address)
    except urllib.error.URLError:
        return True
    return False


def test_scalars_of_a_run_are_shown_until_ctrl_c(show):
    process = show("mnist-1", "--port", "0")
    address = address_of(process)
    assert scalars(address) == pytest.approx([0.1, 0.05])
    process.stderr.readline()  # Ctrl-C ends it
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "")
    assert is_gone(address)


def test_one_that_is_left_is_there_until_it_is_deleted(home, show):
    first = show("mnist-1", "--port", "0", "--detach")
    address = address_of(first)
    assert first.wait(30) == 0
    assert scalars(address)
    again = gangplan(home, "tensorboard", "mnist-1")
    assert (again.returncode, again.stdout) == (0, f"{address}\n")
    assert gangplan(home, "tensorboard", "mnist-1", "--delete").stdout == "TensorBoard of mnist-1 is ended\n"
    assert is_gone(address)
    assert gangplan(home, "tensorboard", "mnist-1", "--delete").returncode == 1


def test_a_port_in_use_is_told(home):
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
        done = gangplan(home, "tensorboard", "mnist-1", "--port", str(port))
    assert done.returncode == 3
    assert f"--port: {port} is in use on this machine" in done.stderr


def test_a_run_that_is_not_there_is_told(home):
    done = gangplan(home, "tensorboard", "nosuch")
    assert done.returncode == 1
    assert "there is no gang nosuch on this machine; for those of a Kubernetes cluster add -n" in done.stderr


def test_what_only_a_cluster_has_is_refused(home):
    done = gangplan(home, "tensorboard", "mnist-1", "--image", "board:1")
    assert done.returncode == 2
    assert "is for a job of a Kubernetes cluster" in done.stderr


def test_a_board_that_ends_by_itself_is_told(home, show):
    process = show("mnist-1", "--port", "0")
    address = address_of(process)
    state = json.loads((home / "tensorboard" / "mnist-1.json").read_text())
    os.kill(state["pid"], signal.SIGKILL)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 4
    assert "TensorBoard of mnist-1 has ended" in err
    assert is_gone(address)
