"""A large cluster from numpy arrays: taken in once, decided on again and again as the question changes."""

import time

import numpy as np

import gangplan as gp

NODES, NODES_IN_RACK, JOBS = 4096, 16, 800
GIB = 2**30


def cluster(cordoned: np.ndarray) -> gp.Columns:
    """4,096 nodes of eight GPUs, of which chance has taken some, and 800 jobs of workers and parameter servers."""
    chance = np.random.default_rng(7)
    free_gpus = chance.integers(0, 9, NODES)
    racks = NODES // NODES_IN_RACK
    return gp.Columns(
        resources=("cpu", "memory", "nvidia.com/gpu"),
        topology=("rack",),
        nodes=gp.NodeColumns(
            names=[f"node-{row:04d}" for row in range(NODES)],
            # One row for each resource, in base units: thousandths of a core, bytes, devices.
            allocatable=np.stack([np.full(NODES, 96_000), np.full(NODES, 768 * GIB), free_gpus]),
            labels=(
                gp.LabelColumn(
                    key="rack",
                    values=[f"rack-{row:03d}" for row in range(racks)],
                    codes=np.repeat(np.arange(racks, dtype=np.uint32), NODES_IN_RACK),
                ),
            ),
            unschedulable=cordoned,
        ),
        gangs=gp.GangColumns(
            names=[f"job-{row:03d}" for row in range(JOBS)],
            created=np.arange(JOBS),
            required=np.zeros(JOBS, dtype=np.uint32),
        ),
        roles=gp.RoleColumns(
            gangs=np.repeat(np.arange(JOBS, dtype=np.uint32), 2),
            names=["worker", "ps"] * JOBS,
            replicas=np.ravel(np.stack([chance.integers(4, 49, JOBS), np.full(JOBS, 2)], axis=1)),
            requests=np.stack(
                [np.tile([8000, 4000], JOBS), np.tile([64 * GIB, 16 * GIB], JOBS), np.tile([1, 0], JOBS)]
            ),
        ),
    )


def main() -> None:
    """Decide with every rack open, then with a quarter of them cordoned."""
    for share in (0, 4):
        cordoned = np.zeros(NODES, dtype=bool)
        if share:
            cordoned[: NODES // share] = True
        columns = cluster(cordoned)
        begin = time.perf_counter()
        session = gp.Session(columns)
        opened = time.perf_counter()
        decisions = session.solve()
        solved = time.perf_counter()
        per_node = np.bincount(decisions.nodes, minlength=NODES)
        print(
            f"{cordoned.sum():5d} nodes cordoned: {JOBS - len(decisions.refused)} of {JOBS} jobs start, "
            f"{len(decisions.nodes)} replicas on {np.count_nonzero(per_node)} nodes, "
            f"at most {per_node.max()} on one"
        )
        print(
            f"      taken in {1000 * (opened - begin):.1f} ms, decided in {1000 * (solved - opened):.1f} ms"
        )
    again = session.solve(gp.SolveOptions(placement="spread"))
    print(f"      the same session with placement spread: {JOBS - len(again.refused)} jobs start")


if __name__ == "__main__":
    main()
