"""The server: routes, names, runs; everything in memory."""

import email
import json
import re
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import yaml

from kfpserver.arguments import refusal
from kfpserver.progress import Plan, Progress, moment, order, pod_name, task_details

CODES = {400: 3, 401: 16, 403: 7, 404: 5, 409: 6, 502: 14}
"""HTTP → gRPC."""

LOG = "/apis/v1alpha1/runs/{run_id}/nodes/{node_id}/log"
"""The one route that is not in the OpenAPI description: the server streams text there."""


class Refusal(Exception):
    """An answer that is none to be glad of."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


@dataclass(kw_only=True)
class KubeflowServer:
    """What the server holds, and how it is told to behave.

    Attributes:
        token: The bearer token that it wants; empty: none.
        cookie: The cookie that it wants, else it sends to a login page; empty: none.
        forbidden: Whether the caller may do nothing.
        multi_user: Whether namespaces are told apart.
        website: Whether it is none of Kubeflow at all, and answers everything with a page.
        plan: What becomes of runs that are created from now on.
        answers: Every answer: route, status and body.
        url: Where it listens.
    """

    token: str = ""
    cookie: str = ""
    forbidden: bool = False
    multi_user: bool = False
    website: bool = False
    plan: Plan = field(default_factory=Plan)
    answers: list[tuple[str, str, int, Any]] = field(default_factory=list)
    url: str = ""
    pipelines: dict[str, dict[str, Any]] = field(default_factory=dict)
    versions: dict[str, dict[str, Any]] = field(default_factory=dict)
    experiments: dict[str, dict[str, Any]] = field(default_factory=dict)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    progress: dict[str, Progress] = field(default_factory=dict)
    schedules: dict[str, dict[str, Any]] = field(default_factory=dict)
    _count: int = 0

    # ---- names and pipelines

    def healthz(self, **_: Any) -> Any:
        return {"multi_user": self.multi_user, "pipeline_store": "database"}

    def create_pipeline(self, *, body: dict[str, Any], **_: Any) -> Any:
        name = body.get("name") or body["display_name"]
        self._want_namespace(body.get("namespace", ""))
        if any(item["name"] == name for item in self.pipelines.values()):
            message = f"The name {name} already exist. Please specify a new name"
            raise Refusal(409, f"Failed to create a pipeline: Already exist error: {message}")
        made = {
            "pipeline_id": self._id(),
            "name": name,
            "display_name": body.get("display_name", name),
            "created_at": self._now(),
        }
        if body.get("namespace"):
            made["namespace"] = body["namespace"]
        self.pipelines[made["pipeline_id"]] = made
        return made

    def pipeline_by_name(self, *, name: str, **_: Any) -> Any:
        for item in self.pipelines.values():
            if item["name"] == name:
                return item
        raise Refusal(
            404, f"Failed to get a pipeline by name: ResourceNotFoundError: Pipeline {name} not found"
        )

    def list_pipelines(self, *, query: dict[str, str], **_: Any) -> Any:
        return self._page("pipelines", list(self.pipelines.values()), query)

    def delete_pipeline(self, *, pipeline_id: str, query: dict[str, str], **_: Any) -> Any:
        self._the(self.pipelines, pipeline_id, "Pipeline")
        owned = [key for key, item in self.versions.items() if item["pipeline_id"] == pipeline_id]
        if owned and query.get("cascade", "").lower() != "true":
            raise Refusal(
                400, f"Failed to delete pipeline with id {pipeline_id} as it has existing pipeline versions"
            )
        for key in owned:
            del self.versions[key]
        del self.pipelines[pipeline_id]
        return {}

    def list_versions(self, *, pipeline_id: str, query: dict[str, str], **_: Any) -> Any:
        self._the(self.pipelines, pipeline_id, "Pipeline")
        owned = [item for item in self.versions.values() if item["pipeline_id"] == pipeline_id]
        return self._page("pipeline_versions", owned, query)

    def upload_version(self, *, query: dict[str, str], text: str, **_: Any) -> Any:
        pipeline = self._the(self.pipelines, query.get("pipelineid", ""), "Pipeline")
        name = query["name"]
        if any(
            item["name"] == name and item["pipeline_id"] == pipeline["pipeline_id"]
            for item in self.versions.values()
        ):
            raise Refusal(
                409,
                f"Failed to create a pipeline version: Already exist error: The name {name} already exist",
            )
        spec = next(yaml.load_all(text, Loader=yaml.CSafeLoader))
        if not isinstance(spec, dict) or "root" not in spec:
            raise Refusal(
                400, "Failed to create a pipeline version: InvalidInputError: unknown template format"
            )
        made = {
            "pipeline_id": pipeline["pipeline_id"],
            "pipeline_version_id": self._id(),
            "name": name,
            "display_name": query.get("display_name", name),
            "description": query.get("description", ""),
            "created_at": self._now(),
            "pipeline_spec": spec,
        }
        self.versions[made["pipeline_version_id"]] = made
        return made

    # ---- experiments and runs

    def list_experiments(self, *, query: dict[str, str], **_: Any) -> Any:
        self._want_namespace(query.get("namespace", ""))
        return self._page("experiments", list(self.experiments.values()), query)

    def create_experiment(self, *, body: dict[str, Any], **_: Any) -> Any:
        self._want_namespace(body.get("namespace", ""))
        if any(item["display_name"] == body["display_name"] for item in self.experiments.values()):
            raise Refusal(409, "Failed to create a new experiment: Already exist error")
        made = {"experiment_id": self._id(), "created_at": self._now(), "storage_state": "AVAILABLE", **body}
        self.experiments[made["experiment_id"]] = made
        return made

    def create_run(self, *, body: dict[str, Any], **_: Any) -> Any:
        version, given = self._wanted(body, "run")
        run_id = self._id()
        made = {
            "run_id": run_id,
            "experiment_id": body["experiment_id"],
            "display_name": body["display_name"],
            "pipeline_version_reference": body["pipeline_version_reference"],
            "runtime_config": {"parameters": given},
            "service_account": body.get("service_account") or "pipeline-runner",
            "storage_state": "AVAILABLE",
            "created_at": self._now(),
        }
        self.runs[run_id] = made
        self.progress[run_id] = Progress(steps=order(version["pipeline_spec"]), plan=self.plan)
        return self._told(run_id)

    def list_runs(self, *, query: dict[str, str], **_: Any) -> Any:
        self._want_namespace(query.get("namespace", ""))
        told = [self._told(run_id) for run_id in reversed(self.runs)]
        return self._page("runs", told, query)

    def get_run(self, *, run_id: str, **_: Any) -> Any:
        self._the(self.runs, run_id, "Run")
        if self.progress[run_id].plan.unanswered:
            self.progress[run_id].plan.unanswered -= 1
            raise Refusal(502, "upstream connect error")
        self.progress[run_id].look()
        return self._told(run_id, details=True)

    def terminate(self, *, run_id: str, **_: Any) -> Any:
        self._the(self.runs, run_id, "Run")
        progress = self.progress[run_id]
        if progress.asked or progress.state in {"SUCCEEDED", "FAILED"}:
            state = "CANCELING" if progress.asked else progress.state
            raise Refusal(
                400,
                f"Failed to terminate a run: the run {run_id} is not in a state to be terminated: {state}",
            )
        progress.asked = True
        progress.state = "CANCELING"
        return {}

    def delete_run(self, *, run_id: str, **_: Any) -> Any:
        self._the(self.runs, run_id, "Run")
        del self.runs[run_id]
        return {}

    def log(self, *, run_id: str, node_id: str, **_: Any) -> str:
        self._the(self.runs, run_id, "Run")
        progress = self.progress[run_id]
        workflow = f"{self._title(run_id)}-{run_id[:5]}"
        pods = {pod_name(workflow, name): name for name in progress.states()}
        if node_id not in pods or progress.plan.lost:
            raise Refusal(400, f"Failed to read logs for run {run_id}")
        name = pods[node_id]
        return progress.plan.logs.get(name, f"this is {name}\n")

    # ---- schedules

    def create_schedule(self, *, body: dict[str, Any], **_: Any) -> Any:
        _, given = self._wanted(body, "recurring run")
        cron = body["trigger"].get("cron_schedule", {}).get("cron")
        if cron is not None and len(cron.split()) != 6:
            raise Refusal(
                400,
                f"Failed to create a recurring run: InvalidInputError: Schedule cron is not a supported format: {cron}",
            )
        made = body | {
            "recurring_run_id": self._id(),
            "created_at": self._now(),
            "status": "ENABLED",
            "runtime_config": {"parameters": given},
        }
        self.schedules[made["recurring_run_id"]] = made
        return made

    def list_schedules(self, *, query: dict[str, str], **_: Any) -> Any:
        self._want_namespace(query.get("namespace", ""))
        return self._page("recurringRuns", list(self.schedules.values()), query)

    def delete_schedule(self, *, recurring_run_id: str, **_: Any) -> Any:
        self._the(self.schedules, recurring_run_id, "Recurring run")
        del self.schedules[recurring_run_id]
        return {}

    # ---- behind the routes

    def _wanted(self, body: dict[str, Any], what: str) -> tuple[dict[str, Any], dict[str, Any]]:
        self._the(self.experiments, body.get("experiment_id", ""), "Experiment")
        reference = body["pipeline_version_reference"]
        version = self._the(self.versions, reference["pipeline_version_id"], "PipelineVersion")
        given = body.get("runtime_config", {}).get("parameters", {})
        message = refusal(version["pipeline_spec"], given)
        if message is not None and not (self.plan.any_choice and "literal" in message):
            raise Refusal(400, f"Failed to create a new {what}: InvalidInputError: {message}")
        return version, given

    def _told(self, run_id: str, *, details: bool = False) -> dict[str, Any]:
        progress = self.progress[run_id]
        told = self.runs[run_id] | {
            "state": progress.state,
            "state_history": [{"state": state} for state in progress.history],
        }
        if progress.state in {"SUCCEEDED", "FAILED"}:
            told["finished_at"] = moment(1000)
        if progress.asked and progress.state == "FAILED":
            told["error"] = {"code": 13, "message": "retry exceeded workflow deadline"}
        if details:
            workflow = f"{self._title(run_id)}-{run_id[:5]}"
            told["run_details"] = {"task_details": task_details(run_id, workflow, progress)}
        return told

    def _title(self, run_id: str) -> str:
        version = self.runs[run_id]["pipeline_version_reference"]["pipeline_version_id"]
        return str(self.versions[version]["pipeline_spec"]["pipelineInfo"]["name"])

    def _the(self, kept: dict[str, dict[str, Any]], key: str, kind: str) -> dict[str, Any]:
        if key not in kept:
            raise Refusal(404, f"ResourceNotFoundError: {kind} {key} not found")
        return kept[key]

    def _want_namespace(self, namespace: str) -> None:
        if self.multi_user and not namespace:
            raise Refusal(400, "Failed to authorize with namespace in multi-user mode: namespace is empty")

    def _page(self, name: str, items: list[dict[str, Any]], query: dict[str, str]) -> Any:
        for predicate in json.loads(query.get("filter", "{}")).get("predicates", []):
            assert predicate["operation"] == "EQUALS"
            items = [item for item in items if item.get(predicate["key"]) == predicate["stringValue"]]
        start, size = int(query.get("page_token") or 0), int(query.get("page_size") or 10)
        told: dict[str, Any] = {name: items[start : start + size], "total_size": len(items)}
        if start + size < len(items):
            told["next_page_token"] = str(start + size)
        return told

    def _id(self) -> str:
        self._count += 1
        return str(uuid.uuid5(uuid.NAMESPACE_URL, str(self._count)))

    def _now(self) -> str:
        return moment(self._count)


ROUTES: dict[tuple[str, str], tuple[str, str]] = {
    ("GET", "/apis/v2beta1/healthz"): ("healthz", "V2beta1GetHealthzResponse"),
    ("POST", "/apis/v2beta1/pipelines"): ("create_pipeline", "V2beta1Pipeline"),
    ("GET", "/apis/v2beta1/pipelines/names/{name}"): ("pipeline_by_name", "V2beta1Pipeline"),
    ("GET", "/apis/v2beta1/pipelines"): ("list_pipelines", "V2beta1ListPipelinesResponse"),
    ("DELETE", "/apis/v2beta1/pipelines/{pipeline_id}"): ("delete_pipeline", "object"),
    ("GET", "/apis/v2beta1/pipelines/{pipeline_id}/versions"): (
        "list_versions",
        "V2beta1ListPipelineVersionsResponse",
    ),
    ("POST", "/apis/v2beta1/pipelines/upload_version"): ("upload_version", "V2beta1PipelineVersion"),
    ("GET", "/apis/v2beta1/experiments"): ("list_experiments", "V2beta1ListExperimentsResponse"),
    ("POST", "/apis/v2beta1/experiments"): ("create_experiment", "V2beta1Experiment"),
    ("POST", "/apis/v2beta1/runs"): ("create_run", "V2beta1Run"),
    ("GET", "/apis/v2beta1/runs"): ("list_runs", "V2beta1ListRunsResponse"),
    ("GET", "/apis/v2beta1/runs/{run_id}"): ("get_run", "V2beta1Run"),
    ("POST", "/apis/v2beta1/runs/{run_id}:terminate"): ("terminate", "object"),
    ("DELETE", "/apis/v2beta1/runs/{run_id}"): ("delete_run", "object"),
    ("POST", "/apis/v2beta1/recurringruns"): ("create_schedule", "V2beta1RecurringRun"),
    ("GET", "/apis/v2beta1/recurringruns"): ("list_schedules", "V2beta1ListRecurringRunsResponse"),
    ("DELETE", "/apis/v2beta1/recurringruns/{recurring_run_id}"): ("delete_schedule", "object"),
    ("GET", LOG): ("log", "text"),
}
"""Method and path → what answers, and the model of the answer."""

_PATTERNS = [
    (method, re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/:]+)", path) + "$"), path, name)
    for (method, path), (name, _) in ROUTES.items()
]


def _handler(server: KubeflowServer, lock: threading.Lock) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 65_536  # head and body in one packet: two would wait for each other

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def do_DELETE(self) -> None:
            self._answer()

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if server.website:
                self._send(200, b"<html>Welcome</html>", "text/html")
                return
            with lock:
                if server.cookie and server.cookie not in (self.headers.get("Cookie") or ""):
                    self._send(302, b"<html>Log in</html>", "text/html", {"Location": "/dex/auth"})
                    return
                try:
                    path, told = self._told(body)
                except Refusal as refused:
                    told = {
                        "error": refused.message,
                        "code": CODES[refused.status],
                        "message": refused.message,
                    }
                    self._send(refused.status, json.dumps(told).encode(), "application/json")
                    return
                server.answers.append((self.command, path, 200, told))
            if isinstance(told, str):
                self._send(200, told.encode(), "text/plain")
            else:
                self._send(200, json.dumps(told).encode(), "application/json")

        def _told(self, body: bytes) -> tuple[str, Any]:
            if server.token and self.headers.get("Authorization") != f"Bearer {server.token}":
                raise Refusal(401, "Request header error: there is no user identity header.")
            if server.forbidden:
                raise Refusal(403, "User 'mia' is not authorized with reason: this is forbidden")
            url = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(url.query).items()}
            for method, pattern, path, name in _PATTERNS:
                if method == self.command and (match := pattern.match(url.path)):
                    words: dict[str, Any] = {key: unquote(text) for key, text in match.groupdict().items()}
                    return path, getattr(server, name)(query=query, **self._content(body), **words)
            raise Refusal(404, "Not Found")

        def _content(self, body: bytes) -> dict[str, Any]:
            kind = self.headers.get("Content-Type") or ""
            if kind.startswith("multipart/"):
                parts = email.message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
                (part,) = parts.get_payload()
                return {"text": part.get_payload(decode=True).decode()}
            return {"body": json.loads(body)} if body else {}

        def _send(self, status: int, body: bytes, kind: str, more: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for key, value in {
                "Content-Type": kind,
                "Content-Length": str(len(body)),
                **(more or {}),
            }.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

    return Handler


@contextmanager
def serving(**settings: Any) -> Iterator[KubeflowServer]:
    """A server that listens on a port of this machine."""
    server = KubeflowServer(**settings)
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server, threading.Lock()))
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_address[1]}"
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
