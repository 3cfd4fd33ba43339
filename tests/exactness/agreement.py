"""The solver, the constraint model and best fit on the same instances."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import gangplan as gp
from exactness.best_fit import fits as best_fit_fits
from exactness.instances import Instance, instance
from exactness.model import most_workers


@dataclass(frozen=True, slots=True)
class Row:
    """One instance: whether it can be placed (the model), was placed (the solver, best fit), and if that is proven.

    ``edge``: with one worker more, or one fewer, the right answer is the other one.
    """

    edge: bool
    possible: bool
    placed: bool
    proven: bool
    best_fit: bool


def compare(hosts: int, seeds: Sequence[int]) -> Iterator[Row]:
    """Three instances a seed: the most workers that fit, one more, and a count farther away."""
    for seed in seeds:
        chance = random.Random(f"{hosts} {seed}")
        base = instance(chance, hosts)
        most = most_workers(base)
        if most is None:
            yield _row(base, edge=False, possible=False)
            continue
        away = most + chance.choice((-6, -4, -2, 3, 5, 7))
        for count in (most, most + 1, max(away, 0)):
            yield _row(base.with_workers(count), edge=count in {most, most + 1}, possible=count <= most)


def _row(stated: Instance, *, edge: bool, possible: bool) -> Row:
    snapshot = stated.snapshot()
    plan = gp.solve(snapshot)
    gp.check(snapshot, plan)
    refused = plan.rejections.get("gang")
    return Row(
        edge=edge,
        possible=possible,
        placed=refused is None,
        proven=refused is None or refused.proven,
        best_fit=best_fit_fits(stated),
    )


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures of many rows; shares are of 1, ``best_fit_misses`` is of the instances at the edge that can be placed."""

    instances: int
    at_edge: int
    possible: float
    agree: float
    proven: float
    best_fit_misses: float


def summary(rows: Sequence[Row]) -> Summary:
    edge = [row for row in rows if row.edge and row.possible]
    return Summary(
        instances=len(rows),
        at_edge=sum(row.edge for row in rows),
        possible=_share([row.possible for row in rows]),
        agree=_share([row.placed == row.possible for row in rows]),
        proven=_share([row.proven for row in rows]),
        best_fit_misses=_share([not row.best_fit for row in edge]),
    )


def _share(hits: Sequence[bool]) -> float:
    return sum(hits) / len(hits)
