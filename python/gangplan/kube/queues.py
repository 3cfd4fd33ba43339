"""Setting a GangQueue: made or changed, unless the tree of queues would contradict itself."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from gangplan.documents import encode
from gangplan.errors import Conflict, InvalidInput, Problem
from gangplan.kube.api import Api, Object
from gangplan.kube.camel import camel, from_map, to_map
from gangplan.kube.kinds import GANG_QUEUE
from gangplan.kube.names import see_that_it_is_a_name
from gangplan.kube.paths import below
from gangplan.kube.resources import GangQueueSpec
from gangplan.snapshot import Queue, Snapshot
from gangplan.solver import parse_quantity, validate


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueChange:
    """What is to be different; what is not said stays.

    Attributes:
        parent: The queue above; empty: none. None: as it is.
        limit: Amounts by resource name; an empty one takes the resource out.
        deserved: In the same way; where no resource is left, nothing is said about it any more.
        guarantee: In the same way.
        weight: Its weight; None: as it is.
        priority: Its priority; None: as it is.
        open: Whether it admits; None: as it is.
    """

    parent: str | None = None
    limit: Mapping[str, str] = field(default_factory=dict)
    deserved: Mapping[str, str] = field(default_factory=dict)
    guarantee: Mapping[str, str] = field(default_factory=dict)
    weight: int | None = None
    priority: int | None = None
    open: bool | None = None

    def of(self, spec: GangQueueSpec) -> GangQueueSpec:
        """The queue as it is to be."""
        return replace(
            spec,
            parent=spec.parent if self.parent is None else self.parent or None,
            limit=_merged(spec.limit, self.limit),
            deserved=_merged(spec.deserved or {}, self.deserved) or None if self.deserved else spec.deserved,
            guarantee=_merged(spec.guarantee, self.guarantee),
            weight=spec.weight if self.weight is None else self.weight,
            priority=spec.priority if self.priority is None else self.priority,
            open=spec.open if self.open is None else self.open,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What became of a queue.

    Attributes:
        name: The queue.
        how: What was done, or would be.
        before: What it was; None if there was none.
        after: What it is.
    """

    name: str
    how: Literal["created", "changed", "unchanged"]
    before: GangQueueSpec | None
    after: GangQueueSpec


def set_queue(
    api: Api, name: str, change: QueueChange, *, dry_run: bool = False, before: Sequence[Problem] = ()
) -> Setting:
    """Make a queue or change one; what somebody else changes meanwhile is kept.

    Args:
        api: The API server.
        name: The queue.
        change: What is to be different.
        dry_run: Only say what would be done.
        before: What is wrong already; it is raised too.

    Raises:
        InvalidInput: Something was wrong already, no queue may have the name, an amount cannot be read, or the tree would contradict itself; every problem is named.
        ClusterError: The server does not allow it.
    """
    wrong = list(before)
    try:
        see_that_it_is_a_name(name, of="queue")
    except InvalidInput as error:
        wrong += error.problems
    while True:
        found = api.list(GANG_QUEUE).items
        setting = _setting(found, name, change, wrong)
        if dry_run or setting.how == "unchanged":
            return setting
        try:
            _write(api, setting, next((item for item in found if item["metadata"]["name"] == name), None))
        except Conflict:
            continue
        return setting


def _setting(found: Sequence[Object], name: str, change: QueueChange, wrong: Sequence[Problem]) -> Setting:
    specs = {item["metadata"]["name"]: from_map(GangQueueSpec, item["spec"]) for item in found}
    before = specs.pop(name, None)
    after = change.of(before or GangQueueSpec())
    old = _problems(specs, name, before)
    if problems := [*wrong, *(problem for problem in _problems(specs, name, after) if problem not in old)]:
        raise InvalidInput(problems, f"queue {name}")
    how: Literal["created", "changed", "unchanged"] = "created" if before is None else "changed"
    return Setting(name=name, how="unchanged" if before == after else how, before=before, after=after)


def _problems(
    others: Mapping[str, GangQueueSpec], name: str, spec: GangQueueSpec | None
) -> tuple[Problem, ...]:
    """What is wrong with the tree; a queue is told by its name."""
    specs = {**others, **({} if spec is None else {name: spec})}
    names = list(specs)
    queues = tuple(
        Queue(name=each, **{item.name: getattr(of, item.name) for item in fields(GangQueueSpec)})
        for each, of in specs.items()
    )
    found = tuple(
        replace(problem, path=re.sub(r"^\$\.queues\[(\d+)\]", lambda at: names[int(at[1])], problem.path))
        for problem in validate("snapshot", encode(Snapshot(queues=queues)))
    )
    return (
        found if spec is None else (*found, *_out_of_order(name, spec, {problem.path for problem in found}))
    )


def _out_of_order(name: str, spec: GangQueueSpec, wrong: AbstractSet[str]) -> Iterator[Problem]:
    """Amounts of a queue that contradict each other: what is kept free is deserved, and nothing passes the limit.

    Those at the paths that are wrong cannot be read, and are not compared.
    """
    amounts = {"guarantee": spec.guarantee, "deserved": spec.deserved or {}, "limit": spec.limit}
    for less, more in itertools.combinations(amounts, 2):
        for resource, text in sorted(amounts[less].items()):
            most = amounts[more].get(resource)
            if wrong & {below(f"{name}.{which}", resource) for which in (less, more)}:
                continue
            if most is not None and _units(resource, text) > _units(resource, most):
                message = f"must be at most the {more}, {most}, not {text}"
                yield Problem(below(f"{name}.{less}", resource), "CONTRADICTION", message)


def _units(resource: str, text: str) -> int:
    return parse_quantity(resource, text, round_up=False)


def _write(api: Api, setting: Setting, found: Object | None) -> None:
    if found is None:
        api.create(
            GANG_QUEUE,
            {
                "apiVersion": GANG_QUEUE.api_version,
                "kind": GANG_QUEUE.name,
                "metadata": {"name": setting.name},
                "spec": to_map(setting.after),
            },
        )
        return
    known = {camel(item.name) for item in fields(GangQueueSpec)}
    # Fields of a later version stay as they are.
    others = {key: value for key, value in found["spec"].items() if key not in known}
    api.replace(GANG_QUEUE, {**found, "spec": {**others, **to_map(setting.after)}})


def _merged(amounts: Mapping[str, str], change: Mapping[str, Any]) -> dict[str, str]:
    return {name: text for name, text in {**amounts, **change}.items() if text}
