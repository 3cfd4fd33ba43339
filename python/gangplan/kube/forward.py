"""Forward: connections to a port of this machine go on to a port of a pod, as long as somebody wants them."""

import logging
import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

from gangplan.errors import ClusterError
from gangplan.kube.api import Api

log = logging.getLogger(__name__)

_CHUNK = 1 << 16


@contextmanager
def forwarded(api: Api, pod: str, *, namespace: str, port: int, door: socket.socket) -> Iterator[None]:
    """Let in who comes to a door of this machine, to a port of a pod; until the context is left.

    Args:
        api: The API server.
        pod: Name of the pod.
        namespace: Its namespace.
        port: The port of the pod.
        door: Listens at a port of this machine.
    """

    def take_in() -> None:
        while True:
            try:
                here, _ = door.accept()
            except OSError:  # the door was closed
                return
            threading.Thread(target=connect, args=(here,), daemon=True).start()

    def connect(here: socket.socket) -> None:
        with closing(here):
            try:
                there = api.port(pod, namespace=namespace, port=port)
            except ClusterError as error:
                log.warning("a connection is refused: %s", error)
                return
            with closing(there), suppress(OSError):
                _pass_on(here, there)

    before = threading.excepthook
    # The client's own threads end with a traceback when a connection breaks off, which it does when a pod goes.
    threading.excepthook = lambda told: log.debug("a connection broke off: %s", told.exc_value)
    threading.Thread(target=take_in, daemon=True).start()
    try:
        yield
    finally:
        with suppress(OSError):  # wakes who waits for the next to come
            door.shutdown(socket.SHUT_RDWR)
        threading.excepthook = before


def _pass_on(here: socket.socket, there: Any) -> None:
    """Pass on what comes from one side to the other, until one of them has ended."""
    with selectors.DefaultSelector() as ready:
        ready.register(here, selectors.EVENT_READ, there)
        ready.register(there, selectors.EVENT_READ, here)
        while True:
            for key, _ in ready.select():
                data = key.fileobj.recv(_CHUNK)  # type: ignore[union-attr]
                if not data:
                    return
                key.data.sendall(data)
