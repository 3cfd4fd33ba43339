"""The way to an API server: what it answers, what it refuses, and what happens where nobody answers.

A small HTTP server on the loopback interface speaks the few answers; the client and its connection are real.
"""

import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gangplan.cli.main import app
from gangplan.errors import (
    Busy,
    ClusterError,
    ConfigError,
    Conflict,
    Forbidden,
    NotFound,
    NotInstalled,
    Unreachable,
)
from gangplan.kube import requests
from gangplan.kube.client import connect

VERSION = json.dumps(
    {"major": "1", "minor": "34", "gitVersion": "v1.34.1", "platform": "linux/amd64"}
).encode()


@dataclass
class Answer:
    """What the server says, and the requests that it got: path and Authorization header."""

    status: int = 200
    body: bytes = VERSION
    promised: int | None = None
    silent: threading.Event | None = None
    asked: list[tuple[str, str | None]] = field(default_factory=list)


@dataclass
class Server:
    """An API server that gives one answer."""

    port: int
    answer: Answer
    folder: Path

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def kubeconfig(self, name: str = "config", *, context: str = "here") -> Path:
        path = self.folder / name
        path.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "c", "cluster": {"server": self.address}}],
                    "users": [{"name": "u", "user": {"token": f"token-of-{context}"}}],
                    "contexts": [
                        {"name": each, "context": {"cluster": "c", "user": "u"}}
                        for each in (context, "other")
                    ],
                    "current-context": context,
                }
            )
        )
        return path


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A running server; proxies and clusters of the environment are out of the way."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    answer = Answer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer.asked.append((self.path, self.headers.get("Authorization")))
            if answer.silent is not None:
                answer.silent.wait(30)
                return
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/json")
            length = len(answer.body) if answer.promised is None else answer.promised
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield Server(http.server_port, answer, tmp_path)
    http.shutdown()
    thread.join()
    http.server_close()


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def ask(server: Server) -> str:
    with connect(kubeconfig=server.kubeconfig()) as connection:
        assert connection.address == server.address
        return connection.server_version()


def test_the_servers_version_is_told_and_the_token_of_the_context_is_sent(server):
    assert ask(server) == "v1.34.1"
    assert server.answer.asked == [("/version/", "Bearer token-of-here")]


@pytest.mark.parametrize(
    ("status", "body", "error", "text"),
    [
        (401, b'{"message": "Unauthorized"}', Forbidden, "log in again"),
        (403, b'{"message": "user x cannot get"}', Forbidden, "user x cannot get.*ask for a role"),
        (404, b"404 page not found", NotInstalled, "CRD"),
        (404, b'{"message": "no such thing"}', NotInstalled, "CRD"),
        (404, b'{"message": "pods \\"x\\" not found", "details": {"name": "x"}}', NotFound, "not found"),
        (409, b'{"message": "the object has been modified"}', Conflict, "modified; read it again"),
        (500, b"oh", Unreachable, "500.*may have been done"),
        (
            500,
            b'{"message": "failed calling webhook \\"v\\""}',
            Unreachable,
            "nothing was done, a webhook that",
        ),
        (503, b'{"message": "etcd is away"}', Busy, "503: etcd is away"),
        (429, b"{}", Busy, "429"),
        (302, b"", ClusterError, "302"),
        (200, b"<html>", ClusterError, "not as a Kubernetes API server"),
        (200, b"[]", ClusterError, "not as a Kubernetes API server"),
        (200, b"\xff\xfe", ClusterError, "not as a Kubernetes API server"),
        (200, b'{"gitVersion": 3}', ClusterError, "not as a Kubernetes API server"),
    ],
)
def test_what_the_server_refuses_is_told_as_our_error_with_what_to_do(status, body, error, text, server):
    server.answer.status, server.answer.body = status, body
    with pytest.raises(error, match=text) as caught:
        ask(server)
    assert type(caught.value) is error
    assert (caught.value.verb, caught.value.kind) == ("get", "Version")
    assert len(server.answer.asked) == 1, "a refusal is not asked for again"
    assert caught.value.__cause__ is not None or status == 200


