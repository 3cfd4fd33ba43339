"""Roles: which of those that ``deploy/rbac`` has allows a request, for who is told that it may not be made."""

from collections.abc import Mapping

VIEW, LAUNCH, EDIT = "gangplan-view", "gangplan-launch", "gangplan-edit"
ADMIT, LEAD = "gangplan-admit", "gangplan-lead"

_OF_NAMESPACE = frozenset({LAUNCH, EDIT, LEAD})
"""Roles that are bound in a namespace."""

_LOOK = frozenset({"get", "list", "watch"})

GRANTED: Mapping[str, Mapping[str, frozenset[str]]] = {
    VIEW: dict.fromkeys(("Gang", "GangQueue", "GangTopology"), _LOOK),
    LAUNCH: {
        "TFJob": frozenset({"get", "create", "delete"}),
        "Pod": frozenset({"get", "list", "patch", "watch"}),
        "PersistentVolumeClaim": frozenset({"get"}),
        "Event": frozenset({"create", "list"}),
    },
    EDIT: {
        "Gang": frozenset({"delete"}),
        "TFJob": frozenset({"list", "patch"}),
        "Pod": frozenset({"create", "delete"}),
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
        if verb in kinds.get(kind, ()) and (role not in {LAUNCH, EDIT} or namespace):
            return role
    return ""


def advice(verb: str, kind: str, namespace: str) -> str:
    """What to do about a request that is not allowed."""
    role = role_for(verb, kind, namespace)
    if not role:
        return "ask for a role that allows it"
    where = f" in {namespace}" if role in _OF_NAMESPACE else ""
    if role == EDIT:
        return f"ask for the role {role}{where}, which is part of the role edit of Kubernetes"
    look = f" -n {namespace}" if namespace and role != LEAD else ""
    return f"ask for the role {role}{where}; gangplan doctor{look} tells all that is missing, and the commands that give it"
