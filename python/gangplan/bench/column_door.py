"""The way through a session: columns of integers in, arrays out."""

from array import array
from collections.abc import Iterable
from itertools import accumulate

from gangplan.bench.door import Places
from gangplan.bench.workload import NodeRow, Workload
from gangplan.columns import (
    NONE,
    Columns,
    GangColumns,
    LabelColumn,
    NodeColumns,
    RoleColumns,
    RunningColumns,
)
from gangplan.decisions import Decisions
from gangplan.options import SolveOptions
from gangplan.session import Session
from gangplan.snapshot import Queue

MIB = 2**20


class Sessions:
    """Through :class:`gangplan.Session`; the file's rows are laid out as columns while it is read."""

    def read(self, workload: Workload) -> Columns:
        """Lay the rows out as columns; memory becomes bytes."""
        nodes, gangs = workload.nodes, workload.gangs
        roles = [(row, role) for row, gang in enumerate(gangs) for role in gang.roles]
        places = [where for gang in gangs for where in gang.running or ((),) * len(gang.roles)]
        running = [
            (role, index, node) for role, where in enumerate(places) for index, node in enumerate(where)
        ]
        levels = workload.levels[:-1]
        position = {"": NONE} | {level: place for place, level in enumerate(workload.levels)}
        queues = {queue.name: place for place, queue in enumerate(workload.queues)}
        return Columns(
            resources=("cpu", "memory", "nvidia.com/gpu", "pods"),
            topology=levels,
            nodes=NodeColumns(
                names=[row.name for row in nodes],
                allocatable=[
                    _amounts(row.cpu for row in nodes),
                    _amounts(row.memory * MIB for row in nodes),
                    _amounts(row.gpu for row in nodes),
                    _amounts(row.pods for row in nodes),
                ],
                labels=[_label(level, nodes) for level in levels],
            ),
            queues=[Queue(name=row.name) for row in workload.queues],
            gangs=GangColumns(
                names=[row.name for row in gangs],
                queues=_positions(queues[row.queue] for row in gangs),
                priorities=_amounts(row.priority for row in gangs),
                created=_amounts(range(len(gangs))),
                required=_positions(position[row.required] for row in gangs),
                preferred=_positions(position[row.preferred] for row in gangs),
            ),
            roles=RoleColumns(
                gangs=_positions(gang for gang, _ in roles),
                names=[role.name for _, role in roles],
                replicas=_amounts(role.count for _, role in roles),
                requests=[
                    _amounts(role.cpu for _, role in roles),
                    _amounts(role.memory * MIB for _, role in roles),
                    _amounts(role.gpu for _, role in roles),
                    _amounts(0 for _ in roles),
                ],
            ),
            running=RunningColumns(
                roles=_positions(role for role, _, _ in running),
                indexes=_amounts(index for _, index, _ in running),
                nodes=_positions(node for _, _, node in running),
            ),
        )

    def open(self, rows: Columns) -> Session:
        """Take the columns in."""
        return Session(rows)

    def act(self, state: Session) -> Decisions:
        """Decide, and make the arrays."""
        decisions = state.solve(SolveOptions(changes=False))
        _ = decisions.gangs, decisions.roles, decisions.nodes
        return decisions

    def places(self, workload: Workload, answer: object) -> Places:
        """Sort the replicas by gang and role."""
        assert isinstance(answer, Decisions)
        first = [0, *accumulate(len(gang.roles) for gang in workload.gangs)]
        found: dict[str, list[list[int]]] = {}
        rows = zip(answer.gangs.tolist(), answer.roles.tolist(), answer.nodes.tolist(), strict=True)
        for gang, role, node in rows:
            row = workload.gangs[gang]
            found.setdefault(row.name, [[] for _ in row.roles])[role - first[gang]].append(node)
        return found


def _label(level: str, nodes: tuple[NodeRow, ...]) -> LabelColumn:
    values = [getattr(row, level) for row in nodes]
    codes = {value: code for code, value in enumerate(dict.fromkeys(values))}
    return LabelColumn(key=level, values=list(codes), codes=_positions(codes[value] for value in values))


def _amounts(values: Iterable[int]) -> "array[int]":
    return array("q", values)


def _positions(values: Iterable[int]) -> "array[int]":
    return array("I", values)
