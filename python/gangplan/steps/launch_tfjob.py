"""launch_tfjob: start the admitted gang, follow it to its end, say honestly how it ended."""

import contextlib
import itertools
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gangplan import admission
from gangplan.documents import encode, write_atomic
from gangplan.errors import Conflict
from gangplan.kube.left_out import not_done_here
from gangplan.kube.tfjob import job as describe
from gangplan.kube.tfjob import read
from gangplan.local.cluster import this_process
from gangplan.local.runtime import LocalRuntime
from gangplan.record import Outcome as End
from gangplan.runtime import FINAL, Job, JobStatus
from gangplan.steps.outcome import ADMITTED, Outcome
from gangplan.steps.process import step
from gangplan.steps.result import training_result
from gangplan.steps.run import Run, clock, cluster_view, local_runtime, open_run

log = logging.getLogger(__name__)

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
) -> Outcome:
    """Run the job to its end; its processes and its room are given back whatever happens.

    A gang that was not admitted is passed over. A failed job is an outcome, with the failed replica's last lines.

    Args:
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Mount path of the shared volume; empty: the local one.
        admitted: Outcome of admit.
        reason: Reason of admit.
        job: Path of the TFJob manifest.
        model: Path to write: a JSON object that says where the model lies.
        model_metadata: Metadata of the model artifact, filled.
        status: Path to write: the job's status with all replicas.
        logs: Path to write: the last lines of every replica.

    Returns:
        ``Succeeded``, ``Failed``, ``Canceled``, ``TimedOut`` or ``NotAdmitted``, and the reason.
    """
    run = open_run(run_id, job_name, volume)
    if admitted != ADMITTED:
        ended, outcome = JobStatus(name=run.name, state="Canceled", reason=reason), Outcome(admitted, reason)
    else:
        ended = _run(run, Path(job).read_text(encoding="utf-8"))
        outcome = Outcome(ended.state, ended.reason)
    write_atomic(Path(status), encode(ended, indent=2))
    write_atomic(Path(logs), "\n".join(_log_tails(ended)).encode("utf-8", "replace"))
    facts = _model_facts(run, ended)
    model_metadata.update(facts)
    write_atomic(Path(model), encode(facts, indent=2))
    return outcome


def _run(run: Run, manifest_text: str) -> JobStatus:
    store = run.store()
    with store.leadership():
        admission.run_settle(store, cluster_view(store).gone, now=clock(), terms=run.settings.terms)
    record = store.get(run.name)
    if record is None or record.reservation is None or record.run_id != run.run_id:
        found = "it has no record" if record is None else f"it is {record.phase}: {record.reason}"
        return JobStatus(name=run.name, state="Failed", reason=f"the gang holds no room any more: {found}")
    run.trained.mkdir(parents=True, exist_ok=True)
    placement = {role: tuple(nodes) for role, nodes in record.reservation.placement.items()}
    manifest = read(manifest_text)
    for sentence in not_done_here(manifest):
        log.warning("left out on this machine: %s", sentence)
    described = describe(manifest, run_id=run.run_id, placement=placement, env={})
    end: End = "Failed"
    why = "the launch step ended before the job did"
    try:
        ended = _follow(run, described)
        assert ended.state in FINAL, "wait without a time limit ends with the job"
        end, why = ended.state, ended.reason  # type: ignore[assignment]  # narrowed by FINAL
    except Conflict as error:
        ended = JobStatus(name=run.name, state="Failed", reason=str(error))
        why = str(error)
    except BaseException as error:
        end = "Failed" if isinstance(error, Exception) else "Canceled"
        why = f"the launch step ended with {type(error).__name__}: {error}".rstrip(": ")
        raise
    finally:
        admission.finish(store, run.name, run_id=run.run_id, outcome=end, reason=why, now=clock())
    return ended


def _follow(run: Run, described: Job) -> JobStatus:
    with local_runtime(run.settings) as runtime:
        admission.hand_over(run.store(), run.name, run_id=run.run_id, owner=this_process())
        runtime.submit(described)
        admission.bind(run.store(), run.name, run_id=run.run_id, now=clock(), owner=this_process())
        seen: dict[str, str] = {}

        def tell(status: JobStatus) -> None:
            for replica in status.replicas:
                state = (
                    replica.state if replica.exit_code is None else f"{replica.state} ({replica.exit_code})"
                )
                if seen.get(replica.name) != state:
                    log.info("%s on %s: %s", replica.name, replica.node, state)
                seen[replica.name] = state

        with _echo(runtime, described):
            return runtime.wait(run.name, on_change=tell)


@contextlib.contextmanager
def _echo(runtime: LocalRuntime, described: Job) -> Iterator[None]:
    """Repeat what the leading replica prints in the step's own log, while the job runs."""
    names = [replica.name for replica in described.replicas]
    leader = next((name for name in ("chief-0", "worker-0") if name in names), names[0])

    def follow() -> None:
        for line in runtime.logs(described.name, leader, follow=True):
            log.info("%s | %s", leader, line)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join(timeout=2.0)


def _log_tails(ended: JobStatus) -> Iterator[str]:
    for replica in ended.replicas:
        yield f"==== {replica.name} on {replica.node}: {replica.state}, exit code {replica.exit_code}"
        if replica.log is not None:
            with Path(replica.log).open(encoding="utf-8", errors="replace") as file:
                lines = [line.rstrip("\n") for line in file]
            yield from itertools.islice(lines, max(0, len(lines) - LOG_LINES), None)


def _model_facts(run: Run, ended: JobStatus) -> dict[str, Any]:
    """Flat metadata: the UI shows strings and numbers."""
    facts: dict[str, Any] = {"tfjob": run.name, "run_id": run.run_id, "outcome": ended.state}
    facts["placement"] = encode({replica.name: replica.node for replica in ended.replicas}).decode()
    result = training_result(run)
    if ended.state == "Succeeded" and result:
        facts |= {"path": str(run.trained / "model"), "events": str(run.trained / "events")}
        facts |= {key: value for key, value in result.items() if isinstance(value, str | int | float | bool)}
    return facts
