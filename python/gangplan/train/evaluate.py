"""How good a saved model is on images that it was not trained on."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from gangplan.errors import InvalidInput, Problem
from gangplan.train.data import ImageData
from gangplan.train.network import SIGNATURE, signature_text

_BATCH = 1000
_ROC_POINTS = 101


@dataclass(frozen=True, slots=True, kw_only=True)
class RocPoint:
    """One point of a curve of right against wrong alarms.

    Attributes:
        threshold: A class is called where its probability is at least this.
        false_positive_rate: Share of wrong (image, class) pairs that are called.
        true_positive_rate: Share of right (image, class) pairs that are called.
    """

    threshold: float
    false_positive_rate: float
    true_positive_rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassScore:
    """How one class fared.

    Attributes:
        label: The class.
        images: Test images of it.
        predicted: Images that were taken for it.
        right: Images of it that were taken for it.
    """

    label: int
    images: int
    predicted: int
    right: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What was found.

    Attributes:
        accuracy: Share of images whose most probable class is right.
        loss: Mean cross-entropy in nats.
        images: How many images were judged.
        confusion: A row per true class, a column per predicted class: numbers of images.
        classes: One score per class, by label.
        roc: One against the rest, all classes pooled (micro average); thresholds from above 1 down to 0, both
            rates from 0 to 1.
        signature: What the model takes and gives.
        data: Name of the data set.
        data_digest: Its digest.
    """

    accuracy: float
    loss: float
    images: int
    confusion: tuple[tuple[int, ...], ...]
    classes: tuple[ClassScore, ...]
    roc: tuple[RocPoint, ...]
    signature: str
    data: str
    data_digest: str


def evaluate(model_dir: Path, data: ImageData) -> Evaluation:
    """Judge a SavedModel on the test images of a data set.

    Args:
        model_dir: Folder of a model as :func:`gangplan.train.network.export` writes it.
        data: The data set.

    Raises:
        InvalidInput: The model cannot be read, or does not fit the images.
    """
    probabilities = _predict(model_dir, data)
    labels = data.test_labels
    predicted = np.argmax(probabilities, axis=1)
    confusion = np.zeros((data.classes, data.classes), dtype=np.int64)
    np.add.at(confusion, (labels, predicted), 1)
    of_truth = np.clip(probabilities[np.arange(len(labels)), labels], 1e-12, 1.0)
    return Evaluation(
        accuracy=float(np.mean(predicted == labels)),
        loss=float(-np.mean(np.log(of_truth))),
        images=len(labels),
        confusion=tuple(tuple(int(count) for count in row) for row in confusion),
        classes=tuple(
            ClassScore(
                label=label,
                images=int(confusion[label].sum()),
                predicted=int(confusion[:, label].sum()),
                right=int(confusion[label, label]),
            )
            for label in range(data.classes)
        ),
        roc=_roc(probabilities, labels),
        signature=signature_text(data.image_shape, data.classes),
        data=data.name,
        data_digest=f"sha256:{data.digest}",
    )


def _predict(model_dir: Path, data: ImageData) -> np.ndarray:
    def unusable(message: str) -> InvalidInput:
        return InvalidInput([Problem(str(model_dir), "BAD_VALUE", message)], "model")

    try:
        model: Any = tf.saved_model.load(str(model_dir))
    except (OSError, ValueError, tf.errors.OpError) as error:
        raise unusable(f"is not a readable SavedModel: {error}") from error
    serve = model.signatures.get(SIGNATURE)
    if serve is None:
        raise unusable(f"has no signature {SIGNATURE!r}")
    inputs = serve.structured_input_signature[1]
    wanted = inputs["images"].shape[1:] if "images" in inputs else None
    if wanted is None or tuple(wanted) != data.image_shape:
        raise unusable(f"takes images of shape {wanted}, the data set has {data.image_shape}")
    if "probabilities" not in serve.structured_outputs:
        raise unusable("gives no probabilities")
    parts = [
        serve(images=tf.constant(data.test_images[begin : begin + _BATCH]))["probabilities"].numpy()
        for begin in range(0, len(data.test_labels), _BATCH)
    ]
    probabilities = np.concatenate(parts).astype(np.float64)
    if probabilities.shape != (len(data.test_labels), data.classes):
        raise unusable(f"knows {probabilities.shape[1]} classes, the data set has {data.classes}")
    return probabilities


def _roc(probabilities: np.ndarray, labels: np.ndarray) -> tuple[RocPoint, ...]:
    """Pool all (image, class) pairs, and give the curve at thresholds spread evenly over its points."""
    positive = np.zeros(probabilities.shape, dtype=bool)
    positive[np.arange(len(labels)), labels] = True
    scores, truth = probabilities.ravel(), positive.ravel()
    order = np.argsort(-scores, kind="stable")
    scores, truth = scores[order], truth[order]
    true, false = np.cumsum(truth), np.cumsum(~truth)
    # A threshold takes all pairs of its score: only the last of equal scores is a point of the curve.
    points = np.flatnonzero(np.append(np.diff(scores) != 0, True))
    # Half of the points along each rate, so that the steep part is drawn as well as the flat one.
    chosen: set[int] = {int(points[0]), int(points[-1])}
    for rate in (true / true[-1], false / false[-1]):
        wanted = np.linspace(0, 1, _ROC_POINTS // 2)
        chosen.update(
            int(points[i]) for i in np.minimum(np.searchsorted(rate[points], wanted), len(points) - 1)
        )
    curve = [RocPoint(threshold=1.0 + float(scores[0]), false_positive_rate=0.0, true_positive_rate=0.0)]
    curve += [
        RocPoint(
            threshold=float(scores[i]),
            false_positive_rate=float(false[i] / false[-1]),
            true_positive_rate=float(true[i] / true[-1]),
        )
        for i in sorted(chosen)
    ]
    return tuple(curve)
