"""TensorBoard's end on this machine, wherever it runs: its port here, and whether it answers there."""

import errno
import socket
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Final

from gangplan.errors import ClusterError, InvalidInput, Problem

HOST: Final = "127.0.0.1"
"""Nobody else is let in: TensorBoard has no log-in."""

PORT: Final = 6006
"""The port that it has everywhere."""

WORD_S: Final = 4.0
"""Seconds between two words while it starts, which takes some ten."""

_ANSWER_S = 5.0
_PAUSE_S = 0.2


def claim_port(port: int) -> socket.socket:
    """Listen at a port of this machine, before anything is made that is to answer there.

    Args:
        port: The port; 0: any that is free.

    Raises:
        InvalidInput: It is in use, or may not be used.
    """
    door = socket.socket()
    try:
        # A connection of an earlier call that has just ended is no reason to refuse the port.
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind((HOST, port))
        door.listen()
    except OSError as error:
        door.close()
        in_use = error.errno == errno.EADDRINUSE
        found = "in use" if in_use else f"not to be had ({error.strerror or error})"
        message = f"{port} is {found} on this machine: choose another, or 0 for any that is free"
        raise InvalidInput([Problem("--port", "CONTRADICTION", message)], "tensorboard") from error
    return door


def address(port: int) -> str:
    """What people open in a browser."""
    return f"http://{HOST}:{port}/"


def wait_for_answer(
    port: int,
    *,
    until: float,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    look: Callable[[], None],
) -> None:
    """Wait until TensorBoard answers at a port of this machine.

    Args:
        port: The port.
        until: When it is given up.
        clock: Tells the time that ``until`` is of.
        sleep: Waits the given seconds.
        look: Called before each try; raises if it can never answer any more.

    Raises:
        ClusterError: It does not answer in time.
    """
    # Proxies of the environment are for other machines.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        look()
        try:
            with opener.open(address(port), timeout=_ANSWER_S):
                return
        except (urllib.error.URLError, OSError) as error:
            if clock() > until:
                message = f"TensorBoard does not answer at {address(port)}: {error}"
                raise ClusterError(message, verb="get", kind="TensorBoard") from error
        sleep(_PAUSE_S)
