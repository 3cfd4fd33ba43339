"""A case as the judge sees it: nodes with their domains, what runs, who waits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from conformance.judge.quantity import GPU, Amounts, amount, amounts, requested


@dataclass(frozen=True)
class Share:
    """Parts of GPUs: of each of ``devices`` different ones, either a part of everything or memory and cores."""

    fraction: Fraction | None
    memory_mib: int
    cores: Fraction
    devices: int


@dataclass(frozen=True)
class Pod:
    name: str
    asks: Amounts
    share: Share | None
    gang: str | None = None
    role: str | None = None
    index: int | None = None
    queue: str | None = None
    priority: int = 0
    preemptible: bool = True
    labels: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Place:
    """Where a pod is: the zone and the shared GPUs are known for pods that already ran."""

    pod: Pod
    node: str
    zone: int | None = None
    gpus: tuple[str, ...] = ()


class World:
    """A case, by name. ``waiting`` are the pods that may be placed, ``running`` those that hold room."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        self.case = case
        cluster = case["cluster"]
        self.actions = frozenset(case["policy"]["actions"])
        self.levels: tuple[str, ...] = tuple(cluster.get("topology", {}).get("levels", ()))
        self.nodes = {node["name"]: node for node in cluster["nodes"]}
        self.allocatable = {name: amounts(node["allocatable"]) for name, node in self.nodes.items()}
        self.queues = {queue["name"]: queue for queue in case["queues"]}
        self.gangs = {gang["name"]: gang for gang in case["gangs"]}
        self.roles = {(gang["name"], role["name"]): role for gang in case["gangs"] for role in gang["roles"]}
        self.running: dict[str, Place] = {}
        self.leaving: set[str] = set()
        for row in cluster.get("running", ()):
            self._stand(row)
        taken = {*self.running, *self.leaving}
        self.waiting: dict[str, Pod] = {
            pod.name: pod
            for gang, role in self.roles
            for index in range(self.roles[gang, role]["replicas"])
            if (pod := self.pod_of(gang, role, index)).name not in taken
        }
        if "replace" in self.actions:
            self._give_up_dead_nodes()

    def _stand(self, row: Mapping[str, Any]) -> None:
        if row.get("terminating"):
            self.leaving.add(row["name"])
            return
        if "gang" in row:
            pod = self.pod_of(row["gang"], row["role"], int(row["name"].rsplit("/", 1)[1]))
        else:
            pod = Pod(
                row["name"],
                requested(row),
                share_of(row),
                queue=row.get("queue"),
                labels=row.get("labels", {}),
            )
        pod = replace(
            pod,
            priority=row.get("priority", pod.priority),
            preemptible=row.get("preemptible", pod.preemptible),
        )
        self.running[row["name"]] = Place(pod, row["node"], row.get("zone"), tuple(row.get("gpus", ())))

    def _give_up_dead_nodes(self) -> None:
        """Pods of dead nodes count as waiting where they may be replaced."""
        for name, place in list(self.running.items()):
            if not self.nodes[place.node].get("ready", True) and place.pod.gang is not None:
                del self.running[name]
                self.waiting[name] = place.pod

    def pod_of(self, gang: str, role: str, index: int) -> Pod:
        spec, owner = self.roles[gang, role], self.gangs[gang]
        return Pod(
            f"{gang}/{role}/{index}",
            self._asks[gang, role],
            share_of(spec),
            gang,
            role,
            index,
            owner.get("queue"),
            owner.get("priority", 0),
            owner.get("preemptible", True),
            spec.get("labels", {}),
        )

    @cached_property
    def _asks(self) -> dict[tuple[str, str], Amounts]:
        return {key: requested(role) for key, role in self.roles.items()}

    def domain(self, node: str, level: str | None) -> tuple[str, ...] | None:
        """The domain of a level that holds the node; without a level the node itself; None outside the topology."""
        if level is None or level == "node":
            return (node,)
        labels = self.nodes[node].get("labels", {})
        if any(key not in labels for key in self.levels):
            return None
        return tuple(labels[key] for key in self.levels[: self.levels.index(level) + 1])

    def groups_of(self, gang: str, role: str) -> Iterator[Mapping[str, Any]]:
        """Groups that hold the role, through their children too."""
        for group in self.gangs[gang].get("groups", ()):
            if role in self.roles_in(gang, group["name"]):
                yield group

    def roles_in(self, gang: str, group: str) -> set[str]:
        """Roles of a group and of the groups below it."""
        groups = self.gangs[gang].get("groups", ())
        (own,) = (item for item in groups if item["name"] == group)
        below = (self.roles_in(gang, item["name"]) for item in groups if item.get("parent") == group)
        return set(own.get("roles", ())).union(*below)

    def units(self, gang: str) -> Iterator[tuple[str, Mapping[str, Any], set[str]]]:
        """All that may ask for closeness: the gang, its groups, its roles, each with the roles that it covers."""
        spec = self.gangs[gang]
        yield gang, spec, {role["name"] for role in spec["roles"]}
        for group in spec.get("groups", ()):
            yield f"{gang}/{group['name']}", group, self.roles_in(gang, group["name"])
        for role in spec["roles"]:
            yield f"{gang}/{role['name']}", role, {role["name"]}

    def lineage(self, queue: str | None) -> Iterator[str]:
        """The queue and those above it."""
        while queue is not None and queue in self.queues:
            yield queue
            queue = self.queues[queue].get("parent")

    def charge(self, place: Place) -> Amounts:
        """What a pod counts in its queue: its requests, parts of GPUs included."""
        if place.pod.share is None:
            return place.pod.asks
        part, _ = self.part_of_device(place.pod.share, place.node)
        whole = place.pod.asks.get(GPU, Fraction(0))
        return place.pod.asks | {GPU: whole + place.pod.share.devices * part}

    def part_of_device(self, share: Share, node: str) -> tuple[Fraction, Fraction]:
        """Parts of memory and of cores that a share takes of one GPU of the node; above 1 where it cannot."""
        if share.fraction is not None:
            return share.fraction, share.fraction
        memory = self.nodes[node].get("gpu_memory_mib", 0)
        return (Fraction(share.memory_mib, memory) if memory else Fraction(2)), share.cores / 100


def share_of(holder: Mapping[str, Any]) -> Share | None:
    given = holder.get("gpu_share")
    if given is None:
        return None
    return Share(
        amount(given["fraction"]) if "fraction" in given else None,
        given.get("memory_mib", 0),
        Fraction(given.get("cores", 0)),
        given.get("devices", 1),
    )
