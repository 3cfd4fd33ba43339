"""The garbage collector: what becomes of objects whose owners go, as far as can be known from the objects.

https://kubernetes.io/docs/concepts/architecture/garbage-collection/ says what it does. It works until nothing is left to
do; what it does first makes no difference to what is left.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from apimodel.definition import Definition
from apimodel.store import Key, Store
from gangplan.kube.api import Object, Propagation
from gangplan.kube.kinds import Kind

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


class Writes(Protocol):
    """How objects are written and deleted; and the kinds that there are."""

    definitions: Mapping[Kind, Definition]

    def remove(self, key: Key, propagation: Propagation) -> None:
        """Delete an object."""

    def write(self, key: Key, obj: Object) -> Object:
        """Write what was changed of an object."""


class Collector:
    """Works on a store with the deletions and writes of its server."""

    def __init__(self, store: Store, writes: Writes) -> None:
        self._store, self._writes = store, writes

    def run(self) -> list[Key]:
        """Do all there is to do; the objects that are gone by it."""
        before = set(self._store.all_keys())
        while [key for key in self._store.all_keys() if self._visit(key)]:
            pass
        return [key for key in sorted(before, key=str) if self._store.get(key) is None]

    def _visit(self, key: Key) -> bool:
        """Do what is to be done about an object; whether it was anything."""
        obj = self._store.get(key)
        if obj is None:
            return False
        metadata = obj["metadata"]
        finalizers = metadata.get("finalizers") or []
        if "deletionTimestamp" in metadata:
            if ORPHAN in finalizers:
                return self._orphan(key, obj)
            if FOREGROUND in finalizers:
                return self._wait_for_dependents(key, obj)
            return False
        return self._look_at_owners(key, obj)

    def _orphan(self, key: Key, obj: Object) -> bool:
        for dependent in self._dependents(obj):
            self._drop_owners(dependent, {obj["metadata"]["uid"]})
        self._drop_finalizer(key, ORPHAN)
        return True

    def _wait_for_dependents(self, key: Key, obj: Object) -> bool:
        uid = obj["metadata"]["uid"]
        blocking = [
            dependent
            for dependent in self._dependents(obj)
            if any(
                owner["uid"] == uid and owner.get("blockOwnerDeletion")
                for owner in _owners(self._get(dependent))
            )
        ]
        if not blocking:
            self._drop_finalizer(key, FOREGROUND)
            return True
        return False

    def _look_at_owners(self, key: Key, obj: Object) -> bool:
        solid, gone, waiting = [], set(), set()
        for reference in _owners(obj):
            owner = self._owner(key, reference)
            if owner is None:
                gone.add(reference["uid"])
            elif "deletionTimestamp" in owner["metadata"] and FOREGROUND in (
                owner["metadata"].get("finalizers") or ()
            ):
                waiting.add(reference["uid"])
            else:
                solid.append(reference)
        if not gone and not waiting:
            return False
        if solid:
            self._drop_owners(key, gone | waiting)
        elif waiting and self._dependents(obj):
            self._writes.remove(key, "Foreground")
        else:
            finalizers = obj["metadata"].get("finalizers") or ()
            self._writes.remove(
                key,
                "Orphan"
                if ORPHAN in finalizers
                else "Foreground"
                if FOREGROUND in finalizers
                else "Background",
            )
        return True

    def _owner(self, key: Key, reference: Mapping[str, Any]) -> Object | None:
        """The owner that a reference means; an object of its name with another identity is another one."""
        for definition in self._writes.definitions.values():
            kind = definition.kind
            if (kind.api_version, kind.name) == (reference["apiVersion"], reference["kind"]):
                namespace = key.namespace if kind.namespaced else ""
                owner = self._store.get(Key(kind=kind, namespace=namespace, name=reference["name"]))
                return owner if owner and owner["metadata"]["uid"] == reference["uid"] else None
        return {"metadata": {}}  # of a kind that is not known nothing can be told

    def _dependents(self, owner: Object) -> list[Key]:
        uid = owner["metadata"]["uid"]
        return [
            key
            for key in self._store.all_keys()
            if any(reference["uid"] == uid for reference in _owners(self._get(key)))
        ]

    def _drop_owners(self, key: Key, uids: set[str]) -> None:
        obj = self._get(key)
        kept = [owner for owner in _owners(obj) if owner["uid"] not in uids]
        obj["metadata"]["ownerReferences"] = kept
        self._writes.write(key, obj)

    def _drop_finalizer(self, key: Key, finalizer: str) -> None:
        obj = self._get(key)
        obj["metadata"]["finalizers"] = [each for each in obj["metadata"]["finalizers"] if each != finalizer]
        self._writes.write(key, obj)

    def _get(self, key: Key) -> Object:
        obj = self._store.get(key)
        assert obj is not None
        return obj


def _owners(obj: Object) -> list[dict[str, Any]]:
    return obj["metadata"].get("ownerReferences") or []
