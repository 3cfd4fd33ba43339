"""Runs of the command line as a user starts them, and a look at what they leave behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from gangplan.local.store import LocalStore
from gangplan.record import HOLDING, GangRecord

GANGPLAN = [sys.executable, "-m", "gangplan.cli.main"]


def environment(home: Path) -> dict[str, str]:
    """What the command gets; every process below it inherits the home, and is found by it."""
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("GANGPLAN", "KFP", "_KFP"))
    }
    return kept | {"GANGPLAN_HOME": str(home), "COLUMNS": "200"}


def gangplan(
    home: Path, *words: str, timeout_s: float = 120.0, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [*GANGPLAN, *words],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        input=stdin,
        check=False,
    )


def start(home: Path, *words: str, log: Path) -> subprocess.Popen[str]:
    """Start a command in a process group of its own, as a terminal does; its output goes to files."""
    with log.with_suffix(".out").open("w") as out, log.with_suffix(".err").open("w") as err:
        return subprocess.Popen(
            [*GANGPLAN, *words],
            env=environment(home),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            text=True,
            start_new_session=True,
        )


def left_behind(home: Path) -> list[str]:
    """Every process of the machine that has this home in its environment, but this one."""
    wanted = f"GANGPLAN_HOME={home}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def until(happens: Callable[[], Any], what: str, timeout_s: float = 60.0) -> Any:
    """Wait for something to come true, and give it back."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if found := happens():
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what} did not happen within {timeout_s:.0f} s")


def nothing_left(home: Path, timeout_s: float = 10.0) -> None:
    """All processes are gone within the time, and no gang holds anything."""
    until(lambda: not left_behind(home), f"the end of {left_behind(home)}", timeout_s)
    assert [record.name for record in records(home) if record.phase in HOLDING] == []


def records(home: Path) -> tuple[GangRecord, ...]:
    """The gangs of a home."""
    store = home / "store.sqlite"
    return LocalStore(store).records() if store.exists() else ()


def job(**roles: Any) -> str:
    """A TFJob as YAML: role → command, or (command, replicas), or a dict of the replica spec."""
    specs = {}
    for role, given in roles.items():
        spec = given if isinstance(given, dict) else {}
        command, replicas = given if isinstance(given, tuple) else (given, 1)
        container = {"name": "tensorflow", "image": "trainer", "resources": {"requests": {"cpu": "100m"}}}
        container["command"] = spec.pop("command", command)
        specs[role] = {"replicas": replicas, "template": {"spec": {"containers": [container]}}} | spec
    return yaml.dump(
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "TFJob",
            "metadata": {"name": "replaced"},
            "spec": {"tfReplicaSpecs": specs},
        }
    )


def python(code: str) -> list[str]:
    """A command that runs a line of Python."""
    return ["python", "-c", code]


def train(home: Path, *words: str, timeout_s: float = 120.0) -> tuple[int, dict[str, Any], str]:
    """Run the pipeline ``train`` here; give exit code, result, and what was told on stderr."""
    done = gangplan(home, "run", "--local", "-o", "json", *words, timeout_s=timeout_s)
    result = json.loads(done.stdout) if done.stdout else {}
    return done.returncode, result, done.stderr


def interrupt(process: subprocess.Popen[str], number: int = signal.SIGINT, *, group: bool = True) -> None:
    """Press Ctrl-C: the signal goes to the whole foreground group; or send it to the one process."""
    if group:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
