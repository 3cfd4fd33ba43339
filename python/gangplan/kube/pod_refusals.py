"""Why a job has no pods: the operator notes what the server said to it in Events, and nowhere else."""

import logging
from collections.abc import Callable

from gangplan.errors import ClusterError
from gangplan.kube.actions import Object
from gangplan.kube.api import Api
from gangplan.kube.kinds import EVENT

log = logging.getLogger(__name__)

REASON = "FailedCreatePod"
"""The reason of those Events."""

PAUSE_S = 5.0
"""Seconds before the first look, and between two: pods mostly come within a second, and Events are read all together."""


class Refusals:
    """Looks, from time to time, whether the server refuses the pods of a job."""

    def __init__(self, api: Api, *, clock: Callable[[], float]) -> None:
        self._api, self._clock = api, clock
        self._uid, self._next, self._last = "", 0.0, ""

    def of(self, job: Object, namespace: str) -> str:
        """What the server said last; empty if nothing, or it may not be known."""
        uid, now = str(job["metadata"].get("uid")), self._clock()
        if uid != self._uid:
            self._uid, self._next, self._last = uid, now + PAUSE_S, ""
        if now < self._next:
            return self._last
        self._next = now + PAUSE_S
        try:
            events = self._api.list(EVENT, namespace=namespace).items
        except ClusterError as error:
            log.debug("events are not looked at: %s", error)
            return self._last
        told = [event for event in events if _is_about(event, uid) and event.get("reason") == REASON]
        told.sort(key=lambda event: event.get("lastTimestamp") or "")
        self._last = told[-1].get("message") or "" if told else ""
        return self._last


def _is_about(event: Object, uid: str) -> bool:
    return bool((event.get("involvedObject") or {}).get("uid") == uid)
