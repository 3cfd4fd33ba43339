"""A runtime's handle on its fork server: starts go in, what became of them comes out."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from gangplan.errors import StoreError
from gangplan.local.message import Line
from gangplan.local.process import BADGE, BADGE_SIZE, SAFE_PATH, Start, replica_env

GRACE_S: Final = 3.0
"""Seconds from SIGTERM to SIGKILL: enough to write a checkpoint of a small model, and TensorFlow's mirrored
workers ignore SIGTERM anyway."""

_PATIENCE_S = 3.0


class Keeper:
    """Keeps the replicas of a runtime: none of them outlives it, nor the process that it is in.

    Args:
        log: File for what the fork server itself prints.
        preload: Modules that are imported once and forked from.

    Raises:
        StoreError: The log file cannot be written.
    """

    def __init__(self, log: Path, preload: Sequence[str] = ()) -> None:
        ours, theirs = socket.socketpair()
        env = {**replica_env(os.environ), BADGE: "." * BADGE_SIZE}
        if SAFE_PATH in os.environ:  # the fork server is a program of ours, not of the user's
            env[SAFE_PATH] = os.environ[SAFE_PATH]
        command = [sys.executable, "-m", "gangplan.local.forkserver", "--parent", str(os.getpid())]
        for module in preload:
            command += ["--preload", module]
        try:
            with theirs, log.open("ab") as stream:
                self._server = subprocess.Popen(
                    command,
                    stdin=theirs.fileno(),
                    stdout=stream,
                    stderr=stream,
                    env=env,
                    start_new_session=True,
                )
        except OSError as error:
            ours.close()
            raise StoreError(f"cannot write {log}: {error.strerror or error}") from error
        self.line = Line(ours)
        self.pid = self._server.pid
        self._handle = os.pidfd_open(self.pid)

    @property
    def alive(self) -> bool:
        """Whether the fork server still answers."""
        return self.line.open

    def start(self, start: Start) -> None:
        """Start a replica; ``started`` or ``failed`` follows."""
        message: dict[str, Any] = asdict(start)
        self.line.send(op="start", **message)

    def stop(self, key: str, grace_s: float = GRACE_S) -> None:
        """End a replica with its whole group: SIGTERM, SIGKILL after some seconds; ``exited`` follows."""
        self.line.send(op="stop", key=key, grace_s=grace_s)

    def events(self) -> list[dict[str, Any]]:
        """Give the events that have arrived, oldest first; blocks until there is one or the server is gone.

        ``{"event": "started", "key", "pid", "forked"}``, ``{"event": "failed", "key", "message"}``,
        ``{"event": "exited", "key", "code"}``.
        """
        return list(self.line.receive())

    def kill(self) -> None:
        """End the fork server at once, and with it its children: the kernel sees to that. From any thread."""
        with suppress(OSError):  # gone, or closed by another thread
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def close(self, grace_s: float = 0) -> None:
        """End the fork server and all that it started."""
        if self.line.open:
            self.line.send(op="close", grace_s=grace_s)
        try:
            self._server.wait(timeout=grace_s + _PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            self._server.wait()
        self.line.close()
        handle, self._handle = self._handle, -1
        os.close(handle)
