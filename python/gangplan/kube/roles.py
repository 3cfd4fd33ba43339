"""Roles: which of those that ``deploy/rbac`` has allows a request, for who is told that it may not be made."""

import re
from collections.abc import Mapping

from gangplan.kube import kinds

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
        "LimitRange": frozenset({"list"}),
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


_KINDS = {kind.name: kind for kind in vars(kinds).values() if isinstance(kind, kinds.Kind)}

_OF_VIEW = frozenset(
    {
        "EndpointSlice",
        "Event",
        "LimitRange",
        "Namespace",
        "PersistentVolumeClaim",
        "Pod",
        "ResourceQuota",
        "Service",
        "ServiceAccount",
    }
)
"""Kinds that the role view of Kubernetes lets somebody look at; not what lies in no namespace."""

USER = "USER"
"""Stands in a command for who is to be given a role."""


def role_for(verb: str, kind: str, namespace: str) -> str:
    """The first role that allows a request; empty if it is none of ours.

    Args:
        verb: ``get``, ``create``, …
        kind: ``Pod``.
        namespace: Of the object; empty: it has none, or those of all namespaces are meant.
    """
    for role, granted in GRANTED.items():
        if verb in granted.get(kind, ()) and (role not in {LAUNCH, EDIT} or namespace):
            return role
    return ""


def advice(verb: str, kind: str, namespace: str) -> str:
    """What to do about a request that is not allowed."""
    role = role_for(verb, kind, namespace)
    if not role and kind in _KINDS:
        return f"an administrator allows it with: {allowing(verb, kind, namespace)}"
    if not role:
        return "ask for a role that allows it"
    where = f" in {namespace}" if role in _OF_NAMESPACE else ""
    if role == EDIT:
        return f"ask for the role {role}{where}, which is part of the role edit of Kubernetes"
    look = f" -n {namespace}" if namespace and role != LEAD else ""
    return f"ask for the role {role}{where}; gangplan doctor{look} tells all that is missing, and the commands that give it"


def allowing(verb: str, kind: str, namespace: str, *, who: str = USER, flag: str = f"--user={USER}") -> str:
    """The command that allows somebody what none of our roles does.

    Args:
        verb: ``get``, ``list``, …
        kind: A kind of :mod:`gangplan.kube.kinds`.
        namespace: Of the objects; empty: they have none, or those of all namespaces are meant.
        who: Goes into the names of what it makes.
        flag: Who it is, as kubectl takes it.
    """
    where = f" -n {namespace}" if namespace else ""
    binding = f"kubectl create {'rolebinding' if namespace else 'clusterrolebinding'}"
    if verb in _LOOK and kind in _OF_VIEW and (namespace or _KINDS[kind].namespaced):
        return f"{binding} view-{who}{where} --clusterrole=view {flag}"
    of = _KINDS[kind]
    group = re.sub(r"/?[^/]*$", "", of.api_version)
    name = f"{'look-at' if verb in _LOOK else verb}-{of.plural}"
    verbs = ",".join(sorted(_LOOK) if verb in _LOOK else [verb])
    resource = f"{of.plural}.{group}" if group else of.plural
    return (
        f"kubectl create clusterrole {name} --verb={verbs} --resource={resource} && "
        f"{binding} {name}-{who}{where} --clusterrole={name} {flag}"
    )
