"""Endings: bound gangs whose TFJob has ended or is gone, for whom nobody may be there to say so."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gangplan.kube.api import Api
from gangplan.kube.gang_object import name_of
from gangplan.kube.kinds import POD
from gangplan.kube.launch import ending
from gangplan.kube.names import JOB_NAME, RUN_ID
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
        job = known.get(name_of(gang))
        if job is None or (job["metadata"].get("labels") or {}).get(RUN_ID) != run:
            yield name_of(gang), Ending(outcome="Canceled", reason="the TFJob was deleted by somebody else")
        elif ending(job, ()) is not None:
            end = ending(job, _pods(api, job))
            assert end is not None, "pods only tell why"
            yield name_of(gang), Ending(outcome=end.outcome, reason=end.reason)


def _pods(api: Api, job: Object) -> tuple[Object, ...]:
    metadata = job["metadata"]
    return api.list(POD, namespace=metadata["namespace"], labels=f"{JOB_NAME}={metadata['name']}").items
