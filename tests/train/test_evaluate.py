"""What is said about a model agrees with scikit-learn, and a model that cannot be judged is refused."""

from itertools import pairwise

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, log_loss, roc_curve

from gangplan.errors import InvalidInput
from gangplan.train.data import load
from gangplan.train.evaluate import _roc, evaluate
from gangplan.train.network import build, export


@pytest.fixture(scope="module")
def data():
    return load("digits")


@pytest.fixture(scope="module")
def model(data, tmp_path_factory):
    """An untrained network is wrong in many ways, which is good for comparing."""
    folder = tmp_path_factory.mktemp("model") / "model"
    export(build(data.image_shape, data.classes, seed=3), data.image_shape, folder)
    return folder


def test_the_numbers_are_those_of_scikit_learn(data, model):
    found = evaluate(model, data)
    serve = tf.saved_model.load(str(model)).signatures["serving_default"]
    probabilities = serve(images=tf.constant(data.test_images))["probabilities"].numpy()
    guessed = probabilities.argmax(axis=1)
    assert found.images == len(data.test_labels) == sum(map(sum, found.confusion))
    assert found.accuracy == pytest.approx(np.mean(guessed == data.test_labels))
    assert found.loss == pytest.approx(log_loss(data.test_labels, probabilities), rel=1e-5)
    assert np.array_equal(found.confusion, confusion_matrix(data.test_labels, guessed, labels=range(10)))
    assert [score.right for score in found.classes] == np.diag(found.confusion).tolist()
    assert sum(score.images for score in found.classes) == sum(score.predicted for score in found.classes)
    assert (
        found.signature == "images: float32 (any x 8 x 8 x 1) in [0, 1] -> probabilities: float32 (any x 10)"
    )
    assert found.data_digest == f"sha256:{data.digest}"


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(2, 5), st.booleans())
def test_every_point_of_the_curve_is_one_of_scikit_learns(seed, images, classes, coarse):
    """Coarse probabilities have many equal ones: a threshold takes all of them or none."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, images)
    probabilities = rng.dirichlet(np.ones(classes), images)
    if coarse:
        probabilities = np.round(probabilities * 4) / 4
    truth = np.eye(classes)[labels]
    false, true, thresholds = roc_curve(truth.ravel(), probabilities.ravel(), drop_intermediate=False)
    theirs = dict(zip(thresholds.tolist(), zip(false.tolist(), true.tolist(), strict=True), strict=True))
    ours = _roc(probabilities, labels)
    assert (ours[0].false_positive_rate, ours[0].true_positive_rate) == (0, 0)
    assert (ours[-1].false_positive_rate, ours[-1].true_positive_rate) == (1, 1)
    for point in ours[1:]:
        assert (point.false_positive_rate, point.true_positive_rate) == pytest.approx(theirs[point.threshold])
    for one, other in pairwise(ours):
        assert one.threshold > other.threshold
        assert one.false_positive_rate <= other.false_positive_rate
        assert one.true_positive_rate <= other.true_positive_rate
    assert len(ours) <= 103


def test_models_that_cannot_be_judged_are_refused(data, model, tmp_path):
    for folder, message in (
        (tmp_path, "is not a readable SavedModel"),
        (tmp_path / "none", "is not a readable SavedModel"),
    ):
        with pytest.raises(InvalidInput, match=message):
            evaluate(folder, data)
    export(build((4, 4, 1), 10, seed=0), (4, 4, 1), tmp_path / "small")
    with pytest.raises(InvalidInput, match="takes images of shape"):
        evaluate(tmp_path / "small", data)
    export(build((8, 8, 1), 7, seed=0), (8, 8, 1), tmp_path / "seven")
    with pytest.raises(InvalidInput, match="knows 7 classes, the data set has 10"):
        evaluate(tmp_path / "seven", data)
    tf.saved_model.save(tf.Module(), str(tmp_path / "bare"))
    with pytest.raises(InvalidInput, match="has no signature"):
        evaluate(tmp_path / "bare", data)


def test_a_trained_model_and_its_event_files_tell_the_same_as_the_training(train, data):
    training = train("chief ps worker", "--data", "digits", "--epochs", "4")
    result = training.succeeds()
    found = evaluate(training.out / "model", data)
    assert found.accuracy == pytest.approx(result["accuracy"])
    assert found.loss == pytest.approx(result["loss"], rel=1e-4)
    assert found.data_digest == result["data_digest"]
    (events,) = (training.out / "events").iterdir()
    points = {}
    for event in tf.compat.v1.train.summary_iterator(str(events)):
        for value in event.summary.value:
            points.setdefault(value.tag, {})[event.step] = float(tf.make_ndarray(value.tensor))
    assert set(points) == {"loss", "accuracy", "test_loss", "test_accuracy", "images_per_s"}
    assert points["loss"] == pytest.approx(
        {point["step"]: point["loss"] for point in training.read("history.json")}, abs=1e-5
    )
    assert points["test_accuracy"][180] == pytest.approx(result["accuracy"], abs=1e-6)
