"""Run many gangs at once in this process: admission cycles, a runtime that starts what is admitted, to the end of all."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from gangplan import admission
from gangplan.config import Terms
from gangplan.errors import Conflict
from gangplan.record import GangRecord, Owner, new
from gangplan.record import Outcome as End
from gangplan.runtime import FINAL, Job, JobStatus, Runtime
from gangplan.snapshot import Gang
from gangplan.store import ClusterView, Store

Placement = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A gang that is to run, and how.

    Attributes:
        gang: The gang.
        uid: Tells this request from an earlier one of the same name.
        job: Gives the job for a placement (role → nodes by index).
    """

    gang: Gang
    uid: str
    job: Callable[[Placement], Job]


def run_gangs(
    requests: Sequence[Request],
    *,
    run_id: str,
    store: Store,
    view: ClusterView,
    runtime: Runtime,
    owner: Owner,
    terms: Terms,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    poll_s: float,
    on_change: Callable[[GangRecord], None] = lambda _: None,
) -> dict[str, JobStatus]:
    """Ask for all gangs at once, start each when it is admitted, and return when all have ended.

    However it ends, none of the gangs runs or holds room afterwards.

    Args:
        requests: The gangs, in the order in which they are asked for.
        run_id: Id of the run that they belong to.
        store: The store.
        view: The cluster.
        runtime: Starts the jobs.
        owner: The process that answers for the gangs.
        terms: How long things are kept, and when room is.
        clock: Seconds since 1970.
        sleep: Waits the given seconds.
        poll_s: Seconds between two looks.
        on_change: Called with each record whose phase, position or reason has changed.

    Returns:
        Name of the gang → how its job ended.

    Raises:
        Conflict: A gang of such a name has a record already; none is started.
    """
    wanted = {request.gang.name: request for request in requests}
    seen: dict[str, object] = {}
    ended: dict[str, JobStatus] = {}
    started: set[str] = set()

    def tell(record: GangRecord | None) -> None:
        if record is None:
            return
        state = (record.phase, record.position, record.reason)
        if seen.get(record.name) != state:
            seen[record.name] = state
            on_change(record)

    def start(record: GangRecord, placement: Placement) -> None:
        started.add(record.name)
        try:
            runtime.submit(wanted[record.name].job(placement))
        except Conflict:
            started.discard(record.name)  # that job is somebody else's: it is not ours to end
            raise
        tell(admission.bind(store, record.name, run_id=run_id, now=clock(), owner=owner))

    def end(status: JobStatus) -> None:
        record = _end(store, status, run_id, clock())
        ended[status.name] = status
        tell(record)

    def cancel(name: str) -> None:
        if name in ended:
            return
        if name in started:
            runtime.delete(name)
        _end(
            store, JobStatus(name=name, state="Canceled", reason="ended before it was done"), run_id, clock()
        )

    with ExitStack() as ends:  # each of them is ended, also if another one cannot be
        for name in wanted:
            ends.callback(cancel, name)
        for request in requests:
            store.create(new(request.gang, uid=request.uid, run_id=run_id, now=clock(), owner=owner))
        while True:
            admission.run_cycle(store, view, now=clock(), terms=terms)
            records = {record.name: record for record in store.records() if record.run_id == run_id}
            for name in sorted(wanted.keys() - ended.keys()):
                record = records.get(name)
                tell(record)
                if name in started and (status := runtime.status(name)).state in FINAL:
                    end(status)
                elif record is None or record.phase == "Finished":
                    if name in started:
                        runtime.delete(name)
                    reason = "its record was removed" if record is None else record.reason
                    end(JobStatus(name=name, state="Canceled", reason=reason))
                elif record.phase == "Reserved" and record.reservation:
                    start(record, record.reservation.placement)
                elif record.phase == "Impossible":
                    refused: End = "NotAdmitted"
                    admission.finish(
                        store, name, run_id=run_id, outcome=refused, reason=record.reason, now=clock()
                    )
                    end(JobStatus(name=name, state="Canceled", reason=record.reason))
            if len(ended) == len(wanted):
                return ended
            sleep(poll_s)


def _end(store: Store, status: JobStatus, run_id: str, now: float) -> GangRecord | None:
    outcomes: dict[str, End] = {"Succeeded": "Succeeded", "Failed": "Failed", "TimedOut": "TimedOut"}
    outcome = outcomes.get(status.state, "Canceled")
    return admission.finish(
        store,
        status.name,
        run_id=run_id,
        outcome=outcome,
        reason=status.reason or status.state,
        now=now,
        suspended=True,
    )
