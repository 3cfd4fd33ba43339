"""Random operations of three clients on an API server.

Operations name objects by kind and name, and what a client read of them before, so that the same operations can be done on
two servers, which give out identities and versions of their own.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from apimodel.definition import CONFIG_MAP

from gangplan.kube.api import Object
from gangplan.kube.kinds import POD, QUOTA, Kind

WIDGET = Kind(name="Widget", plural="widgets", api_version="test.gangplan.dev/v1")
KINDS = (CONFIG_MAP, POD, QUOTA, WIDGET)
CLIENTS = 3

_HOLD = "test.gangplan.dev/hold"
Place = tuple[Kind, str]


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
        fields = _fields(chance, kind, is_held=holds and may_be_held(name), is_patch=verb == "patch")
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


def may_be_held(name: str) -> bool:
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
