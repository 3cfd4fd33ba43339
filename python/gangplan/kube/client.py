"""Connection: one way to the API server of a cluster."""

import math
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypedDict

import yaml

from gangplan.documents import decode
from gangplan.errors import ConfigError, InvalidInput, Refused, Unreachable
from gangplan.extras import needed
from gangplan.kube.api import Change, Listing, Object, Propagation
from gangplan.kube.kinds import NODE, POD, Kind
from gangplan.kube.refusals import About, refusal
from gangplan.kube.requests import Query, Requests

with needed("kube"):
    from kubernetes import client, config

PAGE = 500
"""Objects in a page of a list: what kubectl asks for, some MB of pods, well below the time that a page may take."""

MERGE_PATCH = "application/merge-patch+json"

_WATCH_GRACE_S = 15.0
"""How long after its time a watch may stay silent: the server ends it, unless it or the way to it is gone."""

_LOG_SILENCE_S = 300.0
"""How long a log that is followed may be silent. A job may say nothing for hours, but then the way to it is taken
anew every five minutes, since a connection that is silent for long is often cut without a word."""

_ListMeta = TypedDict("_ListMeta", {"resourceVersion": str, "continue": str}, total=False)


class _Head(TypedDict):
    """Of a page only how it goes on; the objects are passed over."""

    metadata: _ListMeta


class _Page(_Head):
    items: list[Object] | None


