"""What a runtime and its fork server tell each other: JSON objects, one a line, over a pair of sockets."""

import json
import socket
from collections.abc import Iterator
from typing import Any


class Line:
    """One end of the conversation.

    Attributes:
        socket: The socket below.
        open: False once the other end is gone.
    """

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self.open = True
        self._partial = b""

    def fileno(self) -> int:
        """Give the file descriptor, for ``select``."""
        return self.socket.fileno()

    def send(self, **message: Any) -> None:
        """Send a message; when the other end is gone, nothing happens but that ``open`` becomes False."""
        try:
            self.socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            self.open = False

    def receive(self) -> Iterator[dict[str, Any]]:
        """Yield the messages that have arrived; blocks if there is nothing to read, so ask ``select`` first."""
        try:
            chunk = self.socket.recv(1 << 20)
        except OSError:
            chunk = b""
        if not chunk:
            self.open = False
            return
        *whole, self._partial = (self._partial + chunk).split(b"\n")
        for line in whole:
            yield json.loads(line)

    def close(self) -> None:
        """Hang up."""
        self.open = False
        self.socket.close()
