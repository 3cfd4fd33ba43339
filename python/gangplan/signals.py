"""Signals: a command that is asked to end does so as on Ctrl-C, and cleans up to the end."""

import contextlib
import signal
import threading
from collections.abc import Iterator

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, the request to end, the end of the terminal."""

BY_USER = "interrupted by its user"
"""What ended something on Ctrl-C, or on a signal that counts as it."""


def ended_by(error: BaseException) -> str:
    """What ended something, for its record, which users read."""
    if isinstance(error, KeyboardInterrupt):
        return BY_USER
    if isinstance(error, SystemExit):
        return "the process that waited for it was told to end"
    return f"who waited for it failed: {type(error).__name__}: {error}"


@contextlib.contextmanager
def interrupting() -> Iterator[None]:
    """Let SIGTERM, and the end of the terminal, end what is done inside as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Do to the end what is done inside although Ctrl-C is pressed again; for clean-up, which takes seconds."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = {number: signal.signal(number, signal.SIG_IGN) for number in ENDINGS}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
