"""GangStore: the records of gangs as Gang objects of a cluster; :class:`gangplan.store.Store` under a Lease.

A record's name is ``NAMESPACE/NAME``, its version the object's resource version. Every write but the first goes to the
status, so that who decides needs no right to change what users ask for.
"""

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

from gangplan.errors import ClusterError, Conflict, Forbidden, InvalidInput, NotFound, Refused
from gangplan.kube.api import Api, Owners
from gangplan.kube.events import Teller
from gangplan.kube.gang_object import split_name, to_object, to_record, to_status
from gangplan.kube.kinds import GANG
from gangplan.kube.lease import Lead, LeaseLock
from gangplan.record import HOLDING, WAITING, GangRecord
from gangplan.signals import uninterrupted

log = logging.getLogger(__name__)


def read_records(api: Api, *, namespace: str = "") -> tuple[GangRecord, ...]:
    """All records, by name, for who only looks. A gang that waits and cannot be read is passed over.

    Args:
        api: The API server.
        namespace: The namespace whose gangs are seen; empty: all.

    Raises:
        InvalidInput: A gang that holds room cannot be read: it was written by another version of gangplan.
    """
    records = []
    for item in api.list(GANG, namespace=namespace).items:
        try:
            records.append(to_record(item))
        except InvalidInput as error:
            if (item.get("status") or {}).get("phase") in HOLDING:
                raise  # what it holds cannot be known, so that nothing can be given to others
            log.warning("%s is passed over: %s", item["metadata"]["name"], error)
    return tuple(sorted(records, key=lambda record: record.name))


class GangStore:
    """Gangs of one namespace, or of all."""

    def __init__(
        self,
        api: Api,
        lock: LeaseLock,
        *,
        namespace: str = "",
        teller: Teller | None = None,
        owners: Owners = (),
    ) -> None:
        """Open the store; nothing is sent yet.

        Args:
            api: The API server.
            lock: The lead over the cluster's admission.
            namespace: The namespace whose gangs are seen; empty: all.
            teller: Tells what happens to gangs; None: nobody is told.
            owners: Owner references of the gangs that are created.
        """
        self._api, self._lock, self._namespace = api, lock, namespace
        self._teller, self._owners = teller, owners
        self._lead: Lead | None = None

    def records(self) -> tuple[GangRecord, ...]:
        """All records, by name; see :func:`read_records`."""
        found = read_records(self._api, namespace=self._namespace)
        if self._teller is not None:
            self._teller.know(found)
        return found

    def get(self, name: str) -> GangRecord | None:
        """The record of a gang, if there is one."""
        namespace, short = split_name(name)
        try:
            found = to_record(self._api.get(GANG, short, namespace=namespace))
        except NotFound:
            return None
        if self._teller is not None:
            self._teller.know([found])
        return found

    def create(self, record: GangRecord) -> GangRecord:
        """Add a record; its uid and its time are those that the server gives it.

        Raises:
            Conflict: A record of this name is there.
            Refused: The server does not accept it.
        """
        body = to_object(record)
        if self._owners:
            body["metadata"]["ownerReferences"] = list(self._owners)
        made = to_record(self._api.create(GANG, body))
        if self._teller is not None:
            self._teller.know([made])
        return made

    def update(self, record: GangRecord) -> GangRecord:
        """Replace the status of the record that has the version which ``record`` carries.

        Raises:
            Conflict: The record was changed or removed since it was read, or the lead was lost.
            Refused: The server does not take it.
        """
        self._lock.renew()
        body = to_object(record)
        body["metadata"] |= {"resourceVersion": str(record.version), "uid": record.uid}
        body["status"] = to_status(record)
        try:
            with self._booking(record):
                found = self._api.replace(GANG, body, subresource="status")
        except NotFound as error:
            raise _removed("update", record) from error
        made = to_record(found)
        if self._teller is not None:
            self._teller.tell(made)
        return made

    def remove(self, record: GangRecord) -> None:
        """Forget a record.

        Raises:
            Conflict: The record was changed since it was read, or the lead was lost.
            Refused: A rule of the server forbids it.
        """
        self._lock.renew()
        namespace, name = split_name(record.name)
        try:
            self._api.delete(GANG, name, namespace=namespace, uid=record.uid, version=str(record.version))
        except NotFound as error:
            raise _removed("remove", record) from error

    @contextmanager
    def leadership(self) -> Iterator[bool]:
        """The right to run a cycle. What was written before and may still be done is made to fail first."""
        with self._lock.lead() as lead:
            try:
                if lead is not None and not lead.is_clear:
                    self._fence(lead)
            except Conflict:  # the lead is lost already
                yield False
                return
            self._lead = lead
            try:
                yield lead is not None
            finally:
                self._lead = None

    def tenure(self) -> AbstractContextManager[None]:
        """Inside, a lead that was got once is kept between cycles: others who wait only look at their records."""
        return self._lock.tenure()

    @contextmanager
    def _booking(self, record: GangRecord) -> Iterator[None]:
        """Write a record: as long as the server has not answered, a leader cannot know whether room is booked."""
        lead = self._lead
        if lead is None or record.phase not in HOLDING:
            yield
            return
        lead.doubtful.add(record.name)
        try:
            yield
        except (Conflict, NotFound, Refused, Forbidden):
            lead.doubtful.discard(record.name)
            raise
        except (KeyboardInterrupt, SystemExit):
            self._overtake(record.name, lead)
            raise
        lead.doubtful.discard(record.name)

    def _overtake(self, name: str, lead: Lead) -> None:
        """Make a booking fail that was interrupted, unless it is done: then nobody has to wait out this lead."""
        if name in lead.fenced:  # it cannot be given another version by the same term
            return
        with uninterrupted(), suppress(ClusterError):
            record = self.get(name)
            if record is not None:
                self._renumber(record, lead)
            lead.doubtful.discard(name)

    def _fence(self, lead: Lead) -> None:
        """Give gangs that wait a new version: room is only ever booked by a write to one of those.

        After a leader that was lost, all of them; else those of which the holder itself does not know what it wrote.
        """
        found = self.records() if lead.after_loss else [self.get(name) for name in sorted(lead.doubtful)]
        for record in found:
            if record is not None and record.name not in lead.fenced:
                self._renumber(record, lead)
                lead.fenced.add(record.name)
        lead.after_loss = False
        lead.doubtful.clear()

    def _renumber(self, record: GangRecord, lead: Lead) -> None:
        current: GangRecord | None = record
        while current is not None and current.phase in WAITING:
            self._lock.renew()
            namespace, name = split_name(current.name)
            body = {"metadata": {"resourceVersion": str(current.version)}, "status": {"term": lead.term}}
            try:
                self._api.patch(GANG, name, body, namespace=namespace, subresource="status")
                return
            except NotFound:
                return
            except Conflict:
                current = self.get(current.name)


def _removed(verb: str, record: GangRecord) -> Conflict:
    namespace, name = split_name(record.name)
    message = f"the record of gang {record.name} was removed"
    return Conflict(message, verb=verb, kind=GANG.name, name=name, namespace=namespace)
