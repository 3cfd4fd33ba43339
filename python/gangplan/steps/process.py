"""The process in which a step runs: its log, its end."""

import functools
import logging
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar

from gangplan.documents import encode, write_atomic
from gangplan.errors import GangplanError
from gangplan.local.cluster import owner
from gangplan.local.process import stat_fields
from gangplan.record import Owner

P = ParamSpec("P")
R = TypeVar("R")

RUNNER = "GANGPLAN_RUNNER"
"""Environment: process id of the local run that started this step."""

NOTES = "GANGPLAN_NOTES"
"""Environment: folder in which steps leave notes for the local run that started them."""


def step(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function as a step.

    In a process of its own, which KFP started, it also

    - logs to stderr, one line an event;
    - ends on SIGTERM like on Ctrl-C, so that a waiting gang leaves the queue and processes are ended;
    - does not outlive the run on this machine that started it, and leaves it a note of its error.

    Called from anywhere else it is the plain function.
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if os.environ.get("_KFP_RUNTIME") != "true":
            return function(*args, **kwargs)
        _prepare()
        try:
            return function(*args, **kwargs)
        except Exception as error:
            note(f"error-{function.__name__}", {"step": function.__name__, **describe(error)})
            raise

    return run


def note(name: str, facts: Mapping[str, Any]) -> None:
    """Leave a note for the local run that started this step; without one this does nothing."""
    if (folder := os.environ.get(NOTES)) is not None:
        write_atomic(Path(folder) / f"{name}.json", encode(dict(facts)))


def describe(error: Exception) -> dict[str, str]:
    """An error as data: its class, if it is one of ours, and its message."""
    ours = isinstance(error, GangplanError)
    return {"kind": type(error).__name__ if ours else "", "message": str(error) or type(error).__name__}


def run_owner() -> Owner | None:
    """The local run that started this step, if it told; it answers for what no step is busy with."""
    pid = int(os.environ.get(RUNNER) or 0)
    return owner(pid) if pid else None


def _prepare() -> None:
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO,
        format="%(asctime)s %(message)s",
        datefmt="%H:%M:%S",
        force=True,
    )
    signal.signal(signal.SIGTERM, _terminate)
    runner = int(os.environ.get(RUNNER) or 0) or _grandparent()
    if runner and not in_cluster():
        _end_with(runner, os.getppid())


def in_cluster() -> bool:
    """Whether this is a step in a cluster: in a pod, and not below a run that somebody started in that pod."""
    return "KUBERNETES_SERVICE_HOST" in os.environ and not {RUNNER, "GANGPLAN_HOME"} & set(os.environ)


def _end_with(*above: int) -> None:
    """Let this process end when one of those above it ends, however that ends.

    KFP puts a shell between run and step, so the kernel's parent-death signal does not tell of the run's end.
    """
    try:
        handles = [os.pidfd_open(pid) for pid in above]
    except ProcessLookupError:
        sys.exit("the run that started this step is gone")

    def watch() -> None:
        select.select(handles, [], [])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True, name="watch-runner").start()


def _grandparent() -> int:
    """The run, where it is a program of the user's own: the parent of the shell."""
    fields = stat_fields(os.getppid())
    return int(fields[1]) if fields else 0


def _terminate(number: int, frame: object) -> NoReturn:
    raise SystemExit(128 + number)
