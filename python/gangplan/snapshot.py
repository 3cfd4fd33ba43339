"""The cluster at one moment, as one document: nodes, topology, queues, gangs and what runs.

Quantities are Kubernetes quantity strings (``"500m"``, ``"64Gi"``, ``"4"``). Sequences have no meaning in
their order unless a field says so: the solver gives the same plan for any order.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

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
    """

    name: str
    allocatable: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A node of the tree in which gangs wait and share capacity.

    Attributes:
        name: Unique in the snapshot.
        parent: The queue above; None for a root. A queue's usage includes that of all queues below it.
        priority: Gangs of a queue with a higher priority come first.
        limit: Never passed by a new placement, by resource name. A resource that is not listed has no limit.
        open: A closed queue admits nothing new.
    """

    name: str
    parent: str | None = None
    priority: int = 0
    limit: Mapping[str, str] = field(default_factory=dict)
    open: bool = True


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
class Role:
    """One kind of replica of a gang: same requests, same needs, a count.

    Attributes:
        name: Unique in the gang: ``chief``, ``ps``, ``worker``, ``evaluator`` or any other.
        replicas: How many, running ones included; at least 1.
        requests: What one replica takes, by resource name. Each replica also takes one of ``pods``.
        pod: The containers, in place of ``requests``; exactly one of the two may be given.
        node_selector: Labels that a node must have with these values.
        node_affinity: Required node affinity: one of the terms must hold. No term means any node.
        tolerations: Taints that these replicas tolerate.
    """

    name: str
    replicas: int
    requests: Mapping[str, str] = field(default_factory=dict)
    pod: Pod | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict)
    node_affinity: tuple[NodeSelectorTerm, ...] = ()
    tolerations: tuple[Toleration, ...] = ()


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
class Gang:
    """Replicas that start together or not at all.

    Attributes:
        name: Unique in the snapshot.
        roles: Its roles. The order decides nothing.
        queue: The queue that it waits in and is counted in; None: in no queue.
        priority: In a queue, higher comes first.
        created: When it was asked for, in seconds since 1970; among equals older comes first.
        required: All replicas must lie in one domain of this level: a key of the snapshot's ``topology``,
            or ``node``.
        preferred: They should lie in one domain of this level; where none fits, in one of the next level out.
        traffic: Which roles talk. Empty means that every pair of replicas does, with weight 1.
    """

    name: str
    roles: tuple[Role, ...]
    queue: str | None = None
    priority: int = 0
    created: int = 0
    required: str | None = None
    preferred: str | None = None
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
        queue: The queue that it counts in; only without ``gang``.
        reserved: It does not run yet: the place is kept for it by a reservation.
    """

    name: str
    node: str
    gang: str | None = None
    role: str | None = None
    index: int | None = None
    requests: Mapping[str, str] = field(default_factory=dict)
    queue: str | None = None
    reserved: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All that a decision rests on. A gang with a replica that does not run yet is waiting.

    Attributes:
        version: Version of the document format.
        topology: Node label keys from coarse to fine, such as ``("zone", "rack")``. A domain is the tuple of
            values down to a level, so equal values under different parents are different domains. A node
            that lacks one of the labels is outside the topology and takes no gang that asks for a level.
            The level ``node`` is always there, below these.
        nodes: The machines.
        queues: The queues.
        gangs: The gangs, running and waiting.
        running: What holds a place on a node, whoever owns it.
    """

    version: Literal[1] = 1
    topology: tuple[str, ...] = ()
    nodes: tuple[Node, ...] = ()
    queues: tuple[Queue, ...] = ()
    gangs: tuple[Gang, ...] = ()
    running: tuple[Running, ...] = ()
