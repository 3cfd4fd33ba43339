"""An API server, and a cluster, that are asked again when they do not answer, for who may ask twice."""

import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from gangplan.kube.api import Api, Change, Listing, Object, Propagation
from gangplan.kube.cluster import KubeCluster
from gangplan.kube.entry import Retries, until_answered
from gangplan.kube.kinds import Kind
from gangplan.store import Cluster

T = TypeVar("T")


class PatientApi:
    """An :class:`gangplan.kube.api.Api` through which single requests outlast a server that is away for a while.

    A request whose answer was lost may have been carried out. Its repetition then says so, by AlreadyExists, Conflict or
    NotFound: whoever uses this expects those of a request that succeeded. What comes in many answers is not repeated.
    """

    def __init__(self, api: Api, patience: Callable[[], Retries]) -> None:
        """Wrap a way to a server.

        Args:
            api: The way.
            patience: How long a request that is made now is repeated.
        """
        self._api, self._patience = api, patience

    def server_version(self) -> str:
        """See :class:`gangplan.kube.api.Api`."""
        return self._answered(self._api.server_version)

    def get(self, kind: Kind, name: str, *, namespace: str = "") -> Object:
        """See :class:`gangplan.kube.api.Api`."""
        return self._answered(lambda: self._api.get(kind, name, namespace=namespace))

    def list(self, kind: Kind, *, namespace: str = "", labels: str = "", version: str = "") -> Listing:
        """See :class:`gangplan.kube.api.Api`."""
        return self._answered(
            lambda: self._api.list(kind, namespace=namespace, labels=labels, version=version)
        )

    def moment(self) -> str:
        """See :class:`gangplan.kube.api.Api`."""
        return self._answered(self._api.moment)

    def create(self, kind: Kind, body: Mapping[str, Any]) -> Object:
        """See :class:`gangplan.kube.api.Api`."""
        return self._answered(lambda: self._api.create(kind, body))

    def would_create(self, kind: Kind, body: Mapping[str, Any]) -> Object:
        """See :class:`gangplan.kube.api.Api`."""
        return self._answered(lambda: self._api.would_create(kind, body))

    def review(self, kind: Kind, spec: Mapping[str, Any]) -> Object:
        """See :class:`gangplan.kube.api.Api`."""
        return self._answered(lambda: self._api.review(kind, spec))

    def replace(self, kind: Kind, body: Mapping[str, Any], *, subresource: str = "") -> Object:
        """See :class:`gangplan.kube.api.Api`."""
        return self._answered(lambda: self._api.replace(kind, body, subresource=subresource))

    def patch(
        self, kind: Kind, name: str, body: Mapping[str, Any], *, namespace: str = "", subresource: str = ""
    ) -> Object:
        """See :class:`gangplan.kube.api.Api`."""
        return self._answered(
            lambda: self._api.patch(kind, name, body, namespace=namespace, subresource=subresource)
        )

    def would_patch(self, kind: Kind, name: str, body: Mapping[str, Any], *, namespace: str = "") -> Object:
        """See :class:`gangplan.kube.api.Api`."""
        return self._answered(lambda: self._api.would_patch(kind, name, body, namespace=namespace))

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
        """See :class:`gangplan.kube.api.Api`."""
        self._answered(
            lambda: self._api.delete(
                kind, name, namespace=namespace, propagation=propagation, uid=uid, version=version
            )
        )

    def pages(
        self, kind: Kind, *, namespace: str = "", labels: str = "", version: str = ""
    ) -> Iterator[bytes]:
        """See :class:`gangplan.kube.api.Api`; not repeated."""
        return self._api.pages(kind, namespace=namespace, labels=labels, version=version)

    def watch(
        self, kind: Kind, *, version: str, namespace: str = "", labels: str = "", timeout_s: float = 300.0
    ) -> Iterator[Change]:
        """See :class:`gangplan.kube.api.Api`; not repeated."""
        return self._api.watch(kind, version=version, namespace=namespace, labels=labels, timeout_s=timeout_s)

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
        """See :class:`gangplan.kube.api.Api`; not repeated."""
        return self._api.log(
            name, namespace=namespace, container=container, follow=follow, previous=previous, since=since
        )

    def port(self, name: str, *, namespace: str, port: int) -> socket.socket:
        """See :class:`gangplan.kube.api.Api`; not repeated."""
        return self._api.port(name, namespace=namespace, port=port)

    def _answered(self, ask: Callable[[], T]) -> T:
        return until_answered(ask, self._patience(), also_conflicts=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PatientCluster(KubeCluster):
    """A cluster that is read again when its server does not answer.

    Attributes:
        patience: How long a read that begins now is repeated.
    """

    patience: Callable[[], Retries]

    def read(self) -> Cluster:
        """Nodes, queues and what runs there, at one moment."""
        return until_answered(lambda: KubeCluster.read(self), self.patience(), also_conflicts=False)
