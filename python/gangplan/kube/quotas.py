"""ResourceQuotas of namespaces, as limits on what their gangs may take."""

from collections import defaultdict
from collections.abc import Collection, Iterable

from gangplan.errors import ClusterError
from gangplan.kube.api import Api
from gangplan.kube.gang_object import full_name
from gangplan.kube.kinds import QUOTA
from gangplan.kube.objects import PodObject, QuotaObject, pod_of
from gangplan.plan import Rejection
from gangplan.request import Amounts, pod_requests
from gangplan.snapshot import NamespaceQuota
from gangplan.solver import format_quantity, parse_quantity


def namespace_quotas(
    quotas: Iterable[QuotaObject], pods: Iterable[PodObject], members: Collection[str]
) -> tuple[NamespaceQuota, ...]:
    """The limit on each namespace that has one: of several quotas, the least for each resource.

    Quotas for some pods only, by scopes, are left to the server, and so are limits on limits and on other objects.

    Args:
        quotas: All quotas.
        pods: All pods that have not ended, also those without a node: a quota counts them from their creation.
        members: Full names of pods that are replicas of gangs that hold room, which are counted by their gang.

    Raises:
        InvalidQuantity: A quantity cannot be read.
    """
    hard: dict[str, Amounts] = defaultdict(dict)
    for quota in quotas:
        if quota.spec.scopes or quota.spec.scope_selector is not None:
            continue
        limits = hard[quota.metadata.namespace]
        for key, text in (quota.spec.hard or {}).items():
            if (resource := _resource(key)) is not None:
                amount = parse_quantity(resource, text, round_up=False)
                limits[resource] = min(amount, limits.get(resource, amount))
    used: dict[str, Amounts] = defaultdict(dict)
    for pod in pods:
        namespace = pod.metadata.namespace
        if namespace in hard and full_name(namespace, pod.metadata.name) not in members:
            taken = used[namespace]
            for resource, amount in pod_requests(pod_of(pod)).items():
                taken[resource] = taken.get(resource, 0) + amount
    return tuple(
        NamespaceQuota(namespace=namespace, hard=_texts(limits), used=_texts(used[namespace], limits))
        for namespace, limits in sorted(hard.items())
        if limits
    )


def in_the_way(api: Api, rejection: Rejection | None, *, namespace: str) -> str:
    """Which quotas refuse a gang, and what to do about them; empty if none does, or they may not be read.

    Args:
        api: The API server.
        rejection: Why the gang was refused.
        namespace: Its namespace.
    """
    if rejection is None or rejection.rule != "NAMESPACE_QUOTA_EXCEEDED":
        return ""
    try:
        quotas = api.list(QUOTA, namespace=namespace).items
    except ClusterError:
        return ""
    found = {
        quota["metadata"]["name"]: f"{key} {text}"
        for quota in quotas
        for key, text in ((quota.get("spec") or {}).get("hard") or {}).items()
        if _resource(key) == rejection.resource
    }
    told = ", ".join(f"{name} ({limit})" for name, limit in sorted(found.items()))
    names = " ".join(sorted(found))
    return (
        f"ask for less, or raise the quota {told}: kubectl edit quota {names} -n {namespace}" if found else ""
    )


def _resource(key: str) -> str | None:
    """The resource that a quota's key limits the requests for; None if it limits something else."""
    if key in {"cpu", "memory", "pods", "ephemeral-storage"}:
        return key
    return (
        key.removeprefix("requests.") if key.startswith("requests.") and key != "requests.storage" else None
    )


def _texts(amounts: Amounts, only: Collection[str] | None = None) -> dict[str, str]:
    return {
        resource: format_quantity(resource, amount)
        for resource, amount in sorted(amounts.items())
        if only is None or resource in only
    }
