"""What a run produced: the training program's files on the volume, and the run's result for programs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gangplan.errors import InvalidInput, Problem
from gangplan.steps.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a run with several gangs found out.

    Attributes:
        header: Column titles of its table.
        rows: The rows, each as long as the header.
        metrics: Figures by name.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    metrics: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How a run on this machine ended.

    Attributes:
        run_id: Id of the run; empty if no step got as far.
        gang: Name of its gang.
        outcome: ``Succeeded``, ``Failed``, ``Canceled``, ``TimedOut``, ``NotAdmitted``, or ``Error`` where a step
            could not do its work.
        reason: Why, in a sentence or a few lines.
        error: Class of the error with ``Error``, if it is one of gangplan's: ``InvalidInput``.
        accuracy: On images that were never trained on, from 0 to 1; None if nothing was judged.
        replicas: Role, index, node, pid, exit_code, log of each replica.
        model: Folder of the saved model; None if there is none.
        events: Folder of the event files for TensorBoard; None if there are none.
        report: The HTML report; None if there is none.
        plan: The plan that admitted the gang, or refused it; None if it did not come to that.
        found: What a run with several gangs found out; None: it is no such run.
    """

    run_id: str = ""
    gang: str = ""
    outcome: str
    reason: str
    error: str = ""
    accuracy: float | None = None
    replicas: tuple[Mapping[str, Any], ...] = ()
    model: str | None = None
    events: str | None = None
    report: str | None = None
    plan: Mapping[str, Any] | None = None
    found: Found | None = None


def training_result(run: Run) -> dict[str, Any]:
    """The program's own result (accuracy, steps, images per second, versions, …); empty if it wrote none."""
    return _object(run, "result.json") or {}


def training_history(run: Run) -> list[dict[str, Any]]:
    """The training curve, a point every few steps with step, loss, accuracy, seconds; empty if there is none."""
    return _object(run, "history.json") or []


def _object(run: Run, name: str) -> Any:
    path = run.trained / name
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise InvalidInput([Problem(str(path), "MALFORMED_JSON", str(error))], "training result") from error
