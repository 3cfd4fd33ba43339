"""What the training program left on the volume."""

import json
from typing import Any

from gangplan.errors import InvalidInput, Problem
from gangplan.steps.run import Run


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
