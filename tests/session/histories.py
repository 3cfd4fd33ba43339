"""Clusters that ask for everything a document can say, and what may happen to them; kept up in plain Python too."""

from dataclasses import replace

from hypothesis import strategies as st
from session import strategies as plain

import gangplan as gp
from gangplan.solver import format_quantity

COUNTS = st.integers(0, 6)


@st.composite
def rich_snapshots(draw):
    """As the plain ones, with minimums, groups, slices, spread, company, ranks, zones, quotas and ends."""
    snapshot = draw(plain.snapshots())
    return replace(
        snapshot,
        now=draw(st.sampled_from([0, 1000])),
        nodes=tuple(draw(zoned(node)) for node in snapshot.nodes),
        gangs=tuple(draw(rich(gang)) for gang in snapshot.gangs),
        running=tuple(
            replace(one, ends_s=draw(st.sampled_from([None, None, 60]))) for one in snapshot.running
        ),
        quotas=draw(st.sampled_from([(), (quota("4"),)])),
    )


@st.composite
def held(draw, snapshot):
    """More replicas of more indexes, under names that follow no order, some with an end."""
    alone = [one for one in snapshot.running if one.gang is None]
    replicas = [
        gp.Running(
            name="",
            node=draw(st.sampled_from(snapshot.nodes)).name,
            gang=gang.name,
            role=role.name,
            index=index,
        )
        for gang in snapshot.gangs
        for role in gang.roles
        for index in draw(st.sets(st.integers(0, role.replicas - 1), max_size=3))
        if draw(st.integers(0, 2)) == 0
    ]
    names = draw(st.permutations([f"r{number}" for number in range(len(replicas))]))
    replicas = [replace(one, name=name) for one, name in zip(replicas, names, strict=True)]
    return tuple(replace(one, ends_s=draw(st.sampled_from([None, None, 60]))) for one in alone + replicas)


def quota(cpu):
    return gp.NamespaceQuota(namespace="team", hard={"cpu": cpu})


@st.composite
def zoned(draw, node):
    if draw(st.integers(0, 5)):
        return node
    return replace(node, zones=tuple({"nvidia.com/gpu": str(draw(st.integers(0, 3)))} for _ in range(2)))


@st.composite
def rich(draw, gang):
    """A gang with some rules of its own."""
    roles = tuple(draw(rich_role(one)) for one in gang.roles)
    total = sum(one.replicas for one in roles)
    size = draw(st.sampled_from([None, None, None, 2]))
    slices = (gp.Slice(level="node", size=size),) if size and total % size == 0 else ()
    spread = (gp.Spread(level="node", most=draw(st.integers(1, 3))),) if draw(st.integers(0, 4)) == 0 else ()
    topology = gang.topology
    if slices or spread:
        topology = replace(topology or gp.Closeness(), slices=slices, spread=spread)
    grouped = len(roles) > 1 and draw(st.integers(0, 4)) == 0
    return replace(
        gang,
        roles=roles,
        topology=topology,
        groups=(
            gp.Group(
                name="front", roles=(roles[0].name,), min=draw(st.integers(0, min(2, roles[0].replicas)))
            ),
        )
        if grouped
        else (),
        min_member=draw(st.sampled_from([None, None, None, total, total - 1])),
        preemptible=draw(st.booleans()),
        runtime_s=draw(st.sampled_from([None, 30, 90])),
        bypassed=draw(st.integers(0, 2)),
        namespace=draw(st.sampled_from(["", "", "team"])),
    )


@st.composite
def rich_role(draw, role):
    apart = gp.ReplicaAffinity(level="node", match_labels={"kind": "apart"}, anti=True)
    shy = draw(st.integers(0, 6)) == 0
    return replace(
        role,
        min=draw(st.sampled_from([None, None, None, 0, role.replicas])),
        priority=draw(st.integers(0, 1)),
        labels={"kind": "apart"} if shy else {},
        replica_affinity=(apart,) if shy else (),
        ranks=draw(st.sampled_from([None, None, None, "ring"])),
        single_zone=draw(st.integers(0, 6)) == 0,
    )


@st.composite
def deltas(draw, snapshot, step):
    """A step of a history, in names: one thing that is new, other or gone."""
    nodes, gangs = snapshot.nodes, snapshot.gangs
    kind = draw(
        st.sampled_from(
            ["node", "node", "gang", "gang", "running", "running", "queue", "gone", "quota", "now"]
        )
    )
    if kind == "node":
        known = draw(st.sampled_from([*nodes, None]))
        name = f"new{step}" if known is None else known.name
        amounts = {
            "cpu": str(draw(COUNTS)),
            "nvidia.com/gpu": str(draw(COUNTS)),
            "pods": str(draw(COUNTS) + 2),
        }
        node = gp.Node(
            name=name, allocatable=amounts, labels=draw(plain.labels(draw(st.integers(0, 7)))),
            unschedulable=draw(st.booleans()),
        )  # fmt: skip
        return gp.Deltas(nodes=(node,))
    if kind == "gang":
        known = draw(st.sampled_from([*gangs, None]))
        gang = draw(plain.gang(f"h{step}").flatmap(rich))
        return gp.Deltas(gangs=(gang if known is None else replace(gang, name=known.name),))
    if kind == "running" and nodes:
        node = draw(st.sampled_from(nodes)).name
        if gangs and draw(st.booleans()):
            gang = draw(st.sampled_from(gangs))
            role = draw(st.sampled_from(gang.roles))
            held = gp.Running(
                name=f"r{step}", node=node, gang=gang.name, role=role.name,
                index=draw(st.integers(0, role.replicas - 1)), terminating=draw(st.integers(0, 5)) == 0,
            )  # fmt: skip
        else:
            held = gp.Running(name=f"r{step}", node=node, requests={"cpu": str(draw(COUNTS))})
        return gp.Deltas(running=(held,))
    if kind == "queue":
        limit = {"cpu": str(draw(COUNTS))}
        return gp.Deltas(queues=(gp.Queue(name="a", limit=limit, open=draw(st.integers(0, 5)) > 0),))
    if kind == "quota":
        return gp.Deltas(quotas=(quota(str(draw(COUNTS))),))
    if kind == "now":
        return gp.Deltas(now=1000 + step)
    names = [(list_, one.name) for list_ in ("nodes", "gangs", "running") for one in getattr(snapshot, list_)]
    list_, name = draw(st.sampled_from([*names, ("nodes", "unknown")]))
    return gp.Deltas(gone=gp.Gone(**{list_: (name,)}))


