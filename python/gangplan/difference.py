"""Difference of two snapshots: what came, what went, and what of the rest has changed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from gangplan.documents import to_builtins
from gangplan.snapshot import Snapshot

How = Literal["came", "went", "changed"]

_NAMES = {"nodes": "name", "queues": "name", "gangs": "name", "running": "name", "quotas": "namespace"}
"""Parts of a snapshot → the field by which their items are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One item that is not the same in both snapshots.

    Attributes:
        part: The part of the snapshot: ``nodes``, ``running`` and so on; ``topology`` for the levels.
        name: The item.
        how: What became of it.
        fields: Of one that has changed: path of a field → before and after; None where there was or is nothing.
    """

    part: str
    name: str
    how: How
    fields: Mapping[str, tuple[Any, Any]]


def differences(before: Snapshot, after: Snapshot) -> tuple[Difference, ...]:
    """Compare two snapshots, part by part, items by name. Their moments and the order of items do not count."""
    found: list[Difference] = []
    if before.topology != after.topology:
        levels = {"levels": (list(before.topology), list(after.topology))}
        found.append(Difference(part="topology", name="topology", how="changed", fields=levels))
    for part, key in _NAMES.items():
        old = {getattr(item, key): item for item in getattr(before, part)}
        new = {getattr(item, key): item for item in getattr(after, part)}
        for name in sorted({*old, *new}):
            if name not in old:
                found.append(Difference(part=part, name=name, how="came", fields={}))
            elif name not in new:
                found.append(Difference(part=part, name=name, how="went", fields={}))
            elif changed := dict(_changed(old[name], new[name])):
                found.append(Difference(part=part, name=name, how="changed", fields=changed))
    return tuple(found)


def _changed(old: Any, new: Any) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Fields that differ; of maps their keys."""
    for field in fields(old):
        was, now = to_builtins(getattr(old, field.name)), to_builtins(getattr(new, field.name))
        if was == now:
            continue
        if isinstance(was, dict) and isinstance(now, dict):
            for key in sorted({*was, *now}):
                if was.get(key) != now.get(key):
                    yield f"{field.name}.{key}", (was.get(key), now.get(key))
        else:
            yield field.name, (was, now)
