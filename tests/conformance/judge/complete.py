"""Nothing that fits is left waiting: no refused gang could start as things stand, no optional pod could be added."""

from collections.abc import Iterator, Mapping

from conformance.judge import trial
from conformance.judge.outcome import Outcome, outcome
from conformance.judge.rules import broken
from conformance.judge.rules.minimums import shortfalls
from conformance.judge.world import World

STEPS = 4_000


def left_waiting(after: Outcome) -> Iterator[str]:
    """Only where a gang that cannot be placed does not block the next, and no turn or right is the reason."""
    policy = after.world.case["policy"]
    if policy.get("bypass", "free") != "free":
        return
    said = {item["gang"]: item["stage"] for item in after.rejected if isinstance(item, Mapping)}
    for gang in after.world.gangs:
        if said.get(gang) in {"fairness", "earmark"}:
            continue
        world = World(trial.changed(after, gang, trial.NOTHING))
        if not any(pod.gang == gang for pod in world.waiting.values()):
            continue
        counts = {
            role["name"]: sum(
                1
                for place in world.running.values()
                if (place.pod.gang, place.pod.role) == (gang, role["name"])
            )
            for role in world.gangs[gang]["roles"]
        }
        whole = any(counts.values()) and not any(True for _ in shortfalls(world, gang, counts))
        if whole:
            yield from _one_more(world, gang)
        elif trial.fits(trial.without_debtors(world), gang, STEPS):
            yield f"{gang} is refused but fits as things stand"


def _one_more(world: World, gang: str) -> Iterator[str]:
    world = trial.without_debtors(world)
    tried = set()
    for pod in world.waiting.values():
        if pod.gang != gang or pod.role in tried:
            continue
        tried.add(pod.role)
        for node in world.nodes:
            if not any(True for _ in broken(outcome(world, {"placements": {pod.name: node}}))):
                yield f"{pod.name} waits but fits on {node}"
                break
