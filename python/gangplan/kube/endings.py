"""Endings: bound gangs whose TFJob has ended or is gone, for whom nobody may be there to say so."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gangplan.errors import Forbidden
from gangplan.kube.api import Api
from gangplan.kube.gang_object import name_of
from gangplan.kube.kinds import POD
from gangplan.kube.launch import ending
from gangplan.kube.names import JOB_NAME, RUN_ID
from gangplan.record import GangRecord, enter
from gangplan.store import Ending

Object = Mapping[str, Any]


def endings(api: Api, gangs: Iterable[Object], jobs: Iterable[Object]) -> Iterator[tuple[str, Ending]]:
    """Name of each such gang, and how its job ended.

    A gang of no run has no job of ours, and is passed over.

    Args:
        api: Is asked for the pods of jobs that have ended, which tell why.
        gangs: Gang objects.
        jobs: All TFJobs of the same moment.
    """
    known = {name_of(job): job for job in jobs}
    for gang in gangs:
        run = gang["spec"].get("runId")
        if not run or (gang.get("status") or {}).get("phase") != "Bound":
            continue
        if (end := _ending(api, known.get(name_of(gang)), run)) is not None:
            yield name_of(gang), end


def as_they_stand(api: Api, records: Iterable[GangRecord], jobs: Iterable[Object]) -> Iterator[GangRecord]:
    """Records as people are to see them: a bound gang whose job has ended has, though nobody has written it down yet.

    Args:
        api: Is asked for the pods of jobs that have ended, which tell why.
        records: Records of gangs.
        jobs: All TFJobs, of the same moment or a later one.
    """
    known = {name_of(job): job for job in jobs}
    for record in records:
        end = None
        if record.phase == "Bound" and record.run_id:
            end = _ending(api, known.get(record.name), record.run_id)
        yield record if end is None else over(record, end)


def over(record: GangRecord, end: Ending) -> GangRecord:
    """A bound gang as one that has ended; its history is what was written down."""
    ended = enter(record, "Finished", now=0.0, reason=end.reason, outcome=end.outcome, owner=record.owner)
    return replace(ended, history=record.history)


def _ending(api: Api, job: Object | None, run: str) -> Ending | None:
    """How the job of a bound gang has ended; None if it has not."""
    if job is None or (job["metadata"].get("labels") or {}).get(RUN_ID) != run:
        return Ending(outcome="Canceled", reason="the TFJob was deleted by somebody else")
    if ending(job, ()) is None:
        return None
    end = ending(job, _pods(api, job))
    assert end is not None, "pods only tell why"
    return Ending(outcome=end.outcome, reason=end.reason)


def _pods(api: Api, job: Object) -> tuple[Object, ...]:
    metadata = job["metadata"]
    try:
        return api.list(POD, namespace=metadata["namespace"], labels=f"{JOB_NAME}={metadata['name']}").items
    except Forbidden:  # who may look at gangs and jobs only is told what the operator says
        return ()
