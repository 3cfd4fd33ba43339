"""The namespace controller: what is in a deleted namespace goes, then the namespace."""

from apimodel.registry import Registry
from apimodel.store import Key, Store
from gangplan.kube.kinds import NAMESPACE


def empty_deleted(store: Store, registry: Registry) -> bool:
    """Remove what is in deleted namespaces, and them once they are empty; whether there was anything to do."""
    done = False
    for home in store.all_keys():
        if home.kind != NAMESPACE or not _is_deleted(store, home):
            continue
        inside = [key for key in store.all_keys() if key.namespace == home.name]
        fresh = [key for key in inside if not _is_deleted(store, key)]
        for key in fresh:
            registry.remove(key, "Background")
        if not inside:
            store.remove(home)
        done = done or bool(fresh) or not inside
    return done


def _is_deleted(store: Store, key: Key) -> bool:
    obj = store.get(key)
    return obj is not None and "deletionTimestamp" in obj["metadata"]
