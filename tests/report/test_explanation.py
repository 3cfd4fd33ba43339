"""Why a gang waits, in words."""

import re
import subprocess
import sys
from dataclasses import replace

import pytest

from gangplan.closeness import Closeness
from gangplan.errors import InvalidInput
from gangplan.plan import Change, Exclusion, LevelFit, Plan, Rejection, Stats
from gangplan.record import Reservation, enter, new
from gangplan.report.explanation import explain
from gangplan.snapshot import Gang, Node, Queue, Role, Running, Snapshot
from gangplan.solver import solve

GPU = "nvidia.com/gpu"

REFUSALS = {
    "QUEUE_CLOSED": ("quota", "queue vision is closed"),
    "QUEUE_LIMIT_EXCEEDED": ("quota", "needs 8 nvidia.com/gpu; queue vision has 3 left of its limit of 16"),
    "NODE_NOT_READY": ("class", "4 of 4 nodes are not ready"),
    "NODE_CORDONED": ("class", "4 of 4 nodes are cordoned"),
    "NODE_OUTSIDE_TOPOLOGY": ("class", "4 of 4 nodes are outside the topology"),
    "NODE_SELECTOR_MISMATCH": ("class", "4 of 4 nodes lack a label"),
    "NODE_AFFINITY_MISMATCH": ("class", "4 of 4 nodes do not match"),
    "TAINT_NOT_TOLERATED": ("class", "4 of 4 nodes have a taint"),
    "CAPACITY_INSUFFICIENT": ("capacity", "needs 8 nvidia.com/gpu; 3 are free"),
    "TOPOLOGY_TOO_SMALL": (
        "topology",
        "needs 8 nvidia.com/gpu in one rack; the best rack, z1/r1, has 3 free",
    ),
    "TOPOLOGY_SPLIT": ("topology", "its 3 running replicas are in 8 racks"),
    "PACKING_IMPOSSIBLE": ("packing", "needs 8 nodes with 3 nvidia.com/gpu each"),
    "STOPPED": ("packing", "was not reached: 8 gangs were, in 3 s"),
    "A_RULE_OF_TOMORROW": ("packing", "needs 8 of something and has 3"),
}


def test_refusal_reads_like_the_model(two_racks, busy):
    text = explain("big", two_racks, busy).as_text()
    assert text == (
        "big waits at position 2 of queue vision: it needs 8 GPUs in one rack; the best rack, z1/r1, has 7 free.\n"
        "  4 GPUs of z1/r1 are held by old (queue vision).\n"
        "  1 GPU of z1/r1 is reserved for soon.\n"
        "  2 GPUs of z1/r1 are held by first (starts before it).\n"
        "  Roles chief and ps: 1 of 4 nodes is cordoned; 3 nodes are left.\n"
        "  Role worker: 2 of 4 nodes do not match its node selector (pool=a), 1 is cordoned; 1 node is left.\n"
        "\n"
        "  level    best domain  chief  ps   worker  limited by\n"
        "  rack     z1/r1        1/1    2/2  7/8     nvidia.com/gpu\n"
        "  cluster  \N{EN DASH}            1/1    2/2  8/8     \N{EN DASH}\n"
        "\n"
        "Each of these was tried and admits it now:\n"
        "  1. prefer the rack instead of requiring it\n"
        "  2. 7 workers instead of 8\n"
        "  3. wait until old has ended\n"
        "\n"
        "Rule TOPOLOGY_TOO_SMALL, stage topology."
    )


@pytest.mark.parametrize("rule", REFUSALS)
def test_every_rule_gives_a_text_with_its_numbers(two_racks, rule):
    stage, message = REFUSALS[rule]
    refused = Rejection(stage=stage, rule=rule, message=message, position=1, resource=GPU, needs="8", has="3")
    text = explain("big", two_racks, Plan(rejections={"big": refused})).as_text()
    assert set(re.findall(r"\b\d+\b", message)) <= set(re.findall(r"\b\d+\b", text.splitlines()[0]))
    assert rule in text
    assert stage in text


