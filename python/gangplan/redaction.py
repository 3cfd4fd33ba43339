"""Redaction: a snapshot whose names tell nothing, on which the solver decides the same.

The solver breaks its last ties by names. Each name is therefore replaced by one that stands at the same place among the
names of its kind, and the same name by the same one everywhere.
"""

import re
import string
from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from gangplan.closeness import Closeness, ReplicaAffinity, Slice, Spread
from gangplan.snapshot import (
    Container,
    Expression,
    Gang,
    Group,
    NamespaceQuota,
    Node,
    Pod,
    Queue,
    Role,
    Running,
    Snapshot,
    Taint,
    Toleration,
    Traffic,
)

Naming = Callable[[str, str], str]
"""What a name becomes: from the word for what it names, and the name."""

FIELDS: Mapping[type, Mapping[str, str]] = {
    Snapshot: {"topology": "label"},
    Node: {"name": "node", "allocatable": "resource", "labels": "labels", "zones": "resource"},
    Queue: {
        "name": "queue",
        "parent": "queue",
        "limit": "resource",
        "deserved": "resource",
        "guarantee": "resource",
    },
    Gang: {"name": "gang", "queue": "queue", "namespace": "namespace", "min_groups": "set"},
    Group: {"name": "group", "roles": "role", "parent": "group", "set": "set"},
    Traffic: {"a": "role", "b": "role"},
    Role: {"name": "role", "requests": "resource", "node_selector": "labels", "labels": "labels"},
    Container: {"requests": "resource", "limits": "resource"},
    Pod: {"overhead": "resource"},
    Running: {
        "name": "pod",
        "node": "node",
        "gang": "gang",
        "role": "role",
        "requests": "resource",
        "queue": "queue",
        "labels": "labels",
    },
    NamespaceQuota: {"namespace": "namespace", "hard": "resource", "used": "resource"},
    ReplicaAffinity: {"level": "label", "match_labels": "labels"},
    Slice: {"level": "label"},
    Spread: {"level": "label"},
    Closeness: {"required": "label", "preferred": "label"},
    Taint: {"key": "label", "value": "value"},
    Toleration: {"key": "label", "value": "value"},
    Expression: {"key": "label", "values": "value"},
}
"""Fields that hold names, and what they name; of a map its keys. ``labels`` are keys with values, ``value`` stands beside
a ``key``."""

RESOURCES = re.compile(
    r"cpu|memory|pods|storage|ephemeral-storage|nvidia\.com/gpu|amd\.com/gpu|hugepages-\w+"
)
LABELS = re.compile(
    r"node|kubernetes\.io/hostname|topology\.kubernetes\.io/(region|zone)|gangplan\.dev/(gang|role)"
)
"""What every cluster has; the solver knows some of these."""

ROLES = frozenset({"chief", "ps", "worker", "evaluator"})
"""Roles of a TFJob."""

