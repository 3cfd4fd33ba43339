"""An offered change is the smallest of its kind: the next smaller step does not admit the gang."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from conformance.judge import trial
from conformance.judge.outcome import Outcome
from conformance.judge.quantity import amount
from conformance.judge.world import World

STEPS = 4_000
UNIT = {"cpu": Fraction(1, 1000)}
"""The smallest step of a resource, where it is not one."""


def overdone(after: Outcome) -> Iterator[str]:
    """Offered changes that ask for more than is needed, as a sentence each; searches that are given up count for none."""
    for item in after.rejected:
        for change in item.get("changes", ()) if isinstance(item, Mapping) else ():
            less = _next_smaller(after.world, item["gang"], change)
            if less is not None and trial.fits(
                World(trial.changed(after, item["gang"], less)), item["gang"], STEPS
            ):
                yield f"{item['gang']}: {less} would do in place of {change}"


def _next_smaller(world: World, gang: str, change: Mapping[str, Any]) -> dict[str, Any] | None:
    """None where the next smaller step is no change at all."""
    match change["kind"]:
        case "replicas":
            replicas = world.roles[gang, change["role"]]["replicas"]
            if "min_member" in world.gangs[gang]:
                return (
                    None  # the gang's minimum comes down with each replica: no step is smaller in all it asks
                )
            return {**change, "to": change["to"] + 1} if change["to"] + 1 < replicas else None
        case "limit":
            less = amount(change["to"]) - UNIT.get(change["resource"], 1)
            return {**change, "to": _text(less)} if less >= 0 else None
        case "level":
            levels = [*world.levels, "node"]
            at = levels.index(change["to"]) if "to" in change else -1
            now = (trial.first_required(world.gangs[gang]) or {}).get("required")
            return {**change, "to": levels[at + 1]} if now and levels.index(now) > at + 1 else None
    return None


def _text(quantity: Fraction) -> str:
    thousandths = quantity * 1000
    return str(quantity) if quantity.denominator == 1 else f"{thousandths}m"
