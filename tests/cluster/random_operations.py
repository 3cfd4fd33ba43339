"""Random operations of three clients on an API server, and what each sees of their outcome.

Operations name objects by kind and name, and what a client read of them before, so that the same operations can be done on
two servers, which give out identities and versions of their own.
"""

import copy
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from apimodel.definition import CONFIG_MAP

from gangplan.errors import ClusterError
from gangplan.kube.api import Api, Object
from gangplan.kube.kinds import POD, QUOTA, Kind
from gangplan.solver import parse_quantity

WIDGET = Kind(name="Widget", plural="widgets", api_version="test.gangplan.dev/v1")
KINDS = (CONFIG_MAP, POD, QUOTA, WIDGET)
CLIENTS = 3
OF_EVERY_NAMESPACE = "kube-root-ca.crt"
"""A config map that the controllers put into every namespace."""

_HOLD = "test.gangplan.dev/hold"
_VOLATILE = ("uid", "resourceVersion", "creationTimestamp", "managedFields")
Place = tuple[Kind, str]
Mind = dict[Place, Object]
"""What a client remembers: each object as it read it last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What a client does.

    Attributes:
        client: Which one.
        verb: ``create``, ``get``, ``list``, ``replace``, ``patch``, ``delete``, and what they are with a status.
        kind: Of which kind.
        name: Of which object.
        fields: What is written, laid over what the client remembers; of metadata too.
        owners: Objects that it writes down as owners, as anybody read them last; the first may block.
        checks: Which of ``uid`` and ``version`` of what it remembers it insists on.
        propagation: What becomes of dependents.
        elsewhere: Whether it names a namespace that there is not.
    """

    client: int
    verb: str
    kind: Kind
    name: str
    fields: Object = field(default_factory=dict)
    owners: tuple[Place, ...] | None = None
    checks: tuple[str, ...] = ()
    propagation: Any = "Background"
    elsewhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a client sees: an error, or objects, and whether they are news to it."""

    error: str = ""
    objects: tuple[tuple[Object, bool], ...] = ()


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
        try:
            found = self._asked(operation, mind)
        except ClusterError as error:
            by_quota = " by a quota" if " quota: " in str(error) else ""
            return Outcome(error=f"{type(error).__name__}{by_quota}")
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
        return Outcome(objects=tuple(seen))

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
                body = self._body(operation, mind, {"metadata": {}})
                body["metadata"] |= {"name": name, "namespace": namespace}
                return [self.api.create(kind, body)]
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
                    "blockOwnerDeletion": place == 0 or _may_be_held(name),
                }
                for place, (kind, name) in enumerate(operation.owners)
                if (kind, name) in self._uids
            ]
        if owners := (body.get("metadata") or {}).get("ownerReferences"):
            body["metadata"]["ownerReferences"] = [
                owner for owner in owners if not self._holds or owner["uid"] not in self._deleted
            ]
        return body


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


# ---- chance


def operations(
    chance: random.Random, count: int, *, collected: Sequence[Kind], holds: bool
) -> Iterator[Operation]:
    """Random operations, often on the same few objects.

    Args:
        chance: Where they come from.
        count: How many.
        collected: Kinds whose objects own others and are deleted in ways that the garbage collector completes.
        holds: Whether some have finalizers, which hold them back when they are deleted.
    """
    alive: list[Place] = []
    weights = chance.choice((_WITHOUT_QUOTA, _WITH_QUOTA))
    for number in range(count):
        operation = _operation(chance, weights, collected, holds, alive)
        if weights is _WITH_QUOTA and (operation.verb, operation.kind) == ("create", POD):
            # A quota counts a pod that then is not created because there is one of that name; a real controller forgets
            # that when it counts the next time, and how often it does is a race. So there never is one of that name.
            operation = replace(operation, name=f"pod-{3 + number}")
        place = (operation.kind, operation.name)
        if operation.verb == "create" and place not in alive:
            alive.append(place)
        elif operation.verb == "delete" and place in alive and not operation.checks:
            alive.remove(place)
        yield operation


_WITHOUT_QUOTA, _WITH_QUOTA = {CONFIG_MAP: 4, POD: 4, WIDGET: 4}, {CONFIG_MAP: 2, POD: 6, QUOTA: 2, WIDGET: 2}


def _operation(
    chance: random.Random,
    weights: Mapping[Kind, int],
    collected: Sequence[Kind],
    holds: bool,
    alive: Sequence[Place],
) -> Operation:
    """An operation, often on an object that there probably is."""
    kind = chance.choices(list(weights), list(weights.values()))[0]
    name = f"{kind.name.lower()}-{chance.randrange(1 if kind == QUOTA else 3)}"
    if alive and chance.random() < 0.7:
        kind, name = chance.choice(alive)
    exists = (kind, name) in alive
    verbs = {
        "create": 3 if exists else 60,
        "get": 4,
        "list": 1,
        "replace": 6,
        "patch": 6,
        "delete": 5,
        "replace status": 3 if kind in (WIDGET, CONFIG_MAP) else 0,
        "patch status": 3 if kind in (WIDGET, POD) else 0,
    }
    verb = chance.choices(list(verbs), list(verbs.values()))[0]
    fields: Object = {}
    owners: tuple[Place, ...] | None = None
    if verb in ("create", "replace", "patch"):
        fields = _fields(chance, kind, is_held=holds and _may_be_held(name), is_patch=verb == "patch")
        if kind in _OWNERS and chance.random() < 0.5:
            owners = _owners(chance, kind, collected)
    elif "status" in verb:
        fields = _status(chance, kind)
    elif verb == "list":
        name = chance.choice(("", "", "team=a", "team!=a", "team in (a,b)", "!team", "team"))
    insists = chance.random()
    checks = ("version",) if insists < (0.7 if "replace" in verb else 0.3) else ()
    if verb == "delete" and chance.random() < 0.4:
        checks = (*checks, "uid")
    return Operation(
        client=chance.randrange(CLIENTS),
        verb=verb,
        kind=kind,
        name=name if chance.random() > 0.02 or verb == "list" else "Not_A-name",
        fields=fields,
        owners=owners,
        checks=checks,
        propagation=chance.choices(("Background", "Foreground", "Orphan"), (3, 3, 1))[0]
        if kind in collected
        else "Background",
        elsewhere=chance.random() < 0.03,
    )


def _owners(chance: random.Random, kind: Kind, collected: Sequence[Kind]) -> tuple[Place, ...]:
    """One or two widgets for a config map, one or two of either for a pod.

    No owner of an object owns another of its owners: which of them goes first would be a race, with something to see of it.
    """
    owner = chance.choice([each for each in _OWNERS[kind] if each in collected] or [None])
    if owner is None:
        return ()
    return tuple(
        (owner, f"{owner.name.lower()}-{number}")
        for number in chance.sample(range(3), chance.choice((1, 1, 2)))
    )


_OWNERS = {WIDGET: (), CONFIG_MAP: (WIDGET,), POD: (WIDGET, CONFIG_MAP)}


def _may_be_held(name: str) -> bool:
    """Whether an object may have a finalizer of its own, which keeps it when the garbage collector is done with it.

    Then its dependents must block its deletion: whether the others are deleted before or after the garbage collector is
    done is a race, and after it they keep their owner and stay.
    """
    return name.endswith("-2")


def _fields(chance: random.Random, kind: Kind, *, is_held: bool, is_patch: bool) -> Object:
    made = {CONFIG_MAP: _config, POD: _pod, QUOTA: _quota, WIDGET: _widget}[kind](chance)
    metadata: Object = {}
    if chance.random() < 0.5:
        metadata["labels"] = {"team": chance.choice(("a", "b", "c"))}
    if kind in (CONFIG_MAP, WIDGET) and is_held and chance.random() < 0.6:
        metadata["finalizers"] = chance.choice(([_HOLD], [_HOLD], [], ["hold"]))
    if chance.random() < 0.04:
        metadata["labels"] = chance.choice(({"team": "not a label"}, {"-": "a"}, {"team": 3}))
    if is_patch and chance.random() < 0.5:
        made = {}
        metadata = metadata or {chance.choice(("labels", "finalizers", "ownerReferences")): None}
    return made | ({"metadata": metadata} if metadata else {})


def _config(chance: random.Random) -> Object:
    wrong = chance.random() < 0.05
    return {"data": chance.choice(({"a key": "x"}, {"key": 3})) if wrong else {"key": chance.choice("xyz")}}


def _pod(chance: random.Random) -> Object:
    requests = {"cpu": chance.choice(("250m", "500m", "1", "0.5"))}
    resources: Object = {"requests": requests}
    gpus = chance.choice((0, 0, 1, 2))
    if gpus:
        requests["nvidia.com/gpu"] = str(gpus)
        resources["limits"] = {"nvidia.com/gpu": str(gpus)}
    if chance.random() < 0.1:
        del requests["cpu"]
    container: Object = {"name": "c", "image": chance.choice(("a", "b")), "resources": resources}
    if chance.random() < 0.05:
        container |= chance.choice(
            ({"name": "No"}, {"image": None}, {"resources": {"requests": {"cpu": "x"}}})
        )
    # With a scheduler that there is not and nothing added, pods stay as they are written.
    spec = {"schedulerName": "nobody", "automountServiceAccountToken": False, "containers": [container]}
    return {"spec": spec}


def _quota(chance: random.Random) -> Object:
    hard = {"requests.cpu": chance.choice(("500m", "1", "1500m", "4")), "count/secrets": "9"}
    if chance.random() < 0.5:
        hard["pods"] = chance.choice("0123")
    if chance.random() < 0.5:
        hard["requests.nvidia.com/gpu"] = chance.choice("012")
    if chance.random() < 0.3:
        hard["count/pods"] = chance.choice("123")
    if chance.random() < 0.08:
        hard |= chance.choice(({"pods": "-1"}, {"apples": "1"}, {"pods": "many"}))
    return {"spec": {"hard": hard}}


def _widget(chance: random.Random) -> Object:
    spec: Object = {"size": chance.randrange(5)}
    for key, values in (
        ("colour", ("red", "green")),
        ("note", ("a", "bc")),
        ("amount", (3, "4Gi")),
        ("parts", ([], [{"name": "x"}], [{"name": "x", "count": 2, "odd": 1}])),
        ("tags", ({}, {"a": "b"})),
        ("free", ({"any": {"thing": [1]}}, {})),
        ("unknown", (1, {"a": 1})),
    ):
        if chance.random() < 0.3:
            spec[key] = chance.choice(values)
    if chance.random() < 0.15:
        spec |= chance.choice(
            (
                {"size": -1},
                {"size": 10},
                {"size": "big"},
                {"size": 1.5},
                {"colour": "blue"},
                {"note": "A"},
                {"note": "abcdef"},
                {"parts": [{}]},
                {"parts": [{"name": "x"}] * 3},
                {"parts": {}},
                {"tags": {"a": 1}},
                {"amount": True},
                {"colour": None},
                {"note": None},
            )
        )
    return {"spec": spec} if chance.random() > 0.03 else {"spec": None}


def _status(chance: random.Random, kind: Kind) -> Object:
    if kind == POD:
        return {"status": {"phase": chance.choice(("Running", "Succeeded", "Failed"))}}
    status: Object = {
        "phase": chance.choice(("Pending", "Done", "Done", "Odd")),
        "seen": chance.choice((0, 1, 1, -1)),
    }
    return {"status": status} | ({"spec": {"size": 9}} if chance.random() < 0.3 else {})
