"""What quotas of a namespace want every pod to say; one that does not is refused, but only once its job is made.

https://kubernetes.io/docs/concepts/policy/resource-quotas/
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gangplan.errors import Forbidden, InvalidInput, Problem
from gangplan.kube.api import Api, Object
from gangplan.kube.kinds import LIMIT_RANGE, QUOTA
from gangplan.kube.paths import below
from gangplan.kube.submission import Submission

_WANTED = {
    "cpu": ("requests", "cpu"),
    "memory": ("requests", "memory"),
    "requests.cpu": ("requests", "cpu"),
    "requests.memory": ("requests", "memory"),
    "limits.cpu": ("limits", "cpu"),
    "limits.memory": ("limits", "memory"),
}
"""What a quota counts → what each container must say then. Of other resources one that says nothing takes nothing."""


def see_that_quotas_are_told(api: Api, wanted: Submission) -> None:
    """See that the pods of a job say what quotas of the namespace count, or have it from a LimitRange.

    Who may not read quotas or LimitRanges finds out when the pods are made.

    Raises:
        InvalidInput: They do not; every place is named.
    """
    try:
        quotas = api.list(QUOTA, namespace=wanted.namespace).items
        problems = list(_problems(wanted.manifest, _counted(quotas), frozenset()))
        if not problems:
            return
        ranges = api.list(LIMIT_RANGE, namespace=wanted.namespace).items
    except Forbidden:
        return
    problems = list(_problems(wanted.manifest, _counted(quotas), frozenset(_defaults(ranges))))
    if problems:
        raise InvalidInput(sorted(problems), f"TFJob {wanted.name}, by the quotas of {wanted.namespace}")


def unsaid_by_flags(quotas: tuple[Object, ...], ranges: tuple[Object, ...]) -> dict[str, str]:
    """Keys that quotas count and jobs from flags never say, each → its quota; not those that a LimitRange gives.

    Args:
        quotas: The quotas of a namespace.
        ranges: Its LimitRanges.
    """
    given = set(_defaults(ranges))
    counted = _counted(quotas).items()
    return {
        f"{what}.{resource}": quota
        for (what, resource), quota in counted
        if what == "limits" and (what, resource) not in given
    }


def _counted(quotas: tuple[Object, ...]) -> dict[tuple[str, str], str]:
    """What each container must say → the quota that counts it. Quotas for some pods only are left to the server."""
    found: dict[tuple[str, str], str] = {}
    for quota in quotas:
        spec = quota.get("spec") or {}
        if not (spec.get("scopes") or spec.get("scopeSelector")):
            name = quota["metadata"]["name"]
            found |= {_WANTED[key]: name for key in spec.get("hard") or {} if key in _WANTED}
    return found


def _defaults(ranges: tuple[Object, ...]) -> Iterator[tuple[str, str]]:
    """What containers that say nothing are given."""
    for limits in (item for each in ranges for item in (each.get("spec") or {}).get("limits") or ()):
        if limits.get("type") == "Container":
            for resource in {*(limits.get("default") or {}), *(limits.get("max") or {})}:
                yield from (("limits", resource), ("requests", resource))
            for resource in limits.get("defaultRequest") or {}:
                yield "requests", resource


def _problems(
    manifest: Mapping[str, Any], counted: Mapping[tuple[str, str], str], given: frozenset[tuple[str, str]]
) -> Iterator[Problem]:
    for kind, spec in manifest["spec"]["tfReplicaSpecs"].items():
        pod = spec["template"]["spec"]
        for field in ("initContainers", "containers"):
            for place, container in enumerate(pod.get(field) or ()):
                said = container.get("resources") or {}
                path = f"{below('$.spec.tfReplicaSpecs', kind)}.template.spec.{field}[{place}].resources"
                for (what, resource), quota in counted.items():
                    # A request that is left out is that of the limit.
                    has = {**(said.get("limits") or {}), **(said.get(what) or {})}
                    if resource not in has and (what, resource) not in given:
                        message = (
                            f"must be given: the quota {quota} counts it, and no LimitRange sets a default"
                        )
                        message += "; flags cannot say it, a file can" if what == "limits" else ""
                        yield Problem(f"{path}.{what}.{resource}", "CONTRADICTION", message)
