"""Processes of the cluster: started with their output in a file, waited for, ended for certain."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

LAST_LINES = 20


class BedError(RuntimeError):
    """Something of the cluster does not work; the message holds what it said last."""


class Process:
    """A process with a log."""

    def __init__(
        self, name: str, command: Sequence[str | Path], log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self.name, self.log = name, log
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def wait_until(self, what: str, is_so: Callable[[], bool], *, seconds: float = 120.0) -> None:
        """Wait until something is so.

        Raises:
            BedError: The process ended before, or it took too long; with the last lines of the log.
        """
        deadline = time.monotonic() + seconds
        while not is_so():
            code = self._process.poll()
            if code is not None:
                raise BedError(f"{self.name} ended with {code} before {what}{self.last_lines()}")
            if time.monotonic() > deadline:
                raise BedError(f"{self.name}: not {what} after {seconds:.0f} s{self.last_lines()}")
            time.sleep(0.05)

    def last_lines(self) -> str:
        """The end of its log, each line indented, after a colon; empty if it said nothing."""
        lines = self.log.read_text(errors="replace").splitlines()[-LAST_LINES:]
        return ":" + "".join(f"\n    {line}" for line in lines) if lines else ""

    def stop(self, *, seconds: float = 10.0) -> None:
        """End it and all of its group: first asked, then killed."""
        for sign in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.pid, sign)
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                continue
            except ProcessLookupError:
                pass
            return

    def kill(self) -> None:
        """End it as a power failure would."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
