"""The cluster at one moment, as one document: nodes, topology, queues, gangs and what runs.

Quantities are Kubernetes quantity strings (``"500m"``, ``"64Gi"``, ``"4"``). Sequences have no meaning in
their order unless a field says so: the solver gives the same plan for any order.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gangplan.closeness import Closeness, ReplicaAffinity

TaintEffect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taint:
    """Keeps replicas away from a node unless they tolerate it, as a Kubernetes taint.

    Attributes:
        key: Name of the taint.
        value: Its value; empty if it has none.
        effect: ``NoSchedule`` and ``NoExecute`` keep replicas away; ``PreferNoSchedule`` does not.
    """

    key: str
    value: str = ""
    effect: TaintEffect


@dataclass(frozen=True, slots=True, kw_only=True)
class Toleration:
    """Lets a replica on a tainted node, as a Kubernetes toleration.

    Attributes:
        key: The taint's key; empty with ``Exists`` tolerates every taint.
        operator: ``Equal`` compares the value, ``Exists`` does not.
        value: The value to equal.
        effect: The effect to tolerate; empty means all.
    """

    key: str = ""
    operator: Literal["Equal", "Exists"] = "Equal"
    value: str = ""
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A machine.

    Attributes:
        name: Unique in the snapshot.
        allocatable: What replicas may use, by resource name. A resource that is not listed is 0, except
            ``pods``: a node that does not list it has no limit on the number of replicas.
        labels: Kubernetes labels; the values of the snapshot's topology keys say where the node stands.
        taints: Taints of the node.
        unschedulable: Cordoned: nothing new is placed here, what runs here stays.
        ready: A node that is not ready gets nothing new.
        zones: What each NUMA zone offers, by resource name. A resource that no zone lists belongs to the node.
    """

    name: str
    allocatable: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    zones: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A node of the tree in which gangs wait and share capacity.

    Attributes:
        name: Unique in the snapshot.
        parent: The queue above; None for a root. A queue's usage includes that of all queues below it.
        priority: Gangs of a queue with a higher priority come first.
        limit: Never passed by a new placement, by resource name. A resource that is not listed has no limit.
        open: A closed queue admits nothing new.
        weight: Its part of what is left when all have what they deserve, relative to the other queues that want
            more; 0: no claim.
        deserved: What it gets before others get more than they deserve, by resource name; None: nothing is said.
            A resource that a given map does not list is not accounted.
        guarantee: What is kept free for it, by resource name.
        created: When it was made, in seconds since 1970; among equals older comes first.
    """

    name: str
    parent: str | None = None
    priority: int = 0
    limit: Mapping[str, str] = field(default_factory=dict)
    open: bool = True
    weight: int = 1
    deserved: Mapping[str, str] | None = None
    guarantee: Mapping[str, str] = field(default_factory=dict)
    created: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One container of a replica's pod.

    Attributes:
        requests: Requested amounts, by resource name.
        limits: Limits; a resource with a limit and no request requests its limit.
        sidecar: Of an init container: it keeps running beside the others (``restartPolicy: Always``).
    """

    requests: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, str] = field(default_factory=dict)
    sidecar: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """The containers of a replica, where a plain ``requests`` does not say it all.

    It counts, for each resource, the larger of (a) all containers and sidecars together and (b) each init
    container together with the sidecars before it; then the overhead is added.

    Attributes:
        containers: Containers that run together.
        init_containers: Containers that run first, in this order.
        overhead: What the runtime class adds to each replica.
    """

    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...] = ()
    overhead: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A test on one label of a node, as in a Kubernetes node selector term.

    Attributes:
        key: The label.
        operator: ``Gt`` and ``Lt`` compare integers.
        values: Values to compare with: none for ``Exists`` and ``DoesNotExist``, one for ``Gt`` and ``Lt``.
    """

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSelectorTerm:
    """Tests that must hold together.

    Attributes:
        expressions: All must hold. A term without expressions matches no node, as in Kubernetes.
    """

    expressions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferredTerm:
    """Nodes that a role would rather use, as a preferred scheduling term of Kubernetes.

    Attributes:
        weight: From 1 to 100; the weights of all terms that hold for a node add up.
        expressions: All must hold. A term without expressions holds for no node.
    """

    weight: int
    expressions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One kind of replica of a gang: same requests, same needs, a count.

    Attributes:
        name: Unique in the gang: ``chief``, ``ps``, ``worker``, ``evaluator`` or any other.
        replicas: How many, running ones included; 0: none of this role.
        requests: What one replica takes, by resource name. Each replica also takes one of ``pods``.
        pod: The containers, in place of ``requests``; exactly one of the two may be given.
        node_selector: Labels that a node must have with these values.
        node_affinity: Required node affinity: one of the terms must hold. No term means any node.
        tolerations: Taints that these replicas tolerate.
        min: The gang has no replicas or at least so many of this role. None: all of them, or 0 where the gang says
            ``min_member`` or ``min_groups``.
        priority: Inside the gang, higher grows first.
        labels: Labels of the replicas, for the affinity of others.
        preferred_node_affinity: Nodes that it would rather use.
        replica_affinity: Other replicas that it must or should lie near to, or apart from.
        topology: How near to each other its replicas lie; None: nothing asked.
        ranks: Replica *i* talks to replica *i* + 1 (in a ring the last one to the first), so that they are not
            alike; None: they are.
        single_zone: Each replica has what zones offer from a single zone of its node. A node without zones is one
            zone.
    """

    name: str
    replicas: int
    requests: Mapping[str, str] = field(default_factory=dict)
    pod: Pod | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict)
    node_affinity: tuple[NodeSelectorTerm, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    min: int | None = None
    priority: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    preferred_node_affinity: tuple[PreferredTerm, ...] = ()
    replica_affinity: tuple[ReplicaAffinity, ...] = ()
    topology: Closeness | None = None
    ranks: Literal["ring", "chain"] | None = None
    single_zone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """How much the replicas of two roles talk to each other.

    Attributes:
        a: A role of the gang.
        b: A role of the gang; may equal ``a``: each pair of its replicas talks.
        weight: Cost for each pair of replicas and each topology level that parts them.
    """

    a: str
    b: str
    weight: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Some roles of a gang, and those of the groups below it, with a minimum and a closeness of their own.

    Attributes:
        name: Unique among the groups of the gang.
        roles: Its own roles. The order decides nothing.
        parent: The group above; None for an outermost one. What is said of a group holds for its own roles and those
            of the groups below it together.
        topology: How near to each other its replicas lie; None: nothing asked.
        min: With any replica it has at least so many; None: 0.
        set: The set that it is counted in by the gang's ``min_groups``.
    """

    name: str
    roles: tuple[str, ...] = ()
    parent: str | None = None
    topology: Closeness | None = None
    min: int | None = None
    set: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gang:
    """Replicas that start together or not at all.

    Attributes:
        name: Unique in the snapshot.
        roles: Its roles. The order decides nothing.
        queue: The queue that it waits in and is counted in; None: in no queue.
        priority: In a queue, higher comes first.
        created: When it was asked for, in seconds since 1970; among equals older comes first.
        topology: How near to each other its replicas lie; None: nothing asked.
        groups: Groups of its roles.
        min_groups: Set of groups → how many of them must have their minimum; the others may have no replica. Empty:
            all groups must have their minimum.
        min_member: The gang has no replicas or at least so many; None: what its roles say.
        preemptible: Whether it may be evicted for others.
        runtime_s: How long it runs, in seconds, where that is known.
        bypassed: How many gangs that came after it have started while it waited.
        namespace: The namespace whose quota counts it.
        traffic: Which roles talk. Empty means that every pair of replicas does, with weight 1.
    """

    name: str
    roles: tuple[Role, ...]
    queue: str | None = None
    priority: int = 0
    created: int = 0
    topology: Closeness | None = None
    groups: tuple[Group, ...] = ()
    min_groups: Mapping[str, int] = field(default_factory=dict)
    min_member: int | None = None
    preemptible: bool = True
    runtime_s: int | None = None
    bypassed: int = 0
    namespace: str = ""
    traffic: tuple[Traffic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A replica of a gang, or any other pod, that holds a place on a node.

    Attributes:
        name: Unique in the snapshot; for people.
        node: Where it runs.
        gang: The gang that it belongs to; None for any other pod.
        role: Its role in the gang; given exactly when ``gang`` is.
        index: Its index in the role; given exactly when ``gang`` is.
        requests: What it takes; only without ``gang`` (otherwise the role says it). One of ``pods`` is added.
        pod: The containers, in place of ``requests``; only without ``gang``.
        queue: The queue that it counts in; only without ``gang``.
        reserved: It does not run yet: the place is kept for it by a reservation.
        preemptible: Whether it may be evicted for others; None: as its gang says, and yes for any other pod.
        priority: Its priority; None: that of its gang, and 0 for any other pod.
        terminating: It is leaving: it counts for nothing, and its room is free.
        zone: The zone of its node that it sits in, from 0; None: in no single one.
        ends_s: It is known to end in so many seconds.
        labels: Labels, for the affinity of others; only without ``gang`` (otherwise the role says them).
    """

    name: str
    node: str
    gang: str | None = None
    role: str | None = None
    index: int | None = None
    requests: Mapping[str, str] = field(default_factory=dict)
    pod: Pod | None = None
    queue: str | None = None
    reserved: bool = False
    preemptible: bool | None = None
    priority: int | None = None
    terminating: bool = False
    zone: int | None = None
    ends_s: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceQuota:
    """A limit on what the replicas of a namespace take together, as a ``ResourceQuota`` of Kubernetes.

    Attributes:
        namespace: Unique among the quotas.
        hard: Never passed by a new placement, by resource name. A resource that is not listed has no limit.
        used: What others use; replicas of gangs in the namespace that run are counted besides.
    """

    namespace: str
    hard: Mapping[str, str] = field(default_factory=dict)
    used: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All that a decision rests on. A gang with a replica that does not run yet is waiting.

    Attributes:
        version: Version of the document format.
        now: The moment, in seconds since 1970; 0: not known, then no gang has an age.
        topology: Node label keys from coarse to fine, such as ``("zone", "rack")``. A domain is the tuple of
            values down to a level, so equal values under different parents are different domains. A node
            that lacks one of the labels is outside the topology and takes no replicas with a closeness.
            The level ``node`` is always there, below these.
        nodes: The machines.
        queues: The queues.
        gangs: The gangs, running and waiting.
        running: What holds a place on a node, whoever owns it.
        quotas: Limits on namespaces.
    """

    version: Literal[1] = 1
    now: int = 0
    topology: tuple[str, ...] = ()
    nodes: tuple[Node, ...] = ()
    queues: tuple[Queue, ...] = ()
    gangs: tuple[Gang, ...] = ()
    running: tuple[Running, ...] = ()
    quotas: tuple[NamespaceQuota, ...] = ()
