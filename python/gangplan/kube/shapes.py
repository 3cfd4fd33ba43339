"""Shapes of a gang that Volcano can be held to: each role in equal parts on its nodes."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gangplan import admission
from gangplan.closeness import Closeness, Slice, Spread
from gangplan.config import Terms
from gangplan.kube.submission import Submission
from gangplan.record import GangRecord, new
from gangplan.snapshot import Gang, Role
from gangplan.store import Cluster, ClusterView, Store

MOST_SHAPES = 100
"""Shapes of a gang that are looked at, of many some of each kind: each is one decision on the whole cluster."""


def shapes(gang: Gang) -> Iterator[Gang]:
    """The gang with each role in equal parts on its nodes, for each way to do that; on the fewest nodes first.

    Args:
        gang: What is asked for; its roles have all of their replicas.
    """
    parts = [
        [size for size in range(role.replicas, 0, -1) if role.replicas % size == 0] for role in gang.roles
    ]

    def nodes(sizes: Sequence[int]) -> int:
        return sum(role.replicas // size for role, size in zip(gang.roles, sizes, strict=True))

    ways = sorted(itertools.product(*parts), key=nodes)
    for sizes in [*ways[: -1 : -(-len(ways) // MOST_SHAPES)], ways[-1]]:
        roles = tuple(_in_parts(role, size) for role, size in zip(gang.roles, sizes, strict=True))
        yield replace(gang, roles=roles)


def _in_parts(role: Role, size: int) -> Role:
    """A role of which each node holds so many replicas, or none."""
    if role.replicas <= 1:
        return role
    own = role.topology or Closeness()
    slices = own.slices if any(item.level == "node" for item in own.slices) else (*own.slices, _part(size))
    return replace(
        role, topology=replace(own, slices=slices, spread=(*own.spread, Spread(level="node", most=size)))
    )


def _part(size: int) -> Slice:
    return Slice(level="node", size=size)


def in_shape(
    wanted: Submission, cluster: Cluster, records: Sequence[GangRecord], *, now: float, terms: Terms
) -> Submission:
    """A submission for Volcano in the shape that fits best as things stand.

    That is the first, of those on the fewest nodes, that may start now; else the first that an empty cluster would
    hold; else the first, whose refusal tells what lacks.

    Args:
        wanted: What is to run.
        cluster: The cluster.
        records: The gangs that wait or hold room.
        now: Seconds since 1970.
        terms: How long things are kept, and when room is.
    """
    possible, others = None, [record for record in records if record.name != wanted.gang.name]
    for shape in shapes(wanted.gang):
        asked = new(shape, uid="", run_id=wanted.run_id, now=now)
        decided = admission.decide(
            cluster.snapshot,
            (*others, asked),
            now=now,
            terms=terms,
            members=cluster.members,
            gaps=cluster.gaps,
        )
        if shape.name in decided.plan.placements:
            return replace(wanted, gang=shape)
        refused = decided.plan.rejections.get(shape.name)
        if possible is None and refused is not None and not refused.impossible:
            possible = shape
    return replace(wanted, gang=possible or next(shapes(wanted.gang)))


def as_it_stands(
    wanted: Submission, view: ClusterView, store: Store, *, now: float, terms: Terms
) -> Submission:
    """The same for a cluster as it is now, which is read only if there is a shape to choose."""
    if wanted.enforcement != "volcano":
        return wanted
    return in_shape(wanted, view.read(), store.records(), now=now, terms=terms)
