"""The process that all replicas of a runtime are children of: ``python -m gangplan.local.forkserver``.

Four replicas that import TensorFlow side by side take four times the work. So the first start of
``python -m MODULE``, with a module named by ``--preload``, imports it here once, and replicas that run it are
forked from here; every other command is started as usual. Everything happens in one thread, which the kernel's
death signal needs (it is tied to the thread that forks) and a fork is safe in.

It ends, with all below it, when its runtime closes the socket (stdin) or ends in any way.
"""

import argparse
import atexit
import importlib
import os
import runpy
import select
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from gangplan.local.message import Line
from gangplan.local.process import (
    Start,
    adopt_orphans,
    exit_code,
    is_python,
    replica_env,
    signal_group,
    spawn,
    wear_badge,
)
from gangplan.local.survivors import descendants

ABANDONED_GRACE_S: Final = 1.0
"""Seconds from SIGTERM to SIGKILL when the runtime is gone."""

_LOOK_S = 0.1
"""How often the server looks up from importing a module."""

_READ_AT_IMPORT = ("TF_", "XLA_", "CUDA_", "OMP_", "KMP_", "MKL_", "OPENBLAS_", "KERAS_", "PYTHON", "LD_")


@dataclass(slots=True)
class _Child:
    key: str
    kill_at: float | None = None


