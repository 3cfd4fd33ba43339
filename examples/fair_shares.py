"""Two teams want more than there is: what each gets, by weight, and what happens when one of them asks for little."""

import gangplan as gp

NODES, GPUS = 10, 8
WEIGHTS = {"research": 3, "production": 1}


def jobs(queue: str, count: int) -> tuple[gp.Gang, ...]:
    """Jobs of four workers with a GPU each."""
    role = gp.Role(name="worker", replicas=4, requests={"cpu": "4", "nvidia.com/gpu": "1"})
    return tuple(
        gp.Gang(name=f"{queue}-{number:02d}", queue=queue, created=number, roles=(role,))
        for number in range(count)
    )


def table(wanted: dict[str, int]) -> None:
    """Solve once and print a line for each queue."""
    snapshot = gp.Snapshot(
        nodes=tuple(
            gp.Node(name=f"node-{row}", allocatable={"cpu": "64", "nvidia.com/gpu": str(GPUS), "pods": "110"})
            for row in range(NODES)
        ),
        queues=tuple(gp.Queue(name=name, weight=weight) for name, weight in WEIGHTS.items()),
        gangs=tuple(gang for queue, count in wanted.items() for gang in jobs(queue, count)),
    )
    plan = gp.solve(snapshot, gp.SolveOptions(fair_share="weight", changes=False))
    print(f"{'queue':12} {'weight':>6} {'asks GPUs':>10} {'gets GPUs':>10} {'of all':>7}")
    for queue, count in wanted.items():
        got = sum(
            len(roles["worker"]) for name, roles in plan.placements.items() if name.startswith(f"{queue}-")
        )
        print(f"{queue:12} {WEIGHTS[queue]:6d} {4 * count:10d} {got:10d} {got / (NODES * GPUS):7.0%}")


def main() -> None:
    """Both want everything; then one wants little, and the other borrows the rest."""
    print(f"{NODES * GPUS} GPUs. Both teams want all of them:")
    table({"research": 20, "production": 20})
    print("\nResearch wants only 12 GPUs:")
    table({"research": 3, "production": 20})


if __name__ == "__main__":
    main()
