"""The cluster after an answer: what stands where, what is new, what is gone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.judge.world import Place, World


@dataclass
class Outcome:
    """``standing``: pods that hold a node afterwards; ``fresh``: those placed now; ``gone``: evicted ones."""

    world: World
    standing: dict[str, Place]
    fresh: dict[str, Place]
    gone: set[str]
    rejected: list[Any]
    malformed: list[str] = field(default_factory=list)

    def of_gang(self, gang: str, roles: Iterable[str] | None = None) -> list[Place]:
        """Standing pods of a gang, or of some of its roles."""
        wanted = None if roles is None else set(roles)
        return [
            place
            for place in self.standing.values()
            if place.pod.gang == gang and (wanted is None or place.pod.role in wanted)
        ]

    def members(self, name: str) -> list[Place]:
        """Standing pods that a name of the case means: a gang, a role, a group or one pod."""
        if name in self.world.gangs:
            return self.of_gang(name)
        gang, _, rest = name.partition("/")
        if (gang, rest) in self.world.roles:
            return self.of_gang(gang, {rest})
        if any(group["name"] == rest for group in self.world.gangs.get(gang, {}).get("groups", ())):
            return self.of_gang(gang, self.world.roles_in(gang, rest))
        return [self.standing[name]] if name in self.standing else []

    @property
    def touched_gangs(self) -> list[str]:
        """Gangs that gained or lost a pod."""
        moved = [*self.fresh.values(), *(self.world.running[name] for name in self.gone)]
        return sorted({place.pod.gang for place in moved if place.pod.gang is not None})


def outcome(world: World, answer: Mapping[str, Any]) -> Outcome:
    """Apply an answer; what cannot be applied is noted and left out."""
    malformed: list[str] = []
    gone = set()
    for name in answer.get("evicted", ()):
        if name in world.running:
            gone.add(name)
        elif name not in world.waiting:
            malformed.append(f"{name} is evicted but does not run")
    fresh: dict[str, Place] = {}
    for name, node in answer.get("placements", {}).items():
        pod = world.waiting.get(name) or (world.running[name].pod if name in gone else None)
        if pod is None:
            malformed.append(f"{name} is placed but does not wait")
        elif node not in world.nodes:
            malformed.append(f"{name} is placed on {node}, which is no node")
        else:
            fresh[name] = Place(pod, node)
    stay = {name: place for name, place in world.running.items() if name not in gone}
    return Outcome(world, stay | fresh, fresh, gone, list(answer.get("rejected", ())), malformed)
