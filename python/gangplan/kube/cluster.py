"""KubeCluster: a cluster as admission sees it, its records of gangs, and who answers for this process there."""

import os
import socket
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from gangplan import admission
from gangplan.config import Terms
from gangplan.kube.api import Api, Owners
from gangplan.kube.events import Teller
from gangplan.kube.lease import PULSE_S, LeaseLock
from gangplan.kube.pulse import Pulse
from gangplan.kube.snapshot import SnapshotReader
from gangplan.kube.store import GangStore
from gangplan.node_choice import Decided
from gangplan.plan import Plan
from gangplan.record import GangRecord, Owner
from gangplan.snapshot import Snapshot
from gangplan.store import Cluster

LEASE_NAME = "gangplan-admission"
SYSTEM = "gangplan-system"
"""The namespace that holds what belongs to the cluster as a whole."""


def identity() -> str:
    """Tells this process from all others there ever were; the first part tells people where it is."""
    return f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"


@dataclass(frozen=True, slots=True)
class KubeCluster:
    """The cluster behind an API server: a :class:`gangplan.store.ClusterView`.

    Attributes:
        api: The API server.
        clock: Seconds since 1970.
        monotonic: Seconds that only grow.
        namespace: Where the Lease of admission is.
        identity: Who leads, when this process does.
        owners: Owner references of what is created.
    """

    api: Api
    clock: Callable[[], float]
    monotonic: Callable[[], float]
    namespace: str = SYSTEM
    identity: str = field(default_factory=identity)
    owners: Owners = ()

    def store(self) -> GangStore:
        """The records of all gangs; each store contends for the lead by itself."""
        lock = LeaseLock(
            self.api,
            name=LEASE_NAME,
            namespace=self.namespace,
            identity=self.identity,
            clock=self.clock,
            monotonic=self.monotonic,
            pulse=Pulse(period_s=PULSE_S),
        )
        return GangStore(self.api, lock, teller=Teller(self.api, clock=self.clock), owners=self.owners)

    def read(self) -> Cluster:
        """Nodes, queues and what runs there, at one moment."""
        return SnapshotReader(self.api).read()

    def decide(
        self, *, now: float, terms: Terms, also: GangRecord | None = None
    ) -> tuple[Snapshot, Plan, dict[str, str]]:
        """The same as :meth:`decided`, without the kinds of nodes: snapshot, plan, and unsound gangs."""
        decided = self.decided(now=now, terms=terms, also=also)
        return decided.snapshot, decided.plan, decided.unsound

    def decided(self, *, now: float, terms: Terms, also: GangRecord | None = None) -> Decided:
        """What a cycle would decide now, as :func:`gangplan.admission.decide` gives it; nothing is written.

        Args:
            now: Seconds since 1970.
            terms: When room is kept.
            also: A gang that is not entered yet; it stands for one of its name that is.
        """
        seen = self.read()
        records = self.store().records()
        if also is not None:
            records = (*(record for record in records if record.name != also.name), also)
        return admission.decide(
            seen.snapshot, records, now=now, terms=terms, members=seen.members, gaps=seen.gaps
        )

    def gone(self, owners: Iterable[Owner]) -> frozenset[Owner]:
        """No process answers for a gang of a cluster: its time limits and its owner references do."""
        return frozenset()
