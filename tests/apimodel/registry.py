"""The registry: objects are created, updated and deleted by the rules of their kinds."""

import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from apimodel import limits, quota
from apimodel.amounts import with_plain_amounts
from apimodel.collector import FOREGROUND, ORPHAN
from apimodel.definition import Definition
from apimodel.rules import change_problems, decode_problems, object_problems
from apimodel.schema import prune, unknown_fields, with_defaults
from apimodel.store import Key, Store
from gangplan.errors import AlreadyExists, Conflict, NotFound, NotInstalled, Refused
from gangplan.kube.api import Object, Propagation
from gangplan.kube.kinds import CLAIM, NAMESPACE, POD, Kind
from gangplan.kube.refusals import About

_OF_THE_SERVER = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
"""Fields of metadata that only the server writes."""


class Registry:
    """What may be done with the objects of a store.

    Attributes:
        definitions: The kinds that are known.
        freed: By namespace the resources, as quotas name them, of which something was freed.
    """

    def __init__(
        self, store: Store, definitions: Mapping[Kind, Definition], clock: Callable[[], datetime]
    ) -> None:
        self.definitions = definitions
        self._store, self._clock = store, clock
        self._ids = 0
        self.freed: dict[str, set[str]] = {}

    def definition(self, kind: Kind, about: About, subresource: str = "") -> Definition:
        """What is known of a kind, or of a subresource of it."""
        definition = self.definitions.get(kind)
        has_it = definition and (not subresource or (subresource == "status" and definition.has_status))
        if definition is None or not has_it:
            # Of objects of CRDs a real server says that there is no such object.
            error = NotFound if definition and definition.is_custom else NotInstalled
            raise about.error(error, f"{about}: the server could not find the requested resource")
        return definition

    def key(self, about: About, kind: Kind) -> Key:
        """Where the object of a request is."""
        self.definition(kind, about)
        if not about.name:
            raise about.error(Refused, f"{about}: the object has no name")
        if kind.namespaced and not about.namespace:
            raise about.error(Refused, f"{about}: the object has no namespace")
        return Key(kind=kind, namespace=about.namespace if kind.namespaced else "", name=about.name)

    def found(self, key: Key, about: About) -> Object:
        """The object; refused if there is none."""
        obj = self._store.get(key)
        if obj is None:
            raise about.error(NotFound, f'{about}: {key.kind.plural} "{key.name}" not found')
        return obj

    def create(self, kind: Kind, body: Object, about: About, *, dry_run: bool = False) -> Object:
        """Create an object, or with ``dry_run`` only judge it, strictly."""
        key, definition = self.key(about, kind), self.definition(kind, about)
        self._judge(about, decode_problems(definition, body))
        if dry_run and definition.schema is not None:
            own = {
                name: value for name, value in body.items() if name not in ("apiVersion", "kind", "metadata")
            }
            self._judge(about, unknown_fields(own, definition.schema))
        if kind.namespaced:
            home = self._store.get(Key(kind=NAMESPACE, namespace="", name=key.namespace))
            if home is None:
                raise about.error(NotFound, f'{about}: namespaces "{key.namespace}" not found')
            if "deletionTimestamp" in home["metadata"]:
                raise about.error(Refused, f"{about}: forbidden: the namespace is being terminated")
        metadata = dict(body.get("metadata") or {})
        if metadata.get("resourceVersion"):
            raise about.error(Refused, f"{about}: metadata.resourceVersion: must not be set on a new object")
        for field in _OF_THE_SERVER:
            metadata.pop(field, None)
        self._ids += 1
        metadata |= {
            "name": key.name,
            "uid": str(uuid.UUID(int=self._ids)),
            "creationTimestamp": self._now(),
        }
        if definition.counts_generations:
            metadata["generation"] = 1
        obj = self._shaped(definition, body | {"metadata": metadata})
        if definition.has_status and not definition.takes_status:
            obj.pop("status", None)
        if kind == POD:
            obj["status"] = {"phase": "Pending"}
            obj["spec"] = {"serviceAccountName": "default"} | obj.get("spec", {})
            limits.complete(self._store, obj)
        if kind == CLAIM:
            obj["status"] = {"phase": "Pending"}
        self._judge(about, object_problems(definition, obj))
        if kind == POD:
            self._judge(about, limits.refusals(self._store, obj))
        self._judge(about, quota.refusals(self._store, kind, obj))
        if not dry_run:
            quota.charge(self._store, kind, obj)
        if self._store.get(key) is not None:
            raise about.error(AlreadyExists, f'{about}: {kind.plural} "{key.name}" already exists')
        return obj if dry_run else self._store.put(key, obj)

    def update(
        self, kind: Kind, body: Object, subresource: str, about: About, *, dry_run: bool = False
    ) -> Object:
        """Replace an object, or its status; or with ``dry_run`` only judge it."""
        key, definition = self.key(about, kind), self.definition(kind, about, subresource)
        self._judge(about, decode_problems(definition, body))
        before = self.found(key, about)
        metadata, was = dict(body.get("metadata") or {}), before["metadata"]
        if metadata.get("uid") not in (None, "", was["uid"]):
            raise about.error(
                Conflict, f"{about}: Precondition failed: UID in precondition: {metadata['uid']}"
            )
        version = metadata.get("resourceVersion")
        if not version and definition.needs_version:
            raise about.error(Refused, f"{about}: metadata.resourceVersion: must be specified for an update")
        if version not in (None, "", was["resourceVersion"]):
            raise about.error(Conflict, f"{about}: the object has been modified")
        for field in _OF_THE_SERVER:
            metadata.pop(field, None)
        metadata |= {field: was[field] for field in _OF_THE_SERVER if field in was}
        obj = self._shaped(definition, body | {"metadata": metadata})
        if subresource:
            obj = {**before, "status": obj.get("status")} if "status" in obj else _without(before, "status")
        elif definition.has_status:
            obj = _without(obj, "status") | ({"status": before["status"]} if "status" in before else {})
        self._judge(about, object_problems(definition, obj))
        self._judge(about, change_problems(definition, before, obj))
        if definition.counts_generations and _wanted(definition, obj) != _wanted(definition, before):
            obj["metadata"]["generation"] = was["generation"] + 1
        return obj if dry_run else self.write(key, obj)

    def write(self, key: Key, obj: Object) -> Object:
        """Write what was changed; what only waited for its finalizers goes."""
        obj["metadata"] = _tidy(obj["metadata"])
        if "deletionTimestamp" in obj["metadata"] and "finalizers" not in obj["metadata"]:
            self._take_away(key)  # watches are told what was stored before; whoever wrote, what he wrote
            return obj
        return self._put(key, obj)

    def remove(self, key: Key, propagation: Propagation) -> None:
        """Delete an object, or mark it where finalizers are to be waited for."""
        obj = self._store.get(key)
        assert obj is not None
        metadata = obj["metadata"]
        finalizers = [each for each in metadata.get("finalizers") or () if each not in (FOREGROUND, ORPHAN)]
        own = {"Foreground": [FOREGROUND], "Orphan": [ORPHAN], "Background": []}[propagation]
        held = [*finalizers, *own, *(["kubernetes"] if key.kind == NAMESPACE else [])]
        if held or key.kind == POD:  # pods are marked too: they have a period of grace, if only of no length
            if "deletionTimestamp" not in metadata:
                metadata |= {"deletionTimestamp": self._now(), "deletionGracePeriodSeconds": 0}
                if "generation" in metadata:
                    metadata["generation"] += 1
            self._put(key, obj | {"metadata": _tidy(metadata | {"finalizers": held})})
        if not held:
            self._take_away(key)

    def _put(self, key: Key, obj: Object) -> Object:
        before = self._store.get(key)
        if before == obj:
            return before
        self._free(key, before, obj)
        return self._store.put(key, obj)

    def _take_away(self, key: Key) -> None:
        self._free(key, self._store.get(key), None)
        self._store.remove(key)

    def _free(self, key: Key, before: Object, after: Object | None) -> None:
        """Note what an object takes less of than before, for the quotas; of one that goes, all that such an object may take."""
        if after is None:
            less = set(quota.full_usage_of(key.kind, before))
        else:
            now = quota.usage_of(key.kind, after)
            less = {
                name for name, units in quota.usage_of(key.kind, before).items() if now.get(name, 0) < units
            }
        self.freed.setdefault(key.namespace, set()).update(less)

    def _shaped(self, definition: Definition, obj: Object) -> Object:
        """An object as it is stored: what the schema does not know is dropped, defaults are set."""
        own = {"apiVersion": definition.kind.api_version, "kind": definition.kind.name}
        metadata = {"metadata": _tidy(obj["metadata"])}
        if definition.schema is not None:
            rest = {key: value for key, value in obj.items() if key not in (*own, "metadata")}
            rest = with_defaults(prune(rest, definition.schema), definition.schema)
        else:
            rest = {key: value for key, value in obj.items() if value is not None}
        return with_plain_amounts(definition.kind, own | rest | metadata)

    def _judge(self, about: About, wrong: Iterable[str]) -> None:
        if told := list(wrong):
            raise about.error(Refused, f"{about}: {'; '.join(told)}")

    def _now(self) -> str:
        return self._clock().strftime("%Y-%m-%dT%H:%M:%SZ")


def _tidy(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata without the fields that are empty."""
    return {key: value for key, value in metadata.items() if value not in (None, "", {}, [])}


def _without(obj: Object, field: str) -> Object:
    return {key: value for key, value in obj.items() if key != field}


def _wanted(definition: Definition, obj: Object) -> Object:
    """What ``metadata.generation`` counts the changes of."""
    if definition.kind == POD:
        return {"spec": obj["spec"]}
    return _without(_without(obj, "metadata"), "status" if definition.has_status else "")
