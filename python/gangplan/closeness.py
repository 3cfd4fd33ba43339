"""Where replicas lie relative to each other: levels, slices, spread, and the company of other replicas."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaAffinity:
    """Draws a replica to others with certain labels, or keeps it apart from them.

    Attributes:
        level: What near means: nodes with the same value of this label, or ``node`` for the same node.
            ``kubernetes.io/hostname`` means ``node`` where no node has that label.
        match_labels: Labels that the others have, whatever gang they are of. Each replica also carries
            ``gangplan.dev/gang`` and ``gangplan.dev/role``.
        anti: Keeps apart instead of drawing near.
        required: Must hold; else it should.
    """

    level: str
    match_labels: Mapping[str, str] = field(default_factory=dict)
    anti: bool = False
    required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A number of replicas that belong together: every domain of a level holds a multiple of it.

    Attributes:
        level: A key of the snapshot's ``topology``, or ``node``.
        size: How many replicas a slice has; at least 1.
    """

    level: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Keeps replicas apart: no domain of a level holds more than so many.

    Attributes:
        level: A key of the snapshot's ``topology``, or ``node``.
        most: The most replicas in one domain; at least 1.
    """

    level: str
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Closeness:
    """Where the replicas of a gang, a group or a role lie, relative to each other; running ones count.

    An empty one asks for nothing but a place inside the topology: a node that lacks one of its labels is not for
    replicas with a closeness, be it their own, their group's or their gang's.

    Attributes:
        required: All replicas must lie in one domain of this level: a key of the snapshot's ``topology``, or
            ``node``.
        preferred: They should lie in one domain of this level; where none fits, in one of the next level out; where
            none of those fits either, in as few of the outermost domains as possible. One that is no finer than the
            required level asks for nothing more.
        slices: Up to three layers; the size of an outer one is a multiple of the size of an inner one.
        balanced: As even as possible over few domains: the smallest part as large as can be, then the largest as
            small. Domains of the outermost slices, else of the finest key of the topology, else, inside one of these,
            nodes.
        spread: Caps on the replicas in one domain.
    """

    required: str | None = None
    preferred: str | None = None
    slices: tuple[Slice, ...] = ()
    balanced: bool = False
    spread: tuple[Spread, ...] = ()
