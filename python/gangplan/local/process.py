"""A replica as a process of this machine: what it is given, how it begins, how it is told from others.

A replica leads its own session and process group, is killed by the kernel when its starter dies, and shares no
stream and no open file with anybody.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

RUN_ID: Final = "GANGPLAN_RUN_ID"
GANG: Final = "GANGPLAN_GANG"
REPLICA: Final = "GANGPLAN_REPLICA"
BADGE: Final = "GANGPLAN_BADGE"
"""Room in the environment of the fork server, see :func:`wear_badge`."""

BADGE_SIZE: Final = 1024

SAFE_PATH: Final = "PYTHONSAFEPATH"
"""Keeps the working folder out of the places where Python looks for modules."""

CANNOT_START: Final = 127
"""Exit code of a replica whose program could not be started, as of a shell."""

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One start of one replica.

    Attributes:
        key: Unique among all starts.
        command: Program and arguments.
        env: The whole environment.
        log: File for what it prints.
        append: Add to the log file instead of beginning it anew.
        folder: Working folder.
        title: Short name for ``ps`` and ``top``; the kernel keeps 15 characters.
    """

    key: str
    command: tuple[str, ...]
    env: Mapping[str, str]
    log: str
    append: bool
    folder: str
    title: str


class Identity(NamedTuple):
    """A process that is not confused with a later one of the same number.

    Attributes:
        pid: Its number.
        started: When it started, in clock ticks since boot.
    """

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> "Identity | None":
        """Identify a process that runs now; None if there is none of this number, or only its remains."""
        fields = stat_fields(pid)
        return None if fields is None or fields[0] in "ZX" else cls(pid, int(fields[19]))

    @property
    def alive(self) -> bool:
        """Whether this very process still runs."""
        return Identity.of(self.pid) == self

    def kill(self) -> bool:
        """Send SIGKILL to this very process; False if it is gone already."""
        try:
            handle = os.pidfd_open(self.pid)
        except (ProcessLookupError, PermissionError):
            return False
        try:
            # The handle cannot come to mean another process; so if the number still means ours, it does too.
            if not self.alive:
                return False
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return False
        finally:
            os.close(handle)
        return True


def stat_fields(pid: int) -> list[str] | None:
    """Give the fields of ``/proc/<pid>/stat`` from the third (state) on; None if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split() or None


def replica_env(inherited: Mapping[str, str]) -> dict[str, str]:
    """Give what replicas take over from the environment of the one who starts them.

    Nothing of a Kubeflow step, of an outer job or of an outer gangplan comes along; TensorFlow is quiet and
    leaves graphics cards alone unless the environment says otherwise. Nor does PYTHONSAFEPATH, which protects
    a step from the working folder's files: a trainer of the user's own may be one of them.
    """
    ours = {RUN_ID, GANG, REPLICA, BADGE, "TF_CONFIG", "_KFP_RUNTIME", SAFE_PATH}
    env = {key: value for key, value in inherited.items() if key not in ours and not key.startswith("KFP_")}
    return {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "PYTHONUNBUFFERED": "1", **env}


def spawn(start: Start, run: Callable[[], int] | None = None) -> int:
    """Fork a replica; to be called in the main thread of a process without other Python threads.

    Args:
        start: What is started.
        run: What runs in the new process instead of the command, and gives its exit code.

    Returns:
        Process id; the process leads its own session when this returns.

    Raises:
        OSError: The log file or the process cannot be made.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_APPEND | (0 if start.append else os.O_TRUNC)
    log = os.open(start.log, flags, 0o644)
    ready, begun = os.pipe()
    parent = os.getpid()
    try:
        pid = os.fork()
        if pid == 0:
            _child(start, run, parent, log)
    finally:
        os.close(begun)
        os.close(log)
    try:
        # Ends when the child has closed its copy, in a session of its own: from here on its group can be signalled.
        os.read(ready, 1)
    finally:
        os.close(ready)
    return pid


def signal_group(pid: int, number: signal.Signals) -> None:
    """Send a signal to the group of a replica that was not reaped yet."""
    with suppress(ProcessLookupError):
        os.killpg(pid, number)


def exit_code(wait_status: int) -> int:
    """Turn a wait status into an exit code, 128 + n for signal n."""
    code = os.waitstatus_to_exitcode(wait_status)
    return code if code >= 0 else 128 - code


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants, so that none can leave the tree."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _child(start: Start, run: Callable[[], int] | None, parent: int, log: int) -> NoReturn:
    code = CANNOT_START
    try:
        os.setsid()
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died before the line above
            os._exit(128 + signal.SIGKILL)
        _libc.prctl(_PR_SET_NAME, start.title.encode()[:15], 0, 0, 0)
        _reset_signals()
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        for opened in [int(name) for name in os.listdir("/proc/self/fd")]:  # noqa: PTH208 - numbers are wanted
            if opened > 2:
                with suppress(OSError):  # the one that listed the folder
                    os.close(opened)
        os.chdir(start.folder)
        if run is not None:
            code = run()
        else:
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.execvpe(start.command[0], start.command, dict(start.env))  # noqa: S606 - a shell is not wanted
    except OSError as error:
        os.write(2, f"cannot start {start.command[0]}: {error.strerror or error}\n".encode())
    except BaseException as error:  # noqa: BLE001 - nothing may return into the code of the parent
        os.write(2, f"cannot start {start.command[0]}: {error!r}\n".encode())
    finally:
        os._exit(code)


def _reset_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGALRM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def wear_badge(env: Mapping[str, str]) -> bool:
    """Make ``/proc/self/environ`` of a forked process show whose it is.

    The kernel shows the environment with which the *program* was started, the fork server's, not what a fork
    sets later. So the fork server is started with a variable that is mere room, and each fork writes its run
    id, gang and replica into that place, as programs do that set their own title.

    Returns:
        False where that did not work; the process can then not be found by its run id.
    """
    badge = b"".join(f"{key}={env[key]}\0".encode() for key in (RUN_ID, GANG, REPLICA))
    try:
        environ = Path("/proc/self/environ").read_bytes()
        fields = stat_fields(os.getpid())
        if fields is None:
            return False
        room = b"%s=%s" % (BADGE.encode(), b"." * BADGE_SIZE)
        at = environ.find(room)
        begin = int(fields[47])  # field 50, env_start
        if at < 0 or len(badge) > len(room) or begin == 0:
            return False
        ctypes.memmove(begin + at, badge.ljust(len(room), b"\0"), len(room))
        return badge in Path("/proc/self/environ").read_bytes()
    except OSError:
        return False


def is_python(word: str) -> bool:
    """Whether the first word of a command means the interpreter that gangplan runs in."""
    return word in {"python", sys.executable}
