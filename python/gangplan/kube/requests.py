"""Requests to one API server: each with time-outs, its errors told as ours.

It keeps to the part of the official client that is the same from version 30.1 to 37.
"""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from gangplan.documents import decode
from gangplan.errors import ClusterError, InvalidInput, Unreachable
from gangplan.extras import needed
from gangplan.kube.refusals import About, refusal

with needed("kube"):
    from kubernetes.client import ApiClient, CoreV1Api
    from kubernetes.client.exceptions import ApiException
    from kubernetes.dynamic import DynamicClient
    from kubernetes.stream import portforward
    from urllib3.exceptions import HTTPError
    from websocket import WebSocketBadStatusException

_TIMEOUT_S = (5.0, 30.0)
"""Seconds to connect and to wait for an answer: a server that is there takes milliseconds for what we ask."""

Query = Mapping[str, str | int]
T = TypeVar("T")


class Requests:
    """Requests to the API server of one cluster.

    Attributes:
        address: URL of the API server.
    """

    def __init__(self, settings: Any, *, program: str) -> None:
        self.address: str = settings.host
        self._api = ApiClient(settings)
        self._api.user_agent = program  # as audit logs and managed fields name who wrote
        self._settings = settings
        # It would ask the server for all kinds that it has; ours say where they are.
        self._client = DynamicClient(self._api, discoverer=lambda *_: None)

    def close(self) -> None:
        """Close the connections."""
        self._api.close()

    def ask(
        self,
        method: str,
        path: str,
        about: About,
        *,
        query: Query | None = None,
        body: Mapping[str, Any] | None = None,
        content: str = "application/json",
    ) -> bytes:
        """Send a request and read the whole answer.

        Raises:
            ClusterError: It was refused, or there is no answer.
        """
        with self._told(about):
            raw = self._send(method, path, query, body, content, _TIMEOUT_S)
            answer: bytes = raw.data
            return answer

    def read(self, method: str, path: str, about: About, **details: Any) -> dict[str, Any]:
        """Send a request as :meth:`ask` does, and decode the answer.

        Raises:
            ClusterError: It was refused, there is no answer, or it is not one of an API server.
        """
        return self.decoded(self.ask(method, path, about, **details), dict[str, Any], about)

    def lines(self, path: str, about: About, *, query: Query, silence_s: float) -> Iterator[bytes]:
        """Send a request and yield the lines of the answer as they come, without their ends.

        Args:
            path: The path.
            about: What it is about.
            query: The query.
            silence_s: How long there may be nothing before the other side is given up.

        Raises:
            ClusterError: It was refused, or the stream broke.
        """
        with self._told(about):
            raw = self._send("GET", path, query, None, "application/json", (_TIMEOUT_S[0], silence_s))
        try:
            lines = iter(raw)
            while True:
                with self._told(about):
                    line: bytes | None = next(lines, None)
                if line is None:
                    return
                yield line.removesuffix(b"\n")
        finally:
            raw.close()  # whoever stops in the middle leaves no connection behind

    def port(self, pod: str, namespace: str, port: int, about: About) -> socket.socket:
        """Open a connection to a port of a pod.

        Raises:
            ClusterError: It was refused, or there is no answer.
        """
        # A client of its own: while it opens a stream, it cannot send anything else.
        with self._told(about), ApiClient(self._settings) as client:
            ask = CoreV1Api(client).connect_get_namespaced_pod_portforward
            try:
                opened = portforward(ask, pod, namespace, ports=str(port))
            except ApiException as error:
                raise _answered(error) from error
        found: socket.socket = opened.socket(port)
        return found

    def decoded(self, body: bytes, kind: type[T], about: About) -> T:
        """Decode an answer.

        Raises:
            ClusterError: It is not one of an API server.
        """
        try:
            return decode(body, kind)
        except InvalidInput as error:
            raise self.no_server(about) from error

    def no_server(self, about: About) -> ClusterError:
        """The error for an answer that no API server gives."""
        return about.error(
            ClusterError,
            f"{self.address} answers, but not as a Kubernetes API server: check the address in the kubeconfig",
        )

    def _send(
        self,
        method: str,
        path: str,
        query: Query | None,
        body: Mapping[str, Any] | None,
        content: str,
        timeout_s: tuple[float, float],
    ) -> Any:
        return self._client.request(
            method,
            path,
            body=body,
            query_params=list((query or {}).items()),
            content_type=content,
            serialize=False,
            _request_timeout=timeout_s,
        )

    @contextmanager
    def _told(self, about: About) -> Iterator[None]:
        """Tell errors of the client as ours."""
        try:
            yield
        except ApiException as error:
            if not error.status:
                message = f"no connection to the API server {self.address}: {error.reason}"
                raise about.error(Unreachable, message) from error
            raise refusal(error.status, _status(error), str(error.reason), self.address, about) from error
        except HTTPError as error:
            message = (
                f"no answer from the API server {self.address}; check the address, the network, or the proxy"
            )
            raise about.error(Unreachable, message) from error


def _answered(error: ApiException) -> ApiException:
    """What the server answered instead of opening a stream: the client keeps it in the cause only."""
    cause = error.__context__
    if not isinstance(cause, WebSocketBadStatusException):
        return error
    found = ApiException(status=cause.status_code, reason=str(cause))
    found.body = cause.resp_body
    return found


def _status(error: ApiException) -> dict[str, Any]:
    """The ``Status`` that came with an error; empty if none did."""
    body = error.body.encode() if isinstance(error.body, str) else error.body or b""
    try:
        return decode(body, dict[str, Any])
    except InvalidInput:
        return {}
