"""A cluster as columns of numbers, for callers that hold arrays already; :class:`gangplan.Session` takes it in.

Columns hold less than a :class:`gangplan.Snapshot`: ``docs/concepts.md`` has the list.

A column of numbers is a contiguous buffer of integers – a numpy array, an ``array.array``, a ``memoryview`` – or a
plain sequence of ``int``. ``int64`` amounts and ``uint32`` positions are taken as they are; other integers are
converted and must fit. Truths are a buffer of booleans or a sequence of ``bool``.

The order of rows has no meaning. Rows refer to each other by position, from 0; :data:`NONE`, or None in a plain
sequence, stands for "none". Amounts are in base units: thousandths of a core for ``cpu``, one byte, device or replica
for everything else. A table of amounts has a column for each resource: a list of columns, or one array of shape
``(resources, rows)``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from gangplan.snapshot import NodeSelectorTerm, Queue, Taint, Toleration

if TYPE_CHECKING:
    from typing_extensions import Buffer

NONE = 2**32 - 1
"""No position: the largest ``uint32``."""

Numbers: TypeAlias = "Buffer | Sequence[int]"
Positions: TypeAlias = "Buffer | Sequence[int] | Sequence[int | None]"
Truths: TypeAlias = "Buffer | Sequence[bool]"
Amounts: TypeAlias = "Buffer | Sequence[Numbers]"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelColumn:
    """One label of all nodes.

    Attributes:
        key: The label.
        values: The values that it has on some node, each once.
        codes: By node: position in ``values``, or none where the node lacks the label.
    """

    key: str
    values: Sequence[str]
    codes: Positions


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeColumns:
    """The machines, a row each.

    Attributes:
        names: Unique.
        allocatable: By resource, then node: what replicas may use. Where ``pods`` is no resource, their number has
            no limit.
        labels: The labels that a topology level or a need refers to.
        taints: Position in ``taint_sets``, or none; empty: no taints.
        taint_sets: The distinct lists of taints.
        unschedulable: Cordoned: nothing new is placed here; empty: none is.
        ready: A node that is not ready gets nothing new; empty: all are.
    """

    names: Sequence[str]
    allocatable: Amounts
    labels: Sequence[LabelColumn] = ()
    taints: Positions = ()
    taint_sets: Sequence[Sequence[Taint]] = ()
    unschedulable: Truths = ()
    ready: Truths = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeNeeds:
    """What a role asks of a node beside room, as in :class:`gangplan.Role`; many roles share one.

    Attributes:
        node_selector: Labels that a node must have with these values.
        node_affinity: One of the terms must hold; no term means any node.
        tolerations: Taints that are tolerated.
    """

    node_selector: Mapping[str, str] = field(default_factory=dict)
    node_affinity: Sequence[NodeSelectorTerm] = ()
    tolerations: Sequence[Toleration] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GangColumns:
    """The gangs, running and waiting, a row each.

    Attributes:
        names: Unique.
        queues: Position in the queues, or none; empty: no gang is in a queue.
        priorities: In a queue, higher comes first; empty: all 0.
        created: When it was asked for, in seconds since 1970; among equals older comes first; empty: all 0.
        required: The level of which one domain must hold the gang: position in ``Columns.topology``, its length for
            ``node``, or none; empty: none.
        preferred: The level of which one domain should hold it; as ``required``.
        min_members: The gang has no replicas or at least so many; none: what its roles say; empty: all none.
        preemptible: Whether it may be evicted for others; empty: all may.
        runtimes_s: How long it runs, in seconds, or none where that is not known; empty: all none.
        bypassed: How many gangs that came after it have started while it waited; empty: all 0.
    """

    names: Sequence[str] = ()
    queues: Positions = ()
    priorities: Numbers = ()
    created: Numbers = ()
    required: Positions = ()
    preferred: Positions = ()
    min_members: Positions = ()
    preemptible: Truths = ()
    runtimes_s: Positions = ()
    bypassed: Numbers = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleColumns:
    """The roles of all gangs, a row each.

    Attributes:
        gangs: Position of its gang.
        names: Unique in its gang.
        replicas: How many, running ones included; at least 1.
        requests: By resource, then role: what one replica takes. Each takes one of ``pods``, whatever is said here.
        needs: Position in ``Columns.needs``, or none; empty: none.
        mins: The gang has no replicas or at least so many of the role; none: all, or 0 where the gang has a minimum of
            its own; empty: all none.
        priorities: Inside the gang, higher grows first; empty: all 0.
    """

    gangs: Positions = ()
    names: Sequence[str] = ()
    replicas: Numbers = ()
    requests: Amounts = ()
    needs: Positions = ()
    mins: Positions = ()
    priorities: Numbers = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningColumns:
    """Replicas of gangs that hold a place, a row each.

    Attributes:
        roles: Position of its role.
        indexes: Its index in the role.
        nodes: Position of the node where it is.
        reserved: It does not run yet: the place is kept for it; empty: all run.
    """

    roles: Positions = ()
    indexes: Numbers = ()
    nodes: Positions = ()
    reserved: Truths = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodColumns:
    """Pods of no gang that hold a place, a row each.

    Attributes:
        names: For people; empty: they have none.
        nodes: Position of the node where it is.
        requests: By resource, then pod: what it takes, and one of ``pods``.
        queues: Position of the queue that it counts in, or none; empty: in none.
    """

    names: Sequence[str] = ()
    nodes: Positions = ()
    requests: Amounts = ()
    queues: Positions = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """All that a decision rests on; what :class:`gangplan.Snapshot` says in words, in columns.

    Attributes:
        resources: Names of the resources.
        topology: Node label keys from coarse to fine; each has its column in ``nodes.labels``.
        nodes: The machines.
        queues: The queues, as in a snapshot; their quantities are texts.
        needs: What roles ask of a node beside room.
        gangs: The gangs.
        roles: Their roles.
        running: Replicas of gangs that hold a place.
        pods: Pods of no gang that hold a place.
        now: The moment, in seconds since 1970; 0: not known, then no gang has an age.
    """

    resources: Sequence[str]
    topology: Sequence[str] = ()
    nodes: NodeColumns
    queues: Sequence[Queue] = ()
    needs: Sequence[NodeNeeds] = ()
    gangs: GangColumns = GangColumns()
    roles: RoleColumns = RoleColumns()
    running: RunningColumns = RunningColumns()
    pods: PodColumns = PodColumns()
    now: int = 0
