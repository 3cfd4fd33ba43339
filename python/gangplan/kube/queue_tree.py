"""The queues of a cluster: GangQueues, and Volcano's Queues where there is no GangQueue of that name.

What cannot be understood is left out with the reason, and so is all below it; the rest counts.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from gangplan import moments
from gangplan.documents import encode
from gangplan.errors import InvalidInput
from gangplan.kube.camel import from_map
from gangplan.kube.resources import GangQueueSpec
from gangplan.snapshot import Queue, Snapshot
from gangplan.solver import validate

ROOT = "root"
"""Volcano's queue above all others, which each of them names as its parent; it need not be there."""

_QUEUE_PATH = re.compile(r"\$\.queues\[(\d+)\]\.?(.*)")


def queues_of(
    own: Iterable[Mapping[str, Any]], volcano: Iterable[Mapping[str, Any]]
) -> tuple[tuple[Queue, ...], dict[str, str]]:
    """The queues that can be understood, and why the others cannot.

    Args:
        own: GangQueue objects.
        volcano: Queue objects of Volcano.
    """
    volcano = tuple(volcano)
    rooted = any(item["metadata"]["name"] == ROOT for item in volcano)
    found: dict[str, Queue] = {}
    left_out: dict[str, str] = {}
    for read, items in ((_of_volcano, volcano), (_own, own)):
        for item in items:
            name = item["metadata"]["name"]
            left_out.pop(name, None)
            found.pop(name, None)
            try:
                queue = read(item)
                orphan = read is _of_volcano and queue.parent == ROOT and not rooted
                found[name] = replace(queue, parent=None) if orphan else queue
            except InvalidInput as error:
                left_out[name] = _first(error)
    return _sound(found, left_out), left_out


def _own(item: Mapping[str, Any]) -> Queue:
    spec = from_map(GangQueueSpec, item["spec"])
    return Queue(
        name=item["metadata"]["name"],
        created=_created(item),
        parent=spec.parent,
        priority=spec.priority,
        limit=spec.limit,
        open=spec.open,
        weight=spec.weight,
        deserved=spec.deserved,
        guarantee=spec.guarantee,
    )


def _of_volcano(item: Mapping[str, Any]) -> Queue:
    """A Queue of Volcano; whether it is reclaimable is nothing that is asked here."""
    spec = item.get("spec") or {}
    guarantee = (spec.get("guarantee") or {}).get("resource")
    said = {
        "parent": spec.get("parent") or None,
        "priority": spec.get("priority") or 0,
        "limit": spec.get("capability") or {},
        "weight": 1 if spec.get("weight") is None else spec["weight"],
        "deserved": spec.get("deserved") or None,
        "guarantee": guarantee or {},
        "open": (item.get("status") or {}).get("state") not in {"Closed", "Closing"},
    }
    return from_map(Queue, said, name=item["metadata"]["name"], created=_created(item))


def _created(item: Mapping[str, Any]) -> int:
    return int(moments.seconds(item["metadata"]["creationTimestamp"]))


def _sound(found: Mapping[str, Queue], left_out: dict[str, str]) -> tuple[Queue, ...]:
    queues = tuple(found[name] for name in sorted(found))
    while problems := validate("snapshot", encode(Snapshot(queues=queues))):
        wrong: dict[str, list[str]] = defaultdict(list)
        for problem in problems:
            match = _QUEUE_PATH.fullmatch(problem.path)
            if match is None:
                raise InvalidInput(problems, "queues")
            queue = queues[int(match[1])]
            if match[2] == "parent" and queue.parent in left_out:
                text = f"its parent {queue.parent} cannot be understood: {left_out[queue.parent]}"
            else:
                text = f"{match[2]}: {problem.message}" if match[2] else problem.message
            wrong[queue.name].append(text)
        left_out |= {name: "; ".join(texts) for name, texts in wrong.items()}
        queues = tuple(queue for queue in queues if queue.name not in wrong)
    return queues


def _first(error: InvalidInput) -> str:
    problem = error.problems[0]
    return f"{problem.path}: {problem.message}"
