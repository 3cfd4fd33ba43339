"""A new placement passes no limit, enters no closed queue and, where the policy says so, nothing undeserved."""

from collections.abc import Iterator

from conformance.judge.outcome import Outcome
from conformance.judge.quantity import Amounts, amounts, total
from conformance.judge.world import Place


def usage(outcome: Outcome, queue: str, places: list[Place]) -> Amounts:
    """What these pods count in the queue, those of its descendants included."""
    inside = [place for place in places if queue in outcome.world.lineage(place.pod.queue)]
    return total(*(outcome.world.charge(place) for place in inside))


def broken(outcome: Outcome) -> Iterator[str]:
    world = outcome.world
    fresh = list(outcome.fresh.values())
    new = [place for place in fresh if place.pod.name in world.waiting]
    for name, queue in world.queues.items():
        if not queue.get("open", True) and any(name in world.lineage(place.pod.queue) for place in new):
            yield f"queue {name} is closed"
        yield from _within(outcome, name, queue.get("limit"), "limit", list(outcome.standing.values()), fresh)
        if world.case["policy"].get("nonpreemptible_within_deserved"):
            lasting = [place for place in outcome.standing.values() if _lasting(outcome, place)]
            started = [place for place in new if _lasting(outcome, place)]
            yield from _within(outcome, name, queue.get("deserved"), "deserved", lasting, started)


def _within(
    outcome: Outcome,
    queue: str,
    bounds: dict[str, str] | None,
    word: str,
    pods: list[Place],
    new: list[Place],
) -> Iterator[str]:
    added, used = usage(outcome, queue, new), usage(outcome, queue, pods)
    for resource, most in amounts(bounds).items():
        if added.get(resource) and used[resource] > most:
            yield f"queue {queue}: {used[resource]} of {resource} in use, its {word} is {most}"


def _lasting(outcome: Outcome, place: Place) -> bool:
    return not outcome.world.gangs.get(place.pod.gang or "", {}).get("preemptible", True)
