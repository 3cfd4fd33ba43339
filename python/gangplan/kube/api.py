"""Api: the one door to an API server, whether it is real or a model of one.

Objects are what the server sends: maps of JSON. Everything here is one request; whoever waits or tries again does so
above it.
"""

import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from gangplan.kube.kinds import Kind

Object = dict[str, Any]
Owners = Sequence[Mapping[str, Any]]
"""Owner references: an object goes when those that own it are gone."""
Propagation = Literal["Background", "Foreground", "Orphan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Objects as they all were at one moment.

    Attributes:
        items: The objects, by namespace and name.
        version: The resource version of the moment: a watch from it misses nothing.
    """

    items: tuple[Object, ...]
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a watch tells.

    Attributes:
        type: ``BOOKMARK`` tells only how far the watch is; its object has nothing but a resource version.
        object: The object as it is now; of a deleted one, as it was last.
    """

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
    object: Object


class Api(Protocol):
    """What can be asked of an API server.

    All methods raise :class:`gangplan.errors.ClusterError` and its kinds: ``Unreachable`` without an answer, or with one
    that leaves open whether it was done (500, 502, 504); ``Busy`` where it asks to come again later (429, 503);
    ``Forbidden``; ``NotInstalled`` for a kind that it does not know; ``Refused`` for an object without a name or, where
    its kind wants one, a namespace. What else a method raises it says.
    """

    def server_version(self) -> str:
        """Tell the version of the API server, such as ``v1.34.1``."""

    def get(self, kind: Kind, name: str, *, namespace: str = "") -> Object:
        """Read an object.

        Raises:
            NotFound: There is none.
        """

    def list(self, kind: Kind, *, namespace: str = "", labels: str = "", version: str = "") -> Listing:
        """Read all objects of a kind as they are at one moment, however many pages that takes.

        Args:
            kind: The kind.
            namespace: Only this one; empty: all.
            labels: A label selector, ``a=b,c``; empty: all.
            version: Exactly as they were at this resource version (``resourceVersionMatch=Exact``); empty: now.

        Raises:
            Expired: The moment is too long ago; begin again.
        """

    def pages(
        self, kind: Kind, *, namespace: str = "", labels: str = "", version: str = ""
    ) -> Iterator[bytes]:
        """Yield the pages of a list as the server sends them, for who decodes only some fields; see :meth:`list`.

        Raises:
            Expired: The moment is too long ago; begin again.
        """

    def moment(self) -> str:
        """The resource version of this moment: what was written before is in it, what comes later is not."""

    def watch(
        self, kind: Kind, *, version: str, namespace: str = "", labels: str = "", timeout_s: float = 300.0
    ) -> Iterator[Change]:
        """Yield the changes after a resource version, in order, until the time is over.

        The request is sent when the first change is wanted; who stops before the end closes the iterator.

        Raises:
            Expired: The version is too long ago: list again.
            Unreachable: The stream broke; what was told before is so.
        """

    def create(self, kind: Kind, body: Mapping[str, Any]) -> Object:
        """Create an object; its namespace is in its metadata. Its status is not taken where that is a subresource.

        One of a CRD must say its ``apiVersion`` and ``kind``, here and in :meth:`replace`.

        Raises:
            AlreadyExists: There is one of that name.
            Refused: It is invalid, or an admission rule or a quota forbids it.
            NotFound: There is no such namespace.
            Conflict: Others counted against the same quota at this moment; nothing was created.
        """

    def would_create(self, kind: Kind, body: Mapping[str, Any]) -> Object:
        """Learn what :meth:`create` would be answered, by the server and its webhooks; nothing is created.

        It is judged more strictly: a field that the kind does not have is refused, and not dropped.

        Returns:
            The object as it would be.

        Raises:
            ClusterError: What :meth:`create` would raise.
        """

    def review(self, kind: Kind, spec: Mapping[str, Any]) -> Object:
        """Ask the server to judge something, such as an access; nothing is kept.

        Args:
            kind: The kind of review.
            spec: What is asked.

        Returns:
            The answer: the status of the review.
        """

    def replace(self, kind: Kind, body: Mapping[str, Any], *, subresource: str = "") -> Object:
        """Replace an object, or with ``subresource="status"`` its status only; compares its resource version.

        Of a Lease and of objects of CRDs it must be there; of others an absent one matches any.

        Raises:
            Conflict: It was changed since it was read.
            NotFound: There is none.
            Refused: It is invalid.
        """

    def patch(
        self, kind: Kind, name: str, body: Mapping[str, Any], *, namespace: str = "", subresource: str = ""
    ) -> Object:
        """Change fields of an object by a JSON merge patch (RFC 7396).

        Raises:
            Conflict: The patch names a resource version that is not the present one.
            NotFound: There is none.
            Refused: The outcome is invalid.
        """

    def would_patch(self, kind: Kind, name: str, body: Mapping[str, Any], *, namespace: str = "") -> Object:
        """Learn what :meth:`patch` would be answered, by the server and its webhooks; nothing is changed.

        Returns:
            The object as it would be.

        Raises:
            ClusterError: What :meth:`patch` would raise.
        """

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
        """Delete an object.

        Args:
            kind: The kind.
            name: Its name.
            namespace: Its namespace.
            propagation: What happens to what it owns: ``Foreground`` keeps it until all of that is gone.
            uid: Only if it has this one; empty: any.
            version: Only if it has this resource version; empty: any.

        Raises:
            NotFound: There is none.
            Conflict: It is not the one that was meant.
        """

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
        """Yield the lines of a pod's log, each with its time before it as the server writes it.

        Args:
            name: Name of the pod.
            namespace: Its namespace.
            container: Name of the container; empty: its only one.
            follow: Go on until it ends.
            previous: Of the container as it was before it was last started again.
            since: Only lines from this time on, as RFC 3339 writes it; empty: all. The server may take only its whole
                seconds, so lines can come again.

        Raises:
            NotFound: There is no such pod.
            Refused: It has not started yet, or what it was before is not there any more.
            Unreachable: The stream broke, or nothing was said for minutes: go on from the last line's time.
        """

    def port(self, name: str, *, namespace: str, port: int) -> socket.socket:
        """Open a connection to a port of a pod; who opens it closes it.

        Raises:
            NotFound: There is no such pod.
            Refused: It does not run.
        """