@pytest.mark.parametrize(
    ("status", "body", "error", "text"),
    [
        (
            403,
            b'{"message": "user x cannot create pods/portforward"}',
            Forbidden,
            "ask for the role gangplan-edit",
        ),
        (404, b'{"message": "pods \\"board\\" not found", "details": {"name": "board"}}', NotFound, "board"),
        (500, b"oh", Unreachable, "500"),
        (200, b"{}", ClusterError, "200"),
    ],
)
def test_a_port_of_a_pod_that_cannot_be_had_is_told_as_our_error(status, body, error, text, server):
    """The client tells such refusals in the words of its web sockets."""
    server.answer.status, server.answer.body = status, body
    with connect(kubeconfig=server.kubeconfig()) as connection, pytest.raises(error, match=text) as caught:
        connection.port("board", namespace="team", port=6006)
    assert type(caught.value) is error
    ((path, token),) = server.answer.asked
    assert path == "/api/v1/namespaces/team/pods/board/portforward?ports=6006"
    assert token == "Bearer token-of-here"


def test_a_port_of_a_pod_behind_a_server_that_is_not_there_is_unreachable(server):
    server.port = closed_port()
    with connect(kubeconfig=server.kubeconfig()) as connection, pytest.raises(Unreachable):
        connection.port("board", namespace="team", port=6006)


def test_where_nobody_listens_the_server_is_unreachable(server):
    server.port = closed_port()
    with pytest.raises(Unreachable, match=server.address) as caught:
        ask(server)
    assert caught.value.__cause__ is not None


def test_a_server_that_says_nothing_is_given_up(server, monkeypatch):
    monkeypatch.setattr(requests, "_TIMEOUT_S", (0.2, 0.2))
    server.answer.silent = threading.Event()
    try:
        with pytest.raises(Unreachable):
            ask(server)
    finally:
        server.answer.silent.set()


def test_an_answer_that_is_cut_off_is_no_answer(server):
    server.answer.promised = 10_000
    with pytest.raises(Unreachable):
        ask(server)


def test_a_server_that_speaks_no_http_is_unreachable(server):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        server.port = listener.getsockname()[1]

        def babble() -> None:
            connection, _ = listener.accept()
            connection.recv(10_000)
            connection.sendall(b"\x00\x01 what\r\n\r\n")
            connection.close()

        thread = threading.Thread(target=babble)
        thread.start()
        with pytest.raises(Unreachable):
            ask(server)
        thread.join()


@pytest.mark.parametrize(
    "text",
    ["", "[", "3", "[]", "a: 1", "\0", "clusters: 3\ncurrent-context: x", "current-context: x\ncontexts: []"],
)
def test_a_kubeconfig_that_cannot_be_used_is_named_with_what_to_do(text, tmp_path: Path, server):
    (tmp_path / "bad").write_text(text)
    with pytest.raises(ConfigError, match=r"bad cannot be used(.|\n)*--kubeconfig") as caught:
        connect(kubeconfig=tmp_path / "bad")
    assert caught.value.__cause__ is not None


def test_a_kubeconfig_or_context_that_is_not_there_is_named(server, monkeypatch):
    with pytest.raises(ConfigError, match="no-such-file"):
        connect(kubeconfig=Path("/no-such-file"))
    monkeypatch.setenv("KUBECONFIG", "/no/such/file")
    with pytest.raises(ConfigError, match="the kubeconfig /no/such/file cannot be used"):
        connect()
    with pytest.raises(ConfigError, match="context nowhere"):
        connect(kubeconfig=server.kubeconfig(), context="nowhere")
    connect(kubeconfig=server.kubeconfig(), context="other")


def test_in_a_pod_the_service_account_is_used_unless_a_file_is_named(server, monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")
    with pytest.raises(ConfigError, match=r"[Ss]ervice"):
        connect()
    assert ask(server) == "v1.34.1"


# ---- gangplan version --server


def test_the_version_command_tells_the_servers_version(server):
    words = ["version", "--server", "--kubeconfig", str(server.kubeconfig()), "-o", "json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["server"] == "v1.34.1"


def test_the_version_command_needs_no_server_unless_asked(server):
    done = CliRunner().invoke(app, ["version", "-o", "json"])
    assert done.exit_code == 0, done.output
    assert "server" not in json.loads(done.stdout)
    assert server.answer.asked == []


def test_the_version_command_ends_with_4_where_no_server_answers(server):
    server.port = closed_port()
    done = CliRunner().invoke(app, ["version", "--server", "--kubeconfig", str(server.kubeconfig())])
    assert done.exit_code == 4
    assert server.address in done.stderr


def test_the_version_command_ends_with_2_where_the_context_is_unknown(server):
    words = ["version", "--server", "--kubeconfig", str(server.kubeconfig()), "--context", "x"]
    assert CliRunner().invoke(app, words).exit_code == 2
