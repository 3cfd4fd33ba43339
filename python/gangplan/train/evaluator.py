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
    writer = tf.summary.create_file_writer(str(out / "events" / "evaluator"))
    last = None
    while True:
        over = (out / "result.json").exists()
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
