"""Events: what happens to a gang, told where people look for it: ``kubectl describe gang``, ``kubectl get events``."""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gangplan import moments
from gangplan.errors import ClusterError
from gangplan.kube.api import Api, Object
from gangplan.kube.gang_object import split_name
from gangplan.kube.kinds import EVENT, GANG
from gangplan.record import WAITING, GangRecord

log = logging.getLogger(__name__)

COMPONENT = "gangplan"
LONGEST = 1024
"""Longest message that the server takes, in characters."""


class Teller:
    """Tells what happens to gangs. Nothing depends on it: what the server refuses is not told."""

    def __init__(self, api: Api, *, clock: Callable[[], float]) -> None:
        """Prepare to tell.

        Args:
            api: The API server.
            clock: Seconds since 1970.
        """
        self._api, self._clock = api, clock
        self._known: dict[str, GangRecord] = {}

    def know(self, records: Iterable[GangRecord]) -> None:
        """Take records as everybody knows them."""
        self._known |= {record.name: record for record in records}

    def tell(self, record: GangRecord) -> None:
        """Tell what is new about a record since it was known: its phase, or what it waits for."""
        before = self._known.get(record.name)
        self._known[record.name] = record
        if before is None or before.uid != record.uid:
            return
        if record.history[-1:] != before.history[-1:]:
            self._create(record, record.phase)
        elif record.phase in WAITING and _rule(record) not in (None, _rule(before)):
            self._create(record, "Waiting")

    def _create(self, record: GangRecord, reason: str) -> None:
        try:
            self._api.create(EVENT, _event(record, reason, self._clock()))
        except ClusterError as error:
            log.debug("an event of %s is not told: %s", record.name, error)


def _rule(record: GangRecord) -> str | None:
    return None if record.rejection is None else record.rejection.rule


def _event(record: GangRecord, reason: str, now: float) -> Mapping[str, Any]:
    namespace, name = split_name(record.name)
    at = moments.text(now)
    bad = record.phase == "Impossible" or record.outcome not in (None, "Succeeded")
    about: Object = {
        "apiVersion": GANG.api_version,
        "kind": GANG.name,
        "name": name,
        "namespace": namespace,
        "uid": record.uid,
    }
    return {
        "metadata": {"generateName": f"{name}.", "namespace": namespace},
        "involvedObject": about,
        "type": "Warning" if bad else "Normal",
        "reason": record.outcome or reason,
        "message": record.reason[:LONGEST],
        "source": {"component": COMPONENT},
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }
