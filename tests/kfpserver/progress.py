"""How a run goes on: one step of its pipeline at each look at it, so that no test waits for a clock."""

import uuid
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
    """

    fails: str = ""
    holds: str = ""
    logs: dict[str, str] = field(default_factory=dict)


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


def moment(seconds: int) -> str:
    """Some time after all began, as the server writes it."""
    return (BEGUN + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def task_details(run_id: str, workflow: str, progress: Progress) -> list[dict[str, Any]]:
    """Nodes of the Workflow as the server hands them on: driver, wrapper and executor of each step, and the DAGs."""

    def node(
        name: str, title: str, state: str, at: int, *children: str, parent: str | None = None
    ) -> dict[str, Any]:
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

    states = progress.states()
    nodes = [
        node(workflow, workflow, progress.state, 0, f"{workflow}-root"),
        node(f"{workflow}-root", "root", progress.state, 0, f"{workflow}-guard"),
        node(
            f"{workflow}-guard",
            "exit-handler-1",
            progress.state,
            0,
            *(f"{workflow}-{name}" for name in states),
        ),
    ]
    for at, (name, state) in enumerate(states.items(), start=1):
        own = f"{workflow}-{name}"
        nodes += [
            node(f"{own}-driver", f"{name}-driver", "SUCCEEDED", at * 10),
            node(own, name, state, at * 10, f"{own}-executor"),
            node(f"{own}-executor", "executor", state, at * 10),
        ]
    return nodes
