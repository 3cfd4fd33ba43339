"""An eviction needs an action that allows it, for a gang that gains by it."""

from collections.abc import Iterator

from conformance.judge.outcome import Outcome
from conformance.judge.world import Place


def broken(outcome: Outcome) -> Iterator[str]:
    world = outcome.world
    takers = [place for name, place in outcome.fresh.items() if name in world.waiting]
    for name in sorted(outcome.gone):
        victim = world.running[name]
        if not victim.pod.preemptible:
            yield f"{name} is evicted but may not be"
        elif name in outcome.fresh and "consolidate" in world.actions:
            continue
        elif not any(_may_take(outcome, taker, victim) for taker in takers):
            yield f"{name} is evicted, which no action allows"


def _may_take(outcome: Outcome, taker: Place, victim: Place) -> bool:
    world = outcome.world
    role = world.roles[taker.pod.gang or "", taker.pod.role or ""]
    if not role.get("may_preempt", True) or taker.pod.gang == victim.pod.gang:
        return False
    same_queue = taker.pod.queue == victim.pod.queue or not world.queues
    if "preempt" in world.actions and same_queue and victim.pod.priority < taker.pod.priority:
        return True
    return "reclaim" in world.actions and not same_queue
