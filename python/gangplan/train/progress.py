"""What a training tells while it goes on: lines in its log, event files, a history, at last a result."""

import json
import math
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import tensorflow as tf

from gangplan.errors import StoreError
from gangplan.train.words import say


class Progress:
    """The files that the leader of a job writes; every one is whole at any time.

    Args:
        out: Folder of the training's output.
        steps: Steps of the whole training.
        batch: Images of a step.
        first_step: Steps already done by an earlier start; later points of the history are dropped.

    Raises:
        StoreError: The folder cannot be written.
    """

    def __init__(self, out: Path, steps: int, batch: int, first_step: int = 0) -> None:
        self._out, self._steps, self._batch = out, steps, batch
        self._began = time.monotonic()
        self._points: list[dict[str, float]] = []
        self._before_s = 0.0
        self._told = (first_step, 0.0)
        if first_step:
            self._points = [point for point in read_history(out) if point["step"] <= first_step]
            self._before_s = self._points[-1]["seconds"] if self._points else 0.0
        write_json(out / "history.json", self._points)
        self._writer = tf.summary.create_file_writer(str(out / "events"))

    @property
    def seconds(self) -> float:
        """Seconds of training since this start."""
        return time.monotonic() - self._began

    def tell(self, step: int, loss: float, accuracy: float) -> None:
        """Tell how the last steps went."""
        say(f"step {step}/{self._steps} loss {loss:.3f} accuracy {accuracy:.3f}")
        now = self.seconds
        (before, then), self._told = self._told, (step, now)
        images_per_s = (step - before) * self._batch / max(now - then, 1e-6)
        seconds = round(self._before_s + now, 3)
        point = {"step": step, "loss": round(loss, 6), "accuracy": round(accuracy, 6), "seconds": seconds}
        self._points.append(point)
        write_json(self._out / "history.json", self._points)
        self._scalars(step, {"loss": loss, "accuracy": accuracy, "images_per_s": images_per_s})

    def tell_test(self, step: int, loss: float, accuracy: float) -> None:
        """Tell how well images are classified that were never trained on."""
        say(f"step {step}/{self._steps} test loss {loss:.3f} test accuracy {accuracy:.4f}")
        self._scalars(step, {"test_loss": loss, "test_accuracy": accuracy})

    def finish(self, result: dict[str, Any]) -> None:
        """Write the result; the training is over."""
        self._writer.close()
        write_json(self._out / "result.json", result)

    def _scalars(self, step: int, values: dict[str, float]) -> None:
        with self._writer.as_default(step=step):
            for name, value in values.items():
                tf.summary.scalar(name, value)
        self._writer.flush()


def read_history(out: Path) -> list[dict[str, float]]:
    """Give the points of the history, all finite; none if there is none that can be read."""
    try:
        points: list[dict[str, float]] = json.loads((out / "history.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [point for point in points if all(math.isfinite(value) for value in point.values())]


def forget(out: Path, *, resume: bool) -> None:
    """Remove what an earlier training left: its result always, the rest unless it is resumed."""
    (out / "result.json").unlink(missing_ok=True)
    if not resume:
        (out / "history.json").unlink(missing_ok=True)
        shutil.rmtree(out / "events", ignore_errors=True)
        shutil.rmtree(out / "model", ignore_errors=True)


def write_json(path: Path, document: Any) -> None:
    """Write a document, whole or not at all.

    Raises:
        StoreError: It cannot be written.
    """
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1, allow_nan=False)
            os.fchmod(file.fileno(), 0o644)
        Path(temporary).replace(path)
        temporary = None
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
