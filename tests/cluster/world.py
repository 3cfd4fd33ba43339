"""A namespace of a server with three clients, and what each sees of what it does."""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cluster.random_operations import CLIENTS, KINDS, Operation, Place, may_be_held
from gangplan.errors import ClusterError
from gangplan.kube.api import Api, Object
from gangplan.kube.kinds import POD, QUOTA, Kind
from gangplan.solver import parse_quantity

OF_EVERY_NAMESPACE = "kube-root-ca.crt"
"""A config map that the controllers put into every namespace."""

_VOLATILE = ("uid", "resourceVersion", "creationTimestamp", "managedFields")
Mind = dict[Place, Object]
"""What a client remembers: each object as it read it last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a client sees: an error, or objects, and whether they are news to it; before a creation what a dry run says."""

    error: str = ""
    objects: tuple[tuple[Object, bool], ...] = ()
    dry_run: str = ""


class World:
    """A namespace of a server with three clients."""

    def __init__(self, api: Api, namespace: str, *, holds: bool) -> None:
        self.api, self.namespace, self._holds = api, namespace, holds
        self._minds: list[Mind] = [{} for _ in range(CLIENTS)]
        self._uids: dict[Place, str] = {}
        # Where finalizers hold objects back, nobody writes down an owner that somebody deleted: as long as something held
        # back still names it, a real garbage collector leaves whatever comes to name it later.
        self._deleted: set[str] = set()

    def do(self, operation: Operation) -> Outcome:
        """Do an operation; the client remembers what it read."""
        mind = self._minds[operation.client]
        dry_run = self._dry_run(operation, mind) if operation.verb == "create" else ""
        try:
            found = self._asked(operation, mind)
        except ClusterError as error:
            return Outcome(error=_told(error), dry_run=dry_run)
        if operation.verb == "delete":
            self._deleted.add(self._uids.get((operation.kind, operation.name), ""))
        seen = []
        for obj in found:
            place = (operation.kind, obj["metadata"]["name"])
            known = mind.get(place)
            mind[place] = obj
            self._uids[place] = obj["metadata"]["uid"]
            if "deletionTimestamp" in obj["metadata"]:
                self._deleted.add(obj["metadata"]["uid"])
            is_news = (
                known is None or known["metadata"]["resourceVersion"] != obj["metadata"]["resourceVersion"]
            )
            seen.append((plain(operation.kind, obj), is_news))
        return Outcome(objects=tuple(seen), dry_run=dry_run)

    def state(self, kinds: Iterable[Kind] = KINDS) -> dict[Place, Object]:
        """All objects of some kinds in the namespace."""
        return {
            (kind, obj["metadata"]["name"]): plain(kind, obj)
            for kind in kinds
            for obj in self.api.list(kind, namespace=self.namespace).items
            if obj["metadata"]["name"] != OF_EVERY_NAMESPACE
        }

    def _asked(self, operation: Operation, mind: Mind) -> list[Object]:
        kind, name = operation.kind, operation.name
        namespace = "nowhere" if operation.elsewhere else self.namespace
        known = mind.get((kind, name))
        verb, _, subresource = operation.verb.partition(" ")
        match verb:
            case "get":
                return [self.api.get(kind, name, namespace=namespace)]
            case "list":
                items = self.api.list(kind, namespace=namespace, labels=name).items
                return [item for item in items if item["metadata"]["name"] != OF_EVERY_NAMESPACE]
            case "delete":
                metadata = known["metadata"] if known else {"uid": "unknown", "resourceVersion": "1"}
                self.api.delete(
                    kind,
                    name,
                    namespace=namespace,
                    propagation=operation.propagation,
                    uid=metadata["uid"] if "uid" in operation.checks else "",
                    version=metadata["resourceVersion"] if "version" in operation.checks else "",
                )
                return []
            case "create":
                return [self.api.create(kind, self._new(operation, mind))]
            case "replace":
                body = self._body(operation, mind, copy.deepcopy(known) if known else _unread(kind))
                # A real server notes who wrote which field last. Written back as they were read, or without a field that
                # somebody wrote, these notes change and with them the version, though nothing else does.
                body["metadata"].pop("managedFields", None)
                body["metadata"] |= {"name": name, "namespace": namespace}
                if "version" not in operation.checks:
                    body["metadata"].pop("resourceVersion", None)
                return [self.api.replace(kind, body, subresource=subresource)]
            case "patch":
                body = self._body(operation, mind, {})
                if "version" in operation.checks:
                    version = known["metadata"]["resourceVersion"] if known else "1"
                    body["metadata"] = body.get("metadata", {}) | {"resourceVersion": version}
                return [self.api.patch(kind, name, body, namespace=namespace, subresource=subresource)]
            case other:
                raise AssertionError(other)

    def _dry_run(self, operation: Operation, mind: Mind) -> str:
        """What a dry run of a creation says; strictly, so that it may refuse what is then created."""
        try:
            self.api.would_create(operation.kind, self._new(operation, mind))
        except ClusterError as error:
            return _told(error)
        return "accepted"

    def _new(self, operation: Operation, mind: Mind) -> Object:
        body = self._body(operation, mind, {"metadata": {}})
        namespace = "nowhere" if operation.elsewhere else self.namespace
        body["metadata"] |= {"name": operation.name, "namespace": namespace}
        return body

    def _body(self, operation: Operation, mind: Mind, start: Object) -> Object:
        body = start | {"apiVersion": operation.kind.api_version, "kind": operation.kind.name}
        for key, value in copy.deepcopy(operation.fields).items():
            both = isinstance(value, dict) and isinstance(body.get(key), dict)
            body[key] = body[key] | value if both else value
        if operation.owners is not None:
            body.setdefault("metadata", {})["ownerReferences"] = [
                {
                    "apiVersion": kind.api_version,
                    "kind": kind.name,
                    "name": name,
                    "uid": self._uids[kind, name],
                    "blockOwnerDeletion": place == 0 or may_be_held(name),
                }
                for place, (kind, name) in enumerate(operation.owners)
                if (kind, name) in self._uids
            ]
        if owners := (body.get("metadata") or {}).get("ownerReferences"):
            body["metadata"]["ownerReferences"] = [
                owner for owner in owners if not self._holds or owner["uid"] not in self._deleted
            ]
        return body


