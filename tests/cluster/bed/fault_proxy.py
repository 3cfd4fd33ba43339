"""A way to the API server on which requests fail: between one client and the server, by a seeded plan.

It has the server's own certificate, so that to its client it is the server.
"""

import http.client
import json
import random
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

ONE_IN = 20
"""Of so many requests one fails."""
SLOW_S = 2.0
WRITES = ("POST", "PUT", "PATCH", "DELETE")

STATUSES = {
    "conflict": (
        409,
        "Conflict",
        "the object has been modified; please apply your changes to the latest version",
    ),
    "expired": (410, "Expired", "the provided resource version is too old"),
    "busy": (429, "TooManyRequests", "the server has received too many requests"),
    "broken": (500, "InternalError", "etcdserver: request timed out"),
}
"""Faults that the server answers with itself: code, reason, message."""
BY_READS = ("expired", "busy", "broken", "reset", "slow")
BY_WRITES = ("conflict", "busy", "broken", "reset", "slow", "applied")
"""``applied``: it is done, and the answer is lost."""

Plan = Callable[[str, str], str]
"""Method and path of a request → the fault that it meets; empty: none."""


def seeded(seed: int) -> Plan:
    """One request in ``ONE_IN`` fails, in one of all the ways that there are for it."""
    chance, one_at_a_time = random.Random(seed), threading.Lock()

    def plan(method: str, path: str) -> str:
        with one_at_a_time:
            if chance.randrange(ONE_IN):
                return ""
            return chance.choice(BY_WRITES if method in WRITES else BY_READS)

    return plan


class FaultProxy:
    """One client's way to the API server, until it is closed.

    Attributes:
        address: URL for the client.
        given: How often each fault was given; ``""`` counts what went through.
    """

    def __init__(
        self,
        server: str,
        pki: Path,
        plan: Plan,
        on_request: Callable[[str, str], None] = lambda _request, _moment: None,
    ) -> None:
        """Open it.

        Args:
            server: URL of the API server.
            pki: Folder with ``ca.crt``, ``apiserver.crt`` and ``apiserver.key``.
            plan: Which requests fail, and how.
            on_request: Called with method and path of a request ``before`` it goes on, and ``after`` it was done and
                before it is answered.
        """
        self.given: Counter[str] = Counter()
        self._to, self._plan, self._on_request = urlsplit(server), plan, on_request
        self._trust = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pki / "apiserver.crt", pki / "apiserver.key")
        # Hands are shaken by the thread of each connection.
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self.address = f"https://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def meet(self, method: str, path: str) -> str:
        """Count a request that has come in, and say which fault it meets."""
        with self._lock:
            fault = self._plan(method, path)
            self.given[fault] += 1
        self._on_request(f"{method} {path}", "before")
        return fault

    @contextmanager
    def forwarded(
        self, method: str, path: str, body: bytes, headers: Any
    ) -> Iterator[http.client.HTTPResponse]:
        """Send a request on; its answer."""
        host, port = self._to.hostname, self._to.port
        assert host is not None
        upstream = http.client.HTTPSConnection(host, port, context=self._trust, timeout=330)
        kept = {name: value for name, value in headers.items() if name.lower() not in ("host", "connection")}
        try:
            upstream.request(method, path, body or None, kept)
            with upstream.getresponse() as answer:
                self._on_request(f"{method} {path}", "after")
                yield answer
        finally:
            upstream.close()


def _handler(proxy: FaultProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _pass(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            fault = proxy.meet(self.command, self.path)
            if fault in STATUSES:
                self._refuse(*STATUSES[fault])
            elif fault == "reset":
                self.close_connection = True
            else:
                if fault == "slow":
                    time.sleep(SLOW_S)
                with proxy.forwarded(self.command, self.path, body, self.headers) as answer:
                    if fault == "applied":
                        answer.read()
                        self.close_connection = True
                    else:
                        with suppress(OSError):  # the client has gone
                            self._answer(answer)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass  # noqa: N815

        def _refuse(self, code: int, reason: str, message: str) -> None:
            status = {
                "kind": "Status",
                "apiVersion": "v1",
                "status": "Failure",
                "code": code,
                "reason": reason,
                "message": message,
            }
            text = json.dumps(status).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def _answer(self, answer: http.client.HTTPResponse) -> None:
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                    self.send_header(name, value)
            if not answer.chunked:
                text = answer.read()
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)
                return
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            while piece := answer.read1(1 << 16):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_: object) -> None:
            """It says nothing."""

    return Handler
