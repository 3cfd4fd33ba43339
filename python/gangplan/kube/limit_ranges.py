"""What LimitRanges of a namespace allow of its pods; one that asks for else is refused, but only once its job is made.

They are read and judged here, because who submits need not be allowed to make pods, and so may not try one either.

https://kubernetes.io/docs/concepts/policy/limit-range/
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from gangplan.errors import Forbidden, InvalidInput, InvalidQuantity, Problem
from gangplan.kube.api import Api, Object
from gangplan.kube.kinds import LIMIT_RANGE
from gangplan.kube.paths import below
from gangplan.kube.submission import Submission
from gangplan.solver import format_quantity, parse_quantity

Amounts = dict[str, int]
RATIO = "maxLimitRequestRatio"
THOUSAND = 1_000
"""A ratio may be a fraction: it is read in thousandths, as cores are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What one LimitRange says of one kind of thing.

    Attributes:
        name: Name of the LimitRange.
        of: Of each container, or of the containers of each pod together.
        said: Its fields as they are written: ``min``, ``max``, ``default``, … → resource → quantity.
    """

    name: str
    of: Literal["Container", "Pod"]
    said: Mapping[str, Mapping[str, Any]]

    def amount(self, field: str, resource: str) -> int | None:
        """What a field says of a resource, in its units, a ratio in thousandths; None: nothing."""
        text = self.said[field].get(resource)
        if text is None:
            return None
        unit = "cpu" if field == RATIO else resource
        return parse_quantity(unit, str(text), round_up=field == "min")

    def told(self, resource: str) -> str:
        """All that it says of a resource."""
        fields = [
            f"{field} {amounts[resource]}" for field, amounts in self.said.items() if resource in amounts
        ]
        return f"the LimitRange {self.name} has for each {self.of.lower()} {', '.join(fields)}"


def rules_of(ranges: Sequence[Object]) -> tuple[Rule, ...]:
    """What LimitRanges say of containers and pods, with the defaults that the server derives."""
    found = []
    for each in ranges:
        for item in (each.get("spec") or {}).get("limits") or ():
            if (of := item.get("type")) not in ("Container", "Pod"):
                continue
            fields = ("min", "max", RATIO, "default", "defaultRequest")
            said = {field: dict(item.get(field) or {}) for field in fields}
            if of == "Container":
                said["default"] = {**said["max"], **said["default"]}
                said["defaultRequest"] = {**said["min"], **said["default"], **said["defaultRequest"]}
            found.append(Rule(name=each["metadata"]["name"], of=of, said=said))
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """A resource of which a container asks for what its namespace does not allow.

    Attributes:
        what: Which of both is wrong.
        resource: The resource.
        edge: The least or the most that is allowed; ``given``: it must be said at all.
        amount: That least or most, in units of the resource.
        message: What it must be, and why.
    """

    what: Literal["requests", "limits"]
    resource: str
    edge: Literal["least", "most", "given"]
    amount: int
    message: str


def breaches(pod: Mapping[str, Any], container: Mapping[str, Any], rules: Sequence[Rule]) -> Iterator[Breach]:
    """What rules do not allow of a container; where they are about its pod, of its share in it.

    Amounts that are no quantities are passed over: the rules of documents name them.

    Args:
        pod: The pod's spec.
        container: The container, one of the pod's.
        rules: The rules of its namespace.
    """
    own = _amounts(container, rules)
    others = [_amounts(other, rules) for other in pod.get("containers") or () if other is not container]
    for rule in rules:
        for resource in sorted({resource for amounts in rule.said.values() for resource in amounts}):
            beside = others if rule.of == "Pod" else []
            request, limit = (
                _Share(
                    own=own[side].get(resource),
                    others=tuple(other[side][resource] for other in beside if resource in other[side]),
                )
                for side in (0, 1)
            )
            yield from _of_resource(rule, resource, request, limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Share:
    """What a container asks for, None: nothing, beside what others do that are judged together with it."""

    own: int | None
    others: tuple[int, ...]

    @property
    def total(self) -> int | None:
        """All together; None: nobody asks for any."""
        return sum(self.others, self.own or 0) if self.others or self.own is not None else None

    def left(self, total: int) -> int:
        """Of a total what is the container's."""
        return total - sum(self.others)