@pytest.mark.parametrize(
    "rule",
    [
        "NODE_NOT_READY",
        "NODE_CORDONED",
        "NODE_OUTSIDE_TOPOLOGY",
        "NODE_SELECTOR_MISMATCH",
        "NODE_AFFINITY_MISMATCH",
        "TAINT_NOT_TOLERATED",
    ],
)
def test_exclusions_agree_in_number(two_racks, rule):
    def sentence(nodes):
        excluded = (Exclusion(role="ps", rule=rule, nodes=nodes),)
        refused = Rejection(
            stage="class", rule=rule, message="no node is left", position=1, exclusions=excluded
        )
        return explain("big", two_racks, Plan(rejections={"big": refused})).details[0]

    assert sentence(1).startswith("Role ps: 1 of 4 nodes ")
    assert sentence(1).split()[6] in {"is", "does", "has", "lacks"}
    assert sentence(3).split()[6] in {"are", "do", "have", "lack"}
    assert sentence(3).endswith("; 1 node is left.")
    assert sentence(4).endswith("; none is left.")
    assert rule not in sentence(3)


def test_a_rule_without_words_of_its_own_is_named(two_racks):
    excluded = (Exclusion(role="ps", rule="NODE_TOO_LOUD", nodes=2),)
    refused = Rejection(
        stage="class", rule="NODE_TOO_LOUD", message="no node", position=1, exclusions=excluded
    )
    details = explain("big", two_racks, Plan(rejections={"big": refused})).details
    assert details == ("Role ps: 2 of 4 nodes are kept away by rule NODE_TOO_LOUD; 2 nodes are left.",)


def test_position_counts_within_the_queue_and_says_so(two_racks, busy):
    """``Rejection.position`` counts all refused gangs; people ask about their queue."""
    elsewhere = replace(busy.rejections["next"], position=1)
    plan = replace(busy, rejections={"big": busy.rejections["big"], "first": elsewhere})
    headline = explain("big", two_racks, plan).headline
    assert headline.startswith("big waits at position 1 of queue vision, 2 of all queues: ")
    assert explain("first", two_racks, plan).headline.startswith("first waits at position 1: ")


def test_a_gang_too_large_for_the_cluster_is_not_told_to_wait(two_racks, busy):
    refused = replace(busy.rejections["big"], impossible=True, changes=())
    text = explain("big", two_racks, replace(busy, rejections={"big": refused})).as_text()
    assert text.startswith("big cannot fit this cluster, even when nothing else runs: it needs 8 GPUs")
    assert "waits" not in text
    assert "tried" not in text


def test_changes_that_were_tried_as_if_nothing_ran_are_told_from_those_that_admit_now(two_racks, busy):
    refused = busy.rejections["big"]
    assert explain("big", two_racks, busy).as_text().count("admits it now:") == 1
    alone = tuple(replace(change, alone=True) for change in refused.changes)
    refused = replace(refused, impossible=True, changes=alone)
    text = explain("big", two_racks, replace(busy, rejections={"big": refused})).as_text()
    assert text.count(", once nothing else runs") == len(alone) > 0
    assert "admits it now" not in text


@pytest.mark.parametrize(("stopped_by", "said"), [(None, "the budget"), ("deadline", "the time")])
def test_what_is_not_proven_is_not_claimed(two_racks, busy, stopped_by, said):
    refused = replace(busy.rejections["big"], proven=False)
    plan = replace(busy, rejections={"big": refused}, stats=Stats(stopped_by=stopped_by))
    notes = explain("big", two_racks, plan).notes
    assert (
        notes[0]
        == f"This is not proven: {said} for the search ran out, so there may be a placement after all."
    )
    assert not any("not proven" in note for note in explain("big", two_racks, busy).notes)


def test_changes_are_introduced_by_their_number_and_kind(two_racks, busy):
    def intro(*changes):
        refused = replace(busy.rejections["big"], changes=changes)
        return explain("big", two_racks, replace(busy, rejections={"big": refused})).changes_intro

    fewer = Change(kind="replicas", role="worker", to="7", text="7 workers instead of 8")
    wait = Change(kind="wait", gang="old", text="wait until old has ended")
    assert intro() == ""
    assert intro(fewer) == "This was tried and admits it now:"
    assert intro(wait) == "This was tried and admits it:"
    assert intro(fewer, wait) == "Each of these was tried and admits it now:"


def test_holders_are_told_since_when(two_racks, busy):
    held = Reservation(placement={}, expires_at=None)
    old, soon = (new(gang, uid="u", run_id="r", now=0) for gang in two_racks.gangs[1:3])
    old = enter(old, "Reserved", now=10, reason="", reservation=held)
    old = enter(old, "Bound", now=60, reason="", reservation=held)
    soon = enter(soon, "Reserved", now=7000, reason="", reservation=held)
    details = explain("big", two_racks, busy, records=[old, soon], now=7260).details
    assert details[0] == "4 GPUs of z1/r1 are held by old (queue vision, started 2 h ago)."
    assert details[1] == "1 GPU of z1/r1 is reserved for soon (reserved 4 min ago)."


