"""ResourceQuotas of namespaces, as limits on what their gangs may take."""

from collections import defaultdict
from collections.abc import Collection, Iterable

from gangplan.kube.gang_object import full_name
from gangplan.kube.objects import PodObject, QuotaObject, pod_of
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
