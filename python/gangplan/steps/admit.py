"""admit: enter the queue and wait until the whole gang may start."""

import logging
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gangplan import admission
from gangplan.closeness import Closeness
from gangplan.documents import encode, write_atomic
from gangplan.errors import Conflict, InvalidInput, Problem
from gangplan.kube.names import PREFERRED_LEVEL, PRIORITY, QUEUE, REQUIRED_LEVEL
from gangplan.kube.progress import waiting
from gangplan.kube.task_config import TaskConfig, configured
from gangplan.kube.tfjob import read, write
from gangplan.kube.volumes import Mount, mounted, parse_mounts
from gangplan.plan import Plan
from gangplan.record import GangRecord, new
from gangplan.record_snapshot import combine
from gangplan.report.explanation import explain
from gangplan.snapshot import Gang, Snapshot
from gangplan.steps.outcome import ADMITTED, NOT_ADMITTED, Outcome
from gangplan.steps.parameters import Checker
from gangplan.steps.place import Place, place_of
from gangplan.steps.process import in_cluster, step
from gangplan.steps.run import Run, clock, open_run, see_that_it_is_mounted
from gangplan.steps.training import training_manifest
from gangplan.store import Cluster, ClusterView, Store
from gangplan.verdict import Verdict, wait

log = logging.getLogger(__name__)


@step
def admit(
    *,
    run_id: str,
    job_name: str,
    volume: str,
    volume_claim: str,
    wait_seconds: int,
    wait_if_impossible: bool,
    tfjob: str,
    job: str,
    snapshot: str,
    plan: str,
    text: str,
    task_config: TaskConfig | None = None,
    **training: Any,
) -> Outcome:
    """Ask for the gang, run admission cycles until it is admitted or the time is over, and say which.

    An admitted gang holds its room for ``reservation_ttl_s``; on every other end it holds nothing.

    Args:
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.
        volume_claim: On a cluster, the claim that every replica mounts there; empty: none.
        wait_seconds: Seconds to wait for admission.
        wait_if_impossible: Wait although the gang cannot fit this cluster even when nothing runs.
        tfjob: A TFJob manifest as YAML to run instead of the training that the parameters describe; its name is
            replaced by the run's.
        job: Path to write: the TFJob manifest.
        snapshot: Path to write: the snapshot that the decision rests on.
        plan: Path to write: the plan.
        text: Path to write: the explanation, in Markdown.
        task_config: What was set on the step, for the replicas.
        **training: The other parameters of :func:`gangplan.steps.training.training_manifest`.

    Returns:
        ``Admitted`` or ``NotAdmitted``, and the reason.

    Raises:
        InvalidInput: Parameters or manifest are wrong; nothing was asked for.
    """
    check = Checker()
    seconds = check.whole("gang_wait_seconds", wait_seconds, at_least=0)
    check.raise_if_any()
    see_that_it_is_mounted(volume)
    run = open_run(run_id, job_name, volume)
    mounts = mounts_of(volume, volume_claim)
    manifest = wanted_manifest(run, tfjob, training, mounts=mounts, config=task_config)
    write_atomic(Path(job), write(manifest).encode())
    with place_of(run) as place:
        now = clock()
        record = ask_for(place, run, manifest, now=now)
        verdict = wait_turn(
            place,
            run,
            record,
            deadline=now + seconds,
            patient=wait_if_impossible,
            tell=lambda line: log.info("%s", line),
        )
        seen, decided = _decision(place.store(), place.view(), verdict, clock())
    write_atomic(Path(snapshot), encode(seen, indent=2))
    write_atomic(Path(plan), encode(decided, indent=2))
    write_atomic(Path(text), explain(record.name, seen, decided).as_markdown().encode())
    return Outcome(ADMITTED if verdict.admitted else NOT_ADMITTED, verdict.reason)


def ask_for(
    place: Place, run: Run, manifest: Mapping[str, Any], *, now: float, seen: Cluster | None = None
) -> GangRecord:
    """Enter a gang into its queue, or take over what an earlier attempt of this run has entered.

    Args:
        place: Where it is to run.
        run: Its run.
        manifest: The TFJob.
        now: Seconds since 1970.
        seen: The cluster as it was seen lately; None: it is looked at.

    Raises:
        InvalidInput: It cannot run here, or names what the cluster does not know; nothing was asked for.
    """
    wanted = place.describe(manifest, now=now)
    check_names(wanted, seen or place.view().read())
    asked = new(wanted, uid=str(uuid.uuid4()), run_id=run.run_id, now=now, owner=place.asker())
    return _enter(place.store(), replace(asked, kept_until=place.kept_until(now)))


