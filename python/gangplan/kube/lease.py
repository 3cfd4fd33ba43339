"""Lead: the right to run an admission cycle, held under a Lease by one at a time.

As in leader election of Kubernetes, a holder counts as lost when its Lease has not changed for as long as the Lease says,
by the clock of who looks: clocks need not agree. Unlike there, a holder gives it back after each cycle, or at the end of
its term of office if it has one.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any

from gangplan import moments
from gangplan.errors import ClusterError, Conflict, NotFound
from gangplan.kube.api import Api, Object
from gangplan.kube.kinds import LEASE
from gangplan.kube.pulse import Pulse
from gangplan.signals import uninterrupted

log = logging.getLogger(__name__)

LEASE_S = 15
"""Seconds without a sign of life after which another takes the lead: a process that is gone is not waited for long."""

PULSE_S = LEASE_S / 6
"""Seconds between two looks whether a sign of life is due: so that one comes in the second third of a Lease."""

HANGS_S = 120.0
"""Seconds after which a leader that has begun no other cycle counts as one that hangs, and shows no life any more. The
largest clusters are read in a part of that."""


@dataclass(slots=True)
class Lead:
    """The lead as its holder has it.

    Attributes:
        term: Grows whenever the lead passes to another, and when its holder does not know what it has written.
        after_loss: The one before did not give it back: it may still be writing, and is not kept from it yet.
        doubtful: Names of gangs for which a write that books room got no answer: it may still be done.
        fenced: Names of gangs for which all writes of before this term fail by now.
    """

    term: int
    after_loss: bool = False
    doubtful: set[str] = field(default_factory=set)
    fenced: set[str] = field(default_factory=set)

    @property
    def is_clear(self) -> bool:
        """Whether no room can be booked any more by what was written before."""
        return not self.after_loss and not self.doubtful


class LeaseLock:
    """One contender for the lead. While it holds it, its pulse shows signs of life."""

    def __init__(
        self,
        api: Api,
        *,
        name: str,
        namespace: str,
        identity: str,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
        pulse: Pulse | None = None,
    ) -> None:
        """Contend.

        Args:
            api: The API server.
            name: Name of the Lease.
            namespace: Its namespace.
            identity: Tells this contender from all others there ever were.
            clock: Seconds since 1970, for people who look at the Lease.
            monotonic: Seconds that only grow, by which a holder is judged.
            pulse: Shows signs of life while the contender works or waits, each :data:`PULSE_S`; None: it must not take
                longer than a Lease lasts.
        """
        self._api, self._name, self._namespace, self._identity = api, name, namespace, identity
        self._clock, self._monotonic, self._pulse = clock, monotonic, pulse
        self._seen: tuple[str, float] = ("", 0.0)
        # Over what follows: the holder and its pulse write the Lease one after the other.
        self._guard: AbstractContextManager[object] = nullcontext() if pulse is None else pulse.guard
        self._held: Object | None = None
        self._lead: Lead | None = None
        self._renewed = self._begun = 0.0
        self._is_leading = self._keeps = False

    @contextmanager
    def tenure(self) -> Iterator[None]:
        """Inside, a lead that was got once is kept, also between cycles; at the end it is given back."""
        self._keeps = True
        try:
            with self._alive():
                yield
        finally:
            self._keeps = False
            self._release()

    @contextmanager
    def lead(self) -> Iterator[Lead | None]:
        """Hold the lead inside; None if someone else has it now.

        It is given back only if it is clear: else a write may still be on its way, and the next one must take the lead
        as from one that was lost.
        """
        try:
            with nullcontext() if self._keeps else self._alive():
                lead = self._begin()
                self._is_leading = lead is not None
                yield lead
        finally:
            self._is_leading = False
            if not self._keeps:
                self._release()

    def renew(self) -> None:
        """Show a sign of life, if the last one is some time ago; before each write of a leader.

        Raises:
            Conflict: Someone else has taken the lead.
        """
        if self._is_leading:
            with self._guard:
                self._show_life_in_time()

    def _alive(self) -> AbstractContextManager[None]:
        """Show signs of life meanwhile: reading and deciding may take longer than a Lease lasts."""
        return nullcontext() if self._pulse is None else self._pulse.during(self._beat)

    def _beat(self) -> None:
        if self._held is not None and self._monotonic() - self._begun < HANGS_S:
            try:
                self._show_life_in_time()
            except ClusterError as error:
                log.debug("no sign of life: %s", error)

    def _begin(self) -> Lead | None:
        with self._guard:
            self._begun = self._monotonic()
            if self._held is None or self._lead is None:
                return self._acquire()
            try:
                # By another term, what is in doubt is told from what is written now.
                self._show_life(new_term=bool(self._lead.doubtful))
            except Conflict:
                return None
            return self._lead

    def _show_life_in_time(self) -> None:
        if self._held is None:
            raise self._lost()
        if self._monotonic() - self._renewed >= LEASE_S / 3:
            self._show_life()

    def _show_life(self, *, new_term: bool = False) -> None:
        assert self._held is not None, "only a holder shows signs of life"
        assert self._lead is not None, "a holder has the lead"
        before, term = self._monotonic(), self._lead.term + new_term
        try:
            self._held = self._rewritten(
                self._held, renewTime=moments.text(self._clock()), leaseTransitions=term
            )
        except Conflict as error:
            self._held = self._lead = None
            log.warning("%s: what was being decided is not written", error)
            raise
        if new_term:
            self._lead.term = term
            self._lead.fenced.clear()
        self._renewed = before

    def _rewritten(self, held: Object, **spec: Any) -> Object:
        """Change a Lease that is held, also where an earlier change was done without an answer.

        Raises:
            Conflict: Someone else has taken the lead.
        """
        while True:
            try:
                return self._api.replace(LEASE, self._with(held, **spec))
            except (Conflict, NotFound):
                held = self._still_held(held)

    def _still_held(self, held: Object) -> Object:
        try:
            found = self._api.get(LEASE, self._name, namespace=self._namespace)
        except NotFound as error:
            raise self._lost() from error
        if _term_of(found) != _term_of(held):
            raise self._lost(found["spec"].get("holderIdentity") or "")
        return found

    def _lost(self, to: str = "") -> Conflict:
        message = f"the lead over admission has passed to {to or 'another'} meanwhile"
        return Conflict(message, verb="update", kind=LEASE.name, name=self._name, namespace=self._namespace)

    def _acquire(self) -> Lead | None:
        before = self._monotonic()
        try:
            found = self._api.get(LEASE, self._name, namespace=self._namespace)
        except NotFound:
            found = None
        now = moments.text(self._clock())
        ours = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": LEASE_S,
            "acquireTime": now,
            "renewTime": now,
        }
        holder = "" if found is None else found["spec"].get("holderIdentity") or ""
        # Its own it takes anew at once: it was left in the middle of a cycle.
        if found is not None and holder not in ("", self._identity) and not self._is_lost(found):
            return None
        try:
            if found is None:
                metadata = {"name": self._name, "namespace": self._namespace}
                spec = {**ours, "leaseTransitions": 1}
                body = {
                    "apiVersion": LEASE.api_version,
                    "kind": LEASE.name,
                    "metadata": metadata,
                    "spec": spec,
                }
                return self._has(self._api.create(LEASE, body), Lead(term=1), since=before)
            term = int(found["spec"].get("leaseTransitions") or 0) + 1
            held = self._api.replace(LEASE, self._with(found, **ours, leaseTransitions=term))
            return self._has(held, Lead(term=term, after_loss=bool(holder)), since=before)
        except Conflict:
            return None
        except (KeyboardInterrupt, SystemExit):
            if not holder:
                self._renounce()
            raise

    def _has(self, held: Object, lead: Lead, *, since: float) -> Lead:
        self._held, self._lead, self._renewed = held, lead, since
        return lead

    def _is_lost(self, found: Object) -> bool:
        version = found["metadata"]["resourceVersion"]
        if self._seen[0] != version:
            self._seen = (version, self._monotonic())
        return self._monotonic() - self._seen[1] >= (found["spec"].get("leaseDurationSeconds") or LEASE_S)

    def _release(self) -> None:
        with self._guard:
            held, lead, self._held, self._lead = self._held, self._lead, None, None
            if held is not None and lead is not None and lead.is_clear:
                # Who cannot give it back loses it by time; who has lost it has nothing to give.
                try:
                    with suppress(ClusterError):
                        self._rewritten(held, holderIdentity="")
                except (KeyboardInterrupt, SystemExit):
                    self._renounce()
                    raise

    def _renounce(self) -> None:
        """Have no lead that must be waited out, although a request about it was interrupted, done or not."""
        with uninterrupted(), suppress(ClusterError):
            found = self._api.get(LEASE, self._name, namespace=self._namespace)
            if (found["spec"].get("holderIdentity") or "") in ("", self._identity):
                # Also where nobody has it: by the version that is new then, a request that comes late fails.
                self._api.replace(LEASE, self._with(found, holderIdentity=""))

    @staticmethod
    def _with(lease: Object, **spec: Any) -> Object:
        return {**lease, "spec": {**lease["spec"], **spec}}


def _term_of(lease: Object) -> tuple[Any, ...]:
    """What stays the same as long as nobody else takes a Lease, or makes another of its name."""
    spec = lease["spec"]
    return lease["metadata"].get("uid"), spec.get("holderIdentity"), spec.get("leaseTransitions")