@st.composite
def delta_columns(draw, session, snapshot):
    """A step of a history, in columns."""
    place = {name: row for row, name in enumerate(session.nodes)}
    there = [place[node.name] for node in snapshot.nodes]
    rows = draw(st.lists(st.sampled_from(there), unique=True, max_size=3)) if there else []
    kind = draw(st.sampled_from(["allocatable", "free", "flags", "finished", "replicas"]))
    if kind in {"allocatable", "free"}:
        amounts = [draw(st.integers(0, 6000)) for _ in rows]
        return gp.DeltaColumns(resources=["cpu"], nodes=gp.NodeDeltas(rows=rows, **{kind: [amounts]}))
    if kind == "flags":
        flags = {flag: [draw(st.booleans()) for _ in rows] for flag in ("unschedulable", "ready")}
        return gp.DeltaColumns(nodes=gp.NodeDeltas(rows=rows, **flags))
    if kind == "finished" and session.gangs:
        gone = draw(st.lists(st.sampled_from(range(len(session.gangs))), unique=True, max_size=2))
        return gp.DeltaColumns(gone_gangs=gone)
    if not session.roles or not there:
        return gp.DeltaColumns()
    replicas = st.tuples(st.sampled_from(range(len(session.roles))), st.just(0))
    ended = draw(st.lists(replicas, unique=True, max_size=2))
    bound = draw(st.lists(replicas, unique=True, max_size=2))
    return gp.DeltaColumns(
        ended=gp.EndedColumns(roles=[role for role, _ in ended], indexes=[index for _, index in ended]),
        bound=gp.RunningColumns(
            roles=[role for role, _ in bound], indexes=[index for _, index in bound],
            nodes=[draw(st.sampled_from(there)) for _ in bound], reserved=[draw(st.booleans()) for _ in bound],
        ),
    )  # fmt: skip


def followed(snapshot, deltas):
    """The snapshot after deltas in names, done the plain way."""

    def merged(list_, gone, leaves=lambda _: False):
        new = {one.name: one for one in getattr(deltas, list_)}
        old = [one for one in getattr(snapshot, list_) if one.name not in {*new, *gone} and not leaves(one)]
        return (*old, *new.values())

    gone = deltas.gone
    replicas = {key(one) for one in deltas.running if one.gang is not None}
    leaves = lambda one: one.node in gone.nodes or one.gang in gone.gangs or key(one) in replicas  # noqa: E731
    return replace(
        snapshot,
        now=snapshot.now if deltas.now is None else deltas.now,
        nodes=merged("nodes", gone.nodes),
        queues=merged("queues", gone.queues),
        gangs=merged("gangs", gone.gangs),
        running=merged("running", gone.running, leaves),
        quotas=deltas.quotas or snapshot.quotas,
    )


def key(running):
    return (running.gang, running.role, running.index)


def followed_columns(snapshot, columns, session):
    """The snapshot after deltas in columns, done the plain way; what is said to be free is left out."""
    gone = {session.gangs[row] for row in columns.gone_gangs}
    nodes = {node.name: node for node in snapshot.nodes}
    for at, row in enumerate(columns.nodes.rows):
        node = nodes[session.nodes[row]]
        if columns.nodes.allocatable:
            cpu = format_quantity("cpu", columns.nodes.allocatable[0][at])
            node = replace(node, allocatable={**node.allocatable, "cpu": cpu})
        if columns.nodes.ready:
            node = replace(node, ready=columns.nodes.ready[at], unschedulable=columns.nodes.unschedulable[at])
        nodes[node.name] = node
    return replace(
        snapshot,
        nodes=tuple(nodes.values()),
        gangs=tuple(one for one in snapshot.gangs if one.name not in gone),
        running=tuple(one for one in snapshot.running if one.gang not in gone),
    )


def facts(snapshot):
    """What a snapshot says, in one order, and with no names for replicas."""
    named = lambda list_: sorted(list_, key=lambda one: one.name)  # noqa: E731
    return (
        snapshot.now, named(snapshot.nodes), named(snapshot.queues), named(snapshot.gangs), snapshot.quotas,
        named(one for one in snapshot.running if one.gang is None),
        sorted((replace(one, name="") for one in snapshot.running if one.gang is not None), key=key),
    )  # fmt: skip
