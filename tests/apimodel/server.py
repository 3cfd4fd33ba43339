"""The model itself: an :class:`gangplan.kube.api.Api` on a store in memory."""

import copy
import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from apimodel import quota
from apimodel.collector import Collector
from apimodel.definition import BUILT_IN, Definition, of_crd
from apimodel.merge import merged
from apimodel.namespaces import empty_deleted
from apimodel.registry import Registry
from apimodel.store import Compacted, Key, Store
from apimodel.volumes import bind_claims
from gangplan.errors import ClusterError, Conflict, Expired, Refused, Unreachable
from gangplan.kube.api import Change, Listing, Object, Propagation
from gangplan.kube.kinds import DEFINITION, NAMESPACE, POD, QUOTA, WHO_AM_I, Kind
from gangplan.kube.refusals import About

PAGE = 500
START = datetime(2026, 1, 1, tzinfo=UTC)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What goes wrong with a request.

    Attributes:
        error: What the client sees: ``Busy``, ``Unreachable``, ``Forbidden``.
        applied: Whether the request was done nevertheless: an answer that was lost.
    """

    error: type[ClusterError]
    applied: bool = False


Faults = Callable[[About], Fault | None]


class ApiServer:
    """An API server without network, disk, threads or time of its own.

    Controllers work when they are told to: :meth:`collect` garbage, :meth:`recount` quotas, or all and what follows from
    them: :meth:`settle`.

    Attributes:
        clock: Tells the time that is written into objects.
        faults: Asked before each request what goes wrong with it; None: nothing.
        logs: Lines of the logs of pods, by namespace, pod and container.
        logs_before: In the same way, of what a container was before it was last started again.
        ports: Addresses of what answers at ports of pods, by namespace, pod and port.
        allows: Whether somebody may do something, as access reviews ask it.
        version: Of the server.
        user: Who asks.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], datetime] = lambda: START,
        crds: Iterable[Mapping[str, Any]] = (),
        kinds: Iterable[Kind] = (),
        namespaces: Iterable[str] = ("default",),
        faults: Faults | None = None,
    ) -> None:
        """Start it.

        Args:
            clock: Tells the time, in UTC.
            crds: CRDs that are installed.
            kinds: Further kinds that are installed, of any shape, with a status.
            namespaces: Namespaces that there are.
            faults: What goes wrong.
        """
        self.clock, self.faults = clock, faults
        self.logs: dict[tuple[str, str, str], list[bytes]] = {}
        self.logs_before: dict[tuple[str, str, str], list[bytes]] = {}
        self.ports: dict[tuple[str, str, int], tuple[str, int]] = {}
        self._store = Store()
        self._lock = threading.RLock()
        own = (
            Definition(
                kind=kind, has_status=True, counts_generations=True, is_custom=True, needs_version=True
            )
            for kind in kinds
        )
        crds = tuple(crds)
        found = (*BUILT_IN, *own, *(each for crd in crds for each in of_crd(crd)))
        self._registry = Registry(self._store, {each.kind: each for each in found}, clock)
        self._collector = Collector(self._store, self._registry)
        self.allows: Callable[[Mapping[str, Any]], bool] = lambda _: True
        self.version = "v1.34.0"
        self.user = "admin"
        for name in namespaces:
            self.create(NAMESPACE, {"metadata": {"name": name}})
        for crd in crds:
            self.create(DEFINITION, crd)

    # ---- Api

    def server_version(self) -> str:
        """See :class:`gangplan.kube.api.Api`."""
        return self._served(About(verb="get", kind="Version"), lambda: self.version)

    def get(self, kind: Kind, name: str, *, namespace: str = "") -> Object:
        """See :class:`gangplan.kube.api.Api`."""
        about = About(verb="get", kind=kind.name, name=name, namespace=namespace)
        return self._served(about, lambda: self._registry.found(self._registry.key(about, kind), about))

    def list(self, kind: Kind, *, namespace: str = "", labels: str = "", version: str = "") -> Listing:
        """See :class:`gangplan.kube.api.Api`."""
        about = About(verb="list", kind=kind.name, namespace=namespace)

        def act() -> Listing:
            self._registry.definition(kind, about)
            then = int(version) if version else None
            if then and then > self._store.version:
                raise about.error(Unreachable, f"{about}: Too large resource version: {version}")
            try:
                items = self._store.select(kind, namespace, labels, then)
            except Compacted as error:
                raise about.error(Expired, f"{about}: the version {version} is too old") from error
            return Listing(items=tuple(items), version=version or str(self._store.version))

        return self._served(about, act)

    def pages(
        self, kind: Kind, *, namespace: str = "", labels: str = "", version: str = ""
    ) -> Iterator[bytes]:
        """See :class:`gangplan.kube.api.Api`."""
        listing = self.list(kind, namespace=namespace, labels=labels, version=version)
        for start in range(0, max(1, len(listing.items)), PAGE):
            more = {"continue": str(start + PAGE)} if start + PAGE < len(listing.items) else {}
            metadata = {"resourceVersion": listing.version} | more
            yield json.dumps({"metadata": metadata, "items": listing.items[start : start + PAGE]}).encode()

    def moment(self) -> str:
        """See :class:`gangplan.kube.api.Api`."""
        return self._served(About(verb="list", kind="Node"), lambda: str(self._store.version))

    def watch(
        self, kind: Kind, *, version: str, namespace: str = "", labels: str = "", timeout_s: float = 300.0
    ) -> Iterator[Change]:
        """See :class:`gangplan.kube.api.Api`; its time is over when nothing more has happened."""
        about = About(verb="watch", kind=kind.name, namespace=namespace)
        self._served(about, lambda: self._registry.definition(kind, about))
        try:
            yield from self._store.changes(kind, namespace, labels, int(version))
        except Compacted as error:
            raise about.error(Expired, f"{about}: the version {version} is too old") from error
        yield Change(type="BOOKMARK", object={"metadata": {"resourceVersion": str(self._store.version)}})

    def create(self, kind: Kind, body: Mapping[str, Any]) -> Object:
        """See :class:`gangplan.kube.api.Api`."""
        return self._create(kind, body, dry_run=False)

    def would_create(self, kind: Kind, body: Mapping[str, Any]) -> Object:
        """See :class:`gangplan.kube.api.Api`."""
        return self._create(kind, body, dry_run=True)

    def _create(self, kind: Kind, body: Mapping[str, Any], *, dry_run: bool) -> Object:
        metadata = body.get("metadata") or {}
        name = metadata.get("name") or ""
        if not name and metadata.get("generateName"):
            name = f"{metadata['generateName']}{self._store.version:05d}"
        about = About(verb="create", kind=kind.name, name=name, namespace=metadata.get("namespace") or "")
        return self._served(
            about, lambda: self._registry.create(kind, copy.deepcopy(dict(body)), about, dry_run=dry_run)
        )

    def port(self, name: str, *, namespace: str, port: int) -> socket.socket:
        """See :class:`gangplan.kube.api.Api`; where ``ports`` says."""
        about = About(verb="create", kind=POD.name, name=name, namespace=namespace)
        self._served(about, lambda: self._registry.found(self._registry.key(about, POD), about))
        return socket.create_connection(self.ports[(namespace, name, port)])

    def review(self, kind: Kind, spec: Mapping[str, Any]) -> Object:
        """See :class:`gangplan.kube.api.Api`; who asks, and accesses."""
        about = About(verb="create", kind=kind.name)
        if kind == WHO_AM_I:
            return self._served(about, lambda: {"userInfo": {"username": self.user}})
        return self._served(about, lambda: {"allowed": self.allows(spec)})

    def replace(self, kind: Kind, body: Mapping[str, Any], *, subresource: str = "") -> Object:
        """See :class:`gangplan.kube.api.Api`."""
        metadata = body.get("metadata") or {}
        about = About(
            verb="update",
            kind=kind.name,
            name=metadata.get("name") or "",
            namespace=metadata.get("namespace") or "",
        )
        return self._served(
            about, lambda: self._registry.update(kind, copy.deepcopy(dict(body)), subresource, about)
        )

    def patch(
        self, kind: Kind, name: str, body: Mapping[str, Any], *, namespace: str = "", subresource: str = ""
    ) -> Object:
        """See :class:`gangplan.kube.api.Api`."""
        return self._patch(kind, name, body, namespace=namespace, subresource=subresource)

    def would_patch(self, kind: Kind, name: str, body: Mapping[str, Any], *, namespace: str = "") -> Object:
        """See :class:`gangplan.kube.api.Api`."""
        return self._patch(kind, name, body, namespace=namespace, dry_run=True)

    def _patch(
        self,
        kind: Kind,
        name: str,
        body: Mapping[str, Any],
        *,
        namespace: str,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Object:
        about = About(verb="patch", kind=kind.name, name=name, namespace=namespace)

        def act() -> Object:
            current = self._registry.found(self._registry.key(about, kind), about)
            metadata = body.get("metadata") or {}
            if metadata.get("name", name) != name:
                raise about.error(
                    Refused, f"{about}: the name of the object does not match the name on the URL"
                )
            if metadata.get("uid", current["metadata"]["uid"]) != current["metadata"]["uid"]:
                raise about.error(Refused, f"{about}: metadata.uid: Invalid value: field is immutable")
            made = merged(current, copy.deepcopy(dict(body)))
            return self._registry.update(kind, made, subresource, about, dry_run=dry_run)

        return self._served(about, act)

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
        about = About(verb="delete", kind=kind.name, name=name, namespace=namespace)

        def act() -> None:
            key = self._registry.key(about, kind)
            metadata = self._registry.found(key, about)["metadata"]
            for wanted, field in ((uid, "uid"), (version, "resourceVersion")):
                if wanted and wanted != metadata[field]:
                    raise about.error(
                        Conflict,
                        f"{about}: the {field} in the precondition ({wanted}) is not {metadata[field]}",
                    )
            self._registry.remove(key, propagation)

        self._served(about, act)

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
        """See :class:`gangplan.kube.api.Api`; the lines are those in ``logs`` and ``logs_before``."""
        about = About(verb="get", kind=POD.name, name=name, namespace=namespace)
        pod = self._served(about, lambda: self._registry.found(self._registry.key(about, POD), about))
        place = (namespace, name, container or pod["spec"]["containers"][0]["name"])
        logs = self.logs_before if previous else self.logs
        if place not in logs:
            why = "was never started again" if previous else "is waiting to start"
            raise about.error(Refused, f"{about}: container {place[2]} {why}")
        whole = len("2026-01-01T00:00:00")  # as the real one, which knows no fractions here
        yield from (line for line in logs[place] if line[:whole].decode() >= since[:whole])

    # ---- what else happens on a server

    def bind(self, name: str, *, namespace: str, node: str) -> None:
        """Give a pod its node, as a scheduler does."""
        about = About(verb="create", kind="Binding", name=name, namespace=namespace)
        with self._lock:
            key = self._registry.key(about, POD)
            pod = copy.deepcopy(self._registry.found(key, about))
            pod["spec"]["nodeName"] = node
            self._registry.write(key, pod)

    def collect(self) -> tuple[Key, ...]:
        """Let the garbage collector work until nothing is left to do; what it removed."""
        with self._lock:
            return tuple(self._collector.run())

    def recount(self) -> bool:
        """Let the quota controller count anew; whether any quota has changed."""
        with self._lock:
            freed, self._registry.freed = self._registry.freed, {}
            quotas = self._store.select(QUOTA, "", "")
            counts = [
                quota.recount(self._store, each, freed.get(each["metadata"]["namespace"], ()))
                for each in quotas
            ]
            return any(counts)

    def settle(self) -> None:
        """Let all controllers work until nothing is left to do."""
        with self._lock:
            while (
                self.collect()
                or empty_deleted(self._store, self._registry)
                or bind_claims(self._store, self._registry)
                or self.recount()
            ):
                pass

    def compact(self) -> None:
        """Forget the past: watches and lists from versions before this moment are expired."""
        with self._lock:
            self._store.compact()

    # ---- how

    def _served(self, about: About, act: Callable[[], T]) -> T:
        with self._lock:
            fault = self.faults(about) if self.faults else None
            if fault and not fault.applied:
                raise about.error(fault.error, f"{about}: fault before it was done")
            answer = act()
            if fault:
                raise about.error(fault.error, f"{about}: fault after it was done")
            return answer
