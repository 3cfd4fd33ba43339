"""Connection: one way to the API server of a cluster, with time-outs, its errors told as ours.

It keeps to the part of the official client that is the same from version 30.1 to 37.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from gangplan.documents import decode
from gangplan.errors import (
    ClusterError,
    ConfigError,
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    NotInstalled,
    Unreachable,
)
from gangplan.extras import needed

with needed("kube"):
    from kubernetes import client, config
    from kubernetes.client.exceptions import ApiException
    from urllib3.exceptions import HTTPError

_TIMEOUT_S = (5.0, 30.0)
"""Seconds to connect and to wait for an answer: a server that is there takes milliseconds for what we ask."""


class Connection:
    """A way to the API server of one cluster, until it is closed.

    Attributes:
        address: URL of the API server.
    """

    def __init__(self, settings: Any) -> None:
        self.address: str = settings.host
        self._api = client.ApiClient(settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._api.close()

    def server_version(self) -> str:
        """Tell the version of the API server, such as ``v1.34.1``.

        Raises:
            Unreachable: No answer.
            ClusterError: The server refuses, or what answers is no API server.
        """
        with self._told(verb="get", kind="Version"):
            raw = client.VersionApi(self._api).get_code(_preload_content=False, _request_timeout=_TIMEOUT_S)
            body: bytes = raw.data
        try:
            version = decode(body, dict[str, Any]).get("gitVersion")
        except InvalidInput as error:
            raise ClusterError(self._no_server(), verb="get", kind="Version") from error
        if not isinstance(version, str):
            raise ClusterError(self._no_server(), verb="get", kind="Version")
        return version

    def _no_server(self) -> str:
        return (
            f"{self.address} answers, but not as a Kubernetes API server: check the address in the kubeconfig"
        )

    @contextmanager
    def _told(self, *, verb: str, kind: str, name: str = "", namespace: str = "") -> Iterator[None]:
        """Tell errors of the client as ours; see :mod:`gangplan.errors`."""
        about = {"verb": verb, "kind": kind, "name": name, "namespace": namespace}
        try:
            yield
        except ApiException as error:
            raise _refusal(error, self.address, about) from error
        except HTTPError as error:
            message = (
                f"no answer from the API server {self.address}; check the address, the network, or the proxy"
            )
            raise Unreachable(message, **about) from error


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
    file = "the kubeconfig" if kubeconfig is None else str(kubeconfig)
    which = "" if context is None else f" with context {context}"
    return f"{file}{which} cannot be used: {error}; name another with --kubeconfig and --context, or set KUBECONFIG"


def _refusal(error: ApiException, address: str, about: dict[str, str]) -> ClusterError:
    what = f"{about['verb']} {about['kind']} {about['name']}".strip()
    told, names_object = _status(error)
    match error.status:
        case None | 0:
            return Unreachable(f"no connection to the API server {address}: {error.reason}", **about)
        case 401:
            return Forbidden(f"{address} does not accept our credentials for {what}: log in again", **about)
        case 403:
            return Forbidden(f"{what} is not allowed ({told}): ask for a role that allows it", **about)
        case 404 if names_object:
            return NotFound(f"{what}: {told}", **about)
        case 404:
            return NotInstalled(
                f"{address} does not know {about['kind']}: its CRD is missing, or this is no Kubernetes API server",
                **about,
            )
        case 409:
            return Conflict(f"{what}: {told}; read it again", **about)
        case status:
            return ClusterError(f"{what}: the API server answered {status}: {told}", **about)


def _status(error: ApiException) -> tuple[str, bool]:
    """The message of the ``Status`` that the server sent, and whether it names an object."""
    body = error.body.encode() if isinstance(error.body, str) else error.body or b""
    try:
        status = decode(body, dict[str, Any])
    except InvalidInput:
        return str(error.reason), False
    details = status.get("details")
    return str(status.get("message") or error.reason), isinstance(details, dict) and bool(details.get("name"))
