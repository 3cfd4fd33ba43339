"""Ways from a workload to the solver and back; a measurement goes through one of them."""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from gangplan.bench.workload import GangRow, Workload
from gangplan.closeness import Closeness
from gangplan.options import SolveOptions
from gangplan.snapshot import Gang, Node, Queue, Role, Running, Snapshot
from gangplan.solver import solve

Rows = TypeVar("Rows")
State = TypeVar("State")
Places = Mapping[str, Sequence[Sequence[int]]]
"""Placed gang → for each of its roles, in their order, the position in ``nodes`` of each replica."""


class Door(Protocol[Rows, State]):
    """Takes a workload in, decides, and tells where the replicas of placed gangs are."""

    def read(self, workload: Workload) -> Rows:
        """Lay out what the file says as the door takes it; outside the measured time."""

    def open(self, rows: Rows) -> State:
        """Build what the solver decides on."""

    def act(self, state: State) -> object:
        """Decide."""

    def places(self, workload: Workload, answer: object) -> Places:
        """Read the answer; outside the measured time."""


class Documents:
    """Through snapshot and plan documents, as the command line does."""

    def read(self, workload: Workload) -> Workload:
        """The rows as they are."""
        return workload

    def open(self, rows: Workload) -> Snapshot:
        """Build a snapshot; amounts become quantities."""
        workload = rows
        return Snapshot(
            topology=workload.levels[:-1],
            nodes=tuple(
                Node(
                    name=row.name,
                    labels={"block": row.block, "rack": row.rack},
                    allocatable={**_amounts(row.cpu, row.memory, row.gpu), "pods": str(row.pods)},
                )
                for row in workload.nodes
            ),
            queues=tuple(Queue(name=row.name) for row in workload.queues),
            gangs=tuple(_gang(row, arrival) for arrival, row in enumerate(workload.gangs)),
            running=tuple(
                Running(
                    name=f"{gang.name}/{role.name}/{index}",
                    node=workload.nodes[place].name,
                    gang=gang.name,
                    role=role.name,
                    index=index,
                )
                for gang in workload.gangs
                if gang.running is not None
                for role, places in zip(gang.roles, gang.running, strict=True)
                for index, place in enumerate(places)
            ),
        )

    def act(self, state: Snapshot) -> object:
        """Solve without changes that would help."""
        return solve(state, SolveOptions(changes=False)).placements

    def places(self, workload: Workload, answer: object) -> Places:
        """Find the positions of the nodes that the plan names."""
        position = {row.name: place for place, row in enumerate(workload.nodes)}
        assert isinstance(answer, Mapping)
        return {
            gang.name: [
                [position[node] for node in answer[gang.name].get(role.name, ())] for role in gang.roles
            ]
            for gang in workload.waiting
            if gang.name in answer
        }


def _gang(row: GangRow, arrival: int) -> Gang:
    close = Closeness(required=row.required or None, preferred=row.preferred or None)
    return Gang(
        name=row.name,
        queue=row.queue,
        priority=row.priority,
        created=arrival,
        topology=close if row.required or row.preferred else None,
        roles=tuple(
            Role(name=role.name, replicas=role.count, requests=_amounts(role.cpu, role.memory, role.gpu))
            for role in row.roles
        ),
    )


def _amounts(cpu: int, memory: int, gpu: int) -> dict[str, str]:
    found = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
    return found | {"nvidia.com/gpu": str(gpu)} if gpu else found
