"""How many training jobs of a kind fit on a cluster, and what stops the next one."""

import gangplan as gp

RACKS, NODES_IN_RACK = 4, 4
WORKERS = 6


def nodes() -> tuple[gp.Node, ...]:
    """Sixteen nodes of eight GPUs, four in a rack; half of them have two GPUs out of order."""
    return tuple(
        gp.Node(
            name=f"rack{rack}-node{place}",
            labels={"rack": f"rack{rack}"},
            allocatable={
                "cpu": "96",
                "memory": "768Gi",
                "nvidia.com/gpu": "8" if place % 2 else "6",
                "pods": "110",
            },
        )
        for rack in range(RACKS)
        for place in range(NODES_IN_RACK)
    )


def job(number: int) -> gp.Gang:
    """A parameter server and six workers of two GPUs, all in one rack."""
    return gp.Gang(
        name=f"job-{number:02d}",
        created=number,
        topology=gp.Closeness(required="rack"),
        roles=(
            gp.Role(name="ps", replicas=1, requests={"cpu": "8", "memory": "32Gi"}),
            gp.Role(
                name="worker",
                replicas=WORKERS,
                requests={"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "2"},
            ),
        ),
    )


def main() -> None:
    """Ask for more jobs than can fit, and read the answer."""
    wanted = tuple(job(number) for number in range(20))
    plan = gp.solve(gp.Snapshot(topology=("rack",), nodes=nodes(), gangs=wanted))
    print(f"{len(plan.placements)} of {len(wanted)} jobs fit.")
    for name, roles in plan.placements.items():
        racks = {node.split("-")[0] for places in roles.values() for node in places}
        print(f"  {name}: {', '.join(sorted(racks))}")

    first = min(plan.rejections, key=lambda name: plan.rejections[name].position)
    refusal = plan.rejections[first]
    print(f"\nWhat stops {first}: {refusal.message}")
    for fit in refusal.levels:
        held = ", ".join(f"{fit.have.get(role, 0)} of {need} {role}" for role, need in fit.need.items())
        print(
            f"  {fit.level:8} {fit.domain or '(all)':16} holds {held}; short of {fit.limited_by or 'nothing'}"
        )


if __name__ == "__main__":
    main()