_VALUE_OF = "value of "
_NUMBER = re.compile(r"[+-]?[0-9]+")
_NAMES_IN_LABELS = {
    "kubernetes.io/hostname": "node",
    "gangplan.dev/gang": "gang",
    "gangplan.dev/role": "role",
}
"""Labels whose values are names of something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """A snapshot without its names.

    Attributes:
        snapshot: The snapshot.
        names: What is named – ``node``, ``gang`` – → name → its replacement. Values of labels are under
            ``value of KEY``, with the key as it was.
    """

    snapshot: Snapshot
    names: Mapping[str, Mapping[str, str]]


def redact(snapshot: Snapshot) -> Redacted:
    """Replace the names of nodes, queues, gangs, groups, namespaces, pods, labels and uncommon resources.

    Amounts, counts, moments and the order of everything stay. So do the names of common resources and labels, those of
    the roles of TFJobs where there are no others, and whole numbers under labels that are compared as numbers.

    >>> redact(Snapshot(nodes=(Node(name="secret"),))).snapshot.nodes[0].name
    'node-00000'
    """
    found: dict[str, set[str]] = defaultdict(set)
    compared: set[str] = set()

    def collect(word: str, name: str) -> str:
        found[word].add(name)
        return name

    def compare(expression: Expression) -> None:
        if expression.operator in {"Gt", "Lt"}:
            compared.add(_value_of(expression.key))

    _renamed(snapshot, collect, compare)
    names: dict[str, dict[str, str]] = {}
    values = 0  # numbered through, so that a value tells its label too
    for what, texts in sorted(found.items()):
        is_value = what.startswith(_VALUE_OF)
        kept = _stays(what, texts, compared)
        names[what] = _ranked(texts, "value" if is_value else what, kept, first=values if is_value else 0)
        values += len(texts) if is_value else 0
    snapshot = _renamed(snapshot, lambda word, name: names[word][name], lambda _: None)
    return Redacted(snapshot=snapshot, names=names)


def _value_of(key: str) -> str:
    return _NAMES_IN_LABELS.get(key, _VALUE_OF + key)


def _stays(what: str, names: set[str], compared: set[str]) -> set[str]:
    """Names that are kept; an empty one says that there is none."""
    if what == "resource":
        kept = {name for name in names if RESOURCES.fullmatch(name)}
    elif what == "label":
        kept = {name for name in names if LABELS.fullmatch(name)}
    elif what == "role":
        kept = names if names <= ROLES else set()
    elif what in compared:
        kept = {name for name in names if _NUMBER.fullmatch(name)}
    else:
        kept = set()
    return kept | (names & {""})


def _ranked(names: Iterable[str], word: str, kept: set[str], *, first: int) -> dict[str, str]:
    """Name → its replacement, in the same order: what lies between two kept names lies between them afterwards."""
    fixed = sorted(kept)
    ordered = sorted(names)
    digits = max(5, len(str(first + len(ordered))))
    return {
        name: name if name in kept else f"{_start(word, fixed, bisect(fixed, name))}-{rank:0{digits}}"
        for rank, name in enumerate(ordered, first)
    }


def _start(word: str, fixed: list[str], place: int) -> str:
    """How a replacement begins that is to lie behind so many of the kept names."""
    below = fixed[place - 1] if place else ""
    above = fixed[place] if place < len(fixed) else None
    letters = (f"{letter}-{word}" for letter in string.ascii_lowercase)
    starts = (word, *letters, f"{below}.{word}", f"{below}!{word}")
    return next(start for start in starts if start > below and (above is None or f"{start}." < above))


def _renamed(value: Any, name: Naming, see: Callable[[Expression], None]) -> Any:
    """A dataclass with its names, and those of all that is in it, replaced."""
    words = FIELDS.get(type(value), {})
    if isinstance(value, Expression):
        see(value)
    changed: dict[str, Any] = {}
    for field in fields(value):
        item = getattr(value, field.name)
        word = words.get(field.name)
        if word == "labels":
            changed[field.name] = {
                name("label", key): name(_value_of(key), text) for key, text in item.items()
            }
        elif word is not None:
            what = _value_of(value.key) if word == "value" else word
            changed[field.name] = _names(item, what, name)
        elif is_dataclass(item):
            changed[field.name] = _renamed(item, name, see)
        elif isinstance(item, tuple):
            changed[field.name] = tuple(
                _renamed(inner, name, see) if is_dataclass(inner) else inner for inner in item
            )
    return replace(value, **changed)


def _names(item: Any, word: str, name: Naming) -> Any:
    """A name, or names in a sequence, or those that are the keys of a map, replaced."""
    if isinstance(item, str):
        return name(word, item)
    if isinstance(item, Mapping):
        return {name(word, key): inner for key, inner in item.items()}
    if isinstance(item, tuple):
        return tuple(_names(inner, word, name) for inner in item)
    return item