def test_a_queue_at_its_limit_is_called_a_queue(two_racks, busy):
    refused = replace(busy.rejections["big"], stage="quota", at="vision")
    details = explain("big", two_racks, replace(busy, rejections={"big": refused})).details
    assert details[0].startswith("4 GPUs of queue vision are held by old")


def test_only_what_matters_at_a_stage_is_told(two_racks, busy):
    refused = busy.rejections["big"]

    def told(**changed):
        return explain("big", two_racks, replace(busy, rejections={"big": replace(refused, **changed)}))

    assert told().header
    assert told(stage="class").header == told(stage="class").rows == ()
    assert not any(detail.startswith("Role") for detail in told(stage="quota").details)
    assert not any("old" in detail for detail in told(impossible=True).details)


def test_what_the_solver_refuses_is_explained_at_every_stage():
    """Each refusal comes from the solver itself; the headline carries its reason and its numbers."""
    role = Role(name="worker", replicas=4, requests={GPU: "1"})
    gangs = (
        Gang(name="closed", roles=(role,), queue="shut"),
        Gang(name="limited", roles=(role,), queue="small"),
        Gang(name="picky", roles=(replace(role, node_selector={"pool": "none"}),)),
        Gang(name="huge", roles=(replace(role, replicas=60),)),
        Gang(name="together", roles=(replace(role, replicas=9),), topology=Closeness(required="rack")),
        Gang(name="clumsy", roles=(replace(role, replicas=3, requests={GPU: "3"}),)),
        Gang(name="lucky", roles=(role,), created=-1),
    )
    nodes = tuple(Node(name=f"n{i}", labels={"rack": f"r{i // 2}"}, allocatable={GPU: "4"}) for i in range(4))
    queues = (Queue(name="shut", open=False), Queue(name="small", limit={GPU: "3"}))
    snapshot = Snapshot(topology=("rack",), nodes=nodes, queues=queues, gangs=gangs)
    running = (Running(name="x", node="n0", requests={GPU: "2"}),)
    snapshot = replace(snapshot, running=running)
    plan = solve(snapshot)
    seen = set()
    for gang in gangs:
        text = explain(gang.name, snapshot, plan).as_text()
        if gang.name in plan.rejections:
            refused = plan.rejections[gang.name]
            seen.add(refused.stage)
            numbers = re.findall(r"\b\d+\b", refused.message)
            assert set(numbers) <= set(re.findall(r"\b\d+\b", text.splitlines()[0]))
            assert all(change.text in text for change in refused.changes)
            assert ("even when nothing else runs" in text) == refused.impossible
        else:
            assert text.startswith(f"{gang.name} may start: ")
    assert seen == {"quota", "class", "capacity", "topology", "packing"}


def test_two_kinds_of_gpu_keep_their_names(two_racks, busy):
    mixed = (*two_racks.nodes, Node(name="n9", allocatable={"amd.com/gpu": "8"}))
    headline = explain("big", replace(two_racks, nodes=mixed), busy).headline
    assert "needs 8 nvidia.com/gpu in one rack" in headline


def test_a_placed_gang_is_told_where_and_what_its_traffic_costs(two_racks, busy):
    assert explain("first", two_racks, busy).as_text() == (
        "first may start: all 4 replicas have a place, on 2 nodes of rack z1/r1.\n"
        "\n"
        "  role    indices  node\n"
        "  worker  0\N{EN DASH}1      n2\n"
        "  worker  2\N{EN DASH}3      n3\n"
        "\n"
        "Its traffic costs 4; with all replicas on one node it would be 0."
    )


@pytest.mark.parametrize(
    ("nodes", "where"),
    [
        (("n2",) * 4, "on node n2"),
        (("n0", "n2") * 2, "on 2 nodes of zone z1"),
        (("n2", "x") * 2, "on 2 nodes"),
    ],
)
def test_a_placed_gang_is_told_its_smallest_domain(two_racks, nodes, where):
    snapshot = replace(two_racks, nodes=(*two_racks.nodes, Node(name="x")))
    plan = Plan(placements={"first": {"worker": nodes}}, traffic={"first": 0})
    explanation = explain("first", snapshot, plan)
    assert explanation.headline == f"first may start: all 4 replicas have a place, {where}."
    assert explanation.notes == ("Its traffic costs 0: replicas that talk share a node.",)


