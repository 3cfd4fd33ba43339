"""Run many gangs at once in this process: admission cycles, a runtime that starts what is admitted, to the end of all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gangplan import admission
from gangplan.admission import ClusterView, Lifetimes, Store
from gangplan.record import GangRecord, Owner, new
from gangplan.record import Outcome as End
from gangplan.runtime import FINAL, Job, JobStatus, Runtime
from gangplan.snapshot import Gang

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
    lifetimes: Lifetimes,
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
        lifetimes: How long things are kept.
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
        if record is not None and seen.get(record.name) != (
            state := (record.phase, record.position, record.reason)
        ):
            seen[record.name] = state
            on_change(record)

    try:
        for request in requests:
            store.create(new(request.gang, uid=request.uid, run_id=run_id, now=clock(), owner=owner))
        while len(ended) < len(wanted):
            admission.run_cycle(store, view, now=clock(), lifetimes=lifetimes)
            for record in store.records():
                if record.name not in wanted or record.run_id != run_id:
                    continue
                tell(record)
                if record.phase == "Reserved" and record.reservation and record.name not in started:
                    started.add(record.name)
                    runtime.submit(wanted[record.name].job(record.reservation.placement))
                    tell(admission.bind(store, record.name, now=clock(), owner=owner))
                elif record.phase == "Impossible":
                    ended[record.name] = JobStatus(name=record.name, state="Canceled", reason=record.reason)
                    tell(_end(store, ended[record.name], run_id, clock()))
            for name in started - set(ended):
                status = runtime.status(name)
                if status.state in FINAL:
                    ended[name] = status
                    tell(_end(store, status, run_id, clock()))
            if len(ended) < len(wanted):
                sleep(poll_s)
        return ended
    finally:
        for name in wanted:
            if name not in ended:
                runtime.delete(name)
                canceled = JobStatus(name=name, state="Canceled", reason="ended before it was done")
                _end(store, canceled, run_id, clock())


def _end(store: Store, status: JobStatus, run_id: str, now: float) -> GangRecord | None:
    outcomes: dict[str, End] = {"Succeeded": "Succeeded", "Failed": "Failed", "TimedOut": "TimedOut"}
    outcome = outcomes.get(status.state, "Canceled")
    return admission.finish(
        store, status.name, run_id=run_id, outcome=outcome, reason=status.reason or status.state, now=now
    )
