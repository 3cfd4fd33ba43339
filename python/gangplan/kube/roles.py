"""Roles: which of those that ``deploy/rbac`` has allows a request, for who is told that it may not be made."""

from collections.abc import Mapping

VIEW, LAUNCH, ADMIT, LEAD = "gangplan-view", "gangplan-launch", "gangplan-admit", "gangplan-lead"

_LOOK = frozenset({"get", "list", "watch"})

GRANTED: Mapping[str, Mapping[str, frozenset[str]]] = {
    VIEW: dict.fromkeys(("Gang", "GangQueue", "GangTopology"), _LOOK),
    LAUNCH: {
        "TFJob": frozenset({"get", "create", "delete", "patch"}),
        "Pod": frozenset({"get", "list", "patch", "watch"}),
        "PersistentVolumeClaim": frozenset({"get"}),
        "Event": frozenset({"create", "list"}),
    },
    ADMIT: {
        "Gang": frozenset({"create", "delete", "update", "patch"}),
        "Node": frozenset({"list"}),
        "Pod": frozenset({"list"}),
        "ResourceQuota": frozenset({"list"}),
        "TFJob": frozenset({"list"}),
        "PriorityClass": frozenset({"get"}),
    },
    LEAD: {"Lease": frozenset({"get", "update", "create"})},
}
"""Role → kind → verbs, of what our commands ask for; a test compares it with ``deploy/rbac``."""


def role_for(verb: str, kind: str, namespace: str) -> str:
    """The first role that allows a request; empty if it is none of ours.

    Args:
        verb: ``get``, ``create``, …
        kind: ``Pod``.
        namespace: Of the object; empty: it has none, or those of all namespaces are meant.
    """
    for role, kinds in GRANTED.items():
        if verb in kinds.get(kind, ()) and (role != LAUNCH or namespace):
            return role
    return ""


def advice(verb: str, kind: str, namespace: str) -> str:
    """What to do about a request that is not allowed."""
    role = role_for(verb, kind, namespace)
    if not role:
        return "ask for a role that allows it"
    where = f" in {namespace}" if role in (LAUNCH, LEAD) else ""
    look = f" -n {namespace}" if namespace and role != LEAD else ""
    return f"ask for the role {role}{where}; gangplan doctor{look} tells all that is missing, and the commands that give it"
