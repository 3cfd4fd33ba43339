"""A new pod stands only on a node that is ready, open to it, selected by it and, where asked, inside the topology."""

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.judge.outcome import Outcome
from conformance.judge.world import Place, World


def broken(outcome: Outcome) -> Iterator[str]:
    for name, place in sorted(outcome.fresh.items()):
        reason = unfit(outcome.world, place)
        if reason is not None:
            yield f"{name} on {place.node}: {reason}"


def unfit(world: World, place: Place) -> str | None:
    """Why the pod may not stand there, whatever room there is; None if it may."""
    node = world.nodes[place.node]
    labels = node.get("labels", {})
    if not node.get("ready", True):
        return "the node is not ready"
    if node.get("unschedulable"):
        return "the node is cordoned"
    if place.pod.gang is None or place.pod.role is None:
        return None
    role = world.roles[place.pod.gang, place.pod.role]
    for taint in node.get("taints", ()):
        if taint.get("effect") in {"NoSchedule", "NoExecute"} and not any(
            tolerates(toleration, taint) for toleration in role.get("tolerations", ())
        ):
            return f"the taint {taint['key']} is not tolerated"
    if any(labels.get(key) != value for key, value in role.get("node_selector", {}).items()):
        return "the node selector does not hold"
    terms = role.get("node_affinity", {}).get("required")
    if terms and not any(term and all(holds(test, labels) for test in term) for term in terms):
        return "no term of the node affinity holds"
    holders = [
        world.gangs[place.pod.gang],
        role,
        *world.groups_of(place.pod.gang, place.pod.role),
    ]
    if any("topology" in holder for holder in holders) and any(level not in labels for level in world.levels):
        return "the node is outside the topology"
    return None


def tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("op", "Equal") == "Exists":
        return not toleration.get("key") or toleration["key"] == taint["key"]
    same_key = toleration.get("key") == taint["key"]
    return same_key and toleration.get("value", "") == taint.get("value", "")


def holds(test: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    found, values = labels.get(test["key"]), test.get("values", [])
    match test["op"]:
        case "In":
            return found in values
        case "NotIn":
            return found not in values
        case "Exists":
            return found is not None
        case "DoesNotExist":
            return found is None
        case "Gt":
            return _number(found) is not None and _number(found) > int(values[0])
        case "Lt":
            return _number(found) is not None and _number(found) < int(values[0])
    raise AssertionError(test["op"])


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
