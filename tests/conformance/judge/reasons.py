"""Whether what a refusal says is true: its stage is the first that binds, its numbers are those of the format's table.

Only for gangs of which it is plain which pods must start: no groups, and minimums of roles that reach that of the gang.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from conformance.judge import trial
from conformance.judge.outcome import Outcome
from conformance.judge.quantity import Amounts, amount, amounts, total
from conformance.judge.rules.eligibility import unfit
from conformance.judge.world import Place, Pod, World

ORDER = ("quota", "class", "capacity", "topology", "packing")
NONE = Fraction(0)


def untrue(after: Outcome) -> Iterator[str]:
    """Claims of refusals that are not so, as a sentence each."""
    for said in after.rejected:
        if isinstance(said, Mapping) and said["stage"] in ORDER:
            world = World(trial.changed(after, said["gang"], trial.NOTHING))
            must = _must_start(world, said["gang"])
            if must:
                for claim in _Room(world, said["gang"], must).untrue(said):
                    yield f"{said['gang']}: {claim}"


def _must_start(world: World, gang: str) -> list[Pod]:
    """The pods that must start; none where that is not plain."""
    spec = world.gangs[gang]
    relaxed = "min_member" in spec
    least = {role["name"]: role.get("min", 0 if relaxed else role["replicas"]) for role in spec["roles"]}
    if spec.get("groups") or "min_groups" in spec or sum(least.values()) < spec.get("min_member", 0):
        return []
    found = []
    for role, count in least.items():
        stand = sum(1 for place in world.running.values() if (place.pod.gang, place.pod.role) == (gang, role))
        wait = [pod for pod in world.waiting.values() if (pod.gang, pod.role) == (gang, role)]
        if len(wait) < count - stand:
            return []
        found += wait[: max(0, count - stand)]
    return found


class _Room:
    """What is free for a gang, where."""

    def __init__(self, world: World, gang: str, must: list[Pod]) -> None:
        self.world, self.spec, self.must = world, world.gangs[gang], must
        self.needs = total(*(pod.asks for pod in must))
        self.free = {node: self._free(node) for node in world.nodes}
        kinds = {pod.role: pod for pod in must}.values()
        self.passing = {
            pod.role: [node for node in world.nodes if unfit(world, Place(pod, node)) is None]
            for pod in kinds
        }

    def _free(self, node: str) -> Amounts:
        used = total(*(place.pod.asks for place in self.world.running.values() if place.node == node))
        offered = self.world.allocatable[node]
        in_debt = any(
            used[name] > offered.get(name, NONE) for name in used if name != "pods" or name in offered
        )
        return {  # a node in debt takes nothing
            name: NONE if in_debt else offered.get(name, NONE) - used.get(name, NONE)
            for name in {*offered, *self.needs}
            if name != "pods" or name in offered
        }

    def untrue(self, said: Mapping[str, Any]) -> Iterator[str]:
        stage, resource = said["stage"], said.get("resource")
        binds = self._stage()
        if binds != stage:
            yield f"the stage is {binds}, not {stage}"
            return
        if resource is None:
            return
        if said.get("needs") is None or said.get("has") is None:
            yield "a resource without its numbers"
            return
        told = amount(said["needs"]), amount(said["has"])
        right = list(self._numbers(stage, resource, said.get("at")))
        if right and told not in right:
            shown = " or ".join(f"needs {needs} has {has}" for needs, has in right)
            yield f"{stage}: {resource} needs {told[0]} has {told[1]} at {said.get('at')}, should be {shown}"

    def _stage(self) -> str:
        if any(True for _ in self._past_limits()):
            return "quota"
        if any(not nodes for nodes in self.passing.values()):
            return "class"
        if any(self._short(list(self.world.nodes))):
            return "capacity"
        level = self.spec.get("topology", {}).get("required")
        if level and all(any(self._short(nodes)) for nodes in self._domains(level).values()):
            return "topology"
        return "packing"

    def _past_limits(self) -> Iterator[tuple[str, str]]:
        for queue in self.world.lineage(self.spec.get("queue")):
            if not self.world.queues[queue].get("open", True):
                yield queue, ""
            for resource, left in self._left(queue):
                if self.needs.get(resource) and self.needs[resource] > left:
                    yield queue, resource

    def _left(self, queue: str) -> Iterator[tuple[str, Fraction]]:
        """What the queue's bounds leave of each resource; never below zero."""
        stated, strict = (
            self.world.queues[queue],
            self.world.case["policy"].get("nonpreemptible_within_deserved"),
        )
        inside = [
            place for place in self.world.running.values() if queue in self.world.lineage(place.pod.queue)
        ]
        for resource, most in amounts(stated.get("limit")).items():
            yield resource, max(most - self._used(inside, resource), NONE)
        if strict and not self.spec.get("preemptible", True):
            lasting = [place for place in inside if not self._preemptible(place)]
            for resource, most in amounts(stated.get("deserved")).items():
                yield resource, max(most - self._used(lasting, resource), NONE)

    def _preemptible(self, place: Place) -> bool:
        return bool(self.world.gangs.get(place.pod.gang or "", {}).get("preemptible", True))

    def _used(self, places: list[Place], resource: str) -> Fraction:
        return sum((self.world.charge(place).get(resource, NONE) for place in places), NONE)

    def _short(self, nodes: list[str]) -> Iterator[str]:
        """Resources of which these nodes, as far as they pass, have too little in sum."""
        for resource, needs in self.needs.items():
            if needs and self._sum(nodes, resource) is not None and self._sum(nodes, resource) < needs:
                yield resource

    def _sum(self, nodes: list[str], resource: str) -> Fraction | None:
        """None if one of the nodes has no limit of it."""
        asking = {pod.role for pod in self.must if pod.asks.get(resource)}
        able = [node for node in nodes if any(node in self.passing[role] for role in asking)]
        if any(resource not in self.free[node] for node in able):
            return None
        return sum((self.free[node][resource] for node in able), NONE)

    def _domains(self, level: str) -> dict[tuple[str, ...], list[str]]:
        found: dict[tuple[str, ...], list[str]] = {}
        fixed = {
            self.world.domain(place.node, level)
            for place in self.world.running.values()
            if place.pod.gang == self.spec["name"]
        }
        for node in self.world.nodes:
            domain = self.world.domain(node, level)
            if domain is not None and (not fixed or domain in fixed):
                found.setdefault(domain, []).append(node)
        return found

    def _numbers(self, stage: str, resource: str, at: str | None) -> Iterator[tuple[Fraction, Fraction]]:
        needs = self.needs.get(resource, NONE)
        if stage == "quota" and at in self.world.queues:
            yield from ((needs, left) for name, left in self._left(at) if name == resource)
        elif stage == "capacity" and resource != "pods":
            has = self._sum(list(self.world.nodes), resource)
            if has is not None and has < needs:
                yield needs, has
            else:
                yield needs, NONE - 1  # it is not short, so no number is right
        elif stage == "topology" and resource != "pods":
            domains = self._domains(self.spec["topology"]["required"])
            sums = {"/".join(domain): self._sum(nodes, resource) for domain, nodes in domains.items()}
            yield needs, sums.get(at or "", NONE - 1) or NONE
