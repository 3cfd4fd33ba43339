"""What changed for many things at once, in columns, for :meth:`gangplan.Session.apply`; as in ``columns``, rows name."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gangplan.columns import (
    Amounts,
    GangColumns,
    Numbers,
    PodColumns,
    Positions,
    RoleColumns,
    RunningColumns,
    Truths,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDeltas:
    """Nodes that are other than before, a row each. A column that is left empty changes nothing.

    Attributes:
        rows: Rows of the nodes in :attr:`gangplan.Session.nodes`, each once.
        allocatable: By resource, then node: what replicas may use.
        free: In place of ``allocatable``: what is free now, beside all that the session knows to hold a place once the
            deltas are done; below 2⁶².
        unschedulable: Cordoned, or no longer.
        ready: Ready, or no longer.
    """

    rows: Positions = ()
    allocatable: Amounts = ()
    free: Amounts = ()
    unschedulable: Truths = ()
    ready: Truths = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedColumns:
    """Replicas that hold no place any more, a row each.

    Attributes:
        roles: Row of the role in :attr:`gangplan.Session.roles`.
        indexes: Index in the role.
    """

    roles: Positions = ()
    indexes: Numbers = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaColumns:
    """What changed, in columns; rows are those of the session, and stay what they are once given.

    What is gone or ended is done first, then nodes, then what is new, then who holds a place. What is said of gangs and
    replicas that are gone already changes nothing.

    Attributes:
        resources: Names of the resources of all amounts here; empty: :attr:`gangplan.Session.resources`. Of the others
            nodes keep what they have, and new roles and pods take none.
        gone_gangs: Rows of gangs that have finished or were deleted, with all their replicas.
        gone_pods: Rows of pods of no gang: first those that the session was opened with, then others as they came.
        ended: Replicas that hold no place any more.
        nodes: Nodes that are other than before.
        gangs: New gangs; they get the next rows.
        roles: Roles of the new gangs: ``gangs`` are positions in the new gangs, and the roles get the next rows, gang by
            gang. A session that was opened with, or told, documents knows no needs.
        pods: New pods of no gang; they get the next rows.
        bound: Replicas that hold a place, where each may have held another. Roles of the new gangs are counted on from
            those of the session, in the order in which they stand here.
    """

    resources: Sequence[str] = ()
    gone_gangs: Positions = ()
    gone_pods: Positions = ()
    ended: EndedColumns = field(default_factory=EndedColumns)
    nodes: NodeDeltas = field(default_factory=NodeDeltas)
    gangs: GangColumns = field(default_factory=GangColumns)
    roles: RoleColumns = field(default_factory=RoleColumns)
    pods: PodColumns = field(default_factory=PodColumns)
    bound: RunningColumns = field(default_factory=RunningColumns)
