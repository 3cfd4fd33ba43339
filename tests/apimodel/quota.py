"""Quotas: what a namespace uses of what it may, as admission and the quota controller count it."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from apimodel.amounts import text, units
from apimodel.store import Key, Store
from gangplan.kube.api import Object
from gangplan.kube.kinds import POD, QUOTA, Kind

Usage = dict[str, int]


def refusals(store: Store, kind: Kind, obj: Object) -> Iterator[str]:
    """Why the quotas of its namespace do not admit a new object."""
    for quota, usage in _concerned(store, kind, obj):
        name = quota["metadata"]["name"]
        status = quota.get("status") or {}
        hard, used = status.get("hard") or {}, status.get("used") or {}
        unknown = sorted(resource for resource in usage if resource not in used)
        if unknown:
            yield f"status unknown for quota: {name}, resources: {','.join(unknown)}"
            continue
        if kind == POD and (missing := _unspecified(obj, hard)):
            yield f"failed quota: {name}: must specify {','.join(missing)}"
        above = sorted(
            resource
            for resource, amount in usage.items()
            if amount and units(resource, used[resource]) + amount > units(resource, hard[resource])
        )
        if above:
            yield f"exceeded quota: {name}, " + ", ".join(
                f"{word}: " + ",".join(f"{resource}={amounts[resource]}" for resource in above)
                for word, amounts in (("requested", _texts(usage)), ("used", used), ("limited", hard))
            )


def charge(store: Store, kind: Kind, obj: Object) -> None:
    """Count an object that is admitted; whether it is then created is not waited for."""
    for quota, usage in _concerned(store, kind, obj):
        used = (quota.get("status") or {}).get("used") or {}
        sums = {resource: units(resource, used[resource]) + amount for resource, amount in usage.items()}
        if any(usage.values()):
            quota["status"]["used"] = used | _texts(sums)
            store.put(_key(quota), quota)


def recount(store: Store, quota: Object, freed: Collection[str]) -> bool:
    """Count anew where something that it counts was freed, or it is new or changed; whether anything was different.

    As with the real controller, what was counted for an object that then was not created stays until something is freed.
    """
    hard = (quota.get("spec") or {}).get("hard") or {}
    namespace = quota["metadata"]["namespace"]
    if (quota.get("status") or {}).get("hard", {}) == hard and not set(hard) & set(freed):
        return False
    sums: Usage = dict.fromkeys(hard, 0)
    for key in store.all_keys():
        if key.namespace == namespace:
            obj = store.get(key)
            assert obj is not None
            for resource, amount in usage_of(key.kind, obj).items():
                if resource in sums:
                    sums[resource] += amount
    status = {"hard": hard, "used": _texts(sums)} if hard else {}
    if (quota.get("status") or {}) == status:
        return False
    store.put(_key(quota), quota | {"status": status})
    return True


def _concerned(store: Store, kind: Kind, obj: Object) -> Iterator[tuple[Object, Usage]]:
    """The quotas that count an object, and what it takes of each."""
    for quota in store.select(QUOTA, obj["metadata"].get("namespace", ""), ""):
        hard = (quota.get("status") or {}).get("hard") or (quota.get("spec") or {}).get("hard") or {}
        usage = {resource: amount for resource, amount in usage_of(kind, obj).items() if resource in hard}
        if (
            usage or kind == POD
        ):  # a pod must ask for what is counted of pods, so one that does not counts too
            yield quota, usage


def usage_of(kind: Kind, obj: Object) -> Usage:
    """What an object takes, by the names that quotas have for it; a pod that is over, or about to go, only counts."""
    is_over = (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    if kind == POD and (is_over or "deletionTimestamp" in obj["metadata"]):
        return {"count/pods": 1}
    return full_usage_of(kind, obj)


def full_usage_of(kind: Kind, obj: Object) -> Usage:
    """What an object takes while it is in use."""
    group = kind.api_version.rpartition("/")[0]
    usage = {f"count/{kind.plural}.{group}" if group else f"count/{kind.plural}": 1}
    if not group:
        usage[kind.plural] = 1
    for container in obj["spec"]["containers"] if kind == POD else ():
        amounts = container.get("resources") or {}
        limits = amounts.get("limits") or {}
        requests = limits | (amounts.get("requests") or {})
        named = [(f"requests.{resource}", resource, amount) for resource, amount in requests.items()]
        for resource in ("cpu", "memory"):
            if resource in requests:
                named.append((resource, resource, requests[resource]))
            if resource in limits:
                named.append((f"limits.{resource}", resource, limits[resource]))
        for name, resource, amount in named:
            usage[name] = usage.get(name, 0) + units(resource, amount)
    return usage


def _unspecified(pod: Object, hard: Mapping[str, Any]) -> list[str]:
    """The resources that each container must ask for, because the quota counts them, and one does not."""
    missing = set()
    for container in pod["spec"]["containers"]:
        amounts = container.get("resources") or {}
        limits = amounts.get("limits") or {}
        requests = limits | (amounts.get("requests") or {})
        for resource in hard:
            kind, _, name = resource.rpartition(".")
            if name in ("cpu", "memory") and name not in (limits if kind == "limits" else requests):
                missing.add(resource)
    return sorted(missing)


def _texts(usage: Usage) -> dict[str, str]:
    return {resource: text(resource, count) for resource, count in usage.items()}


def _key(quota: Object) -> Key:
    return Key(kind=QUOTA, namespace=quota["metadata"]["namespace"], name=quota["metadata"]["name"])
