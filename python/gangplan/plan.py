"""The answer: where each replica goes, and why the refused gangs must wait."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Stage = Literal["quota", "class", "capacity", "topology", "packing", "fairness", "earmark"]
"""What binds first, from cheap to dear: the queue; no node passes selectors, taints and readiness; not enough in
sum; no single domain of the required level; enough in sum but not in pieces; not this gang's turn or right; the
room is kept for a gang that comes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelFit:
    """How much of a gang the best domain of a level can hold.

    Attributes:
        level: The level: a topology key, ``node``, or ``cluster`` for everything.
        domain: The best domain, its values joined by ``/``; empty for ``cluster``.
        have: Replicas of each role that fit there, by role name, the roles taken together.
        need: Replicas of each role that must still start, by role name.
        limited_by: The resource that runs out first there; None if all fit.
    """

    level: str
    domain: str
    have: Mapping[str, int]
    need: Mapping[str, int]
    limited_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """How many nodes a rule keeps a role away from.

    Attributes:
        role: The role.
        rule: Code of the rule, the first that the node fails.
        nodes: How many nodes.
    """

    role: str
    rule: str
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds room that the gang lacks.

    Attributes:
        name: A gang, or the name of another pod.
        resource: The resource that the gang lacks.
        amount: How much of it is held in the domain in question.
        reserved: Whether it is only reserved so far.
    """

    name: str
    resource: str
    amount: str
    reserved: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change that was tried and admits the gang.

    It is the smallest of its kind, as far as the budget reached: with one replica more, one node less, the next finer
    level, a limit lower by one or a request larger by a step the gang is refused. What is to be ``free`` is what lacks
    in sum; ``wait`` and ``constraint`` have no smaller step. With ``request`` replicas that run keep what they take.

    Attributes:
        kind: ``replicas`` (fewer replicas of a role), ``level`` (relax the required level), ``limit`` (raise a
            queue's limit), ``wait`` (until a gang has ended), ``request`` (smaller requests of a role), ``free`` (an
            amount of a resource), ``constraint`` (drop a rule that the gang sets itself), ``nodes`` (add nodes).
        role: With ``replicas`` and ``request``: the role. With ``level`` and ``constraint``: the role that says it,
            if one does.
        group: With ``level`` and ``constraint``: the group that says it, if one does.
        to: With ``replicas`` the count, with ``level`` the level (``cluster``: none), with ``limit`` the limit, with
            ``request`` the amount, with ``nodes`` how many.
        queue: With ``limit``: the queue.
        namespace: With ``limit``: the namespace, if its quota is meant.
        resource: With ``limit``, ``request`` and ``free``: the resource.
        gang: With ``wait``: the gang.
        amount: With ``free``: how much.
        at: With ``free``: the domain or node where.
        constraint: With ``constraint``: the field that is dropped, such as ``node_selector`` or ``slices``; ``one_kind``: that
            it lies on one kind of nodes.
        node: With ``nodes``: the node that they are like.
        min_member: With ``replicas`` of a gang that has a ``min_member``: what that comes down to.
        alone: Whether it was tried as if nothing ran: it does not admit the gang now, but with it the gang is not
            impossible. Of an impossible gang that no smaller count or request admits now, and where no change of its
            kind does.
        text: The change as a short sentence without full stop.
    """

    kind: Literal["replicas", "level", "limit", "wait", "request", "free", "constraint", "nodes"]
    role: str | None = None
    group: str | None = None
    to: str | None = None
    queue: str | None = None
    namespace: str | None = None
    resource: str | None = None
    gang: str | None = None
    amount: str | None = None
    at: str | None = None
    constraint: str | None = None
    node: str | None = None
    min_member: int | None = None
    alone: bool = False
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Proof that no placement exists in certain domains.

    It gives points to the replicas of each role, such that the gang needs more points than the nodes of a domain can
    host at best, each by itself.

    Attributes:
        weights: Points of one replica, by role name; a role that is not listed has none.
        needs: Points of all replicas that must still start.
        most: The most points that any of the domains can host.
        domains: The domains, their values joined by ``/``; empty for the whole cluster.
    """

    weights: Mapping[str, int]
    needs: int
    most: int
    domains: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """Why a gang was not placed, and what would change that.

    Attributes:
        stage: What binds first.
        rule: Stable code of the rule that binds, a row of ``docs/rules.md``.
        message: The reason as one sentence, with its numbers.
        position: Place among the refused gangs in queue order, from 1.
        resource: The resource that is short; ``pods`` counts replicas. None where no number applies.
        needs: How much of it all replicas that must still start need together.
        has: How much of it there is, where ``at`` says.
        at: The domain (values joined by ``/``), the queue or empty for the whole cluster.
        proven: Whether it is proven that the gang cannot be placed; False only where the budget, the deadline or the
            memory for tables ended the search. The message says which.
        impossible: Whether the gang would not fit even if nothing ran.
        levels: The best domain of each level from fine to coarse, up to the whole cluster.
        exclusions: Nodes that rules keep away from roles, by role, then rule.
        holders: Who holds the room that is short, the largest first.
        changes: Changes that were tried and admit the gang; of an impossible one perhaps ``alone``.
        certificates: Proofs that no placement exists, where weights prove it.
    """

    stage: Stage
    rule: str
    message: str
    position: int
    resource: str | None = None
    needs: str | None = None
    has: str | None = None
    at: str | None = None
    proven: bool = True
    impossible: bool = False
    levels: tuple[LevelFit, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()
    holders: tuple[Holder, ...] = ()
    changes: tuple[Change, ...] = ()
    certificates: tuple[Certificate, ...] = ()

    @property
    def never(self) -> str:
        """Of an impossible one what can never hold it, as the beginning of a sentence that the message ends."""
        return f"it {_NEVER.get(self.rule, 'cannot fit this cluster')}"


_NEVER = {
    "NAMESPACE_QUOTA_EXCEEDED": "is more than the quota of its namespace lets in",
    "QUEUE_LIMIT_EXCEEDED": "is more than the limit of its queue lets in",
}
"""Rule → what it says of a gang that it refuses even when nothing runs, where that is not the cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """What a solve did.

    Attributes:
        nodes: Nodes in the snapshot.
        gangs: Waiting gangs that were considered.
        trials: Domains in which a placement was tried.
        cells: Work of the exact search, in table cells.
        stopped_by: ``deadline`` if it cut the search, else None.
    """

    nodes: int = 0
    gangs: int = 0
    trials: int = 0
    cells: int = 0
    stopped_by: Literal["deadline"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Earmark:
    """Room that is kept for a gang that comes first.

    Attributes:
        nodes: The nodes on which it is kept; none where it is room under limits.
        starts_in_s: When the gang can start there, in seconds from now; None: not known.
    """

    nodes: tuple[str, ...]
    starts_in_s: int | None = None

    @property
    def text(self) -> str:
        """Where the room is, as the rest of a sentence about the gang."""
        where = f"on {', '.join(self.nodes)}" if self.nodes else "under its limits"
        return f"room is kept for it {where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The answer to a snapshot: every waiting gang is either placed whole or refused with a reason.

    Attributes:
        version: Version of the document format.
        placements: Gang → role → nodes: one node for each replica that starts now, by ascending index of those that
            do not run. Of an elastic gang the last ones may be left out.
        rejections: Gang → why it was refused.
        traffic: Placed gang → cost of its traffic: for each pair of replicas that talk, weight times the number
            of topology levels (``node`` included) that part them, running replicas included.
        earmarks: Refused gang → the room that is kept for it.
        hash: Sixteen hex digits over all of the plan but ``stats`` and this: equal plans have equal hashes. Empty:
            not given.
        stats: What the solve did.
    """

    version: Literal[1] = 1
    placements: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    rejections: Mapping[str, Rejection] = field(default_factory=dict)
    traffic: Mapping[str, int] = field(default_factory=dict)
    earmarks: Mapping[str, Earmark] = field(default_factory=dict)
    hash: str = ""
    stats: Stats = field(default_factory=Stats)
