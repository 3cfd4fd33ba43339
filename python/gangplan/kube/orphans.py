"""Orphans of a cluster: jobs and records that nobody looks after any more, and why that is certain.

What somebody may still look after is none: a launcher renews the room of its gang, who waits asks anew.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gangplan.gangs import Orphan
from gangplan.kube.gang_object import name_of
from gangplan.kube.launch import ending
from gangplan.kube.names import RUN_ID
from gangplan.kube.outcome import state_of
from gangplan.record import WAITING, GangRecord
from gangplan.store import Ending

Object = Mapping[str, Any]

SLACK_S = 60.0
"""Seconds by which clocks may differ, and a server be late."""


def find_orphans(
    records: Iterable[GangRecord], jobs: Iterable[Object], endings: Mapping[str, Ending], *, now: float
) -> Iterator[Orphan]:
    """Tell them by name, records first.

    Args:
        records: The records of all gangs in question.
        jobs: All TFJobs of the same namespaces.
        endings: How the jobs of bound gangs have ended.
        now: Seconds since 1970.
    """
    known = {record.name: record for record in records}
    ours = {
        name_of(job): job for job in jobs if _run_of(job) and not job["metadata"].get("deletionTimestamp")
    }
    for name, record in sorted(known.items()):
        job = ours.get(name)
        job = job if job is not None and _run_of(job) == record.run_id else None
        if (why := _left_alone(record, endings.get(name), now)) is not None:
            is_over = record.phase == "Bound" or (job is not None and ending(job, ()) is not None)
            yield Orphan(name=name, kind="gang", reason=why, job=job is not None and not is_over)
    for name, job in sorted(ours.items()):
        if (why := _unowned(job, known.get(name))) is not None:
            yield Orphan(name=name, kind="TFJob", reason=why, job=True)


def _left_alone(record: GangRecord, ended: Ending | None, now: float) -> str | None:
    """Why nobody looks after a gang; None if somebody may."""
    if record.phase == "Bound" and ended is not None:
        return f"its job has ended while nobody looked: {ended.outcome}: {ended.reason}"
    if record.phase in WAITING and record.kept_until is not None and now > record.kept_until + SLACK_S:
        return f"nobody has asked for it any more for {now - record.kept_until:.0f} s"
    held = record.reservation
    if record.phase == "Reserved" and held is not None and held.expires_at is not None:
        over = now - held.expires_at
        if over > SLACK_S:
            return f"nobody has renewed its room, which was kept until {over:.0f} s ago: its launcher is gone"
    return None


def _unowned(job: Object, record: GangRecord | None) -> str | None:
    """Why a TFJob of a run of ours that has not ended holds room for nobody; None if it does for its gang."""
    if state_of(job) in {"Succeeded", "Failed"}:
        return None  # it waits for its time to live
    if record is None:
        return "it has no record: its room is nobody's"
    if record.run_id != _run_of(job):
        return f"it belongs to run {_run_of(job)}, and the gang of its name to run {record.run_id}"
    if record.phase == "Finished":
        return f"its gang has ended ({record.standing})"
    return None


def _run_of(job: Object) -> str:
    return str((job["metadata"].get("labels") or {}).get(RUN_ID, ""))
