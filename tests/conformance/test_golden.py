"""Numbers that peers publish for their own rules: where the replicas of a gang lie, host by host."""

from collections import Counter

import pytest

import gangplan as gp

SLOT = "slot"


def cluster(*racks: list[int]) -> tuple[gp.Node, ...]:
    """Hosts with these numbers of free slots, in racks of one block."""
    return tuple(
        gp.Node(
            name=f"r{rack}h{host}",
            labels={"block": "b", "rack": f"r{rack}", "host": f"r{rack}h{host}"},
            allocatable={SLOT: str(slots)},
        )
        for rack, hosts in enumerate(racks)
        for host, slots in enumerate(hosts)
    )


def slots_taken(
    racks: tuple[list[int], ...], replicas: int, topology: gp.Closeness | None = None, **options: str
) -> list[list[int]]:
    """Solve for one gang of one-slot replicas; give how many each host holds, rack by rack."""
    role = gp.Role(name="worker", replicas=replicas, requests={SLOT: "1"})
    snapshot = gp.Snapshot(
        topology=("block", "rack", "host"),
        nodes=cluster(*racks),
        gangs=(gp.Gang(name="gang", roles=(role,), topology=topology),),
    )
    plan = gp.solve(snapshot, gp.SolveOptions(**options))
    gp.check(snapshot, plan)
    assert plan.rejections == {}
    count = Counter(plan.placements["gang"]["worker"])
    return [[count[f"r{rack}h{host}"] for host in range(len(hosts))] for rack, hosts in enumerate(racks)]


def any_order(held: list[list[int]]) -> list[list[int]]:
    """The same whichever of equal hosts or racks is called first."""
    return sorted(sorted(hosts) for hosts in held)


def test_the_last_host_is_the_one_that_fits_best():
    """Kueue's proposal for topology-aware scheduling: 7 replicas on 3, 3, 2 and 1 take the host with one slot."""
    assert slots_taken(([3, 3, 2, 1],), 7) == [[3, 3, 0, 1]]


def test_slices_are_whole_on_every_host_and_leave_the_odd_slots():
    """Kueue: 12 replicas in slices of 2 on 6, 5, 4, 3 and 2."""
    sliced = gp.Closeness(slices=(gp.Slice(level="host", size=2),))
    assert slots_taken(([6, 5, 4, 3, 2],), 12, sliced) == [[6, 0, 4, 0, 2]]


BALANCED = [
    # racks of hosts with free slots, replicas, size of a slice, what each host holds
    ([[10, 10]], 12, 1, [[6, 6]]),
    ([[15], [15]], 25, 1, [[13], [12]]),
    ([[15, 13, 10]], 23, 1, [[12, 11, 0]]),
    ([[20, 10], [15, 15]], 22, 1, [[0, 0], [11, 11]]),
    ([[20, 10], [15, 15]], 20, 1, [[20, 0], [0, 0]]),
    ([[10, 5], [5, 5, 5]], 15, 1, [[0, 0], [5, 5, 5]]),
    ([[15], [15], [15, 15]], 25, 5, [[0], [0], [15, 10]]),
]
"""Kueue's table for balanced placement."""


@pytest.mark.parametrize(("racks", "replicas", "size", "held"), BALANCED, ids=str)
def test_a_balanced_gang_is_as_even_as_the_published_table(racks, replicas, size, held):
    slices = (gp.Slice(level="host", size=size),) if size > 1 else ()
    close = gp.Closeness(preferred="rack", balanced=True, slices=slices)
    assert any_order(slots_taken(tuple(racks), replicas, close)) == any_order(held)


def test_of_two_zones_that_hold_the_gang_the_tighter_one_is_taken():
    """KAI's example: zone a has racks of 2, 1, 1 and 1, zone b of 2, 2 and 2; three replicas in one zone."""
    nodes = tuple(
        gp.Node(
            name=f"{zone}{rack}", labels={"zone": zone, "rack": f"r{rack}"}, allocatable={SLOT: str(slots)}
        )
        for zone, racks in (("a", (2, 1, 1, 1)), ("b", (2, 2, 2)))
        for rack, slots in enumerate(racks)
    )
    role = gp.Role(name="worker", replicas=3, requests={SLOT: "1"})
    close = gp.Closeness(required="zone", preferred="rack")
    gang = gp.Gang(name="gang", roles=(role,), topology=close)
    snapshot = gp.Snapshot(topology=("zone", "rack"), nodes=nodes, gangs=(gang,))
    count = Counter(gp.solve(snapshot).placements["gang"]["worker"])
    assert count["a0"] == 2
    assert sorted(count.values()) == [1, 2]
    assert {node[0] for node in count} == {"a"}


@pytest.mark.parametrize(("cores", "fits"), [(2, False), (3, True)])
def test_a_sidecar_and_the_overhead_count_beside_the_container(cores, fits):
    """KubeRay's pull request 4996: one core, one of a sidecar and one of overhead are three."""
    one = {"cpu": "1"}
    pod = gp.Pod(
        containers=(gp.Container(requests=one),),
        init_containers=(gp.Container(requests=one, sidecar=True),),
        overhead=one,
    )
    gang = gp.Gang(name="gang", roles=(gp.Role(name="head", replicas=1, pod=pod),))
    snapshot = gp.Snapshot(nodes=(gp.Node(name="n1", allocatable={"cpu": str(cores)}),), gangs=(gang,))
    plan = gp.solve(snapshot)
    assert ("gang" in plan.placements) == fits
    if not fits:
        refusal = plan.rejections["gang"]
        assert (refusal.resource, refusal.needs, refusal.has) == ("cpu", "3", "2")