class _Told(TypedDict):
    """A line of a watch."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    object: Object


class Connection:
    """A way to the API server of one cluster, until it is closed; an :class:`gangplan.kube.api.Api`.

    Attributes:
        address: URL of the API server.
    """

    def __init__(self, settings: Any) -> None:
        self._requests = Requests(settings, program="gangplan")
        self.address = self._requests.address

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._requests.close()

    def server_version(self) -> str:
        """Tell the version of the API server, such as ``v1.34.1``.

        Raises:
            Unreachable: No answer.
            ClusterError: The server refuses, or what answers is no API server.
        """
        about = About(verb="get", kind="Version")
        version = self._requests.read("GET", "/version/", about).get("gitVersion")
        if not isinstance(version, str):
            raise self._requests.no_server(about)
        return version

    def get(self, kind: Kind, name: str, *, namespace: str = "") -> Object:
        """See :meth:`Api.get <gangplan.kube.api.Api.get>`."""
        about = _about("get", kind, name, namespace)
        return self._requests.read("GET", kind.path(namespace=namespace, name=name), about)

    def list(self, kind: Kind, *, namespace: str = "", labels: str = "", version: str = "") -> Listing:
        """See :meth:`Api.list <gangplan.kube.api.Api.list>`."""
        about = About(verb="list", kind=kind.name, namespace=namespace)
        items: list[Object] = []
        moment = ""
        for body in self.pages(kind, namespace=namespace, labels=labels, version=version):
            page = self._requests.decoded(body, _Page, about)
            moment = page["metadata"].get("resourceVersion", "")
            # Lists of built-in kinds leave out what is the same for all in them; a single object has it.
            items += (
                {"apiVersion": kind.api_version, "kind": kind.name} | item for item in page["items"] or ()
            )
        items.sort(key=_place)
        return Listing(items=tuple(items), version=moment)

    def pages(
        self, kind: Kind, *, namespace: str = "", labels: str = "", version: str = ""
    ) -> Iterator[bytes]:
        """See :meth:`Api.pages <gangplan.kube.api.Api.pages>`."""
        about = About(verb="list", kind=kind.name, namespace=namespace)
        path = kind.path(namespace=namespace)
        every: dict[str, str | int] = {"limit": PAGE, **_selected(labels)}
        query = every | ({"resourceVersion": version, "resourceVersionMatch": "Exact"} if version else {})
        while True:
            body = self._requests.ask("GET", path, about, query=query)
            yield body
            head = self._requests.decoded(body, _Head, about)
            if not head["metadata"].get("continue"):
                return
            # The token holds the moment; a server refuses one that is said twice.
            query = every | {"continue": head["metadata"]["continue"]}

    def moment(self) -> str:
        """See :meth:`Api.moment <gangplan.kube.api.Api.moment>`."""
        # Every list tells it, of whatever kind; nodes are what whoever wants a moment reads anyway.
        about = About(verb="list", kind=NODE.name)
        head = self._requests.decoded(
            self._requests.ask("GET", NODE.path(), about, query={"limit": 1}), _Head, about
        )
        return head["metadata"].get("resourceVersion", "")

    def watch(
        self, kind: Kind, *, version: str, namespace: str = "", labels: str = "", timeout_s: float = 300.0
    ) -> Iterator[Change]:
        """See :meth:`Api.watch <gangplan.kube.api.Api.watch>`; the request is sent when the first change is wanted."""
        about = About(verb="watch", kind=kind.name, namespace=namespace)
        query: dict[str, str | int] = {
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": max(1, math.ceil(timeout_s)),
        }
        lines = self._requests.lines(
            kind.path(namespace=namespace),
            about,
            query=query | _selected(labels),
            silence_s=timeout_s + _WATCH_GRACE_S,
        )
        for line in lines:
            try:
                told = decode(line, _Told)
            except InvalidInput as error:
                message = f"{about}: the stream of {self.address} broke off in the middle of a change"
                raise about.error(Unreachable, message) from error
            if told["type"] == "ERROR":
                status = told["object"]
                code = status.get("code")
                raise refusal(
                    code if isinstance(code, int) else 500, status, "no reason", self.address, about
                )
            yield Change(type=told["type"], object=told["object"])

    def create(self, kind: Kind, body: Mapping[str, Any]) -> Object:
        """See :meth:`Api.create <gangplan.kube.api.Api.create>`."""
        return self._create(kind, body, {})

    def would_create(self, kind: Kind, body: Mapping[str, Any]) -> Object:
        """See :meth:`Api.would_create <gangplan.kube.api.Api.would_create>`."""
        return self._create(kind, body, {"dryRun": "All", "fieldValidation": "Strict"})

    def _create(self, kind: Kind, body: Mapping[str, Any], query: Query) -> Object:
        name, namespace = _named(body)
        about = _about("create", kind, name or _generated(body), namespace)
        if (body.get("metadata") or {}).get("resourceVersion"):
            # The server would answer as if it had crashed.
            raise about.error(Refused, f"{about}: a new object has no resourceVersion: leave it out")
        return self._requests.read("POST", kind.path(namespace=namespace), about, body=body, query=query)

    def review(self, kind: Kind, spec: Mapping[str, Any]) -> Object:
        """See :meth:`Api.review <gangplan.kube.api.Api.review>`."""
        body = {"apiVersion": kind.api_version, "kind": kind.name, "spec": spec}
        answer = self._requests.read("POST", kind.path(), About(verb="create", kind=kind.name), body=body)
        return answer.get("status") or {}

    def replace(self, kind: Kind, body: Mapping[str, Any], *, subresource: str = "") -> Object:
        """See :meth:`Api.replace <gangplan.kube.api.Api.replace>`."""
        name, namespace = _named(body)
        about = _about("update", kind, name, namespace)
        path = kind.path(namespace=namespace, name=name, subresource=subresource)
        return self._requests.read("PUT", path, about, body=body)

    def patch(
        self, kind: Kind, name: str, body: Mapping[str, Any], *, namespace: str = "", subresource: str = ""
    ) -> Object:
        """See :meth:`Api.patch <gangplan.kube.api.Api.patch>`."""
        about = _about("patch", kind, name, namespace)
        path = kind.path(namespace=namespace, name=name, subresource=subresource)
        return self._requests.read("PATCH", path, about, body=body, content=MERGE_PATCH)

    def would_patch(self, kind: Kind, name: str, body: Mapping[str, Any], *, namespace: str = "") -> Object:
        """See :meth:`Api.would_patch <gangplan.kube.api.Api.would_patch>`."""
        about = _about("patch", kind, name, namespace)
        path = kind.path(namespace=namespace, name=name)
        dry = {"dryRun": "All"}
        return self._requests.read("PATCH", path, about, body=body, query=dry, content=MERGE_PATCH)

    def delete(
        self,
        kind: Kind,
        name: str,
        *,
        namespace: str = "",
        propagation: Propagation = "Background",
        uid: str = "",
        version: str = "",
    ) -> None:
        """See :meth:`Api.delete <gangplan.kube.api.Api.delete>`."""
        about = _about("delete", kind, name, namespace)
        only_if = {key: value for key, value in (("uid", uid), ("resourceVersion", version)) if value}
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        body = options | ({"preconditions": only_if} if only_if else {})
        self._requests.ask("DELETE", kind.path(namespace=namespace, name=name), about, body=body)

    def log(
        self,
        name: str,
        *,
        namespace: str,
        container: str = "",
        follow: bool = False,
        previous: bool = False,
        since: str = "",
    ) -> Iterator[bytes]:
        """See :meth:`Api.log <gangplan.kube.api.Api.log>`; the request is sent when the first line is wanted."""
        about = _about("get", POD, name, namespace)
        query = {
            "container": container,
            "sinceTime": since,
            "follow": "true" if follow else "",
            "previous": "true" if previous else "",
        }
        lines = self._requests.lines(
            POD.path(namespace=namespace, name=name, subresource="log"),
            about,
            query={"timestamps": "true"} | {key: value for key, value in query.items() if value},
            silence_s=_LOG_SILENCE_S,
        )
        # A line without its time is not the pod's: a kubelet writes its own errors into the stream.
        return (line for line in lines if line[:1].isdigit())

    def port(self, name: str, *, namespace: str, port: int) -> socket.socket:
        """See :meth:`Api.port <gangplan.kube.api.Api.port>`."""
        return self._requests.port(name, namespace, port, _about("create", POD, name, namespace))


def connect(*, kubeconfig: Path | None = None, context: str | None = None) -> Connection:
    """Prepare a connection; nothing is sent yet.

    In a pod it uses the pod's service account, unless a file or a context is named; else a kubeconfig.

    Args:
        kubeconfig: The file; None: the ones that ``KUBECONFIG`` names, or ``~/.kube/config``.
        context: The context in it; None: its current one.

    Raises:
        ConfigError: There is no such file or context, or the file cannot be used.
    """
    settings = client.Configuration()
    settings.retries = 0  # a read that failed is told at once; who wants to try again says so
    in_pod = "KUBERNETES_SERVICE_HOST" in os.environ and kubeconfig is None and context is None
    try:
        if in_pod:
            config.load_incluster_config(client_configuration=settings)
        else:
            config.load_kube_config(
                config_file=None if kubeconfig is None else str(kubeconfig),
                context=context,
                client_configuration=settings,
                persist_config=False,
            )
    except config.ConfigException as error:
        raise ConfigError(_unusable(kubeconfig, context, error)) from error
    except (OSError, yaml.YAMLError, ValueError, TypeError, AttributeError, KeyError) as error:
        # What the client raises where a kubeconfig is no YAML or has another shape than it expects.
        raise ConfigError(_unusable(kubeconfig, context, error)) from error
    return Connection(settings)


def _unusable(kubeconfig: Path | None, context: str | None, error: Exception) -> str:
    meant = os.environ.get("KUBECONFIG") or "~/.kube/config"
    file = f"the kubeconfig {meant}" if kubeconfig is None else str(kubeconfig)
    which = "" if context is None else f" with context {context}"
    return f"{file}{which} cannot be used: {error}; name another with --kubeconfig and --context, or set KUBECONFIG"


def _about(verb: str, kind: Kind, name: str, namespace: str) -> About:
    """What a request about one object is about.

    Raises:
        Refused: A name is missing: without it the path would be that of all objects.
    """
    about = About(verb=verb, kind=kind.name, name=name, namespace=namespace)
    if not name:
        raise about.error(Refused, f"{about}: the object has no name: give it one in metadata.name")
    if kind.namespaced and not namespace:
        raise about.error(Refused, f"{about}: the object has no namespace: give it one in metadata.namespace")
    return about


def _named(body: Mapping[str, Any]) -> tuple[str, str]:
    """Name and namespace of an object; empty where it has none."""
    metadata = body.get("metadata") or {}
    return metadata.get("name") or "", metadata.get("namespace") or ""


def _generated(body: Mapping[str, Any]) -> str:
    """The start of a name that the server makes up; empty if it is not to."""
    return (body.get("metadata") or {}).get("generateName") or ""


def _place(item: Object) -> tuple[str, str]:
    namespace = item["metadata"].get("namespace", "")
    return namespace, item["metadata"]["name"]


def _selected(labels: str) -> dict[str, str | int]:
    return {"labelSelector": labels} if labels else {}
