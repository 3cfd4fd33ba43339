"""The cluster as a snapshot in which the gangs of the records stand: those that wait, and those that hold room."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from gangplan.closeness import Closeness
from gangplan.record import HOLDING, WAITING, GangRecord, Reservation
from gangplan.snapshot import Gang, Node, Running, Snapshot
from gangplan.store import Member


def combine(
    cluster: Snapshot,
    records: Iterable[GangRecord],
    *,
    now: float,
    members: Mapping[str, Member] | None = None,
) -> Snapshot:
    """Put the gangs of the records into the cluster: waiting ones as gangs, holding ones with their replicas.

    A gang that holds room keeps it although its queue, a level or a node is not there any more. Such a node appears
    as one that is not ready. A replica of it whose pod has a node holds that one, and not the one that was kept for it.
    What still runs of a gang that holds no room any more is counted in its queue until it is gone.

    Args:
        cluster: Nodes, queues and what runs.
        records: The records; finished and suspended ones take no part.
        now: Seconds since 1970.
        members: Name in ``cluster.running`` → the replica of a gang that it is, where it is one; None: nowhere.
    """
    records = tuple(records)
    running, placed = _with_members(cluster, records, members or {})
    gangs = list(cluster.gangs)
    known = {node.name for node in cluster.nodes}
    gone: set[str] = set()
    for record in records:
        if record.phase in WAITING:
            gangs.append(queued(record))
        elif record.phase in HOLDING and record.reservation is not None:
            gangs.append(_as_held(_known_parts(record.gang, cluster), record.reservation))
            gone |= record.reservation.nodes - known
            running += [
                Running(
                    name=f"{record.name}/{role}/{index}",
                    node=node,
                    gang=record.name,
                    role=role,
                    index=index,
                    reserved=record.phase != "Bound",
                )
                for role, nodes in record.reservation.placement.items()
                for index, node in enumerate(nodes)
                if Member(gang=record.name, role=role, index=index) not in placed
            ]
    nodes = (*cluster.nodes, *(Node(name=name, ready=False) for name in sorted(gone)))
    return replace(cluster, now=int(now), nodes=nodes, gangs=tuple(gangs), running=tuple(running))


def _with_members(
    cluster: Snapshot, records: Iterable[GangRecord], members: Mapping[str, Member]
) -> tuple[list[Running], set[Member]]:
    """Name the pods that are replicas of holding gangs as such; and which replicas these are.

    Any other pod of a gang holds its place as a foreign one does, in the gang's queue: that of a gang that has ended, is
    suspended or waits again, one too many, and the second of two for one replica, of which the first is leaving.
    """
    known = {record.name: record for record in records}
    queues = {queue.name for queue in cluster.queues}
    found, placed = [], set[Member]()
    for holder in cluster.running:
        member = members.get(holder.name)
        record = None if member is None else known.get(member.gang)
        if member is None or record is None:
            found.append(holder)
            continue
        if member in placed or not _is_held_for(member, record):
            counts = holder.gang is None and record.gang.queue in queues and _is_charged(member, record)
            found.append(replace(holder, queue=record.gang.queue) if counts else holder)
            continue
        placed.add(member)
        found.append(
            Running(
                name=holder.name, node=holder.node, gang=member.gang, role=member.role, index=member.index
            )
        )
    return found, placed


def _is_held_for(member: Member, record: GangRecord) -> bool:
    placement = {} if record.reservation is None else record.reservation.placement
    in_place = member.index < len(placement.get(member.role, ()))
    return in_place and member.stands_for_its_replica(record.phase)


def _is_charged(member: Member, record: GangRecord) -> bool:
    """Whether a pod beside what its gang holds counts in its queue.

    Not where it stays and the gang waits: it has taken its place already, and would be in the way of itself for ever.
    """
    return member.leaving or record.phase not in WAITING


def queued(record: GangRecord) -> Gang:
    """A gang as it waits: once it has let a reservation expire, it stands behind its equals that waited.

    Nobody evicts here, so that a gang that may be evicted would still hold what is kept for another.
    """
    created = max(record.gang.created, int(record.expired_at or 0))
    return replace(record.gang, created=created, bypassed=record.bypassed, preemptible=False)


def _as_held(gang: Gang, held: Reservation) -> Gang:
    """A gang that has its places and asks for no more: an elastic one may have been admitted with less than all."""
    roles = (replace(role, replicas=len(held.placement.get(role.name, ()))) for role in gang.roles)
    return replace(gang, roles=tuple(roles))


def _known_parts(gang: Gang, cluster: Snapshot) -> Gang:
    """A gang that has its places, without the names that this cluster does not know any more."""
    levels = {*cluster.topology, "node"}
    return replace(
        gang,
        queue=gang.queue if any(queue.name == gang.queue for queue in cluster.queues) else None,
        topology=None if gang.topology is None else _known_levels(gang.topology, levels),
    )


def _known_levels(asked: Closeness, levels: Collection[str]) -> Closeness:
    """A closeness without the levels that this cluster does not know any more."""
    return replace(
        asked,
        required=asked.required if asked.required in levels else None,
        preferred=asked.preferred if asked.preferred in levels else None,
        slices=tuple(item for item in asked.slices if item.level in levels),
        spread=tuple(item for item in asked.spread if item.level in levels),
    )
