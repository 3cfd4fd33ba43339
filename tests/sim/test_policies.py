"""What a scheduler does that knows no gangs."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.request import requests_of
from gangplan.sim.policies import pod_by_pod
from gangplan.snapshot import (
    Container,
    Expression,
    Gang,
    Node,
    NodeSelectorTerm,
    Pod,
    Role,
    Running,
    Snapshot,
    Taint,
    Toleration,
)

GPU = "nvidia.com/gpu"


def workers(name, replicas=4, **more):
    return Gang(name=name, roles=(Role(name="worker", replicas=replicas, requests={GPU: "1"}, **more),))


def nodes(number, **allocatable):
    amounts = {name.replace("gpu", GPU): amount for name, amount in allocatable.items()}
    return tuple(Node(name=f"n{i}", allocatable=amounts) for i in range(number))


def started(placements):
    return {
        gang: sum(node is not None for nodes in roles.values() for node in nodes)
        for gang, roles in placements.items()
    }


@pytest.mark.parametrize(("number", "gpus"), [(4, "1"), (2, "2"), (1, "4")])
def test_two_jobs_that_fit_one_at_a_time_get_half_each(number, gpus):
    """The deadlock: 4 GPUs, two jobs of 4 one-GPU workers; both wait for ever."""
    snapshot = Snapshot(nodes=nodes(number, gpu=gpus), gangs=(workers("a"), workers("b")))
    placements = pod_by_pod(snapshot)
    assert started(placements) == {"a": 2, "b": 2}
    assert placements["a"]["worker"][2:] == (None, None)


@pytest.mark.parametrize("ps_cpu", ["1", "2", "4"])
def test_parameter_server_and_workers_are_scattered(ps_cpu):
    """Each of the two jobs would fit on a node of its own."""
    roles = (
        Role(name="ps", replicas=1, requests={"cpu": ps_cpu}),
        Role(name="worker", replicas=2, requests={"cpu": "2"}),
    )
    snapshot = Snapshot(
        nodes=nodes(2, cpu="8"), gangs=(Gang(name="a", roles=roles), Gang(name="b", roles=roles))
    )
    for roles_of in pod_by_pod(snapshot).values():
        assert {node for placed in roles_of.values() for node in placed} == {"n0", "n1"}


def test_pods_go_where_most_is_left():
    snapshot = Snapshot(
        nodes=nodes(3, gpu="4"),
        gangs=(workers("a", replicas=2),),
        running=(
            Running(name="x", node="n0", requests={GPU: "1"}),
            Running(name="y", node="n2", requests={GPU: "1"}),
        ),
    )
    assert pod_by_pod(snapshot) == {"a": {"worker": ("n1", "n0")}}


def test_room_is_compared_by_share():
    small, large = Node(name="a", allocatable={GPU: "2"}), Node(name="b", allocatable={GPU: "8"})
    assert pod_by_pod(Snapshot(nodes=(small, large), gangs=(workers("g", 1),))) == {"g": {"worker": ("b",)}}


def test_order_decides_who_comes_first():
    snapshot = Snapshot(nodes=nodes(1, gpu="1"), gangs=(replace(workers("a", 1), created=9), workers("b", 1)))
    assert started(pod_by_pod(snapshot)) == {"a": 0, "b": 1}
    assert started(pod_by_pod(snapshot, order=["a", "b"])) == {"a": 1, "b": 0}
    assert pod_by_pod(snapshot, order=["a"]) == {"a": {"worker": ("n0",)}}
    with pytest.raises(KeyError):
        pod_by_pod(snapshot, order=["c"])


def test_only_missing_replicas_are_placed():
    snapshot = Snapshot(
        nodes=nodes(1, gpu="4"),
        gangs=(workers("a"), workers("b", 1)),
        running=(
            Running(name="a0", node="n0", gang="a", role="worker", index=0),
            Running(name="a2", node="n0", gang="a", role="worker", index=2, reserved=True),
            Running(name="b0", node="n0", gang="b", role="worker", index=0),
        ),
    )
    assert pod_by_pod(snapshot) == {"a": {"worker": ("n0", None)}}


@pytest.mark.parametrize(
    "node",
    [
        {"unschedulable": True},
        {"ready": False},
        {"taints": (Taint(key="k", effect="NoSchedule"),)},
        {"taints": (Taint(key="k", effect="NoExecute"),)},
        {"allocatable": {GPU: "0"}},
        {"allocatable": {GPU: "8", "pods": "0"}},
        {"allocatable": {}},
    ],
)
def test_a_node_that_takes_nothing_gets_nothing(node):
    closed = replace(Node(name="n0", allocatable={GPU: "8"}), **node)
    assert pod_by_pod(Snapshot(nodes=(closed,), gangs=(workers("a", 1),))) == {"a": {"worker": (None,)}}


def test_a_soft_taint_keeps_nobody_away():
    node = Node(name="n0", allocatable={GPU: "8"}, taints=(Taint(key="k", effect="PreferNoSchedule"),))
    assert started(pod_by_pod(Snapshot(nodes=(node,), gangs=(workers("a", 1),)))) == {"a": 1}


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (Toleration(key="k", value="v"), True),
        (Toleration(key="k", value="w"), False),
        (Toleration(key="k", operator="Exists"), True),
        (Toleration(operator="Exists"), True),
        (Toleration(key="j", operator="Exists"), False),
        (Toleration(key="k", value="v", effect="NoSchedule"), True),
        (Toleration(key="k", value="v", effect="NoExecute"), False),
        (Toleration(value="v"), False),
    ],
)
def test_tolerations_are_those_of_kubernetes(toleration, tolerated):
    node = Node(name="n0", allocatable={GPU: "1"}, taints=(Taint(key="k", value="v", effect="NoSchedule"),))
    snapshot = Snapshot(nodes=(node,), gangs=(workers("a", 1, tolerations=(toleration,)),))
    assert started(pod_by_pod(snapshot)) == {"a": int(tolerated)}


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        (Expression(key="pool", operator="In", values=("a", "b")), True),
        (Expression(key="pool", operator="In", values=("b",)), False),
        (Expression(key="pool", operator="NotIn", values=("b",)), True),
        (Expression(key="pool", operator="NotIn", values=("a",)), False),
        (Expression(key="none", operator="NotIn", values=("a",)), True),
        (Expression(key="pool", operator="Exists"), True),
        (Expression(key="none", operator="Exists"), False),
        (Expression(key="none", operator="DoesNotExist"), True),
        (Expression(key="pool", operator="DoesNotExist"), False),
        (Expression(key="size", operator="Gt", values=("15",)), True),
        (Expression(key="size", operator="Gt", values=("16",)), False),
        (Expression(key="size", operator="Lt", values=("17",)), True),
        (Expression(key="pool", operator="Lt", values=("17",)), False),
        (Expression(key="none", operator="Gt", values=("0",)), False),
    ],
)
def test_node_affinity_is_that_of_kubernetes(expression, holds):
    node = Node(name="n0", allocatable={GPU: "1"}, labels={"pool": "a", "size": "16"})
    terms = (NodeSelectorTerm(expressions=()), NodeSelectorTerm(expressions=(expression,)))
    snapshot = Snapshot(nodes=(node,), gangs=(workers("a", 1, node_affinity=terms),))
    assert started(pod_by_pod(snapshot)) == {"a": int(holds)}


@pytest.mark.parametrize(("pool", "count"), [("a", 1), ("b", 0)])
def test_node_selectors_must_match(pool, count):
    node = Node(name="n0", allocatable={GPU: "1"}, labels={"pool": "a"})
    assert started(
        pod_by_pod(Snapshot(nodes=(node,), gangs=(workers("a", 1, node_selector={"pool": pool}),)))
    ) == {"a": count}


@st.composite
def snapshots(draw):
    gangs = tuple(
        Gang(
            name=f"g{i}",
            created=draw(st.integers(0, 2)),
            roles=tuple(
                Role(
                    name=role,
                    replicas=draw(st.integers(1, 4)),
                    requests={"cpu": f"{draw(st.integers(0, 3000))}m", GPU: str(draw(st.integers(0, 2)))},
                    node_selector=draw(st.sampled_from(({}, {"pool": "a"}))),
                )
                for role in draw(st.sampled_from((("worker",), ("ps", "worker"))))
            ),
        )
        for i in range(draw(st.integers(1, 4)))
    )
    machines = tuple(
        Node(
            name=f"n{i}",
            allocatable={"cpu": str(draw(st.integers(0, 8))), GPU: str(draw(st.integers(0, 4))), "pods": "3"},
            labels={"pool": draw(st.sampled_from("ab"))},
            unschedulable=draw(st.booleans()),
        )
        for i in range(draw(st.integers(1, 5)))
    )
    running = tuple(
        Running(name=f"x{i}", node=draw(st.sampled_from(machines)).name, requests={"cpu": "1"})
        for i in range(draw(st.integers(0, 3)))
    )
    return Snapshot(nodes=machines, gangs=gangs, running=running)


@given(snapshots(), st.randoms(use_true_random=False))
def test_order_of_the_document_does_not_matter(snapshot, rng: random.Random):
    def mixed(items):
        return tuple(rng.sample(items, len(items)))

    gangs = tuple(replace(gang, roles=mixed(gang.roles)) for gang in mixed(snapshot.gangs))
    shuffled = replace(snapshot, nodes=mixed(snapshot.nodes), gangs=gangs, running=mixed(snapshot.running))
    assert pod_by_pod(shuffled) == pod_by_pod(snapshot)


@given(snapshots())
def test_no_node_gets_more_than_it_has_and_no_pod_waits_that_fits(snapshot):
    placements = pod_by_pod(snapshot)
    free = {
        node.name: {"cpu": 1000 * int(node.allocatable["cpu"]), GPU: int(node.allocatable[GPU]), "pods": 3}
        for node in snapshot.nodes
    }
    for pod in snapshot.running:
        free[pod.node]["cpu"] -= 1000
        free[pod.node]["pods"] -= 1
    open_ = {node.name: node for node in snapshot.nodes if not node.unschedulable}
    touched = set()
    roles = {(gang.name, role.name): role for gang in snapshot.gangs for role in gang.roles}
    assert {
        (gang, role): len(placed) for gang, by_role in placements.items() for role, placed in by_role.items()
    } == {key: role.replicas for key, role in roles.items()}
    for (gang, name), role in roles.items():
        for node in filter(None, placements[gang][name]):
            assert role.node_selector.items() <= open_[node].labels.items()
            for resource, amount in requests_of(role).items():
                free[node][resource] -= amount
                if amount:
                    touched.add((node, resource))
    assert all(free[node][resource] >= 0 for node, resource in touched)
    for (gang, name), role in roles.items():
        if None in placements[gang][name]:
            able = [node for node in open_.values() if role.node_selector.items() <= node.labels.items()]
            wanted = {resource: amount for resource, amount in requests_of(role).items() if amount}
            assert not any(
                all(free[node.name][resource] >= n for resource, n in wanted.items()) for node in able
            )


@pytest.mark.parametrize(
    ("pod", "cpu"),
    [
        (Pod(containers=(Container(requests={"cpu": "1"}), Container(requests={"cpu": "500m"}))), 1500),
        (Pod(containers=(Container(limits={"cpu": "2"}),)), 2000),
        (Pod(containers=(Container(requests={"cpu": "1"}, limits={"cpu": "2"}),)), 1000),
        (Pod(containers=(Container(requests={"cpu": "1"}),), overhead={"cpu": "250m"}), 1250),
        (
            Pod(
                containers=(Container(requests={"cpu": "1"}),),
                init_containers=(Container(requests={"cpu": "3"}),),
            ),
            3000,
        ),
        (
            Pod(
                containers=(Container(requests={"cpu": "1"}),),
                init_containers=(
                    Container(requests={"cpu": "1"}, sidecar=True),
                    Container(requests={"cpu": "3"}),
                ),
            ),
            4000,
        ),
        (
            Pod(
                containers=(Container(requests={"cpu": "1"}),),
                init_containers=(
                    Container(requests={"cpu": "3"}),
                    Container(requests={"cpu": "3"}, sidecar=True),
                ),
            ),
            4000,
        ),
    ],
)
def test_a_pod_takes_what_kubernetes_says(pod, cpu):
    """Init containers one after the other, each with the sidecars before it; then all the others together."""
    assert requests_of(Role(name="worker", replicas=1, pod=pod)) == {"cpu": cpu, "pods": 1}


def test_fractions_of_a_unit_are_rounded_against_the_pod():
    assert requests_of(Role(name="w", replicas=1, requests={"cpu": "1500u", "memory": "1.5"})) == {
        "cpu": 2,
        "memory": 2,
        "pods": 1,
    }
