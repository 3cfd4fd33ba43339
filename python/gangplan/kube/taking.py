"""Taking a snapshot of a cluster with its gangs, as a cycle of admission would see it now."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gangplan.documents import encode
from gangplan.errors import InvalidInput, NotInstalled
from gangplan.kube.api import Api
from gangplan.kube.endings import over
from gangplan.kube.kinds import Kind
from gangplan.kube.snapshot import SnapshotReader
from gangplan.kube.store import read_records
from gangplan.record import WAITING, GangRecord
from gangplan.record_snapshot import combine
from gangplan.snapshot import Snapshot
from gangplan.solver import validate
from gangplan.unsound import at_fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A sound snapshot of a cluster.

    Attributes:
        snapshot: Nodes, queues, levels, quotas, what runs, and the gangs that wait or hold room.
        left_out: Queues and levels that cannot be understood, waiting gangs that name what this cluster does not have,
            and what is wrong with each.
        records: The records of all gangs.
    """

    snapshot: Snapshot
    left_out: Mapping[str, str]
    records: tuple[GangRecord, ...]


def take(api: Api, *, now: float, needs: Iterable[Kind] = ()) -> Taken:
    """Read a cluster; nothing is written to it.

    Args:
        api: Its API server.
        now: Seconds since 1970.
        needs: Kinds of ours without which the answer would be wrong. Of others that are not installed there are none.

    Raises:
        NotInstalled: One of those kinds is not.
        ClusterError: The server does not answer or does not allow it.
        InvalidInput: Quotas or gangs that hold room contradict themselves; every problem is named.
    """
    for kind in needs:
        next(iter(api.pages(kind)), None)  # one page tells
    cluster = SnapshotReader(api).read()
    ended = cluster.ended
    records = tuple(
        over(record, ended[record.name]) if record.phase == "Bound" and record.name in ended else record
        for record in _records(api)
    )
    left_out = {f"queue {name}": reason for name, reason in cluster.gaps.queues.items()}
    left_out |= {"the levels": cluster.gaps.levels} if cluster.gaps.levels else {}
    while True:
        taken = [record for record in records if record.name not in left_out]
        snapshot = combine(cluster.snapshot, taken, now=now, members=cluster.members)
        problems = validate("snapshot", encode(snapshot))
        if not problems:
            return Taken(snapshot=snapshot, left_out=left_out, records=records)
        waiting = {record.name for record in taken if record.phase in WAITING}
        faults = {
            name: text for name, text in at_fault(snapshot, problems, cluster.gaps).items() if name in waiting
        }
        if not faults:
            raise InvalidInput(problems, "the cluster")
        left_out |= faults


def _records(api: Api) -> tuple[GangRecord, ...]:
    try:
        return read_records(api)
    except NotInstalled:
        return ()