def _of_resource(rule: Rule, resource: str, request: _Share, limit: _Share) -> Iterator[Breach]:
    """What a rule does not allow of what a container asks for."""
    least, most, ratio = (rule.amount(field, resource) for field in ("min", "max", RATIO))

    def breach(what: Literal["requests", "limits"], edge: Literal["least", "most"], amount: int) -> Breach:
        found = (request if what == "requests" else limit).own
        is_told = "and is not given" if found is None else f"not {format_quantity(resource, found)}"
        message = f"must be at {edge} {format_quantity(resource, amount)}, {is_told}: {rule.told(resource)}"
        return Breach(what=what, resource=resource, edge=edge, amount=amount, message=message)

    if limit.total is None:
        if ratio or most is not None:
            message = f"must be given: {rule.told(resource)}"
            yield Breach(what="limits", resource=resource, edge="given", amount=0, message=message)
            return
    elif limit.own is not None and most is not None and limit.total > most:
        yield breach("limits", "most", max(0, limit.left(most)))
        return
    elif limit.own is not None and least is not None and limit.total < least:
        yield breach("limits", "least", limit.left(least))
        return
    if request.own is not None and limit.own is not None and request.own > limit.own:
        if resource in rule.said["default"]:  # else it is the job's own limit, which is judged elsewhere
            yield breach("requests", "most", limit.own)
        return
    if most is not None and (request.total or 0) > most:
        yield breach("requests", "most", max(0, request.left(most)))
        return
    low = least or 0
    if ratio:
        low = max(low, -(-(limit.total or 0) * THOUSAND // ratio))
    if low > (request.total or 0):
        yield breach("requests", "least", request.left(low))


def _amounts(container: Mapping[str, Any], rules: Sequence[Rule]) -> tuple[Amounts, Amounts]:
    """Requests and limits of a container as the server completes them."""
    said = container.get("resources") or {}
    limits = dict(said.get("limits") or {})
    requests = {**limits, **(said.get("requests") or {})}
    for rule in rules:
        limits = {**rule.said["default"], **limits}
        requests = {**rule.said["defaultRequest"], **requests}
    return _units(requests), _units(limits)


def _units(amounts: Mapping[str, Any]) -> Amounts:
    found = {}
    for resource, text in amounts.items():
        with suppress(InvalidQuantity):
            found[resource] = parse_quantity(resource, str(text), round_up=True)
    return found


def see_that_limits_allow(api: Api, wanted: Submission) -> None:
    """See that the LimitRanges of the namespace allow the pods of a job.

    Who may not read them finds out when the pods are made.

    Raises:
        InvalidInput: They do not; every place is named.
    """
    try:
        rules = rules_of(api.list(LIMIT_RANGE, namespace=wanted.namespace).items)
    except Forbidden:
        return
    if problems := sorted(set(_problems(wanted.manifest, rules))):
        raise InvalidInput(problems, f"TFJob {wanted.name}, by the LimitRanges of {wanted.namespace}")


def _problems(manifest: Mapping[str, Any], rules: Sequence[Rule]) -> Iterator[Problem]:
    for kind, spec in manifest["spec"]["tfReplicaSpecs"].items():
        pod = spec["template"]["spec"]
        for field in ("initContainers", "containers"):
            judged = [rule for rule in rules if field == "containers" or rule.of == "Container"]
            for place, container in enumerate(pod.get(field) or ()):
                path = f"{below('$.spec.tfReplicaSpecs', kind)}.template.spec.{field}[{place}].resources"
                for breach in breaches(pod, container, judged):
                    by_file = breach.what == "limits" and "/" not in breach.resource
                    message = breach.message + ("; flags cannot say it, a file can" if by_file else "")
                    where = below(f"{path}.{breach.what}", breach.resource)
                    yield Problem(where, "CONTRADICTION", message)


def least_of(rules: Sequence[Rule], amounts: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The resources of a container that asks for as little as rules allow.

    Args:
        rules: The rules of its namespace; what they say nothing of has no limit.
        amounts: Resource → quantity that it asks for where nothing forbids it.
    """
    said = {resource for rule in rules for amounts in rule.said.values() for resource in amounts}
    requests, limits = dict(amounts), {}
    for resource in sorted(said):
        if "/" in resource:
            continue  # a device: nothing is asked for
        least = [parse_quantity(resource, amounts.get(resource, "1"), round_up=True)]
        least += [amount for rule in rules if (amount := rule.amount("min", resource)) is not None]
        # A limit that is the request is a ratio of one, and no default's.
        requests[resource] = limits[resource] = format_quantity(resource, max(least))
    return {"requests": requests, "limits": limits}
