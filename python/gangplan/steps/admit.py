"""admit: enter the queue and wait until the whole gang may start."""

import logging
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gangplan import admission
from gangplan.closeness import Closeness
from gangplan.documents import encode, write_atomic
from gangplan.errors import Conflict, InvalidInput, Problem
from gangplan.kube.names import PREFERRED_LEVEL, PRIORITY, QUEUE, REQUIRED_LEVEL
from gangplan.kube.tfjob import gang, read, write
from gangplan.local.cluster import this_process
from gangplan.local.store import LocalStore
from gangplan.plan import Plan
from gangplan.record import GangRecord, new
from gangplan.record_snapshot import combine
from gangplan.report.explanation import explain
from gangplan.snapshot import Gang, Snapshot
from gangplan.steps.outcome import ADMITTED, NOT_ADMITTED, Outcome
from gangplan.steps.parameters import Checker
from gangplan.steps.process import run_owner, step
from gangplan.steps.run import Run, clock, cluster_view, open_run
from gangplan.steps.training import training_manifest
from gangplan.verdict import Verdict, wait

log = logging.getLogger(__name__)


@step
def admit(
    *,
    run_id: str,
    job_name: str,
    volume: str,
    wait_seconds: int,
    wait_if_impossible: bool,
    tfjob: str,
    job: str,
    snapshot: str,
    plan: str,
    text: str,
    **training: Any,
) -> Outcome:
    """Ask for the gang, run admission cycles until it is admitted or the time is over, and say which.

    An admitted gang holds its room for ``reservation_ttl_s``; on every other end it holds nothing.

    Args:
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Mount path of the shared volume; empty: the local one.
        wait_seconds: Seconds to wait for admission.
        wait_if_impossible: Wait although the gang cannot fit this cluster even when nothing runs.
        tfjob: A TFJob manifest as YAML to run instead of the training that the parameters describe; its name is
            replaced by the run's.
        job: Path to write: the TFJob manifest.
        snapshot: Path to write: the snapshot that the decision rests on.
        plan: Path to write: the plan.
        text: Path to write: the explanation, in Markdown.
        **training: The other parameters of :func:`gangplan.steps.training.training_manifest`.

    Returns:
        ``Admitted`` or ``NotAdmitted``, and the reason.

    Raises:
        InvalidInput: Parameters or manifest are wrong; nothing was asked for.
    """
    check = Checker()
    seconds = check.whole("gang_wait_seconds", wait_seconds, at_least=0)
    check.raise_if_any()
    run = open_run(run_id, job_name, volume)
    manifest = wanted_manifest(run, tfjob, training)
    write_atomic(Path(job), write(manifest).encode())

    store = run.store()
    now = clock()
    wanted = gang(manifest, created=int(now))
    view = cluster_view(store)
    check_names(wanted, view.snapshot())
    record = _enter(store, new(wanted, uid=str(uuid.uuid4()), run_id=run_id, now=now, owner=this_process()))
    verdict = wait(
        store,
        view,
        record,
        clock=clock,
        sleep=time.sleep,
        terms=run.settings.terms,
        deadline=now + seconds,
        poll_s=run.settings.poll_s,
        patient=wait_if_impossible,
        on_change=_tell,
    )
    if verdict.admitted:
        admission.hand_over(store, run.name, run_id=run_id, owner=run_owner())
    seen, decided = _decision(store, verdict, clock())
    write_atomic(Path(snapshot), encode(seen, indent=2))
    write_atomic(Path(plan), encode(decided, indent=2))
    write_atomic(Path(text), explain(run.name, seen, decided).as_markdown().encode())
    return Outcome(ADMITTED if verdict.admitted else NOT_ADMITTED, verdict.reason)


def wanted_manifest(run: Run, tfjob: str, training: Mapping[str, Any]) -> dict[str, Any]:
    """The TFJob to run: the user's own under the run's name, else the training that the parameters describe.

    Of the parameters, the user's own takes queue, priority and levels, where they are given.

    Raises:
        InvalidInput: Manifest or parameters are wrong; all problems are named.
    """
    if not tfjob.strip():
        return training_manifest(run, **training)
    manifest = read(tfjob, "tfjob_yaml")
    given = {
        QUEUE: training["queue"],
        PRIORITY: str(int(training["priority"])) if training["priority"] else "",
        REQUIRED_LEVEL: training["required_level"],
        PREFERRED_LEVEL: training["preferred_level"],
    }
    notes = (manifest["metadata"].get("annotations") or {}) | {
        key: value for key, value in given.items() if value
    }
    metadata = {**manifest["metadata"], "name": run.name, "annotations": notes}
    return read(write({**manifest, "metadata": metadata}), "tfjob_yaml")


def check_names(wanted: Gang, cluster: Snapshot) -> None:
    """See that the cluster knows the queue and the levels that a gang names.

    Raises:
        InvalidInput: It does not; those that it knows are named.
    """
    queue = wanted.queue
    problems = []
    if queue is not None and queue not in {known.name for known in cluster.queues}:
        known = ", ".join(sorted(item.name for item in cluster.queues)) or "none"
        problems.append(Problem("gang_queue", "UNKNOWN_NAME", f"there is no queue {queue!r}; known: {known}"))
    asked = wanted.topology or Closeness()
    for name, level in (("gang_required_level", asked.required), ("gang_preferred_level", asked.preferred)):
        if level is not None and level not in {*cluster.topology, "node"}:
            known = ", ".join([*cluster.topology, "node"])
            problems.append(Problem(name, "UNKNOWN_NAME", f"there is no level {level!r}; known: {known}"))
    if problems:
        raise InvalidInput(problems, "run parameters")


def _enter(store: LocalStore, record: GangRecord) -> GangRecord:
    """Create the record, or take over the one that an earlier attempt of this run left, with its place in the queue."""
    try:
        return store.create(record)
    except Conflict:
        found = store.get(record.name)
        if found is None or found.run_id != record.run_id:
            raise
        if found.phase == "Finished":
            store.remove(found)
            return store.create(record)
        return admission.hand_over(store, record.name, run_id=record.run_id, owner=record.owner)


def _tell(record: GangRecord) -> None:
    place = f" at position {record.position}" if record.position else ""
    log.info("%s: %s%s: %s", record.name, record.phase, place, record.reason)


def _decision(store: LocalStore, verdict: Verdict, now: float) -> tuple[Snapshot, Plan]:
    """The snapshot and plan that decided, also where another waiter ran the deciding cycle."""
    decision, record = verdict.decision, verdict.record
    if decision is not None and (not verdict.admitted or record.name in decision.plan.placements):
        return decision.snapshot, decision.plan
    others = [other for other in store.records() if other.name != record.name]
    waiting = replace(record, phase="Pending", reservation=None)
    placements = {record.name: record.reservation.placement} if record.reservation else {}
    snapshot = combine(cluster_view(store).snapshot(), [*others, waiting], now=now)
    return snapshot, Plan(placements=placements)
