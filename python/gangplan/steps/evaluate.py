"""evaluate: how good the trained model is on images that it never saw."""

import logging
from pathlib import Path
from typing import Any

from gangplan.documents import encode, write_atomic
from gangplan.steps.outcome import SUCCEEDED
from gangplan.steps.process import step
from gangplan.steps.run import open_run

log = logging.getLogger(__name__)


@step
def evaluate(
    *,
    run_id: str,
    job_name: str,
    volume: str,
    trained: str,
    metrics: Any,
    classes: Any,
    evaluation: str,
) -> float:
    """Judge the model of a succeeded job; after any other outcome there is nothing to judge.

    Args:
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.
        trained: Outcome of launch_tfjob.
        metrics: KFP's Metrics artifact; gets accuracy, loss and the number of images.
        classes: KFP's ClassificationMetrics artifact; gets the confusion matrix and the ROC curve.
        evaluation: Path to write: all of it as JSON.

    Returns:
        The accuracy, from 0 to 1; -1 if there was nothing to judge.
    """
    run = open_run(run_id, job_name, volume)
    if trained != SUCCEEDED or not (run.trained / "model").exists():
        write_atomic(Path(evaluation), b"{}\n")
        log.info("nothing to evaluate: the job ended as %s", trained)
        return -1.0
    from gangplan.train.data import load
    from gangplan.train.evaluate import evaluate as judge

    data = load(str(run.data))
    found = judge(run.trained / "model", data)
    metrics.log_metric("accuracy", found.accuracy)
    metrics.log_metric("loss", found.loss)
    metrics.log_metric("images", found.images)
    names = [str(label) for label in range(data.classes)]
    classes.log_confusion_matrix(names, [list(row) for row in found.confusion])
    classes.log_roc_curve(
        [point.false_positive_rate for point in found.roc],
        [point.true_positive_rate for point in found.roc],
        [point.threshold for point in found.roc],
    )
    write_atomic(Path(evaluation), encode(found, indent=2))
    log.info("accuracy %.4f on %s images", found.accuracy, found.images)
    return found.accuracy
