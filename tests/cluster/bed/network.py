"""The cluster's own network: loopback, a bridge for pods, and one port out of it."""

import socket
import subprocess
import threading
from contextlib import suppress

NODE_ADDRESS = "10.245.0.1"
POD_NETWORK = "10.245.0.0/16"
BRIDGE = "cni0"
SERVICE_NETWORK = "10.96.0.0/16"
API_ADDRESS = "10.96.0.1"
API_PORT = 443


def set_up() -> None:
    """Make the interfaces, in a network namespace that has none yet."""
    for command in (
        "link set lo up",
        # The address of the `kubernetes` service: pods reach the API server there, with no proxy.
        f"address add {API_ADDRESS}/32 dev lo",
        f"link add {BRIDGE} type bridge",
        f"address add {NODE_ADDRESS}/16 dev {BRIDGE}",
        f"link set {BRIDGE} up",
    ):
        subprocess.run(["ip", *command.split()], check=True)


class Forwarder:
    """Passes connections on from a socket that was made outside to a port in here."""

    def __init__(self, listener: socket.socket, target: tuple[str, int]) -> None:
        self._listener, self._target = listener, target
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(self._target, timeout=10)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        back = threading.Thread(target=_copy, args=(server, client), daemon=True)
        back.start()
        _copy(client, server)
        back.join()
        client.close()
        server.close()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    """Copy until the source has no more to say; the sink may still have."""
    with suppress(OSError):
        while data := source.recv(1 << 18):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
