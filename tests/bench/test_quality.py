"""How close the replicas of the workloads lie: as close as they can."""

import pytest

from gangplan.bench.column_door import Sessions
from gangplan.bench.measure import measure
from gangplan.bench.shapes import GPUS, make

NODES_IN_RACK, GPUS_OF_GANG = 16, 10


@pytest.mark.parametrize(("name", "racks"), [("W1-1250", 1.063), ("W1t-1250", 1.063), ("W1-10000", 1.0)])
def test_the_stream_is_placed_whole_and_in_the_fewest_racks(name, racks):
    """Of 1,250 nodes two stand in a rack of their own and hold one gang; a full rack holds twelve gangs and eight GPUs.

    So 937 gangs lie in one rack each, and the other 63 in the rests of two: 1.063 racks a gang, and none does better.
    """
    figures = measure(make(name), Sessions(), runs=1)
    assert (figures.gangs_placed, figures.pods_placed) == (1000, 10_000)
    assert figures.racks_per_gang == racks


def test_1063_is_the_least_that_1000_gangs_need_on_1250_nodes():
    sizes = [NODES_IN_RACK * GPUS] * (1250 // NODES_IN_RACK) + [1250 % NODES_IN_RACK * GPUS]
    whole = sum(size // GPUS_OF_GANG for size in sizes)
    assert sum(sizes) == 1000 * GPUS_OF_GANG
    assert whole + 2 * (1000 - whole) == 1063


@pytest.mark.parametrize("name", ["W2-1250", "W2-10000"])
def test_the_large_gang_lies_in_the_fewest_racks_of_any_block_and_no_server_is_alone(name):
    workload = make(name)
    figures = measure(workload, Sessions(), runs=1)
    assert (figures.gangs_placed, figures.pods_placed) == (1, 576)
    assert figures.racks_per_gang == fewest_racks(workload) <= 6
    assert figures.ps_racks_without_workers == 0


def fewest_racks(workload):
    """The least number of racks of one block with 512 free GPUs; cores and memory of the workload come with them."""
    free = [GPUS] * len(workload.nodes)
    for gang in workload.gangs:
        for role, places in zip(gang.roles, gang.running or (), strict=False):
            for place in places:
                free[place] -= role.gpu
    blocks: dict[str, dict[str, int]] = {}
    for node, gpus in zip(workload.nodes, free, strict=True):
        racks = blocks.setdefault(node.block, {})
        racks[node.rack] = racks.get(node.rack, 0) + gpus
    return min(_needed(sorted(racks.values(), reverse=True)) for racks in blocks.values())


def _needed(racks):
    return next((count for count in range(len(racks) + 1) if sum(racks[:count]) >= 512), 10**6)
