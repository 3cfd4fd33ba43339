"""Steps of a compiled pipeline as processes of this machine, started as KFP's launcher starts them in pods."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runs import environment

from kfpserver.driver import OUTPUT, Driver

LOG = "log"
"""What a step says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A step that has ended.

    Attributes:
        code: Its exit code; -15 for SIGTERM.
        outputs: Its parameters; none if it is red, because KFP takes nothing from such a step.
        log: What it said.
        seconds: How long it took.
    """

    code: int
    outputs: Mapping[str, Any]
    log: str
    seconds: float

    @property
    def error(self) -> str:
        """The last line of what it said, which Kubeflow shows as its error."""
        return re.sub(r"\s+", " ", self.log.strip().splitlines()[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A step that was started.

    Attributes:
        task: The step.
        process: The process at its top, which leads a group of its own.
        folder: Where what it writes lies.
        begun: When, on the monotonic clock.
    """

    task: str
    process: "subprocess.Popen[bytes]"
    folder: Path
    begun: float

    @property
    def log(self) -> str:
        """What it has said so far."""
        return (self.folder / LOG).read_text(errors="replace")

    def terminate(self, *, grace_s: float = 1.0) -> None:
        """End it as Terminate does: SIGTERM to all of it, and SIGKILL a second later."""
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(grace_s)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Processes:
    """The steps of one run.

    Attributes:
        driver: Tells what they run, and takes what they publish.
        home: The local cluster that they admit and launch on.
        extra: Further variables.
    """

    driver: Driver
    home: Path
    extra: Mapping[str, str] = field(default_factory=dict)

    def run(self, task: str, *, config: Mapping[str, Any] | None = None) -> Ended:
        """Run a step to its end."""
        return self.finish(self.start(task, config=config))

    def run_until(self, last: str) -> dict[str, Ended]:
        """Run the steps up to one, in their order, as long as they are green."""
        ended: dict[str, Ended] = {}
        for task in self.driver.tasks():
            ended[task] = self.run(task)
            if task == last or ended[task].code:
                break
        return ended

    def start(self, task: str, *, config: Mapping[str, Any] | None = None) -> Started:
        """Start a step."""
        pod = f"{self.driver.run_id}-{task}-{next(_numbers)}"
        folder = Path(self.driver.folder) / pod
        folder.mkdir(parents=True)
        told = environment(self.home) | {"GANGPLAN_FORKSERVER": "false", "PYTHONSAFEPATH": "1"}
        told |= {"KFP_POD_NAME": pod, "KFP_POD_UID": f"uid-of-{pod}", "KFP_RETRY_INDEX": "0"} | self.extra
        told["PATH"] = f"{Path(sys.executable).parent}:{told['PATH']}"
        command = self.driver.command(task, pod, config=config)
        begun = time.monotonic()
        with (folder / LOG).open("wb") as log:
            process = subprocess.Popen(
                command,
                env=told,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return Started(task=task, process=process, folder=folder, begun=begun)

    def finish(self, started: Started, *, timeout_s: float = 120.0) -> Ended:
        """Wait until a step has ended, and take its outputs if it is green."""
        code = started.process.wait(timeout_s)
        seconds = time.monotonic() - started.begun
        outputs: Mapping[str, Any] = {}
        if code == 0:
            told = json.loads((started.folder / OUTPUT).read_text())
            outputs = self.driver.publish(started.task, started.folder.name, told)
        return Ended(code=code, outputs=outputs, log=started.log, seconds=seconds)

    def artifact(self, task: str, key: str) -> str:
        """What a step wrote."""
        return Path(self.driver.artifact(task, key)["uri"]).read_text()


_numbers = itertools.count()
