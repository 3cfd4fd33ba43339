"""What becomes of the same gangs under several policies."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangplan.closeness import Closeness
from gangplan.sim.comparison import POD_BY_POD, PRESETS, Course, compare
from gangplan.snapshot import Gang, Node, Role, Running, Snapshot, Taint, Traffic

GPU = "nvidia.com/gpu"


def cluster(racks: int = 2, per_rack: int = 2, gpus: int = 2) -> Snapshot:
    return Snapshot(
        topology=("rack",),
        nodes=tuple(
            Node(
                name=f"r{rack}-n{node}", labels={"rack": f"r{rack}"}, allocatable={GPU: str(gpus), "cpu": "8"}
            )
            for rack, node in product(range(racks), range(per_rack))
        ),
    )


def gang(name: str, workers: int, created: int = 0, ps: int = 0) -> Gang:
    roles = [Role(name="worker", replicas=workers, requests={GPU: "1"})]
    if ps:
        roles.append(Role(name="ps", replicas=ps, requests={"cpu": "1"}))
    talk = (Traffic(a="ps", b="worker"),) if ps else ()
    return Gang(name=name, created=created, roles=tuple(roles), traffic=talk)


def with_gangs(*gangs: Gang, **shape: int) -> Snapshot:
    return replace(cluster(**shape), gangs=gangs)


def courses(snapshot: Snapshot) -> dict[str, Course]:
    found = compare(snapshot)
    assert [course.policy for course in found] == [POD_BY_POD, *PRESETS]
    return {course.policy: course for course in found}


def test_two_gangs_that_halve_the_cluster_wait_for_each_other_for_ever():
    found = courses(with_gangs(gang("a", 6), gang("b", 6)))
    stuck = found[POD_BY_POD]
    assert (stuck.started, stuck.deadlocked, stuck.rounds) == ((), ("a", "b"), 0)
    assert stuck.idle == {GPU: 8}
    for name in PRESETS:
        assert (found[name].at_once, found[name].later, found[name].deadlocked) == (("a",), ("b",), ())
        assert found[name].rounds == 2


def test_a_gang_that_holds_a_part_starts_when_a_whole_one_has_ended():
    """Not every gang that holds room in vain is deadlocked: c has the rest when a ends."""
    found = courses(with_gangs(gang("a", 2), gang("c", 7, created=1)))[POD_BY_POD]
    assert (found.at_once, found.later, found.deadlocked) == (("a",), ("c",), ())


def test_a_gang_that_can_never_fit_is_deadlocked_by_nobody_and_holds_room_in_vain_pod_by_pod_only():
    found = courses(with_gangs(gang("large", 9), gang("small", 1, created=1)))
    for course in found.values():
        assert (course.deadlocked, course.impossible) == ((), ("large",))
        assert "large" in course.never
    assert found[POD_BY_POD].idle == {GPU: 8}
    assert found["packed"].idle == {}
    assert found["packed"].at_once == ("small",)
    assert found["in order"].started == (), "nobody starts behind one that waits for ever"


def test_what_runs_already_stays_and_is_no_part_of_it():
    busy = tuple(Running(name=f"x{i}", node="r0-n0", gang="old", role="worker", index=i) for i in range(2))
    whole = replace(with_gangs(gang("old", 2), gang("new", 6, created=1)), running=busy)
    for course in compare(whole):
        assert course.started == ("new",)
        assert "r0-n0" not in course.first["new"]["worker"]


@pytest.mark.parametrize("workers", [2, 5])
def test_what_crosses_a_rack_is_counted_pair_by_pair(workers):
    whole = with_gangs(gang("a", workers, ps=1))
    racks = {node.name: node.labels["rack"] for node in whole.nodes}
    for course in compare(whole):
        placed = course.first["a"]
        pairs = list(product(placed["ps"], placed["worker"]))
        crossing = sum(racks[one] != racks[other] for one, other in pairs)
        apart = sum(one != other for one, other in pairs)
        assert course.crossing["a"] == crossing
        assert course.traffic["a"] == crossing + apart


def test_without_levels_nothing_is_said_of_them():
    flat = replace(with_gangs(gang("a", 2)), topology=())
    assert all(course.crossing == {} and course.traffic for course in compare(flat))


@given(sizes=st.lists(st.integers(1, 10), min_size=1, max_size=5), gpus=st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_every_gang_ends_in_one_class_and_no_gang_of_ours_holds_room_in_vain(sizes, gpus):
    gangs = tuple(gang(f"g{place}", size, created=place) for place, size in enumerate(sizes))
    room = 4 * gpus
    for course in compare(with_gangs(*gangs, gpus=gpus)):
        classes = (*course.at_once, *course.later, *course.deadlocked, *course.never)
        assert sorted(classes) == [each.name for each in gangs]
        assert set(course.traffic) == set(course.started)
        if course.policy == POD_BY_POD:
            assert course.never == () or course.idle, "who gets nothing waits for one that holds room"
            continue
        assert (course.deadlocked, course.idle) == ((), {})
        if course.policy != "in order":
            fit = {each.name for each, size in zip(gangs, sizes, strict=True) if size <= room}
            assert set(course.started) == fit, "all that fit the empty cluster start some day"


@given(
    sizes=st.lists(st.tuples(st.integers(1, 7), st.integers(0, 3)), min_size=1, max_size=4),
    tainted=st.integers(0, 4),
    level=st.sampled_from([None, "rack"]),
)
@settings(max_examples=40, deadline=None)
def test_who_would_not_start_alone_is_deadlocked_under_no_policy(sizes, tainted, level):
    """Judged by a comparison of its own: one gang, nobody beside it."""
    bare = cluster()
    nodes = tuple(
        replace(node, taints=(Taint(key="gpu", effect="NoSchedule"),) if place < tainted else ())
        for place, node in enumerate(bare.nodes)
    )
    asked = Closeness(required=level) if level else None
    gangs = tuple(
        replace(gang(f"g{place}", workers, created=place, ps=ps), topology=asked)
        for place, (workers, ps) in enumerate(sizes)
    )
    whole = replace(bare, nodes=nodes, gangs=gangs)
    single = {each.name: courses(replace(whole, gangs=(each,))) for each in gangs}
    for course in compare(whole):
        for each in gangs:
            by_itself = single[each.name]
            assert by_itself[course.policy].deadlocked == (), "nobody is there to wait for"
            if each.name in course.deadlocked:
                assert by_itself[course.policy].at_once == by_itself["packed"].at_once == (each.name,)
            if not by_itself["packed"].at_once:
                assert each.name in {
                    *course.impossible,
                    *(course.started if course.policy == POD_BY_POD else ()),
                }
        assert set(course.impossible) <= set(course.never)


def test_the_order_of_gangs_and_nodes_does_not_matter():
    gangs = (gang("a", 3), gang("b", 4, created=1), gang("c", 3, created=2))
    whole = with_gangs(*gangs)
    turned = replace(whole, gangs=gangs[::-1], nodes=whole.nodes[::-1])
    assert compare(whole) == compare(turned)
