"""launch_tfjob: start the admitted gang, follow it to its end, say honestly how it ended."""

import json
import logging
import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from gangplan.documents import encode, write_atomic
from gangplan.kube.task_config import TaskConfig, configured, see_that_it_keeps_the_place
from gangplan.kube.tensorboard_metadata import viewer_metadata
from gangplan.kube.tfjob import read
from gangplan.runtime import JobStatus
from gangplan.steps.outcome import ADMITTED, Outcome
from gangplan.steps.place import place_of
from gangplan.steps.process import step
from gangplan.steps.result import training_result
from gangplan.steps.run import Run, open_run

log = logging.getLogger(__name__)

REVISION = "GANGPLAN_REVISION"
"""Environment: git revision of the sources that an image was built from; the recipe in ``deploy/`` sets it."""

LOG_LINES = 400
"""Last lines of each replica's log that are kept in the artifact."""


@step
def launch_tfjob(
    *,
    run_id: str,
    job_name: str,
    volume: str,
    admitted: str,
    reason: str,
    job: str,
    model: str,
    model_metadata: dict[str, Any],
    status: str,
    logs: str,
    ui_metadata: str,
    task_config: TaskConfig | None = None,
) -> Outcome:
    """Run the job to its end.

    On one machine its processes and its room are given back whatever happens. On a cluster a step that is ended deletes
    nothing: started again, it goes on with its job.

    A gang that was not admitted is passed over. A failed job is an outcome, with the failed replica's last lines.

    Args:
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.
        admitted: Outcome of admit.
        reason: Reason of admit.
        job: Path of the TFJob manifest.
        model: Path to write: a JSON object that says where the model lies.
        model_metadata: Metadata of the model artifact, filled.
        status: Path to write: the job's status with all replicas.
        logs: Path to write: the last lines of every replica.
        ui_metadata: Path to write: how Kubeflow's pages start TensorBoard.
        task_config: What was set on the step: environment and volumes, for every replica.

    Returns:
        ``Succeeded``, ``Failed``, ``Canceled``, ``TimedOut`` or ``NotAdmitted``, and the reason.

    Raises:
        InvalidInput: What was set on the step decides where the gang has room, or the manifest says otherwise of the
            same; nothing was launched.
    """
    see_that_it_keeps_the_place(task_config)
    run = open_run(run_id, job_name, volume)
    with place_of(run) as place:
        if admitted != ADMITTED:
            ended, outcome = (
                JobStatus(name=place.gang, state="Canceled", reason=reason),
                Outcome(admitted, reason),
            )
        else:
            run.trained.mkdir(parents=True, exist_ok=True)
            manifest = configured(read(Path(job).read_text(encoding="utf-8")), task_config)
            write_atomic(Path(ui_metadata), encode(viewer_metadata(manifest, PurePosixPath(run.events))))
            log.info("event files: %s; to look at them now: gangplan tensorboard %s", run.events, place.gang)
            ended = place.launch(manifest, tell=log.info)
            outcome = Outcome(ended.state, ended.reason)
        write_atomic(Path(status), encode(ended, indent=2))
        write_atomic(Path(logs), "\n".join(log_tails(ended)).encode("utf-8", "replace"))
        facts = model_facts(run, ended)
        model_metadata.update(facts)
        write_atomic(Path(model), encode(facts, indent=2))
    return outcome


def log_tails(ended: JobStatus) -> Iterator[str]:
    """The last lines of every replica of a job, and what was noted about it."""
    for replica in ended.replicas:
        yield f"==== {replica.name} on {replica.node}: {replica.state}, exit code {replica.exit_code}"
        if replica.log is not None:
            with Path(replica.log).open(encoding="utf-8", errors="replace") as file:
                last = deque(file, LOG_LINES)
            yield from (line.rstrip("\n") for line in last)
    if ended.events:
        yield "==== events"
        yield from ended.events


def model_facts(run: Run, ended: JobStatus) -> dict[str, Any]:
    """Flat metadata: Kubeflow's pages show strings and numbers, and its metadata store wraps everything else."""
    facts: dict[str, Any] = {"tfjob": run.name, "tfjob_uid": ended.uid, "run_id": run.run_id}
    facts |= {"outcome": ended.state, "git_revision": os.environ.get(REVISION, "")}
    facts["placement"] = json.dumps({replica.name: replica.node for replica in ended.replicas})
    result = training_result(run)
    if ended.state == "Succeeded" and result:
        facts |= {"framework": "tensorflow", "framework_version": result.get("tensorflow", "")}
        facts |= {"path": str(run.trained / "model"), "events": str(run.events)}
        facts |= {key: value for key, value in result.items() if isinstance(value, str | int | float)}
    # The metadata store makes a number of a truth value.
    return {
        key: int(value) if isinstance(value, bool) else value for key, value in facts.items() if value != ""
    }
