"""Requests of a connection: what is sent, what comes back, what is refused, and streams that end or break.

A small HTTP server on the loopback interface plays back answers; the client and its connection are real.
"""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import yaml

from gangplan.errors import (
    AlreadyExists,
    Busy,
    ClusterError,
    Conflict,
    Expired,
    Forbidden,
    NotFound,
    NotInstalled,
    Refused,
    Unreachable,
)
from gangplan.kube import kinds
from gangplan.kube.api import Change
from gangplan.kube.client import Connection, connect
from gangplan.kube.kinds import CLAIM, GANG, NODE, POD, TFJOB, Kind
from gangplan.kube.roles import GRANTED


@dataclass(kw_only=True)
class Answer:
    """An answer: whole, or in chunks as a stream; one that is cut ends in the middle of a chunk."""

    status: int = 200
    body: Any = None
    chunks: tuple[bytes, ...] | None = None
    cut: bool = False


@dataclass
class Asked:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class Tape:
    """Answers in their order, and what was asked for each."""

    answers: list[Answer] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)

    def plays(self, *answers: Answer) -> None:
        self.answers += answers

    def sent(self) -> Asked:
        (only,) = self.asked
        return only


@pytest.fixture
def tape() -> Tape:
    return Tape()


@pytest.fixture
def api(tape: Tape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    """A connection to a server that plays the tape."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            url = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            tape.asked.append(
                Asked(
                    self.command,
                    url.path,
                    dict(parse_qsl(url.query)),
                    {name.lower(): value for name, value in self.headers.items()},
                    body,
                )
            )
            answer = tape.answers.pop(0)
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/json")
            if answer.chunks is None:
                data = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
                return
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for chunk in answer.chunks:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
                self.wfile.flush()
            self.wfile.write(b"ff\r\nhalf a ch" if answer.cut else b"0\r\n\r\n")
            self.close_connection = answer.cut

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815 - as the library wants it

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(
        json.dumps(
            {
                "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{http.server_port}"}}],
                "users": [{"name": "u", "user": {"token": "secret"}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )
    )
    with connect(kubeconfig=kubeconfig) as connection:
        yield connection
    http.shutdown()
    thread.join()
    http.server_close()


def pod(name: str, namespace: str = "a", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace} | metadata}


def status(message: str, *, reason: str = "", **details: Any) -> dict[str, Any]:
    return {"kind": "Status", "status": "Failure", "message": message, "reason": reason, "details": details}


def line(type_: str, body: dict[str, Any]) -> bytes:
    return json.dumps({"type": type_, "object": body}).encode() + b"\n"


# ---- what is sent


def test_an_object_is_read_where_its_kind_has_it(tape, api):
    tape.plays(Answer(body=pod("p")), Answer(body={}), Answer(body={}))
    assert api.get(POD, "p", namespace="a") == pod("p")
    api.get(NODE, "n1")
    api.get(GANG, "g", namespace="team a")
    assert [asked.path for asked in tape.asked] == [
        "/api/v1/namespaces/a/pods/p",
        "/api/v1/nodes/n1",
        "/apis/gangplan.dev/v1alpha1/namespaces/team%20a/gangs/g",
    ]
    assert {asked.headers["authorization"] for asked in tape.asked} == {"Bearer secret"}
    assert {asked.headers["user-agent"] for asked in tape.asked} == {"gangplan"}


def test_what_is_written_is_sent_with_its_verb_and_as_what_it_is(tape, api):
    tape.plays(*(Answer(body=pod("p")) for _ in range(5)))
    body = pod("p")
    assert api.create(POD, body) == pod("p")
    api.replace(POD, body)
    api.replace(GANG, body, subresource="status")
    api.patch(POD, "p", {"metadata": {"labels": None}}, namespace="a")
    api.patch(GANG, "p", {"status": {}}, namespace="a", subresource="status")
    gang = "/apis/gangplan.dev/v1alpha1/namespaces/a/gangs/p/status"
    assert [(asked.method, asked.path, asked.body) for asked in tape.asked] == [
        ("POST", "/api/v1/namespaces/a/pods", body),
        ("PUT", "/api/v1/namespaces/a/pods/p", body),
        ("PUT", gang, body),
        ("PATCH", "/api/v1/namespaces/a/pods/p", {"metadata": {"labels": None}}),
        ("PATCH", gang, {"status": {}}),
    ]
    content = [asked.headers["content-type"] for asked in tape.asked]
    assert content == ["application/json"] * 3 + ["application/merge-patch+json"] * 2


def test_a_deletion_says_what_becomes_of_dependents_and_which_object_is_meant(tape, api):
    tape.plays(Answer(body={}), Answer(body={}))
    api.delete(POD, "p", namespace="a")
    api.delete(POD, "p", namespace="a", propagation="Foreground", uid="u", version="7")
    options = {"apiVersion": "v1", "kind": "DeleteOptions"}
    assert [asked.body for asked in tape.asked] == [
        options | {"propagationPolicy": "Background"},
        options | {"propagationPolicy": "Foreground", "preconditions": {"uid": "u", "resourceVersion": "7"}},
    ]


def test_nothing_is_sent_for_an_object_without_a_name_or_a_namespace(tape, api):
    """The path without a name is that of all objects; deleting there deletes them all."""
    for name, namespace in (("", "a"), ("p", "")):
        with pytest.raises(Refused, match="has no name"):
            api.delete(POD, name, namespace=namespace)
        with pytest.raises(Refused, match="has no name"):
            api.get(POD, name, namespace=namespace)
        with pytest.raises(Refused, match="has no name"):
            api.replace(POD, pod(name, namespace))
        with pytest.raises(Refused, match="has no name"):
            api.create(POD, pod(name, namespace))
    assert tape.asked == []


def test_a_new_object_with_a_version_is_not_sent(tape, api):
    with pytest.raises(Refused, match="leave it out"):
        api.create(POD, pod("p", resourceVersion="3"))
    assert tape.asked == []


# ---- lists


def test_a_list_is_read_page_by_page_at_the_moment_of_the_first(tape, api):
    tape.plays(
        Answer(
            body={
                "metadata": {"resourceVersion": "9", "continue": "more"},
                "items": [pod("z", "a-b"), pod("b")],
            }
        ),
        Answer(body={"metadata": {"resourceVersion": "9"}, "items": [pod("a")]}),
    )
    listing = api.list(POD, labels="x=y")
    assert listing.version == "9"
    assert [(i["metadata"]["namespace"], i["metadata"]["name"]) for i in listing.items] == [
        ("a", "a"),
        ("a", "b"),
        ("a-b", "z"),
    ]
    assert {(item["kind"], item["apiVersion"]) for item in listing.items} == {("Pod", "v1")}
    assert [asked.path for asked in tape.asked] == ["/api/v1/pods"] * 2
    assert [asked.query for asked in tape.asked] == [
        {"limit": "500", "labelSelector": "x=y"},
        {"limit": "500", "labelSelector": "x=y", "continue": "more"},
    ]


def test_pages_are_the_bytes_that_the_server_sent(tape, api):
    first = b'{"items" :[ {"any":1} ] , "metadata":{"continue":"c"}}'
    tape.plays(Answer(body=first), Answer(body=b'{"metadata":{}}'))
    assert list(api.pages(POD, namespace="a", version="7")) == [first, b'{"metadata":{}}']
    assert [asked.query for asked in tape.asked] == [
        {"limit": "500", "resourceVersion": "7", "resourceVersionMatch": "Exact"},
        {"limit": "500", "continue": "c"},
    ]


def test_the_moment_is_told_by_the_shortest_list(tape, api):
    tape.plays(Answer(body={"metadata": {"resourceVersion": "12", "continue": "c"}, "items": [{}]}))
    assert api.moment() == "12"
    assert (tape.sent().path, tape.sent().query) == ("/api/v1/nodes", {"limit": "1"})


def test_a_list_without_objects_is_empty(tape, api):
    tape.plays(Answer(body={"metadata": {"resourceVersion": "3"}, "items": None}))
    assert api.list(NODE).items == ()


def test_a_list_that_takes_too_long_is_begun_again_by_who_wants_it(tape, api):
    tape.plays(
        Answer(body={"metadata": {"resourceVersion": "9", "continue": "more"}, "items": []}),
        Answer(status=410, body=status("The provided continue parameter is too old", reason="Expired")),
    )
    with pytest.raises(Expired, match="too old; list again"):
        api.list(POD)


@pytest.mark.parametrize("body", [b"[]", b'{"items": []}', b'{"metadata": {}, "items": 3}', b"<html>"])
def test_a_list_that_is_none_is_not_taken_for_an_empty_one(body, tape, api):
    tape.plays(Answer(body=body))
    with pytest.raises(ClusterError, match="not as a Kubernetes API server"):
        api.list(POD)


# ---- watches


def test_a_watch_tells_changes_and_how_far_it_is_until_its_time_is_over(tape, api):
    added, bookmark = line("ADDED", pod("p")), line("BOOKMARK", {"metadata": {"resourceVersion": "8"}})
    deleted = line("DELETED", pod("p"))
    tape.plays(Answer(chunks=(added[:10], added[10:] + bookmark, deleted)))
    changes = list(api.watch(POD, version="5", namespace="a", labels="x", timeout_s=0.5))
    assert changes == [
        Change(type="ADDED", object=pod("p")),
        Change(type="BOOKMARK", object={"metadata": {"resourceVersion": "8"}}),
        Change(type="DELETED", object=pod("p")),
    ]
    asked = tape.sent()
    assert asked.path == "/api/v1/namespaces/a/pods"
    assert asked.query == {
        "watch": "true",
        "resourceVersion": "5",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "1",
        "labelSelector": "x",
    }


@pytest.mark.parametrize(
    ("code", "error"), [(410, Expired), (500, Unreachable), (429, Busy), ("?", Unreachable)]
)
def test_what_goes_wrong_inside_a_watch_is_told_after_the_changes_before_it(code, error, tape, api):
    tape.plays(
        Answer(chunks=(line("ADDED", pod("p")), line("ERROR", status("too old version: 5") | {"code": code})))
    )
    changes = api.watch(POD, version="5")
    assert next(changes).type == "ADDED"
    with pytest.raises(error, match="too old version: 5") as caught:
        next(changes)
    assert type(caught.value) is error


def test_a_watch_from_too_long_ago_is_expired(tape, api):
    tape.plays(Answer(status=410, body=status("too old")))
    with pytest.raises(Expired):
        next(api.watch(POD, version="5"))


@pytest.mark.parametrize("cut", [True, False])
def test_a_watch_that_breaks_off_is_no_end(cut, tape, api):
    """The end of its time looks the same to who does not look; then changes would be missed for ever."""
    half = line("ADDED", pod("q"))[:20]
    tape.plays(Answer(chunks=(line("ADDED", pod("p")), half), cut=cut))
    changes = api.watch(POD, version="5")
    assert next(changes).type == "ADDED"
    with pytest.raises(Unreachable):
        next(changes)


def test_who_stops_watching_can_go_on_with_the_same_connection(tape, api):
    tape.plays(Answer(chunks=(line("ADDED", pod("p")),) * 3), Answer(body=pod("p")))
    changes = api.watch(POD, version="5")
    next(changes)
    changes.close()
    assert api.get(POD, "p", namespace="a") == pod("p")


# ---- logs


def test_a_log_is_given_line_by_line(tape, api):
    tape.plays(Answer(chunks=(b"2026 one\n2026 t", b"wo\n2026 three, without an end")))
    lines = api.log("p", namespace="a", container="c", follow=True, since="2026-01-01T00:00:00Z")
    assert list(lines) == [b"2026 one", b"2026 two", b"2026 three, without an end"]
    assert tape.sent().path == "/api/v1/namespaces/a/pods/p/log"
    assert tape.sent().query == {
        "timestamps": "true",
        "container": "c",
        "follow": "true",
        "sinceTime": "2026-01-01T00:00:00Z",
    }


def test_what_a_kubelet_says_of_itself_is_not_the_log_of_a_pod(tape, api):
    words = b"rpc error: code = NotFound desc = an error occurred when try to find container\n"
    tape.plays(Answer(chunks=(words, b"2026 one\n")))
    assert list(api.log("p", namespace="a")) == [b"2026 one"]


def test_a_log_of_what_has_not_started_is_refused(tape, api):
    message = 'container "c" in pod "p" is waiting to start: ContainerCreating'
    tape.plays(Answer(status=400, body=status(message, reason="BadRequest")))
    with pytest.raises(Refused, match="waiting to start"):
        list(api.log("p", namespace="a"))
    assert tape.sent().query == {"timestamps": "true"}


def test_a_log_that_breaks_off_is_no_end(tape, api):
    tape.plays(Answer(chunks=(b"2026 one\n",), cut=True))
    lines = api.log("p", namespace="a", follow=True)
    assert next(lines) == b"2026 one"
    with pytest.raises(Unreachable):
        next(lines)


# ---- refusals


def test_who_may_not_is_told_the_role_that_may_and_where_all_that_is_missing_is_told(tape, api):
    missing = 'tfjobs.kubeflow.org is forbidden: User "u" cannot create resource "tfjobs" in API group'
    tape.plays(*[Answer(status=403, body=status(missing, reason="Forbidden"))] * 3)
    with pytest.raises(Forbidden) as caught:
        api.would_create(TFJOB, {"metadata": {"name": "j", "namespace": "team"}})
    assert "ask for the role gangplan-launch in team; gangplan doctor -n team tells" in str(caught.value)
    with pytest.raises(Forbidden, match="ask for the role gangplan-admit; gangplan doctor tells"):
        api.list(NODE)
    with pytest.raises(
        Forbidden, match="create rolebinding view-USER -n team --clusterrole=view --user=USER"
    ):
        api.list(CLAIM, namespace="team")


def test_the_roles_that_are_named_are_those_that_deploy_has():
    granted = set()
    for file in (Path(__file__).parents[2] / "deploy" / "rbac").glob("*.yaml"):
        for role in yaml.safe_load_all(file.read_text()):
            for rule in role.get("rules", ()):
                plurals = {each.removesuffix("/status") for each in rule["resources"]}
                granted |= {
                    (role["metadata"]["name"], plural, verb) for plural in plurals for verb in rule["verbs"]
                }
    plurals = {kind.name: kind.plural for kind in vars(kinds).values() if isinstance(kind, Kind)}
    named = {
        (role, plurals[kind], verb)
        for role, of in GRANTED.items()
        for kind, verbs in of.items()
        for verb in verbs
    }
    assert len(named) > 20
    assert named <= granted


QUOTA = 'pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2'
RIGHTS = 'pods is forbidden: User "system:serviceaccount:a:b" cannot create resource "pods" in API group ""'
GRANT = 'roles "r" is forbidden: user "u" (groups=["g"]) is attempting to grant RBAC permissions not currently held'
INVALID = 'Gang "g" is invalid: [spec.a: Required value, spec.b: Invalid value: 0]'


@pytest.mark.parametrize(
    ("code", "body", "error", "text"),
    [
        (403, status(QUOTA, reason="Forbidden", name="p"), Refused, "exceeded quota: q"),
        (403, status('pods "p" is forbidden: violates PodSecurity', name="p"), Refused, "PodSecurity"),
        (403, status('admission webhook "w" denied the request: no'), Refused, "denied the request: no"),
        (403, status(RIGHTS, reason="Forbidden"), Forbidden, "cannot create.*ask for the role gangplan-edit"),
        (403, status(GRANT, reason="Forbidden", name="r"), Forbidden, "ask for the role gangplan-edit"),
        (403, b"<html>", Forbidden, "ask for the role gangplan-edit"),
        (404, status('namespaces "a" not found', name="a", kind="namespaces"), NotFound, '"a" not found'),
        (404, status("the server could not find the requested resource"), NotInstalled, "Pod"),
        (409, status("there", reason="AlreadyExists", name="p"), AlreadyExists, "create Pod p in a: there"),
        (409, status("modified", reason="Conflict", name="p"), Conflict, "modified; read it again"),
        (422, status(INVALID, name="g", causes=[{"message": "Required value", "field": "spec.a"}]), Refused,
         r"spec.a: Required value, spec.b: Invalid value: 0\]$"),
        (422, status("invalid", causes=[{"message": "too long", "field": "x"}, {"message": "bad"}, 3]), Refused,
         "invalid; x: too long; bad$"),
        (400, status("bad", causes={}), Refused, "bad"),
        (504, status("timeout", reason="Timeout"), Unreachable, "timeout; it may have been done"),
        (503, b"", Busy, "come again later"),
    ],
)  # fmt: skip
def test_a_refusal_is_told_as_what_the_caller_can_do_about_it(code, body, error, text, tape, api):
    tape.plays(Answer(status=code, body=body))
    with pytest.raises(error, match=text) as caught:
        api.create(POD, pod("p"))
    told = caught.value
    assert type(told) is error
    assert (told.verb, told.kind, told.name, told.namespace) == ("create", "Pod", "p", "a")
    assert len(tape.asked) == 1, "a refusal is not asked for again"
