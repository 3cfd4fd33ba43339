"""Deletion: a gang of a cluster ends with its TFJob and its pods, and its record goes last.

While anything of it runs its record stays and holds its room. So whoever is stopped in between, or finds a part of it
gone already, asks for the same again.
"""

from collections.abc import Callable
from dataclasses import dataclass

from gangplan import admission
from gangplan.errors import Conflict, NotFound, NotInstalled
from gangplan.gangs import Removal
from gangplan.kube.actions import Object
from gangplan.kube.api import Api
from gangplan.kube.gang_object import split_name
from gangplan.kube.kinds import POD, TFJOB
from gangplan.kube.names import JOB_NAME, RUN_ID
from gangplan.kube.outcome import replica_name, state_of
from gangplan.kube.waited_for import WaitedFor
from gangplan.record import WAITING, GangRecord
from gangplan.store import Store

REASON = "deleted by the user"
POLL_S = 0.5
"""Seconds between two looks: pods that hear SIGTERM are gone within one or two."""

QUIET_S = 2.0
"""Seconds of waiting that nothing is said about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What there is of a gang.

    Attributes:
        record: Its record; None: none.
        job: The TFJob of its name that a run of ours made; None: none.
        foreign: Whether there is a TFJob of its name that no run of ours made.
    """

    record: GangRecord | None
    job: Object | None
    foreign: bool

    def told(self, name: str) -> Removal:
        """What is to be deleted."""
        if self.record is None:
            return self.removal(name, f"the TFJob of {name}, which has no record")
        where = f"{name} ({self.record.outcome or self.record.phase})"
        if self.foreign:
            text = f"{where}, but not the TFJob of its name, which no run of gangplan made,"
            return self.removal(name, text)
        return self.removal(name, where if self.job is None else f"{where} with its TFJob")

    def removal(self, name: str, text: str) -> Removal:
        """What is deleted, or would be, in these words."""
        stood = None if self.record is None else self.record.outcome or self.record.phase
        return Removal(name=name, stood=stood, job=self.job is not None, text=text)


class Deletion:
    """Finds gangs and deletes them."""

    def __init__(
        self,
        api: Api,
        store: Store,
        *,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self._api, self._store = api, store
        self._clock, self._monotonic, self._sleep = clock, monotonic, sleep

    def find(self, name: str) -> Found:
        """Find what there is of a gang.

        Args:
            name: Its full name.

        Raises:
            NotFound: There is neither a record nor a TFJob of ours.
        """
        record, job = self._record(name), self._job(name)
        ours = job is not None and bool((job["metadata"].get("labels") or {}).get(RUN_ID))
        found = Found(record=record, job=job if ours else None, foreign=job is not None and not ours)
        if found.record is None and found.job is None:
            namespace, short = split_name(name)
            message = f"there is no gang {name}, and no TFJob that a run of gangplan made"
            if found.foreign:
                message = (
                    f"there is no gang {name}, and the TFJob of its name was not made by a run of gangplan: "
                    f"kubectl delete tfjob {short} -n {namespace} would delete it"
                )
            raise NotFound(message, verb="delete", kind="Gang", name=short, namespace=namespace)
        return found

    def run(self, name: str, *, progress: Callable[[str], None]) -> Removal:
        """Delete a gang; what was deleted.

        Args:
            name: Its full name.
            progress: Told what is waited for, when it takes more than two seconds, whenever that changes, and every ten
                seconds.

        Raises:
            NotFound: There is neither a record nor a TFJob of ours.
        """
        found = self.find(name)
        if found.record is not None and found.record.phase in WAITING:
            self._finish(name, found.record)  # or it might still be admitted, and launched
        self._end_job(name, found, progress)
        if found.record is None:
            return found.removal(name, f"the TFJob of {name} deleted; it had no record")
        self._finish(name, found.record)
        # Who launched it may have made its TFJob a moment before the record ended.
        self._end_job(name, self._again(name, found), progress)
        self._forget(name, found.record)
        if found.foreign:
            text = f"{name} deleted; the TFJob of its name stays: no run of gangplan made it"
            return found.removal(name, text)
        return found.removal(name, f"{name} deleted" + ("" if found.job is not None else "; it had no TFJob"))

    def end_job(self, name: str, *, progress: Callable[[str], None]) -> None:
        """Delete the TFJob of a name, if a run of ours made it, and wait until it is gone; its record stays.

        Args:
            name: Its full name.
            progress: As for :meth:`run`.
        """
        found = self.find(name)
        self._end_job(name, found, progress)

    def has_job(self, record: GangRecord) -> bool:
        """Whether a TFJob of ours goes with a gang."""
        job = self._job(record.name)
        return job is not None and bool((job["metadata"].get("labels") or {}).get(RUN_ID))

    def goes_on(self, record: GangRecord) -> str | None:
        """Why a finished gang may not be forgotten; None if it may."""
        job = self._job(record.name)
        ours = job is not None and (job["metadata"].get("labels") or {}).get(RUN_ID) == record.run_id
        if job is not None and ours and state_of(job) not in {"Succeeded", "Failed"}:
            return f"its TFJob has not ended ({state_of(job)}): gangplan reap tells of it"
        return None

    def _again(self, name: str, found: Found) -> Found:
        job = self._job(name)
        run = (job["metadata"].get("labels") or {}).get(RUN_ID) if job is not None else None
        ours = found.record is not None and run == found.record.run_id and bool(run)
        return Found(record=found.record, job=job if ours else None, foreign=found.foreign)

    def _end_job(self, name: str, found: Found, progress: Callable[[str], None]) -> None:
        """Delete the TFJob, if there is one, and wait until it and all of its pods are gone."""
        if found.job is None:
            return
        namespace, short = split_name(name)
        uid = found.job["metadata"]["uid"]
        try:
            self._api.delete(TFJOB, short, namespace=namespace, propagation="Foreground", uid=uid)
        except NotFound:
            pass  # somebody was faster, but its pods may still be there
        except Conflict:
            return  # that of another run is there now: it was not meant
        waited_for = WaitedFor(progress, now=self._monotonic(), quiet_s=QUIET_S)
        while (left := self._left(name, found.job)) is not None:
            waited_for.look(f"{name}: waits for {left} to end", self._monotonic())
            self._sleep(POLL_S)

    def _left(self, name: str, job: Object) -> str | None:
        """What is left of a TFJob; None: nothing."""
        namespace, short = split_name(name)
        run = job["metadata"]["labels"][RUN_ID]
        labels = f"{JOB_NAME}={short},{RUN_ID}={run}"
        if pods := self._api.list(POD, namespace=namespace, labels=labels).items:
            return ", ".join(sorted(replica_name(pod) for pod in pods))
        there = self._job(name)
        return None if there is None or there["metadata"]["uid"] != job["metadata"]["uid"] else "its TFJob"

    def _finish(self, name: str, record: GangRecord) -> None:
        admission.finish(
            self._store,
            name,
            run_id=record.run_id,
            outcome="Canceled",
            reason=REASON,
            now=self._clock(),
            suspended=True,
        )

    def _forget(self, name: str, record: GangRecord) -> None:
        """Remove the record, unless it is that of another attempt by now."""
        while (current := self._store.get(name)) is not None and current.uid == record.uid:
            try:
                self._store.remove(current)
            except Conflict:
                continue

    def _record(self, name: str) -> GangRecord | None:
        try:
            return self._store.get(name)
        except NotInstalled:
            return None

    def _job(self, name: str) -> Object | None:
        namespace, short = split_name(name)
        try:
            return self._api.get(TFJOB, short, namespace=namespace)
        except (NotFound, NotInstalled):
            return None
