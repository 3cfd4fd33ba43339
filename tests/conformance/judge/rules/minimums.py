"""All or nothing: a gang that was touched has no pods, or all its minimums."""

from collections.abc import Iterator, Mapping

from conformance.judge.outcome import Outcome
from conformance.judge.world import World


def broken(outcome: Outcome) -> Iterator[str]:
    """A gang that was below its minimum before, and is left as it is, is nobody's fault."""
    for gang in outcome.touched_gangs:
        counts = {
            role["name"]: len(outcome.of_gang(gang, {role["name"]}))
            for role in outcome.world.gangs[gang]["roles"]
        }
        for short in shortfalls(outcome.world, gang, counts):
            yield f"{gang}: {short}"


def shortfalls(world: World, gang: str, counts: Mapping[str, int]) -> Iterator[str]:
    """Minimums that these counts of a gang's pods, by role, miss."""
    spec = world.gangs[gang]
    together = sum(counts.values())
    if together == 0:
        return
    relaxed = "min_member" in spec or "min_groups" in spec
    if together < spec.get("min_member", 0):
        yield f"{together} pods of at least {spec['min_member']}"
    for role in spec["roles"]:
        least = role.get("min", 0 if relaxed else role["replicas"])
        if counts[role["name"]] < least:
            yield f"{counts[role['name']]} pods of role {role['name']}, at least {least}"
    reached: dict[str, int] = {}
    for group in spec.get("groups", ()):
        size = sum(counts[role] for role in world.roles_in(gang, group["name"]))
        least = group.get("min", 0)
        if size >= least:
            kind = group.get("set", "")
            reached[kind] = reached.get(kind, 0) + (size > 0)
        elif size > 0 or "min_groups" not in spec:
            yield f"{size} pods of group {group['name']}, at least {least}"
    for kind, least in spec.get("min_groups", {}).items():
        if reached.get(kind, 0) < least:
            yield f"{reached.get(kind, 0)} whole groups of {kind}, at least {least}"
