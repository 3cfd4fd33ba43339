"""Runs and their steps as the server of Kubeflow tells them; nothing here asks it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

ENDED = frozenset({"SUCCEEDED", "FAILED", "CANCELED", "SKIPPED"})
"""States in which nothing more happens."""

_WRAPPERS = re.compile(r"root|executor|.*-driver|exit-handler-\d+|condition(-branches)?-\d+|for-loop-\d+")
_ATTEMPT = re.compile(r"\(\d+\)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of a run.

    Attributes:
        name: Its name in the pipeline: ``launch-tfjob``.
        state: As Kubeflow says it: ``RUNNING``, ``SUCCEEDED``, ``FAILED``, …
        begun: Since when it runs; None: the server does not say.
        ended: When it ended; None: it has not.
        pods: Names under which the server may know its log, the newest last.
        reason: What the server says about its failure; empty: nothing.
    """

    name: str
    state: str
    begun: datetime | None = None
    ended: datetime | None = None
    pods: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run.

    Attributes:
        id: Its id.
        name: Its display name.
        state: As Kubeflow says it: a run that somebody terminated is ``FAILED``.
        created: When it was created.
        finished: When it ended; None: it has not.
        reason: What the server says about its failure; empty: nothing.
        states: The states it was in, oldest first.
        steps: Its steps as they began; empty in lists.
    """

    id: str
    name: str
    state: str
    created: datetime | None = None
    finished: datetime | None = None
    reason: str = ""
    states: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()

    @property
    def has_ended(self) -> bool:
        """Whether nothing more happens."""
        return self.state in ENDED


def steps_of(nodes: Sequence[dict[str, Any]]) -> tuple[Step, ...]:
    """Find the steps among the nodes of a Workflow, as they began.

    Each step is several nodes: its driver, itself, its executor, and one more for each attempt; what groups steps is a
    node too, and so is the Workflow.

    Args:
        nodes: The run's ``task_details``.
    """
    by_pod = {node["pod_name"]: node for node in nodes if node.get("pod_name")}
    children = {
        node.get("pod_name"): [child["pod_name"] for child in node.get("child_tasks") or ()] for node in nodes
    }
    owned = {pod for pods in children.values() for pod in pods}
    found: dict[str, list[dict[str, Any]]] = {}
    for node in nodes:
        title = _ATTEMPT.sub("", node.get("display_name") or "")
        workflow = bool(owned) and bool(children[node.get("pod_name")]) and node["pod_name"] not in owned
        if title and not workflow and not _WRAPPERS.fullmatch(title):
            found.setdefault(title, []).append(node)
    return tuple(
        sorted(
            (_step(name, own, by_pod, children) for name, own in found.items()),
            key=lambda step: (step.begun.timestamp() if step.begun else float("inf"), step.name),
        )
    )


def _step(
    name: str,
    own: list[dict[str, Any]],
    by_pod: dict[str, dict[str, Any]],
    children: dict[str | None, list[str]],
) -> Step:
    whole = min(own, key=lambda node: len(node["display_name"]))
    leaves: list[str] = []
    seen: set[str] = set()
    open_ = [node["pod_name"] for node in own if node.get("pod_name")]
    while open_:
        pod = open_.pop(0)
        if pod in seen:
            continue
        seen.add(pod)
        below = [child for child in children.get(pod, []) if child in by_pod]
        mine = [
            child for child in below if _ATTEMPT.sub("", by_pod[child]["display_name"]) in {"executor", name}
        ]
        if not mine:
            leaves.append(pod)
        open_ += mine
    return Step(
        name=name,
        state=whole.get("state") or "PENDING",
        begun=whole.get("start_time") or whole.get("create_time"),
        ended=whole.get("end_time") if whole.get("state") in ENDED else None,
        pods=tuple(leaves),
        reason=((whole.get("error") or {}).get("message") or "").strip(),
    )