def _told(error: ClusterError) -> str:
    by_quota = " by a quota" if " quota: " in str(error) else ""
    return f"{type(error).__name__}{by_quota}"


def _unread(kind: Kind) -> Object:
    """What a client starts from that never read the object."""
    return {"metadata": {}} | ({"status": {"phase": "Running"}} if kind == POD else {})


def plain(kind: Kind, obj: Object) -> Object:
    """An object without what differs between servers, and a pod without what a real one adds to it."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _VOLATILE}
    if "deletionTimestamp" in metadata:
        metadata["deletionTimestamp"] = "some time"
    if "ownerReferences" in metadata:
        metadata["ownerReferences"] = [owner | {"uid": ""} for owner in metadata["ownerReferences"]]
    rest: Object = {key: value for key, value in obj.items() if key != "metadata" and value not in ({}, None)}
    if kind == POD:
        containers = [
            {key: container[key] for key in ("name", "image", "resources") if key in container}
            for container in obj["spec"]["containers"]
        ]
        for container in containers:
            parts = container.get("resources") or {}
            container["resources"] = {part: _units(amounts) for part, amounts in parts.items() if amounts}
        rest |= {"spec": {"containers": containers}, "status": {"phase": obj["status"]["phase"]}}
    if kind == QUOTA:
        status = {part: _units(amounts) for part, amounts in (obj.get("status") or {}).items()}
        rest = {key: value for key, value in rest.items() if key != "status"} | (
            {"status": status} if status else {}
        )
    return rest | {"metadata": metadata}


def _units(amounts: Mapping[str, Any]) -> dict[str, int]:
    return {
        name: parse_quantity(name.removeprefix("requests."), str(amount), round_up=True)
        for name, amount in amounts.items()
    }
