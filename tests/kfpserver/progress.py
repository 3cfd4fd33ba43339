"""How a run goes on: one step of its pipeline at each look at it, so that no test waits for a clock."""

import uuid
import zlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

BEGUN = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)


@dataclass(kw_only=True)
class Plan:
    """What becomes of the runs that are created from now on.

    Attributes:
        fails: The step that fails, if one does.
        holds: The step that does not end by itself.
        logs: What steps print.
        lost: Whether the pods are gone, and what they printed with them.
        any_choice: Whether the server is too old to know of choices.
        unanswered: How many looks at the run are answered by whoever stands before the server.
    """

    fails: str = ""
    holds: str = ""
    logs: dict[str, str] = field(default_factory=dict)
    lost: bool = False
    any_choice: bool = False
    unanswered: int = 0


def order(spec: dict[str, Any]) -> list[str]:
    """Names of the steps as they start; what runs at the exit is last."""
    found: list[str] = []

    def enter(dag: dict[str, Any]) -> None:
        left = dict(dag["tasks"])
        while left:
            ready = [
                name for name, task in left.items() if not set(task.get("dependentTasks", [])) & left.keys()
            ]
            for name in ready:
                component = spec["components"][left.pop(name)["componentRef"]["name"]]
                enter(component["dag"]) if "dag" in component else found.append(name)

    enter(spec["root"]["dag"])
    return found


@dataclass(kw_only=True)
class Progress:
    """One run.

    Attributes:
        steps: Its steps as they start.
        plan: What is to become of it.
        at: How many steps have ended; -1 before the first look.
        state: As KFP says it.
        asked: Whether it was asked to terminate.
    """

    steps: list[str]
    plan: Plan
    at: int = -1
    state: str = "PENDING"
    asked: bool = False
    history: list[str] = field(default_factory=lambda: ["PENDING"])

    def look(self) -> None:
        """Go on by one step. A run that was told to terminate fails: no server has ever said CANCELED of it."""
        if self.state in {"SUCCEEDED", "FAILED"}:
            return
        if self.asked:
            self._become("FAILED")
            return
        if self.at < 0:
            self.at = 0
            return
        self._become("RUNNING")
        running = self.steps[self.at] if self.at < len(self.steps) else ""
        if running and running == self.plan.holds:
            return
        if running and running == self.plan.fails:
            self._become("FAILED")
            return
        self.at += 1
        if self.at > len(self.steps):
            self._become("SUCCEEDED")

    def _become(self, state: str) -> None:
        if state != self.state:
            self.state = state
            self.history.append(state)

    def states(self) -> dict[str, str]:
        """The state of each step that has begun."""
        done = dict.fromkeys(self.steps[: max(0, self.at)], "SUCCEEDED")
        if self.at >= 0 and self.at < len(self.steps):
            done[self.steps[self.at]] = "FAILED" if self.state == "FAILED" else "RUNNING"
        if self.state == "FAILED" and "release" in self.steps:
            done["release"] = "SUCCEEDED"
        return done if self.state != "PENDING" else {}


def node_id(workflow: str, name: str) -> str:
    """How Argo names a node: by its Workflow and a number."""
    return f"{workflow}-{zlib.crc32(name.encode())}"


def pod_name(workflow: str, name: str) -> str:
    """How Argo names the pod of a step: as its executor's node, with the name of the template between."""
    number = node_id(workflow, f"{name}.executor").rpartition("-")[2]
    return f"{workflow}-system-container-impl-{number}"


def moment(seconds: int) -> str:
    """Some time after all began, as the server writes it."""
    return (BEGUN + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def task_details(run_id: str, workflow: str, progress: Progress) -> list[dict[str, Any]]:
    """Nodes of the Workflow as the server hands them on: driver, wrapper and executor of each step, and the DAGs."""

    def node(name: str, title: str, state: str, at: int, *children: str) -> dict[str, Any]:
        told = {
            "run_id": run_id,
            "task_id": str(uuid.uuid5(uuid.NAMESPACE_OID, name)),
            "display_name": title,
            "create_time": moment(at),
            "start_time": moment(at),
            "state": state,
            "pod_name": name,
            "child_tasks": [{"pod_name": child} for child in children],
        }
        if state != "RUNNING":
            told["end_time"] = moment(at + 5)
        return told

    def own(name: str) -> str:
        return node_id(workflow, name)

    states = progress.states()
    nodes = [
        node(workflow, workflow, progress.state, 0, own("root")),
        node(own("root"), "root", progress.state, 0, own("guard")),
        node(own("guard"), "exit-handler-1", progress.state, 0, *(own(name) for name in states)),
    ]
    for at, (name, state) in enumerate(states.items(), start=1):
        nodes += [
            node(own(f"{name}-driver"), f"{name}-driver", "SUCCEEDED", at * 10),
            node(own(name), name, state, at * 10, own(f"{name}.executor")),
            node(own(f"{name}.executor"), "executor", state, at * 10),
        ]
    return nodes
