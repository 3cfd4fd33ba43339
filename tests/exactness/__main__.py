"""The table: agreement with the constraint model, and the share that is proven on a large cluster."""

import random
import sys
import time
from collections.abc import Callable

import gangplan as gp
from exactness.agreement import compare, summary
from exactness.instances import Instance, instance

LARGE, BLOCKS = 10_000, 68


def main(tell: Callable[[str], object] = print) -> None:
    tell("hosts  instances  at the edge  possible  agree     proven   missed by best fit")
    for hosts in (16, 32):
        got = summary(list(compare(hosts, range(350))))
        tell(
            f"{hosts:5}  {got.instances:9}  {got.at_edge:11}  {got.possible:8.1%}  {got.agree:8.2%}  "
            f"{got.proven:7.2%}  {got.best_fit_misses:18.1%}"
        )
    answers = [answer for seed in range(3) for answer in edge_of_large(seed)]
    proven = sum(refused is None or refused.proven for refused, _ in answers)
    slowest = max(seconds for _, seconds in answers)
    tell(
        f"{LARGE} nodes, gangs of 1 + 64 + about 512 in a block, the most workers that fit and one more: "
        f"{proven} of {len(answers)} proven, slowest solve {slowest * 1000:.0f} ms"
    )


def edge_of_large(seed: int) -> list[tuple[gp.Rejection | None, float]]:
    """The largest gang that the solver places on a large cluster, and the next one, which it refuses."""
    base = large(random.Random(f"large {seed}"))
    low, high = 0, 1024
    answers = {}
    while high - low > 1:
        count = (low + high) // 2
        snapshot = base.with_workers(count).snapshot()
        begin = time.perf_counter()
        refused = gp.solve(snapshot, gp.SolveOptions(changes=False)).rejections.get("gang")
        answers[count] = refused, time.perf_counter() - begin
        low, high = (count, high) if refused is None else (low, count)
    return [answers[count] for count in (low, high) if count in answers]


def large(chance: random.Random) -> Instance:
    hosts = instance(chance, LARGE).domains
    room = [host for domain in hosts for host in domain]
    share = LARGE // BLOCKS
    return Instance(
        racks=tuple(tuple(room[first : first + share]) for first in range(0, LARGE, share)),
        roles=((1, (6, 24, 0)), (64, (10, 40, 0)), (512, (7, 30, 1))),
        in_rack=True,
    )


if __name__ == "__main__":
    sys.exit(main())
