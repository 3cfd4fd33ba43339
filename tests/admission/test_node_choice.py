"""Real and virtual nodes: a gang lies on one kind, the cheaper whole placement is taken, and the choice is never kept."""

from dataclasses import replace

import pytest
from admission.memory import Cluster
from builders import gang, node, role
from hypothesis import given
from hypothesis import strategies as st

import gangplan as gp
from gangplan.admission import decide, finish, run_cycle
from gangplan.config import Terms
from gangplan.node_choice import Decided
from gangplan.node_kinds import ALLOW_SPLIT, PRICE_PER_HOUR, price_per_hour
from gangplan.record import GangRecord, new
from gangplan.snapshot import Taint, Toleration

TERMS = Terms(reservation_s=600.0, record_s=86_400.0, earmark_s=300.0, earmark_bypasses=5)
TAINT = Taint(key="virtual-kubelet.io/provider", value="cloud", effect="NoSchedule")
OPEN = (Toleration(key=TAINT.key, operator="Exists"),)


def machine(name: str = "m", *, price: str = "", **more) -> gp.Node:
    return node(name, labels={PRICE_PER_HOUR: price} if price else {}, **more)


def cloud(name: str = "cloud", *, price: str = "", gpus: int = 8, **more) -> gp.Node:
    labels = {"type": "virtual-kubelet"} | ({PRICE_PER_HOUR: price} if price else {})
    return node(name, gpus=gpus, labels=labels, **{"taints": (TAINT,)} | more)


def workers(count: int, name: str = "g", **more) -> gp.Gang:
    return gang(name, role(replicas=count, gpus=1, tolerations=OPEN), **more)


def asked(wanted: gp.Gang, at: float = 0.0) -> GangRecord:
    return new(replace(wanted, created=int(at)), uid=wanted.name, run_id="run", now=at)


def decided(nodes: tuple[gp.Node, ...], *gangs: gp.Gang) -> Decided:
    return decide(gp.Snapshot(nodes=nodes), [asked(each) for each in gangs], now=1.0, terms=TERMS)


def where(found: Decided, name: str = "g") -> set[str]:
    return {node for nodes in found.plan.placements[name].values() for node in nodes}


def test_each_gang_is_on_the_kind_that_is_best_for_it():
    """The second finds the machines taken, by a gang that may lie nowhere else."""
    only_machines = gang("a", role(replicas=4, gpus=1))
    found = decided((machine(gpus=4), cloud()), only_machines, workers(2))
    assert (where(found, "a"), where(found)) == ({"m"}, {"cloud"})
    assert set(found.kinds) == {"g"}, "nothing is to be chosen for the other"


@given(
    machines=st.lists(st.integers(1, 4), max_size=3),
    clouds=st.lists(st.integers(1, 4), max_size=2),
    counts=st.lists(st.integers(1, 6), min_size=1, max_size=3),
)
def test_no_gang_is_split_and_one_alone_starts_where_either_kind_holds_it(machines, clouds, counts):
    """Replicas of one GPU each: a kind holds a gang just where it has as many GPUs."""
    nodes = (
        *(machine(f"m{place}", gpus=gpus) for place, gpus in enumerate(machines)),
        *(cloud(f"c{place}", gpus=gpus) for place, gpus in enumerate(clouds)),
    )
    gangs = [workers(count, f"g{place}") for place, count in enumerate(counts)]
    found = decided(nodes, *gangs)
    for name in found.plan.placements:
        assert len({name_of[0] for name_of in where(found, name)}) == 1
    assert ("g0" in found.plan.placements) == (max(sum(machines), sum(clouds)) >= counts[0])


def test_a_gang_that_may_be_split_is_as_every_gang_was():
    wanted = workers(6)
    free = replace(wanted, roles=tuple(replace(each, labels={ALLOW_SPLIT: "true"}) for each in wanted.roles))
    nodes = (machine(gpus=4), cloud(gpus=4))
    assert where(decided(nodes, free)) == {"m", "cloud"}
    refused = decided(nodes, wanted).plan.rejections["g"]
    assert "split it between real and virtual nodes (--allow-split)" in [
        each.text for each in refused.changes
    ]
    assert refused.impossible, "no kind of this cluster can ever hold it whole"