class ForkServer:
    """Starts, stops and reaps replicas as it is told.

    Args:
        line: The runtime's end is at the other side.
        parent: Process id of the runtime.
        preload: Modules that may be imported here.
    """

    def __init__(self, line: Line, parent: int, preload: tuple[str, ...]) -> None:
        self._line = line
        self._preload = preload
        self._environ = dict(os.environ)
        self._loaded: dict[str, bool] = {}
        self._children: dict[int, _Child] = {}
        self._waiting: deque[Start] = deque()
        self._closing: float | None = None
        self._parent = os.pidfd_open(parent)
        self._wake, wake = socket.socketpair()
        for end in (self._wake, wake):
            end.setblocking(False)
        self._wake_write = wake
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._on_sigterm)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def serve(self) -> None:
        """Serve until the runtime is gone or says so, then end everything."""
        while self._closing is None:
            self._turn(self._patience())
            while self._waiting and self._closing is None:
                self._start(self._waiting.popleft())
        self._end_all()

    def _patience(self) -> float:
        alarms = [child.kill_at for child in self._children.values() if child.kill_at is not None]
        return min([1.0, *(max(0.0, at - time.monotonic()) for at in alarms)])

    def _turn(self, timeout_s: float) -> None:
        """Wait for something to do, and do all of it but starts."""
        poll = select.poll()
        for watched in (self._line, self._wake, self._parent):
            poll.register(watched, select.POLLIN)
        readable = {number for number, _ in poll.poll(timeout_s * 1000)}
        if self._wake.fileno() in readable:
            with suppress(BlockingIOError):
                self._wake.recv(4096)
        if self._line.fileno() in readable:
            for message in self._line.receive():
                self._handle(message)
        if self._parent in readable or not self._line.open:
            self._close(ABANDONED_GRACE_S)
        self._reap()
        now = time.monotonic()
        for pid, child in self._children.items():
            if child.kill_at is not None and child.kill_at <= now:
                signal_group(pid, signal.SIGKILL)
                child.kill_at = None

    def _handle(self, message: dict[str, Any]) -> None:
        match message.pop("op"):
            case "start":
                message["command"] = tuple(message["command"])
                self._waiting.append(Start(**message))
            case "stop":
                self._stop(message["key"], float(message["grace_s"]))
            case "close":
                self._close(float(message["grace_s"]))
            case unknown:
                raise AssertionError(f"unknown operation {unknown!r}")

    def _start(self, start: Start) -> None:
        try:
            module = self._module(start)
            if self._closing is not None:
                return
            pid = spawn(start, None if module is None else lambda: self._run(module, start))
        except OSError as error:
            self._line.send(event="failed", key=start.key, message=f"{error}")
            return
        self._children[pid] = _Child(start.key)
        self._line.send(event="started", key=start.key, pid=pid, forked=module is not None)

    def _module(self, start: Start) -> str | None:
        """Tell the module that a start can be forked with, after it was imported; None: start it as usual."""
        match start.command:
            case (word, "-m", module, *_) if is_python(word) and module in self._preload:
                if _at_import(start.env) != _at_import(replica_env(self._environ)):
                    return None
                if module not in self._loaded:
                    self._loaded[module] = self._import(module)
                return module if self._loaded[module] else None
        return None

    def _run(self, module: str, start: Start) -> int:
        """Run a module in a forked process; what its import has put into the environment stays there."""
        added = {key: value for key, value in os.environ.items() if key not in self._environ}
        return run_module(module, start, added)

    def _import(self, module: str) -> bool:
        """Import a module, looking up now and then, as it can take many seconds."""
        signal.signal(signal.SIGALRM, self._look_up)
        signal.siginterrupt(signal.SIGALRM, False)
        signal.setitimer(signal.ITIMER_REAL, _LOOK_S, _LOOK_S)
        try:
            importlib.import_module(module)
        except Exception:  # noqa: BLE001 - whatever it is, the replica will say so itself in its own log
            traceback.print_exc()
            return False
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        return True

    def _look_up(self, *_: object) -> None:
        self._turn(0)
        if self._closing is not None:
            # The import cannot be left by an exception: modules catch those.
            self._end_all()
            os._exit(0)

    def _stop(self, key: str, grace_s: float) -> None:
        for start in self._waiting:
            if start.key == key:
                self._waiting.remove(start)
                self._line.send(event="exited", key=key, code=128 + signal.SIGTERM)
                return
        for pid, child in self._children.items():
            if child.key == key:
                self._end(pid, child, grace_s)
                return
        # Unknown: it has ended just now, or its start never arrived. The runtime ignores a second farewell.
        self._line.send(event="exited", key=key, code=128 + signal.SIGTERM)

    def _end(self, pid: int, child: _Child, grace_s: float) -> None:
        if grace_s > 0:
            signal_group(pid, signal.SIGTERM)
        at = time.monotonic() + grace_s
        child.kill_at = at if child.kill_at is None else min(at, child.kill_at)

    def _reap(self) -> None:
        """Take leave of ended processes; what is left of a replica's group ends with its leader."""
        while True:
            try:
                # The remains are left in place first: as long as they are, the number cannot mean another group.
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            pid = ended.si_pid
            child = self._children.pop(pid, None)
            if child is not None:
                signal_group(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
            if child is not None:
                self._line.send(event="exited", key=child.key, code=exit_code(status))

    def _close(self, grace_s: float) -> None:
        if self._closing is None:
            self._closing = grace_s

    def _on_sigterm(self, *_: object) -> None:
        self._close(ABANDONED_GRACE_S)

    def _end_all(self) -> None:
        for pid, child in self._children.items():
            self._end(pid, child, self._closing or 0)
        while self._children:
            self._turn(min(self._patience(), 0.05) if self._line.open else 0.02)
        # Orphans of replicas have become children of this process, also those that left their group.
        while left := descendants(os.getpid()):
            for identity in left:
                identity.kill()
            time.sleep(0.01)
            self._reap()


def run_module(module: str, start: Start, added: Mapping[str, str]) -> int:
    """Run a module in a forked process as ``python -m`` would, and give the exit code.

    The module's own code runs once more; what it imports is there already.
    """
    os.environ.clear()
    os.environ.update({**added, **start.env})
    tempfile.tempdir = None  # an import may have looked for it; this process has its own
    if not wear_badge(start.env):
        os.execvpe(sys.executable, (sys.executable, *start.command[1:]), dict(start.env))  # noqa: S606
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    sys.argv = [module, *start.command[3:]]
    sys.modules.pop(module, None)
    code = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as leave:
        code = _code_of(leave.code)
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    except BaseException:  # noqa: BLE001 - as the interpreter does at the end of a program
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined] # noqa: SLF001 - as at the end of a program: waits for its threads
    atexit._run_exitfuncs()  # noqa: SLF001
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    return code


def _code_of(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)  # noqa: T201 - as the interpreter does with sys.exit("message")
    return 1


def _at_import(env: Mapping[str, str]) -> dict[str, str]:
    """Give the variables that are read while TensorFlow is imported, so that no later value counts."""
    return {
        key: value for key, value in env.items() if key.startswith(_READ_AT_IMPORT) and key != "TF_CONFIG"
    }


def main() -> None:
    """Serve the runtime at the other end of stdin."""
    parser = argparse.ArgumentParser(prog="gangplan.local.forkserver")
    parser.add_argument("--parent", type=int, required=True, help="process id of the runtime")
    parser.add_argument("--preload", action="append", default=[], help="a module that may be imported here")
    options = parser.parse_args()
    if os.getppid() != options.parent:
        return
    adopt_orphans()
    line = Line(socket.socket(fileno=os.dup(0)))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    ForkServer(line, options.parent, tuple(options.preload)).serve()
    sys.stderr.flush()
    os._exit(0)  # taking down what the imports have set up takes a second


if __name__ == "__main__":
    main()
