"""TensorBoard of a gang of this machine: a process that shows what the run wrote to its folder of the volume.

::

    <home>/tensorboard/<gang>.log     what it says
    <home>/tensorboard/<gang>.json    which process it is, and its port; there as long as it is to run
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from gangplan.config import Settings
from gangplan.documents import decode, encode, write_atomic
from gangplan.errors import ClusterError, InvalidInput, NotFound, StoreError
from gangplan.extras import needed
from gangplan.local.gangs import LocalGangs
from gangplan.local.process import Identity
from gangplan.tensorboard import HOST

_LAST_LINES: Final = 5
_GOES_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A TensorBoard that runs.

    Attributes:
        pid: Its process.
        started: When that started, in clock ticks since boot.
        port: Where it answers.
    """

    pid: int
    started: int
    port: int


class LocalTensorBoard:
    """The TensorBoard of one gang of this machine."""

    def __init__(self, chosen: Settings, gang: str) -> None:
        """Find the gang's folder.

        Raises:
            NotFound: There is no such gang, or it has no folder on the volume.
        """
        self.gang = gang
        self.folder = chosen.volume / gang
        self._state = chosen.home / "tensorboard" / f"{gang}.json"
        self._log = self._state.with_suffix(".log")
        if gang.startswith(".") or not self.folder.is_dir():
            LocalGangs(chosen).look(gang)  # what is told of a gang that is not here helps more
            message = f"{gang} has written nothing to {self.folder} yet: try again when it runs"
            raise NotFound(message, verb="get", kind="Gang", name=gang)

    def running(self) -> Running | None:
        """The one that runs; None if none does."""
        try:
            found = decode(self._state.read_bytes(), Running)
        except (OSError, InvalidInput):
            return None
        return found if Identity(found.pid, found.started).alive else None

    def start(self, port: int) -> Running:
        """Start it; it answers some seconds later.

        Args:
            port: A port that is free.

        Raises:
            ConfigError: TensorBoard is not installed.
            StoreError: Its files cannot be written.
        """
        with needed("train"):
            import tensorboard  # noqa: F401, PLC0415 - only whether it is there
        words = ("--logdir", str(self.folder), "--host", HOST, "--port", str(port))
        try:
            self._state.parent.mkdir(parents=True, exist_ok=True)
            with self._log.open("wb") as log:
                process = subprocess.Popen(
                    [sys.executable, "-m", "tensorboard.main", *words],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Ctrl-C is for us: it is ended in good order
                )
            identity = Identity.of(process.pid)
            found = Running(pid=process.pid, started=0 if identity is None else identity.started, port=port)
            write_atomic(self._state, encode(found))
        except OSError as error:
            message = f"cannot write to {self._state.parent}: {error.strerror or error}"
            raise StoreError(message) from error
        return found

    def look(self) -> None:
        """See that it still runs.

        Raises:
            ClusterError: It has ended; with the last lines that it said.
        """
        if self.running() is None:
            said = self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LAST_LINES:]
            message = "\n  | ".join([f"TensorBoard of {self.gang} has ended", *said])
            raise ClusterError(message, verb="get", kind="TensorBoard", name=self.gang)

    def end(self) -> None:
        """End it.

        Raises:
            NotFound: None runs.
        """
        found = self.running()
        self._state.unlink(missing_ok=True)
        if found is None:
            message = f"there is no TensorBoard of {self.gang} on this machine"
            raise NotFound(message, verb="delete", kind="TensorBoard", name=self.gang)
        identity = Identity(found.pid, found.started)
        # Its session has a process of its own for reading files.
        with suppress(ProcessLookupError):
            os.killpg(found.pid, signal.SIGTERM)
        deadline = time.monotonic() + _GOES_S
        while identity.alive and time.monotonic() < deadline:
            time.sleep(0.02)
        if identity.alive:
            identity.kill()
