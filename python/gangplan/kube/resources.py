"""The resources of ours in a cluster: what their objects hold, as ``deploy/crds`` declares it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gangplan.closeness import Closeness
from gangplan.record import Outcome, Phase
from gangplan.snapshot import Group, Role, Traffic


@dataclass(frozen=True, slots=True, kw_only=True)
class GangSpec:
    """Replicas that start together or not at all.

    Attributes:
        roles: The kinds of replicas.
        queue: The GangQueue that it waits in and is counted in; none: in no queue.
        priority: In a queue, higher comes first.
        topology: How near to each other its replicas lie.
        groups: Groups of its roles.
        min_groups: Set of groups → how many of them must have their minimum; the others may have no replica.
        min_member: The gang has no replicas or at least so many; none: what its roles say.
        preemptible: Whether it may be evicted for others.
        runtime_s: How long it runs, in seconds, where that is known.
        traffic: Which roles talk. Empty means that every pair of replicas does, with weight 1.
        run_id: The run that it belongs to.
        attended_s: Seconds that it waits on when nobody has asked for it anew; none: it waits for ever.
    """

    roles: tuple[Role, ...]
    queue: str | None = None
    priority: int = 0
    topology: Closeness | None = None
    groups: tuple[Group, ...] = ()
    min_groups: Mapping[str, int] = field(default_factory=dict)
    min_member: int | None = None
    preemptible: bool = True
    runtime_s: int | None = None
    traffic: tuple[Traffic, ...] = ()
    run_id: str = ""
    attended_s: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationStatus:
    """Capacity booked for an admitted gang.

    Attributes:
        placement: Role → nodes, one node for each replica by index.
        expires_at: When it becomes void unless the gang is bound; none once it is.
    """

    placement: Mapping[str, tuple[str, ...]]
    expires_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One step in the life of a gang.

    Attributes:
        at: When.
        phase: The phase that it entered.
        reason: Why, in a sentence.
    """

    at: str
    phase: Phase
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GangStatus:
    """Where a gang stands. Moments are written as RFC 3339 does, in UTC.

    Attributes:
        phase: Pending and Impossible gangs wait; Reserved, Binding and Bound ones hold capacity.
        position: Place in the queue, from 1, while it waits.
        reason: Why it stands there, in a sentence.
        outcome: How it ended, once it is Finished.
        reservation: Its capacity, while it holds any.
        rejection: Why the last cycle did not admit it, while it waits: rule, numbers, verified changes.
        bypassed: How many gangs that came after it have started while it waited.
        expired_at: When it last let a reservation expire; it queues anew from then.
        kept_until: When it stops waiting unless who waits for it asks again; none: it waits for ever.
        published: Whether its end was told to whoever asked for it.
        term: Written to a gang that waits when a leader was lost, so that what that leader still writes fails.
        forgotten: How many attempts there were that the history does not tell of any more.
        history: The phases that it went through, oldest first; of a long one the first and the last.
    """

    phase: Phase = "Pending"
    position: int | None = None
    reason: str = ""
    outcome: Outcome | None = None
    reservation: ReservationStatus | None = None
    rejection: Mapping[str, object] | None = None
    bypassed: int = 0
    expired_at: str | None = None
    kept_until: str | None = None
    published: bool = False
    term: int = 0
    forgotten: int = 0
    history: tuple[HistoryEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GangQueueSpec:
    """A node of the tree in which gangs wait and share capacity.

    Attributes:
        parent: The queue above; none for a root. A queue's usage includes that of all queues below it.
        priority: Gangs of a queue with a higher priority come first.
        limit: Never passed by a new placement, by resource name. A resource that is not listed has no limit.
        open: A closed queue admits nothing new.
        weight: Its part of what is left when all have what they deserve, relative to the other queues that want
            more; 0: no claim.
        deserved: What it gets before others get more than they deserve, by resource name.
        guarantee: What is kept free for it, by resource name.
    """

    parent: str | None = None
    priority: int = 0
    limit: Mapping[str, str] = field(default_factory=dict)
    open: bool = True
    weight: int = 1
    deserved: Mapping[str, str] | None = None
    guarantee: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyDomain:
    """A part of the cluster.

    Attributes:
        name: Unique in its level and parent.
        level: The level that it is of.
        parent: The domain of the next coarser level in which it lies; none for one of the coarsest.
        nodes: Names of its nodes; only of domains of the finest level.
    """

    name: str
    level: str
    parent: str | None = None
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GangTopologySpec:
    """The levels of the cluster's network, by node labels or by an explicit tree.

    Attributes:
        levels: From coarse to fine. Without domains: keys of node labels. With domains: names of their levels.
        domains: Which nodes lie together, where no labels tell.
    """

    levels: tuple[str, ...]
    domains: tuple[TopologyDomain, ...] = field(default=())
