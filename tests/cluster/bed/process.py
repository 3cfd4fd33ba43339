"""Processes of the cluster: started with their output in a file, watched while anybody waits, ended for certain."""

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

    def __init__(self, name: str, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        self.name, self.command, self.log, self.environment = name, command, log, environment
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=os.environ | environment,
                start_new_session=True,
            )

    def ended_with(self) -> int | None:
        """Its exit code, negative if a signal ended it; None while it runs."""
        return self._process.poll()

    def last_lines(self) -> str:
        """The end of its log, each line indented, after a colon; empty if it said nothing."""
        lines = self.log.read_text(errors="replace").splitlines()[-LAST_LINES:]
        return ":" + "".join(f"\n    {line}" for line in lines) if lines else ""

    def end(self, sign: int) -> None:
        """Send a signal to it and all of its group, and wait for its end; after ten seconds it is killed."""
        for each in (sign, signal.SIGKILL):
            try:
                os.killpg(self._process.pid, each)
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                continue
            except ProcessLookupError:
                pass
            return


class Processes:
    """All processes of a cluster, by name.

    Whoever waits for anything hears of any process that has ended by itself: a crashed part costs no time-out.
    """

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._running: dict[str, Process] = {}
        self._ended: dict[str, Process] = {}

    def start(self, name: str, *command: str | Path, environment: Mapping[str, str] | None = None) -> None:
        """Start a process; its log has its name."""
        parts = [str(part) for part in command]
        self._running[name] = Process(name, parts, self._logs / f"{name}.log", environment or {})

    def end(self, name: str, sign: int) -> None:
        """End a process, which from then on nobody misses.

        Raises:
            BedError: There is none of that name.
        """
        try:
            process = self._running.pop(name)
        except KeyError:
            raise BedError(f"no process {name!r} runs; there are: {', '.join(self._running)}") from None
        process.end(sign)
        self._ended[name] = process

    def start_again(self, name: str) -> None:
        """Start a process that was ended, with the command it had.

        Raises:
            BedError: None of that name was ended.
        """
        ended = self._ended.pop(name, None)
        if ended is None:
            raise BedError(
                f"no process {name!r} was ended; those that were: {', '.join(self._ended) or 'none'}"
            )
        self.start(name, *ended.command, environment=ended.environment)

    def names(self) -> list[str]:
        """Names of those that should be running, in the order of their start."""
        return list(self._running)

    def check(self, before: str = "") -> None:
        """See that none has ended by itself.

        Raises:
            BedError: One has; with the last lines of its log.
        """
        for process in self._running.values():
            code = process.ended_with()
            if code is not None:
                raise BedError(f"{process.name} ended with {code}{before}{process.last_lines()}")

    def wait_until(self, what: str, is_so: Callable[[], bool], *, of: str, seconds: float = 120.0) -> None:
        """Wait until something is so.

        Args:
            what: What is waited for.
            is_so: Whether it is so.
            of: The process that is to bring it about; its log is shown if it does not.
            seconds: How long at most.

        Raises:
            BedError: A process ended before, or it took too long; with the last lines of the log.
        """
        deadline = time.monotonic() + seconds
        while not is_so():
            self.check(f" before {what}")
            if time.monotonic() > deadline:
                raise BedError(
                    f"not so after {seconds:.0f} s: {what}; {of} said{self._running[of].last_lines()}"
                )
            time.sleep(0.05)
