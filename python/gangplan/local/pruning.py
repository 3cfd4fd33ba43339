"""Pruning on one machine: files of jobs that have ended go, and what is left of a run's processes is found."""

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from gangplan.errors import NotFound, StoreError
from gangplan.gangs import Orphan, Pruned
from gangplan.local.folder import JobFolder
from gangplan.local.survivors import survivors
from gangplan.record import GangRecord
from gangplan.runtime import FINAL


def job_folders(jobs: Path) -> Iterator[JobFolder]:
    """The folders of all jobs that ever ran here and still have one, by gang and run.

    Args:
        jobs: Folder of all of them.
    """
    for path in sorted(jobs.glob("*/*/status.json")):
        run = path.parent
        yield JobFolder(jobs, run.parent.name, run.name)


def old_folders(
    jobs: Path, records: Mapping[str, GangRecord], *, before: float
) -> Iterator[tuple[Pruned, JobFolder]]:
    """Folders of jobs that have ended and were not written to since a moment.

    Args:
        jobs: Folder of all of them.
        records: Gang → its record.
        before: Seconds since 1970.
    """
    for folder in job_folders(jobs):
        record = records.get(folder.gang)
        is_live = record is not None and record.run_id == folder.run_id and record.phase != "Finished"
        if is_live or not _has_ended(folder) or survivors(folder.run_id, folder.gang):
            continue
        at = max(path.stat().st_mtime for path in folder.path.iterdir())
        if at < before:
            name = f"{folder.gang}/{folder.run_id}"
            yield Pruned(kind="job files", name=name, at=at, path=str(folder.path)), folder


def remove(folder: JobFolder) -> None:
    """Remove a job's files; its name is free again.

    Raises:
        OSError: They cannot be removed.
    """
    with suppress(NotFound, StoreError):
        if JobFolder.find(folder.path.parents[1], folder.gang).run_id == folder.run_id:
            folder.release()
    shutil.rmtree(folder.path)
    with suppress(OSError):  # other runs are there
        folder.path.parent.rmdir()


def left_processes(
    folders: Iterable[JobFolder], records: Mapping[str, GangRecord]
) -> Iterator[tuple[Orphan, JobFolder]]:
    """Processes of jobs that have ended, which nobody will end any more."""
    for folder in folders:
        record = records.get(folder.gang)
        if record is not None and record.run_id == folder.run_id and record.phase != "Finished":
            continue
        if _has_ended(folder) and (left := survivors(folder.run_id, folder.gang)):
            numbers = ", ".join(str(identity.pid) for identity in left)
            reason = f"run {folder.run_id} has ended, and has left processes: {numbers}"
            yield Orphan(name=folder.gang, kind="processes", reason=reason, job=True), folder


def _has_ended(folder: JobFolder) -> bool:
    """Whether a job is over; not known of one whose status cannot be read."""
    try:
        return folder.read().state in FINAL
    except StoreError:
        return False
