"""Lead: the right to run an admission cycle, held under a Lease by one at a time.

As in leader election of Kubernetes, a holder counts as lost when its Lease has not changed for as long as the Lease says,
by the clock of who looks: clocks need not agree. Unlike there, a holder gives it back after each cycle, or at the end of
its term of office if it has one.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from gangplan.errors import ClusterError, Conflict, NotFound
from gangplan.kube import moments
from gangplan.kube.api import Api, Object
from gangplan.kube.kinds import LEASE

LEASE_S = 15
"""Seconds without a sign of life after which another takes the lead: a cycle of thousands of nodes takes a few."""


@dataclass(frozen=True, slots=True)
class Lead:
    """The lead as its holder has it.

    Attributes:
        term: Grows whenever the lead passes to another.
        after_loss: The one before did not give it back: it may still be writing.
    """

    term: int
    after_loss: bool


class LeaseLock:
    """One contender for the lead."""

    def __init__(
        self,
        api: Api,
        *,
        name: str,
        namespace: str,
        identity: str,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
    ) -> None:
        """Contend.

        Args:
            api: The API server.
            name: Name of the Lease.
            namespace: Its namespace.
            identity: Tells this contender from all others there ever were.
            clock: Seconds since 1970, for people who look at the Lease.
            monotonic: Seconds that only grow, by which a holder is judged.
        """
        self._api, self._name, self._namespace, self._identity = api, name, namespace, identity
        self._clock, self._monotonic = clock, monotonic
        self._seen: tuple[str, float] = ("", 0.0)
        self._held: Object | None = None
        self._renewed = 0.0
        self._is_leading = self._keeps = False

    @contextmanager
    def tenure(self) -> Iterator[None]:
        """Inside, a lead that was got once is kept, also between cycles; at the end it is given back."""
        self._keeps = True
        try:
            yield
        finally:
            self._keeps = False
            self._release()

    @contextmanager
    def lead(self) -> Iterator[Lead | None]:
        """Hold the lead inside; None if someone else has it now.

        It is given back only if all went well inside: else a write may still be on its way, and the next one must take
        the lead as from one that was lost.
        """
        lead = self._acquire() if self._held is None else self._go_on(self._held)
        self._is_leading = lead is not None
        try:
            yield lead
        except BaseException:
            self._held = None
            raise
        finally:
            self._is_leading = False
        if not self._keeps:
            self._release()

    def renew(self) -> None:
        """Show a sign of life, if the last one is some time ago; before each write of a leader.

        Raises:
            Conflict: Someone else has taken the lead.
        """
        if self._held is None or not self._is_leading or self._monotonic() - self._renewed < LEASE_S / 3:
            return
        self._show_life(self._held)

    def _go_on(self, held: Object) -> Lead | None:
        """Lead on; None if someone else has taken the lead since."""
        self._held = None
        try:
            self._show_life(held)
        except Conflict:
            return None
        return Lead(term=int(held["spec"].get("leaseTransitions") or 0), after_loss=False)

    def _show_life(self, held: Object) -> None:
        renewed = self._with(held, renewTime=moments.text(self._clock()))
        before = self._monotonic()
        self._held = self._api.replace(LEASE, renewed)
        self._renewed = before

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
                self._held = self._api.create(LEASE, body)
                self._renewed = before
                return Lead(term=1, after_loss=False)
            holder = found["spec"].get("holderIdentity") or ""
            # Its own it takes anew at once: it was left in the middle of a cycle.
            if holder not in ("", self._identity) and not self._is_lost(found):
                return None
            term = int(found["spec"].get("leaseTransitions") or 0) + 1
            self._held = self._api.replace(LEASE, self._with(found, **ours, leaseTransitions=term))
            self._renewed = before
            return Lead(term=term, after_loss=bool(holder))
        except Conflict:
            return None

    def _is_lost(self, found: Object) -> bool:
        version = found["metadata"]["resourceVersion"]
        if self._seen[0] != version:
            self._seen = (version, self._monotonic())
        return self._monotonic() - self._seen[1] >= (found["spec"].get("leaseDurationSeconds") or LEASE_S)

    def _release(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            # Who cannot give it back loses it by time; who has lost it has nothing to give.
            with suppress(ClusterError):
                self._api.replace(LEASE, self._with(held, holderIdentity=""))

    @staticmethod
    def _with(lease: Object, **spec: Any) -> Object:
        return {**lease, "spec": {**lease["spec"], **spec}}
