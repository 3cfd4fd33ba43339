"""A small loop that follows a cluster: nodes come and go, jobs arrive and finish, and a session decides as they do."""

import gangplan as gp

GPU = "nvidia.com/gpu"


def node(number: int, *, cordoned: bool = False) -> gp.Node:
    """A node of eight GPUs; four of them make a rack."""
    return gp.Node(
        name=f"node-{number:02d}",
        allocatable={"cpu": "96", GPU: "8"},
        labels={"rack": f"rack-{number // 4}"},
        unschedulable=cordoned,
    )


def job(name: str, workers: int, created: int) -> gp.Gang:
    """Workers with a GPU each and a parameter server, in one rack."""
    return gp.Gang(
        name=name,
        created=created,
        topology=gp.Closeness(required="rack"),
        roles=(
            gp.Role(name="worker", replicas=workers, requests={"cpu": "8", GPU: "1"}),
            gp.Role(name="ps", replicas=1, requests={"cpu": "4"}),
        ),
    )


EVENTS = (
    ("three jobs arrive", gp.Deltas(gangs=(job("vision", 24, 1), job("speech", 20, 2), job("large", 32, 3)))),
    ("node-01 is cordoned, and a job arrives", gp.Deltas(nodes=(node(1, cordoned=True),), gangs=(job("late", 8, 4),))),
    ("the same is told again", gp.Deltas(nodes=(node(1, cordoned=True),))),
    ("vision has finished, node-01 is back", gp.Deltas(nodes=(node(1),), gone=gp.Gone(gangs=("vision",)))),
    ("a job asks for a queue that is not there", gp.Deltas(gangs=(gp.Gang(name="lost", queue="research", roles=()),))),
)  # fmt: skip


def main() -> None:
    """Follow the events; what starts is booked at once."""
    session = gp.Session(gp.Snapshot(topology=("rack",), nodes=tuple(node(number) for number in range(8))))
    for version, (text, deltas) in enumerate(EVENTS, start=1):
        print(f"{text}:")
        try:
            changed = session.apply(deltas, version=version)
        except gp.InvalidInput as error:
            print("\n".join(f"    refused, {problem}" for problem in error.problems))
            continue
        if not changed:
            print(f"    nothing new, epoch {session.epoch}")
            continue
        decisions = session.solve()
        conflicts = session.commit(decisions)
        for gang, roles in decisions.placements().items():
            print(f"    {gang} starts on {', '.join(sorted({*roles['worker'], *roles['ps']}))}")
        for gang in decisions.refusals():
            rejection = session.explain(gang)
            if rejection is not None:
                change = f"; it would with {rejection.changes[0].text}" if rejection.changes else ""
                print(f"    {gang} waits: {rejection.message}{change}")
        print(f"    epoch {session.epoch}, {len(conflicts)} conflicts")
    # Many nodes at once are told in columns: here every node loses a GPU.
    rows = range(len(session.nodes))
    session.apply(
        gp.DeltaColumns(resources=[GPU], nodes=gp.NodeDeltas(rows=rows, allocatable=[[7] * len(rows)]))
    )
    plan = session.plan()
    assert plan.hash == gp.solve(session.snapshot()).hash
    print(f"with a GPU less on each node the plan is {plan.hash}, as it is for the snapshot")


if __name__ == "__main__":
    main()
