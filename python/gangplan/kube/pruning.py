"""Pruning: finished gangs of a cluster, jobs that have outlived theirs, and logs that were kept here go, once they are old enough."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from gangplan import moments
from gangplan.gangs import Pruned
from gangplan.kube.actions import Object
from gangplan.kube.deletion import Deletion
from gangplan.kube.gang_object import name_of, split_name
from gangplan.kube.kept_log import kept_folder
from gangplan.kube.names import RUN_ID
from gangplan.kube.outcome import state_of
from gangplan.record import GangRecord


def old_gangs(
    records: tuple[GangRecord, ...],
    deletion: Deletion,
    *,
    before: float,
    dry_run: bool,
    tell: Callable[[str], None],
) -> Iterator[Pruned]:
    """Finished gangs that ended before a moment; each is deleted with its TFJob, if that has ended too.

    Args:
        records: The records of all gangs in question.
        deletion: Deletes them.
        before: Seconds since 1970.
        dry_run: Only tell them.
        tell: Gets what stays, and why.
    """
    for record in records:
        ended = record.finished_at
        if ended is None or ended >= before:
            continue
        if (why := deletion.goes_on(record)) is not None:
            tell(f"{record.name} stays: {why}")
            continue
        has_job = deletion.has_job(record)
        if not dry_run:
            deletion.run(record.name, progress=tell)
        yield Pruned(kind="gang", name=record.name, at=ended, job=has_job)


def old_jobs(
    jobs: Iterable[Object],
    records: Iterable[GangRecord],
    deletion: Deletion,
    *,
    before: float,
    dry_run: bool,
    tell: Callable[[str], None],
) -> Iterator[Pruned]:
    """TFJobs of runs of ours that ended before a moment and have outlived the records of their gangs.

    Args:
        jobs: All TFJobs of the namespaces in question.
        records: The records of all gangs there.
        deletion: Deletes them.
        before: Seconds since 1970.
        dry_run: Only tell them.
        tell: Gets what is waited for.
    """
    known = {record.name for record in records}
    for job in jobs:
        name, at = name_of(job), _ended_at(job)
        is_ours = bool((job["metadata"].get("labels") or {}).get(RUN_ID))
        if not is_ours or name in known or at is None or at >= before:
            continue
        if not dry_run:
            deletion.run(name, progress=tell)
        yield Pruned(kind="TFJob", name=name, at=at)


def _ended_at(job: Object) -> float | None:
    """When a TFJob ended; None: it has not, or does not tell."""
    state = state_of(job)
    if state not in {"Succeeded", "Failed"}:
        return None
    moved = (
        item.get("lastTransitionTime")
        for item in (job.get("status") or {}).get("conditions") or ()
        if item.get("type") == state
    )
    told = next(moved, None)
    return None if told is None else moments.seconds(told)


def old_logs(
    logs: Path, records: tuple[GangRecord, ...], *, namespace: str, before: float
) -> Iterator[tuple[Pruned, Path]]:
    """Folders of kept logs to which nothing was added since a moment, of jobs that have ended or are gone.

    Args:
        logs: Folder of all kept logs.
        records: The records of all gangs of the namespaces.
        namespace: Whose logs; empty: of all namespaces.
        before: Seconds since 1970.
    """
    live = {
        kept_folder(logs, *split_name(record.name), record.run_id)
        for record in records
        if record.phase != "Finished"
    }
    for folder in sorted(logs.glob(f"{namespace or '*'}/*-????????")):
        if not folder.is_dir() or folder in live:
            continue
        at = max((path.stat().st_mtime for path in (folder, *folder.iterdir())), default=0.0)
        if at < before:
            name = f"{folder.parent.name}/{folder.name}"
            yield Pruned(kind="kept logs", name=name, at=at, path=str(folder)), folder
