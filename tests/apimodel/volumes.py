"""The volume controller: a claim of no class gets the volume that is kept for it, or one with the labels that it wants."""

from collections.abc import Iterator
from typing import Any

from apimodel.registry import Registry
from apimodel.store import Key, Store
from gangplan.kube.api import Object
from gangplan.kube.kinds import CLAIM, VOLUME


def bind_claims(store: Store, registry: Registry) -> bool:
    """Bind what can be bound; whether there was anything."""
    bound = False
    for claim in store.select(CLAIM, "", ""):
        if (claim.get("status") or {}).get("phase") != "Pending" or claim["spec"].get("storageClassName"):
            continue
        volume = next(_fitting(store, claim), None)
        if volume is None:
            continue
        about = claim["metadata"]
        reference = {"namespace": about["namespace"], "name": about["name"], "uid": about["uid"]}
        volume["spec"]["claimRef"] = {**(volume["spec"].get("claimRef") or {}), **reference}
        claim["spec"]["volumeName"] = volume["metadata"]["name"]
        for kind, obj in ((VOLUME, volume), (CLAIM, claim)):
            obj["status"] = {**(obj.get("status") or {}), "phase": "Bound"}
            key = Key(kind=kind, namespace=obj["metadata"].get("namespace", ""), name=obj["metadata"]["name"])
            registry.write(key, obj)
        bound = True
    return bound


def _fitting(store: Store, claim: Object) -> Iterator[Object]:
    spec, about = claim["spec"], claim["metadata"]
    wanted = (spec.get("selector") or {}).get("matchLabels") or {}
    for volume in store.select(VOLUME, "", ""):
        reference: dict[str, Any] = volume["spec"].get("claimRef") or {}
        is_free = not reference or (
            (reference["namespace"], reference["name"]) == (about["namespace"], about["name"])
            and reference.get("uid") in (None, about["uid"])
        )
        has_modes = {*(spec.get("accessModes") or ())} <= {*(volume["spec"].get("accessModes") or ())}
        if is_free and has_modes and wanted.items() <= (volume["metadata"].get("labels") or {}).items():
            yield volume