def test_missing_replicas_get_their_own_indices(two_racks):
    """The plan lists nodes of missing replicas by ascending index; replica 1 of old is the one that is missing."""
    running = tuple(pod for pod in two_racks.running if pod.index != 1)
    plan = Plan(placements={"old": {"worker": ("n3",)}}, traffic={"old": 9})
    explanation = explain("old", replace(two_racks, running=running), plan)
    assert explanation.headline.startswith(
        "old may start: 3 replicas of it run, and the missing 1 has a place, "
    )
    assert explanation.rows == (("worker", "0, 2\N{EN DASH}3", "n0"), ("worker", "1", "n3"))


def test_a_partly_running_gang_that_waits_is_told_so(two_racks):
    running = tuple(pod for pod in two_racks.running if pod.index != 1)
    refused = Rejection(stage="capacity", rule="CAPACITY_INSUFFICIENT", message="needs 1", position=1)
    levels = (LevelFit(level="cluster", domain="", have={"worker": 0}, need={"worker": 1}),)
    plan = Plan(rejections={"old": replace(refused, levels=levels)})
    notes = explain("old", replace(two_racks, running=running), plan).notes
    assert (
        notes[0]
        == "3 replicas of it have their places already; the table counts those that must still start."
    )


def test_a_running_gang_runs(two_racks, busy):
    assert explain("old", two_racks, busy).headline == "old runs: all 4 replicas have their place."
    reserved = explain("soon", two_racks, busy)
    assert reserved.headline == "soon has its room: its one replica has its place."
    assert reserved.notes == ("Its room is reserved; 1 replica did not start yet.",)


def test_an_unknown_gang_is_refused_with_the_nearest_name(two_racks, busy):
    with pytest.raises(InvalidInput, match="no gang is named bigg; did you mean big") as caught:
        explain("bigg", two_racks, busy)
    assert [problem.code for problem in caught.value.problems] == ["UNKNOWN_NAME"]


def test_a_plan_that_does_not_answer_is_refused(two_racks):
    with pytest.raises(InvalidInput, match="the plan does not answer for the gang big"):
        explain("big", two_racks, Plan())


def test_names_cannot_forge_lines_or_markup(hostile):
    name = hostile or "x"
    gang = Gang(name=name, roles=(Role(name=f"r{name}", replicas=1, requests={GPU: "1"}),), queue=f"q{name}")
    need = {f"r{name}": 1}
    refused = Rejection(
        stage="capacity",
        rule="CAPACITY_INSUFFICIENT",
        message=f"needs 1 {name}",
        position=1,
        levels=(LevelFit(level=name, domain=name, have={}, need=need, limited_by=name),),
        exclusions=(Exclusion(role=f"r{name}", rule="NODE_CORDONED", nodes=1),),
        changes=(Change(kind="wait", gang=name, text=f"wait until {name} has ended"),),
    )
    snapshot = Snapshot(nodes=(Node(name="n", allocatable={GPU: "1"}),), gangs=(gang,))
    explanation = explain(name, snapshot, Plan(rejections={name: refused}))
    text, marked = explanation.as_text(), explanation.as_markdown()
    plain = explain(
        "x", Snapshot(nodes=snapshot.nodes, gangs=(replace(gang, name="x"),)), Plan(rejections={"x": refused})
    )
    assert text.count("\n") == plain.as_text().count("\n")
    assert all(char.isprintable() or char in "\n\ufffd" for char in text)
    assert "<" not in marked
    assert not any(line.startswith(("#", " ")) for line in marked.splitlines())


def test_markdown_holds_what_the_text_holds(two_racks, busy):
    explanation = explain("big", two_racks, busy)
    marked = explanation.as_markdown().replace("\\", "")
    assert explanation.headline in marked
    for piece in (*explanation.details, *explanation.changes, *explanation.notes):
        assert piece in marked
    for row in explanation.rows:
        assert f"| {' | '.join(row)} |" in marked


def test_explanations_need_neither_matplotlib_nor_jinja():
    """The command line explains with the base install."""
    code = (
        "import sys; sys.modules.update(matplotlib=None, jinja2=None, markupsafe=None)\n"
        "import gangplan.report.explanation"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_lone_pod_is_no_replica_of_the_gang(two_racks, busy):
    lone = Running(name="big-imposter", node="n0", requests={"cpu": "1"})
    crowded = replace(two_racks, running=(*two_racks.running, lone))
    assert explain("big", crowded, busy) == explain("big", two_racks, busy)
