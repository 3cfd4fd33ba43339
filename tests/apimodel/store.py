"""The store: objects, one counter of versions for all of them, and what happened since it was compacted."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from apimodel.selector import matches
from gangplan.kube.api import Change, Object
from gangplan.kube.kinds import Kind


class Compacted(Exception):
    """What was asked for is no longer there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Where an object is."""

    kind: Kind
    namespace: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    version: int
    type: Literal["ADDED", "MODIFIED", "DELETED"]
    key: Key
    before: Object | None
    after: Object


class Store:
    """Objects by key. What goes in and comes out is copied, so that nobody changes another's objects."""

    def __init__(self) -> None:
        self.version = 1
        self._objects: dict[Key, Object] = {}
        self._events: list[_Event] = []
        self._compacted = 0

    def get(self, key: Key) -> Object | None:
        """The object; None if there is none."""
        return copy.deepcopy(self._objects.get(key))

    def put(self, key: Key, obj: Object) -> Object:
        """Write an object; it gets the next version."""
        before = self._objects.get(key)
        written = self._next(obj)
        self._objects[key] = written
        self._tell("ADDED" if before is None else "MODIFIED", key, before, written)
        return copy.deepcopy(written)

    def remove(self, key: Key) -> Object:
        """Remove an object; as it was last, with the version of its removal."""
        before = self._objects.pop(key)
        gone = self._next(before)
        self._tell("DELETED", key, before, gone)
        return copy.deepcopy(gone)

    def all_keys(self) -> list[Key]:
        """All keys in a fixed order."""
        return sorted(self._objects, key=lambda key: (key.kind.api_version, key.kind.plural, *_place(key)))

    def select(self, kind: Kind, namespace: str, labels: str, version: int | None = None) -> list[Object]:
        """Objects of a kind, now or as they were at a version, in the order of their names.

        Raises:
            Compacted: The version is too long ago.
        """
        objects = self._objects if version is None else self._at(version)
        return [
            copy.deepcopy(objects[key])
            for key in sorted(objects, key=_place)
            if key.kind == kind and namespace in ("", key.namespace) and _selected(objects[key], labels)
        ]

    def changes(self, kind: Kind, namespace: str, labels: str, version: int) -> Iterator[Change]:
        """What happened after a version, until now; with labels, as seen by who sees only those that match.

        Raises:
            Compacted: The version is too long ago.
        """
        if version < self._compacted:
            raise Compacted
        place = 0
        while place < len(self._events):
            event = self._events[place]
            place += 1
            if (
                event.version <= version
                or event.key.kind != kind
                or namespace not in ("", event.key.namespace)
            ):
                continue
            was = event.before is not None and _selected(event.before, labels)
            is_ = event.type != "DELETED" and _selected(event.after, labels)
            if was or is_:
                type_ = "MODIFIED" if was and is_ else "ADDED" if is_ else "DELETED"
                yield Change(type=type_, object=copy.deepcopy(event.after))

    def compact(self) -> None:
        """Forget what happened until now."""
        self._compacted = self.version
        self._events = [
            _Event(version=self.version, type="ADDED", key=key, before=None, after=obj)
            for key, obj in self._objects.items()
        ]

    def _at(self, version: int) -> dict[Key, Object]:
        if version < self._compacted:
            raise Compacted
        then: dict[Key, Object] = {}
        for event in self._events:
            if event.version > version:
                break
            if event.type == "DELETED":
                del then[event.key]
            else:
                then[event.key] = event.after
        return then

    def _next(self, obj: Object) -> Object:
        self.version += 1
        written = copy.deepcopy(obj)
        written["metadata"]["resourceVersion"] = str(self.version)
        return written

    def _tell(
        self, type_: Literal["ADDED", "MODIFIED", "DELETED"], key: Key, before: Object | None, after: Object
    ) -> None:
        self._events.append(_Event(version=self.version, type=type_, key=key, before=before, after=after))


def _place(key: Key) -> tuple[str, str]:
    return key.namespace, key.name


def _selected(obj: Object, labels: str) -> bool:
    return matches(labels, obj["metadata"].get("labels") or {})
