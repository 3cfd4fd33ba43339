"""Situations that explanations and figures are about."""

import pytest
from report.situations import GPU, HOSTILE, gang, lives

from gangplan.closeness import Closeness
from gangplan.plan import Change, Exclusion, Holder, LevelFit, Plan, Rejection
from gangplan.snapshot import Gang, Node, Role, Running, Snapshot


@pytest.fixture(params=HOSTILE, ids=lambda text: ascii(text)[:20])
def hostile(request):
    """A text that somebody put where a name or a log line should be."""
    return request.param


@pytest.fixture
def two_racks():
    """Two racks of two 4-GPU nodes; ``big`` waits in queue vision behind ``first``, ``old`` runs and ``soon`` is reserved."""
    nodes = tuple(
        Node(name=f"n{i}", labels={"zone": "z1", "rack": f"r{i // 2}"}, allocatable={GPU: "4", "cpu": "16"})
        for i in range(4)
    )
    big = Gang(
        name="big",
        queue="vision",
        topology=Closeness(required="rack"),
        roles=(
            Role(name="chief", replicas=1, requests={"cpu": "1"}),
            Role(name="ps", replicas=2, requests={"cpu": "1"}),
            Role(name="worker", replicas=8, requests={GPU: "1"}, node_selector={"pool": "a"}),
        ),
    )
    return Snapshot(
        topology=("zone", "rack"),
        nodes=nodes,
        gangs=(
            big,
            gang("old", queue="vision"),
            gang("soon", replicas=1),
            gang("first"),
            gang("next", queue="vision"),
        ),
        running=(
            *(Running(name=f"old/{i}", node="n0", gang="old", role="worker", index=i) for i in range(4)),
            Running(name="soon/0", node="n1", gang="soon", role="worker", index=0, reserved=True),
            Running(name="daemon", node="n1", requests={"cpu": "1"}),
        ),
    )


@pytest.fixture
def rack_too_small():
    """The refusal of ``big``: no rack is large enough."""
    need = {"chief": 1, "ps": 2, "worker": 8}
    return Rejection(
        stage="topology",
        rule="TOPOLOGY_TOO_SMALL",
        message=f"needs 8 {GPU} in one rack; the best rack, z1/r1, has 7 free",
        position=2,
        resource=GPU,
        needs="8",
        has="7",
        at="z1/r1",
        levels=(
            LevelFit(
                level="rack",
                domain="z1/r1",
                have={"chief": 1, "ps": 2, "worker": 7},
                need=need,
                limited_by=GPU,
            ),
            LevelFit(level="cluster", domain="", have=need, need=need),
        ),
        exclusions=(
            Exclusion(role="worker", rule="NODE_CORDONED", nodes=1),
            Exclusion(role="worker", rule="NODE_SELECTOR_MISMATCH", nodes=2),
            Exclusion(role="ps", rule="NODE_CORDONED", nodes=1),
            Exclusion(role="chief", rule="NODE_CORDONED", nodes=1),
        ),
        holders=(
            Holder(name="old", resource=GPU, amount="4"),
            Holder(name="soon", resource=GPU, amount="1", reserved=True),
            Holder(name="first", resource=GPU, amount="2"),
        ),
        changes=(
            Change(kind="level", to="cluster", text="prefer the rack instead of requiring it"),
            Change(kind="replicas", role="worker", to="7", text="7 workers instead of 8"),
            Change(kind="wait", gang="old", text="wait until old has ended"),
        ),
    )


@pytest.fixture
def busy(rack_too_small):
    """The plan for two_racks: ``first`` starts, ``next`` and ``big`` wait."""
    other = Rejection(
        stage="quota", rule="QUEUE_CLOSED", message="queue vision is closed", position=1, at="vision"
    )
    return Plan(
        placements={"first": {"worker": ("n2", "n2", "n3", "n3")}},
        rejections={"big": rack_too_small, "next": other},
        traffic={"first": 4},
    )


@pytest.fixture
def records():
    """One gang for each way to end, one that runs, one that waits and one that cannot fit."""
    return lives()