@given(
    machines=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    clouds=st.lists(st.integers(1, 6), min_size=1, max_size=2),
    counts=st.lists(st.integers(1, 9), min_size=1, max_size=3),
)
def test_every_change_that_is_proposed_admits_the_gang_and_the_largest_count_is(machines, clouds, counts):
    """On whichever kind: with a replica more it is refused. What is split is so by the label that the words name."""
    nodes = (
        *(machine(f"m{place}", gpus=gpus) for place, gpus in enumerate(machines)),
        *(cloud(f"c{place}", gpus=gpus) for place, gpus in enumerate(clouds)),
    )
    gangs = [workers(count, f"g{place}") for place, count in enumerate(counts)]
    found = decided(nodes, *gangs)
    for each in gangs:
        if each.name not in found.plan.rejections:
            continue
        others = [other for other in gangs if other.name in found.plan.placements]
        for change in found.plan.rejections[each.name].changes:
            if change.kind == "replicas" and len(gangs) == 1:
                assert int(change.to or 0) == max(sum(machines), sum(clouds))
                assert each.name in decided(nodes, workers(int(change.to or 0), each.name)).plan.placements
            if change.constraint == "one_kind":
                label = (replace(each.roles[0], labels={ALLOW_SPLIT: "true"}),)
                again = decided(nodes, *others, replace(each, roles=label, created=9))
                assert each.name in again.plan.placements
            assert change.constraint != "node_affinity"


def test_virtual_nodes_without_a_taint_are_virtual_too():
    found = decided((machine(gpus=4), cloud(taints=(), gpus=8)), gang("g", role(replicas=6, gpus=1)))
    assert where(found) == {"cloud"}


def test_what_is_not_split_is_told_where_it_does_not_fit_either():
    refused = decided((machine(gpus=2), cloud(gpus=3)), workers(4)).plan.rejections["g"]
    assert refused.message.count("needs 4 nvidia.com/gpu") == 2
    assert "this is so on real nodes, and on virtual nodes it cannot start now" in refused.message


def test_a_gang_is_impossible_only_where_no_kind_could_ever_hold_it():
    """On the cloud it waits for room; on the machine it would wait for ever."""
    nodes = (machine(gpus=2), cloud(gpus=4))
    busy = gp.Running(name="pod", node="cloud", requests={"nvidia.com/gpu": "4"})
    found = decide(gp.Snapshot(nodes=nodes, running=(busy,)), [asked(workers(4))], now=1.0, terms=TERMS)
    refused = found.plan.rejections["g"]
    assert (refused.impossible, refused.has) == (False, "0")
    assert "this is so on virtual nodes" in refused.message


def test_a_gang_that_waited_takes_the_kind_that_is_free_first(doors, terms):
    """It waited at the limit of its queue while the machine was free; when its turn comes, the machine is cordoned."""
    store = doors()
    queue = gp.Queue(name="q", limit={"nvidia.com/gpu": "4"})
    cluster = Cluster(nodes=(machine(gpus=4), cloud()), queues=(queue,))
    for at, name in enumerate(("first", "second")):
        store.create(asked(workers(4, name, queue="q"), at=float(at)))
    run_cycle(store, cluster, now=10.0, terms=terms)
    first, second = store.records()
    assert (first.reservation.placement["worker"], second.phase) == (("m",) * 4, "Pending")
    finish(store, "first", run_id="run", outcome="Succeeded", reason="", now=11.0)
    cordoned = replace(machine(gpus=4), unschedulable=True)
    run_cycle(store, replace(cluster, nodes=(cordoned, cloud())), now=12.0, terms=terms)
    second = store.get("second")
    assert second.reservation.placement["worker"] == ("cloud",) * 4
    assert second.reason.endswith("virtual nodes are taken"), "who looks at it is told why"
    assert second.gang == workers(4, "second", queue="q", created=1), "and asks for what it asked for"


@pytest.mark.parametrize(
    ("nodes", "price"),
    [
        ((machine(gpus=4, cpu="16", price="8"),), "4"),  # two of four GPUs are more than two of sixteen cores
        ((machine(gpus=4, cpu="2", price="8"),), "8"),
        ((machine(gpus=4),), "0"),
        ((cloud(price="0.30"),), "3/5"),
        ((cloud(price="1,5"),), None),
        ((cloud(),), None),
    ],
)
def test_a_price_is_that_of_the_part_that_is_taken_or_of_each_replica_in_a_cloud(nodes, price):
    wanted = workers(2)
    placement = {"worker": (nodes[0].name, nodes[0].name)}
    found = price_per_hour(wanted, placement, {each.name: each for each in nodes})
    assert (None if found is None else str(found)) == price


@given(order=st.permutations(["m", "n", "cloud"]), prices=st.tuples(*[st.sampled_from(["", "1", "2.5"])] * 3))
def test_the_order_of_nodes_chooses_nothing(order, prices):
    made = {
        "m": machine("m", gpus=2, price=prices[0]),
        "n": machine("n", gpus=2, price=prices[1]),
        "cloud": cloud(price=prices[2]),
    }
    expected = decided(tuple(made.values()), workers(3))
    found = decided(tuple(made[name] for name in order), workers(3))
    assert (found.plan.placements, found.kinds) == (expected.plan.placements, expected.kinds)
