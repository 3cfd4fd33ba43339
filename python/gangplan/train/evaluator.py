"""The evaluator of a job: judges each checkpoint while the others train."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from gangplan.errors import StoreError
from gangplan.train.checkpoint import Copy
from gangplan.train.data import ImageData
from gangplan.train.words import say

_LOOK_S = 0.5
_STALE_S = 30.0
_BATCH = 1000


def judge(network: Any, data: ImageData) -> tuple[float, float]:
    """Give loss and accuracy on the images that are never trained on."""
    losses, right = 0.0, 0
    for begin in range(0, len(data.test_labels), _BATCH):
        labels = data.test_labels[begin : begin + _BATCH]
        logits = network(data.test_images[begin : begin + _BATCH], training=False)
        losses += float(tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)))
        right += int(np.sum(np.argmax(logits.numpy(), axis=1) == labels))
    return losses / len(data.test_labels), right / len(data.test_labels)


def follow(out: Path, data: ImageData, copy: Copy) -> None:
    """Judge checkpoints as they come, until the training has written its result.

    Writes event files to ``OUT/events/evaluator``.
    """
    result = out / "result.json"
    before, stale_until = _mark(result), time.monotonic() + _STALE_S
    writer = tf.summary.create_file_writer(str(out / "events" / "evaluator"))
    last = None
    while True:
        # A result that was there before us may be an earlier training's, which the leader is about to remove.
        mark = _mark(result)
        over = mark is not None and (mark != before or time.monotonic() > stale_until)
        latest = tf.train.latest_checkpoint(str(out / "checkpoints"))
        if latest is not None and latest != last:
            last = latest
            try:
                step = copy.restore(out / "checkpoints")
            except StoreError:  # it was replaced while we read it
                continue
            loss, accuracy = judge(copy.network, data)
            say(f"step {step} test loss {loss:.3f} test accuracy {accuracy:.4f}")
            with writer.as_default(step=step):
                tf.summary.scalar("evaluator_loss", loss)
                tf.summary.scalar("evaluator_accuracy", accuracy)
            writer.flush()
        elif over:
            return
        else:
            time.sleep(_LOOK_S)


def _mark(path: Path) -> tuple[int, int] | None:
    """Tell one version of a file from the next; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
