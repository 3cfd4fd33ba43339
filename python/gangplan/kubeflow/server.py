"""The server of Kubeflow Pipelines. The only user of its client (``kfp_server_api``, which comes with kfp)."""

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gangplan.errors import (
    AlreadyExists,
    Busy,
    ClusterError,
    ConfigError,
    Forbidden,
    NotFound,
    Refused,
    Unreachable,
)
from gangplan.extras import needed
from gangplan.kubeflow.access import FORWARD, Access
from gangplan.kubeflow.answers import Entry, named, order, pipeline_of, run_of, schedule_of, version_of
from gangplan.kubeflow.run import Run

with needed("pipelines"):
    import kfp_server_api as api
    from kfp_server_api.exceptions import ApiException
    from urllib3.exceptions import HTTPError

PATIENCE_S = 30
"""Seconds for an answer: an upload is checked by the server before it answers."""

PAGE = 100
_LOG = "/apis/v1alpha1/runs/{run_id}/nodes/{node_id}/log"


class Server:
    """A connection; it has been asked once, so that it is there, is Kubeflow and knows who we are.

    Attributes:
        access: How it is reached.
    """

    def __init__(self, access: Access) -> None:
        """Connect.

        Raises:
            ClusterError: There is no such server, or it does not let us in.
            ConfigError: The server wants a namespace.
            OSError: The file with the token cannot be read.
        """
        self.access = access
        config = api.Configuration(host=access.host)
        config.retries = False  # a redirect is an answer to us: it leads to a page to log in
        config.client_side_validation = (
            False  # a state that this client does not know yet is none of its business
        )
        if access.token is not None:
            config.api_key["authorization"] = access.token.read_text(encoding="utf-8").strip()
            config.api_key_prefix["authorization"] = "Bearer"
        if access.ca is not None:
            config.ssl_ca_cert = str(access.ca)
        logging.getLogger("urllib3").setLevel(logging.ERROR)
        client = api.ApiClient(config, cookie=access.cookie or None)
        self._client = client
        self._pipelines = api.PipelineServiceApi(client)
        self._uploads = api.PipelineUploadServiceApi(client)
        self._experiments = api.ExperimentServiceApi(client)
        self._runs = api.RunServiceApi(client)
        self._schedules = api.RecurringRunServiceApi(client)
        if self._several() and not access.namespace:
            raise ConfigError(f"{access.host} keeps the pipelines of each namespace apart: give -n NAMESPACE")

    def _several(self) -> bool:
        health = api.HealthzServiceApi(self._client).healthz_service_get_healthz
        try:
            told = self._ask(
                "get",
                "server",
                "",
                lambda: health(_preload_content=False, _request_timeout=PATIENCE_S),
            )
            return bool(json.loads(told.data)["multi_user"])
        except (NotFound, ValueError, KeyError, TypeError) as error:
            raise self._no_kubeflow() from error

    # ---- pipelines and versions

    def pipeline(self, name: str) -> Entry | None:
        """Find a pipeline by its name."""
        try:
            found = self._call(
                "get",
                "pipeline",
                name,
                self._pipelines.pipeline_service_get_pipeline_by_name,
                name,
                **self._where,
            )
        except NotFound:
            return None
        return pipeline_of(found)

    def pipelines(self) -> list[Entry]:
        """List the pipelines."""
        listed = self._pages(
            "pipelines", "pipelines", self._pipelines.pipeline_service_list_pipelines, **self._where
        )
        return [pipeline_of(item) for item in listed]

    def create_pipeline(self, name: str, description: str) -> Entry:
        """Create a pipeline that has no version yet.

        Raises:
            AlreadyExists: There is one of this name.
        """
        wanted = {"name": name, "display_name": name, "description": description, **self._where}
        made = self._call(
            "create", "pipeline", name, self._pipelines.pipeline_service_create_pipeline, wanted
        )
        return pipeline_of(made)

    def delete_pipeline(self, pipeline: Entry) -> None:
        """Delete a pipeline with its versions; its runs stay."""
        delete = self._pipelines.pipeline_service_delete_pipeline
        self._call("delete", "pipeline", pipeline.name, delete, pipeline.id, cascade=True)

    def version(self, pipeline: Entry, name: str) -> Entry | None:
        """Find a version of a pipeline by its name."""
        listed = self._pages(
            "versions",
            "pipeline_versions",
            self._pipelines.pipeline_service_list_pipeline_versions,
            pipeline.id,
            filter=named(name),
        )
        return next((version_of(item) for item in listed), None)

    def upload_version(self, pipeline: Entry, name: str, text: str, description: str) -> Entry:
        """Upload a version of a pipeline.

        Raises:
            AlreadyExists: There is one of this name.
        """
        with TemporaryDirectory() as folder:
            file = Path(folder) / "pipeline.yaml"
            file.write_text(text, encoding="utf-8")
            made = self._call(
                "upload",
                "pipeline version",
                name,
                self._uploads.upload_pipeline_version,
                str(file),
                name=name,
                display_name=name,
                pipelineid=pipeline.id,
                description=description,
            )
        return version_of(made)

    # ---- runs

    def experiment(self, name: str) -> str:
        """The id of an experiment, which is created if there is none of this name."""
        for _ in range(2):
            listed = self._pages(
                "experiments",
                "experiments",
                self._experiments.experiment_service_list_experiments,
                filter=named(name),
                **self._where,
            )
            for item in listed:
                return str(item.experiment_id)
            wanted = {"display_name": name, **self._where}
            try:
                create = self._experiments.experiment_service_create_experiment
                return str(self._call("create", "experiment", name, create, wanted).experiment_id)
            except AlreadyExists:
                continue  # somebody else was faster
        raise NotFound(f"experiment {name} comes and goes", verb="get", kind="experiment", name=name)

    def create_run(
        self,
        name: str,
        *,
        pipeline: Entry,
        version: Entry,
        arguments: dict[str, Any],
        experiment: str,
        service_account: str,
    ) -> Run:
        """Start a run.

        Raises:
            Refused: The arguments are none that the pipeline takes.
        """
        wanted = order(name, pipeline, version, arguments, experiment, service_account)
        return run_of(self._call("create", "run", name, self._runs.run_service_create_run, wanted))

    def run(self, run_id: str) -> Run:
        """Read a run with its steps."""
        return run_of(self._call("get", "run", run_id, self._runs.run_service_get_run, run_id))

    def runs(self, *, limit: int, name: str | None = None) -> list[Run]:
        """List runs, the newest first, without their steps.

        Args:
            limit: How many.
            name: Only those of this display name.
        """
        more = {"filter": named(name)} if name else {}
        listed = self._pages(
            "runs", "runs", self._runs.run_service_list_runs, sort_by="created_at desc", **more, **self._where
        )
        return [run_of(item) for item, _ in zip(listed, range(limit), strict=False)]

    def terminate(self, run_id: str) -> None:
        """Ask a run to stop.

        Raises:
            Refused: It was asked before, or has ended.
        """
        self._call("terminate", "run", run_id, self._runs.run_service_terminate_run, run_id)

    def delete_run(self, run_id: str) -> None:
        """Delete a run, and on the cluster its Workflow with all that belongs to it."""
        self._call("delete", "run", run_id, self._runs.run_service_delete_run, run_id)

    def log(self, run_id: str, pod: str) -> str:
        """Read what a step has printed so far.

        Raises:
            Refused: The server does not have it, or has it no more.
        """
        words = {"run_id": run_id, "node_id": pod}
        told = self._ask(
            "read the log of",
            "run",
            run_id,
            lambda: self._client.call_api(
                _LOG,
                "GET",
                words,
                [],
                {"Accept": "text/plain"},
                auth_settings=["Bearer"],
                _return_http_data_only=True,
                _preload_content=False,
                _request_timeout=PATIENCE_S,
            ),
        )
        return bytes(told.data).decode(errors="replace")

    # ---- schedules

    def create_schedule(
        self,
        name: str,
        *,
        pipeline: Entry,
        version: Entry,
        arguments: dict[str, Any],
        experiment: str,
        service_account: str,
        trigger: dict[str, Any],
    ) -> Entry:
        """Start runs again and again, never two at once, and none for the times that were missed."""
        wanted = order(name, pipeline, version, arguments, experiment, service_account) | {
            "trigger": trigger,
            "mode": "ENABLE",
            "max_concurrency": "1",
            "no_catchup": True,
        }
        create = self._schedules.recurring_run_service_create_recurring_run
        return schedule_of(self._call("create", "schedule", name, create, wanted))

    def schedules(self) -> list[Entry]:
        """List the schedules."""
        listed = self._pages(
            "schedules",
            "recurring_runs",
            self._schedules.recurring_run_service_list_recurring_runs,
            **self._where,
        )
        return [schedule_of(item) for item in listed]

    def delete_schedule(self, schedule_id: str) -> None:
        """Start no more runs of a schedule."""
        delete = self._schedules.recurring_run_service_delete_recurring_run
        self._call("delete", "schedule", schedule_id, delete, schedule_id)

    # ---- asking

    @property
    def _where(self) -> dict[str, str]:
        return {"namespace": self.access.namespace} if self.access.namespace else {}

    def _pages(
        self, kind: str, field: str, method: Callable[..., Any], *words: str, **more: Any
    ) -> Iterator[Any]:
        token = ""
        while True:
            page = self._call("list", kind, "", method, *words, page_size=PAGE, page_token=token, **more)
            yield from getattr(page, field) or ()
            token = page.next_page_token or ""
            if not token:
                return

    def _call(
        self, verb: str, kind: str, name: str, method: Callable[..., Any], /, *words: Any, **more: Any
    ) -> Any:
        return self._ask(verb, kind, name, lambda: method(*words, _request_timeout=PATIENCE_S, **more))

    def _ask(self, verb: str, kind: str, name: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except ApiException as error:
            raise self._error(error, verb, kind, name) from error
        except HTTPError as error:
            message = (
                f"no answer from {self.access.host}: {error}\n"
                f"is the address right? Without an address of its own: {FORWARD}"
            )
            raise Unreachable(message, verb=verb, kind=kind, name=name) from error

    def _error(self, error: ApiException, verb: str, kind: str, name: str) -> ClusterError:
        about = {"verb": verb, "kind": kind, "name": name}
        host, status = self.access.host, error.status
        try:
            said = str(json.loads(error.body)["message"])
        except (ValueError, KeyError, TypeError):
            said = ""
        if status in {301, 302, 303, 307, 308, 401}:
            who = f"{host} wants to know who asks: give --token-file FILE, or --cookie-file FILE with the cookies of"
            return Forbidden(f"{who} a browser that is logged in" + (f"\n{said}" if said else ""), **about)
        if status == 403:
            return Forbidden(f"{host}: you may not {verb} {kind} {name}".rstrip() + f"\n{said}", **about)
        if not said and status in {404, 405, 501}:
            return self._no_kubeflow()
        message = f"cannot {verb} {kind} {name}".rstrip() + f": {said or error.reason}"
        kinds: dict[int, type[ClusterError]] = {
            400: Refused,
            404: NotFound,
            409: AlreadyExists,
            429: Busy,
            503: Busy,
        }
        usual = Unreachable if status in {500, 502, 504} else ClusterError
        return kinds.get(status, usual)(message, **about)

    def _no_kubeflow(self) -> ClusterError:
        return ClusterError(
            f"{self.access.host} answers, but not as Kubeflow Pipelines: behind the dashboard of Kubeflow its address "
            "ends with /pipeline",
            verb="get",
            kind="server",
        )
