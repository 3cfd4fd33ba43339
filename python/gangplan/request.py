"""What one replica takes of a node, in whole base units, for those who count beside the solver."""

from collections.abc import Mapping

from gangplan.snapshot import Container, Pod, Role, Running
from gangplan.solver import parse_quantity

Amounts = dict[str, int]
"""Base units by resource: millicores of ``cpu``, else bytes, devices or replicas."""


def requests_of(role: Role) -> Amounts:
    """Tell what one replica of a role takes, one of ``pods`` included, by the rule at :class:`gangplan.Pod`.

    Raises:
        InvalidQuantity: A quantity cannot be read.
    """
    return {**_parsed(role.requests), "pods": 1} if role.pod is None else pod_requests(role.pod)


def pod_requests(pod: Pod) -> Amounts:
    """Tell what a pod takes, one of ``pods`` included, by the rule at :class:`gangplan.Pod`.

    Raises:
        InvalidQuantity: A quantity cannot be read.
    """
    return {**_pod(pod), "pods": 1}


def held_by(running: Running, roles: Mapping[tuple[str, str], Amounts]) -> Amounts:
    """Tell what a replica or another pod holds on its node.

    Args:
        running: The replica or pod.
        roles: What one replica of a role takes, by gang and role.

    Raises:
        InvalidQuantity: A quantity cannot be read.
        KeyError: It names a gang or role that is not in ``roles``.
    """
    if running.gang is not None and running.role is not None:
        return roles[running.gang, running.role]
    return {**_parsed(running.requests), "pods": 1} if running.pod is None else pod_requests(running.pod)


def _parsed(requests: Mapping[str, str]) -> Amounts:
    return {
        name: parse_quantity(name, text, round_up=True) for name, text in requests.items() if name != "pods"
    }


def _container(container: Container) -> Amounts:
    """A limit without a request is a request."""
    return _parsed({**container.limits, **container.requests})


def _pod(pod: Pod) -> Amounts:
    beside: Amounts = {}  # sidecars that run so far
    peak: Amounts = {}  # the most that an init container needs, with the sidecars before it
    for container in pod.init_containers:
        together = _sum(beside, _container(container))
        peak = {name: max(peak.get(name, 0), together.get(name, 0)) for name in {*peak, *together}}
        if container.sidecar:
            beside = together
    total = beside
    for container in pod.containers:
        total = _sum(total, _container(container))
    largest = {name: max(total.get(name, 0), peak.get(name, 0)) for name in {*total, *peak}}
    return _sum(largest, _parsed(pod.overhead))


def _sum(left: Amounts, right: Amounts) -> Amounts:
    return {name: left.get(name, 0) + right.get(name, 0) for name in sorted({*left, *right})}