def wait_turn(
    place: Place,
    run: Run,
    record: GangRecord,
    *,
    deadline: float,
    patient: bool,
    tell: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> Verdict:
    """Run admission cycles until the gang is admitted, or will not be in time; then it holds nothing.

    Args:
        place: Where it is to run.
        run: Its run.
        record: Its record.
        deadline: When to give up, in seconds since 1970.
        patient: Wait although it cannot fit this cluster even when nothing runs.
        tell: Gets where it stands, as a line, whenever that changes.
        sleep: Waits the given seconds.
    """
    verdict = wait(
        place.store(),
        place.view(),
        record,
        clock=clock,
        sleep=sleep,
        terms=run.settings.terms,
        deadline=deadline,
        poll_s=place.poll_s,
        patient=patient,
        outlived=place.outlives_steps,
        on_change=lambda changed: tell(waiting(changed)),
        on_trouble=lambda error: log.warning("asking again: %s", error),
    )
    if verdict.admitted:
        place.admitted()
    return verdict


def mounts_of(volume: str, claim: str) -> tuple[Mount, ...]:
    """What every replica mounts, so that it sees the run's folder where the steps see it."""
    if not (in_cluster() and volume and claim):
        return ()
    return parse_mounts([f"{claim}:{volume}"], source="volume_claim")


def wanted_manifest(
    run: Run,
    tfjob: str,
    training: Mapping[str, Any],
    *,
    mounts: Sequence[Mount] = (),
    config: TaskConfig | None = None,
) -> dict[str, Any]:
    """The TFJob to run: the user's own under the run's name, else the training that the parameters describe.

    Of the parameters, the user's own takes queue, priority and levels, where they are given.

    Args:
        run: The run.
        tfjob: The user's own, as YAML; empty: there is none.
        training: The other parameters.
        mounts: What every replica mounts.
        config: What was set on the step, for the replicas.

    Raises:
        InvalidInput: Manifest or parameters are wrong; all problems are named.
    """
    if not tfjob.strip():
        if in_cluster() and not mounts:
            message = (
                "must name a claim: the replicas read their data from a volume that they share with the steps"
            )
            raise InvalidInput([Problem("volume_claim", "MISSING_FIELD", message)], "run parameters")
        return mounted(configured(training_manifest(run, **training), config), mounts, source="volume_claim")
    return own_tfjob(run, tfjob, training, mounts=mounts, config=config)


def own_tfjob(
    run: Run,
    tfjob: str,
    given: Mapping[str, Any],
    *,
    mounts: Sequence[Mount] = (),
    config: TaskConfig | None = None,
) -> dict[str, Any]:
    """The user's own TFJob under the run's name.

    Args:
        run: The run.
        tfjob: It, as YAML.
        given: Queue, priority and levels, which it takes where they are given.
        mounts: What every replica mounts.
        config: What was set on the step, for the replicas.

    Raises:
        InvalidInput: It is wrong; all problems are named.
    """
    manifest = read(tfjob, "tfjob_yaml")
    asked = {
        QUEUE: given["queue"],
        PRIORITY: str(int(given["priority"])) if given["priority"] else "",
        REQUIRED_LEVEL: given["required_level"],
        PREFERRED_LEVEL: given["preferred_level"],
    }
    notes = (manifest["metadata"].get("annotations") or {}) | {
        key: value for key, value in asked.items() if value
    }
    metadata = {**manifest["metadata"], "name": run.name, "annotations": notes}
    named = read(write({**manifest, "metadata": metadata}), "tfjob_yaml")
    return mounted(configured(named, config), mounts, source="volume_claim")


def check_names(wanted: Gang, cluster: Cluster) -> None:
    """See that the cluster knows the queue and the levels that a gang names.

    Raises:
        InvalidInput: It does not: those that it knows are named, or why it cannot be understood.
    """
    queue, snapshot, gaps = wanted.queue, cluster.snapshot, cluster.gaps
    problems = []
    if queue is not None and queue in gaps.queues:
        message = f"queue {queue} cannot be understood: {gaps.queues[queue]}"
        problems.append(Problem("gang_queue", "UNSUPPORTED", message))
    elif queue is not None and queue not in {known.name for known in snapshot.queues}:
        known = ", ".join(sorted(item.name for item in snapshot.queues)) or "none"
        problems.append(Problem("gang_queue", "UNKNOWN_NAME", f"there is no queue {queue!r}; known: {known}"))
    asked = wanted.topology or Closeness()
    for name, level in (("gang_required_level", asked.required), ("gang_preferred_level", asked.preferred)):
        if level is not None and level not in {*snapshot.topology, "node"}:
            known = gaps.levels or f"known: {', '.join([*snapshot.topology, 'node'])}"
            problems.append(Problem(name, "UNKNOWN_NAME", f"there is no level {level!r}; {known}"))
    if problems:
        raise InvalidInput(problems, "run parameters")


def _enter(store: Store, record: GangRecord) -> GangRecord:
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
        if found.owner == record.owner:
            return found
        return admission.hand_over(store, record.name, run_id=record.run_id, owner=record.owner)


def _decision(store: Store, view: ClusterView, verdict: Verdict, now: float) -> tuple[Snapshot, Plan]:
    """The snapshot and plan that decided, also where another waiter ran the deciding cycle."""
    decision, record = verdict.decision, verdict.record
    if decision is not None and (not verdict.admitted or record.name in decision.plan.placements):
        return decision.snapshot, decision.plan
    others = [other for other in store.records() if other.name != record.name]
    waits = replace(record, phase="Pending", reservation=None)
    placements = {record.name: record.reservation.placement} if record.reservation else {}
    cluster = view.read()
    snapshot = combine(cluster.snapshot, [*others, waits], now=now, members=cluster.members)
    return snapshot, Plan(placements=placements)
