"""What would have to change for a refused job to start: read the tried changes, then try one yourself."""

from dataclasses import replace

import gangplan as gp


def cluster() -> gp.Snapshot:
    """Two racks of two nodes with four GPUs; a small job runs, and a large one wants a rack for itself."""
    nodes = tuple(
        gp.Node(
            name=f"{rack}-{place}",
            labels={"rack": rack},
            allocatable={"cpu": "32", "nvidia.com/gpu": "4", "pods": "110"},
        )
        for rack in ("left", "right")
        for place in (0, 1)
    )
    small = gp.Gang(name="small", roles=(worker(2),))
    large = gp.Gang(name="large", roles=(worker(9),), topology=gp.Closeness(required="rack"))
    running = tuple(
        gp.Running(name=f"small-{index}", node="left-0", gang="small", role="worker", index=index)
        for index in range(2)
    )
    return gp.Snapshot(topology=("rack",), nodes=nodes, gangs=(small, large), running=running)


def worker(replicas: int) -> gp.Role:
    """Workers of one GPU and two cores."""
    return gp.Role(name="worker", replicas=replicas, requests={"cpu": "2", "nvidia.com/gpu": "1"})


def with_fewer(snapshot: gp.Snapshot, change: gp.Change) -> gp.Snapshot:
    """The same cluster, where the large job asks for as few replicas as the change says."""
    gangs = tuple(
        replace(gang, roles=(worker(int(change.to or 0)),)) if gang.name == "large" else gang
        for gang in snapshot.gangs
    )
    return replace(snapshot, gangs=gangs)


def main() -> None:
    """Ask, list the changes, apply the one about replicas, and ask again."""
    snapshot = cluster()
    refusal = gp.solve(snapshot).rejections["large"]
    print(f"large must wait: {refusal.message}")
    print("Each of these was tried, and admits it; the next smaller step was tried too, and does not:")
    for change in refusal.changes:
        print(f"  - {change.text}")

    fewer = next(change for change in refusal.changes if change.kind == "replicas")
    plan = gp.solve(with_fewer(snapshot, fewer))
    print(
        f"\nWith {fewer.to} workers it starts on {', '.join(sorted(set(plan.placements['large']['worker'])))}."
    )


if __name__ == "__main__":
    main()
