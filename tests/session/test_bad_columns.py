"""Wrong columns are named one by one, each with its path, all at once; never a panic and never a wrong answer."""

from array import array
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session.strategies import columns, snapshots

import gangplan as gp


def good(**changed):
    """Two nodes, a gang of two roles of which one replica runs, and a pod; tables may be changed column by column."""
    tables = {
        "nodes": gp.NodeColumns(
            names=["n1", "n2"],
            allocatable=np.array([[4000, 4000], [10, 10]]),
            labels=[gp.LabelColumn(key="rack", values=["a"], codes=np.array([0, 0], dtype=np.uint32))],
            taints=[None, 0],
            taint_sets=[[gp.Taint(key="spot", effect="NoSchedule")]],
            unschedulable=np.array([False, False]),
            ready=[True, True],
        ),
        "gangs": gp.GangColumns(
            names=["g"], queues=[0], priorities=[0], created=[0], required=[0], preferred=[None]
        ),
        "roles": gp.RoleColumns(
            gangs=[0, 0],
            names=["ps", "worker"],
            replicas=array("q", [1, 2]),
            requests=[memoryview(array("q", [500, 1000])), [1, 1]],
            needs=[0, None],
        ),
        "running": gp.RunningColumns(roles=[1], indexes=[0], nodes=[1], reserved=[False]),
        "pods": gp.PodColumns(names=["p"], nodes=[0], requests=np.array([[100], [1]]), queues=[None]),
    }
    for name, value in changed.items():
        table, _, column = name.partition("__")
        if table in tables:
            tables[table] = replace(tables[table], **{column: value}) if column else value
    own = {name: value for name, value in changed.items() if name.partition("__")[0] not in tables}
    rest = {
        "resources": ["cpu", "pods"],
        "topology": ["rack"],
        "queues": [gp.Queue(name="q")],
        "needs": [gp.NodeNeeds(tolerations=[gp.Toleration(operator="Exists")])],
    }
    return gp.Columns(**rest | tables | own)


def problems(**changed):
    with pytest.raises(gp.InvalidInput) as caught:
        gp.Session(good(**changed))
    assert caught.value.source == "columns"
    return [(problem.path, problem.code) for problem in caught.value.problems]


def test_the_good_columns_are_good():
    assert gp.Session(good()).solve().placements() == {"g": {"ps": ("n1",), "worker": ("n1",)}}


HUGE = 2**63
NUMBERS = {
    "floats": (np.array([1.0, 2.0]), "", "WRONG_TYPE"),
    "not a number": ([0, float("nan")], "[1]", "WRONG_TYPE"),
    "truths": (np.array([True, False]), "", "WRONG_TYPE"),
    "a truth": ([0, True], "[1]", "WRONG_TYPE"),
    "texts": (["0", "1"], "[0]", "WRONG_TYPE"),
    "two dimensions": (np.zeros((2, 2), dtype=np.int64), "", "BAD_VALUE"),
    "no dimension": (np.array(1), "", "WRONG_TYPE"),
    "every second item": (np.arange(4)[::2], "", "BAD_VALUE"),
    "the order of other machines": (np.array([0, 1], dtype=">i8"), "", "WRONG_TYPE"),
    "too long": ([0, HUGE], "[1]", "OUT_OF_RANGE"),
    "unsigned and too long": (np.array([0, HUGE], dtype=np.uint64), "[1]", "OUT_OF_RANGE"),
    "dates": (np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]"), "", "WRONG_TYPE"),
    "a text": ("01", "", "WRONG_TYPE"),
    "a set": ({0, 1}, "", "WRONG_TYPE"),
    "nothing": (None, "", "WRONG_TYPE"),
}


@pytest.mark.parametrize(("value", "where", "code"), NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize("column", ["roles__replicas", "roles__gangs", "roles__needs", "nodes__taints"])
def test_a_column_that_holds_no_numbers_is_named(column, value, where, code):
    path = f"$.{column.replace('__', '.')}{where}"
    assert (path, code) in problems(**{column: value})


@pytest.mark.parametrize(
    ("column", "value", "path", "code"),
    [
        ("nodes__allocatable", np.array([[1, -1], [1, 1]]), "$.nodes.allocatable[0][1]", "OUT_OF_RANGE"),
        ("nodes__allocatable", np.zeros((3, 2), dtype=np.int64), "$.nodes.allocatable", "BAD_VALUE"),
        ("nodes__allocatable", np.zeros((2, 2), dtype=np.int64).T[:, ::-1], "$.nodes.allocatable", "BAD_VALUE"),
        ("nodes__allocatable", np.zeros(4, dtype=np.int64), "$.nodes.allocatable", "BAD_VALUE"),
        ("nodes__allocatable", [[1, 1], [1.5, 1]], "$.nodes.allocatable[1][0]", "WRONG_TYPE"),
        ("nodes__allocatable", [[1, 1], [1]], "$.nodes.allocatable[1]", "BAD_VALUE"),
        ("nodes__names", ["n1", "n1"], "$.nodes.names[1]", "DUPLICATE_NAME"),
        ("nodes__names", ["n1", 7], "$.nodes.names[1]", "WRONG_TYPE"),
        ("nodes__names", ["n1", "\ud800"], "$.nodes.names[1]", "BAD_VALUE"),
        ("nodes__names", "n1", "$.nodes.names", "WRONG_TYPE"),
        ("nodes__labels", [], "$.topology[0]", "UNKNOWN_NAME"),
        ("nodes__labels", [gp.LabelColumn(key=3, values=[], codes=[])], "$.nodes.labels[0].key", "WRONG_TYPE"),
        ("nodes__labels", [gp.LabelColumn(key="rack", values=["a", "a"], codes=[0, 1])],
         "$.nodes.labels[0].values[1]", "DUPLICATE_NAME"),
        ("nodes__taints", [0, 9], "$.nodes.taints[1]", "OUT_OF_RANGE"),
        ("nodes__taint_sets", ["x"], "$.nodes.taint_sets[0]", "WRONG_TYPE"),
        ("nodes__taint_sets", [[gp.Taint(key="a", effect="Never")]], "$.nodes.taint_sets[0][0].effect", "BAD_VALUE"),
        ("nodes__unschedulable", np.array([0, 1]), "$.nodes.unschedulable", "WRONG_TYPE"),
        ("nodes__ready", [True, 1], "$.nodes.ready[1]", "WRONG_TYPE"),
        ("nodes", None, "$.nodes", "WRONG_TYPE"),
        ("gangs__queues", [-1], "$.gangs.queues[0]", "OUT_OF_RANGE"),
        ("gangs__queues", np.array([-1]), "$.gangs.queues[0]", "OUT_OF_RANGE"),
        ("gangs__queues", [1], "$.gangs.queues[0]", "OUT_OF_RANGE"),
        ("gangs__required", [2], "$.gangs.required[0]", "OUT_OF_RANGE"),
        ("gangs__min_members", [4], "$.gangs.min_members[0]", "OUT_OF_RANGE"),
        ("gangs__runtimes_s", [-1], "$.gangs.runtimes_s[0]", "OUT_OF_RANGE"),
        ("gangs__bypassed", [-1], "$.gangs.bypassed[0]", "OUT_OF_RANGE"),
        ("gangs__preemptible", [1], "$.gangs.preemptible[0]", "WRONG_TYPE"),
        ("roles__mins", [2, 2], "$.roles.mins[0]", "OUT_OF_RANGE"),
        ("roles__priorities", [HUGE, 0], "$.roles.priorities[0]", "OUT_OF_RANGE"),
        ("now", "today", "$.now", "WRONG_TYPE"),
        ("roles__replicas", [0, 1], "$.roles.replicas[0]", "OUT_OF_RANGE"),
        ("roles__gangs", [0, None], "$.roles.gangs[1]", "OUT_OF_RANGE"),
        ("running__nodes", [2], "$.running.nodes[0]", "OUT_OF_RANGE"),
        ("running__indexes", [2], "$.running.indexes[0]", "OUT_OF_RANGE"),
        ("pods__queues", [5], "$.pods.queues[0]", "OUT_OF_RANGE"),
        ("queues", [gp.Queue(name="q", limit={"cpu": "much"})], "$.queues[0].limit.cpu", "BAD_QUANTITY"),
        ("queues", [gp.Queue(name="q", parent="q")], "$.queues[0].parent", "CYCLE"),
        ("queues", ["q"], "$.queues[0]", "WRONG_TYPE"),
        ("queues", [gp.Queue(name="q", limit={"cpu": object()})], "$.queues", "WRONG_TYPE"),
        ("needs", [gp.NodeNeeds(node_selector={"a": 1})], "$.needs[0].node_selector.a", "WRONG_TYPE"),
        ("resources", ["cpu", "cpu"], "$.resources[1]", "DUPLICATE_NAME"),
        ("topology", ["zone"], "$.topology[0]", "UNKNOWN_NAME"),
        ("topology", ["node"], "$.topology[0]", "CONTRADICTION"),
    ],
)  # fmt: skip
def test_a_wrong_column_is_named_and_nothing_else(column, value, path, code):
    assert problems(**{column: value}) == [(path, code)]


def test_all_problems_come_at_once_in_the_order_of_their_paths():
    found = problems(
        queues=[gp.Queue(name="q"), gp.Queue(name="q")],
        needs=[3],
        nodes__ready=[True],
        roles__replicas=[1.5, -1],
        running__nodes=[7],
    )
    assert found == [
        ("$.needs[0]", "WRONG_TYPE"),
        ("$.nodes.ready", "BAD_VALUE"),
        ("$.queues[1].name", "DUPLICATE_NAME"),
        ("$.roles.replicas[0]", "WRONG_TYPE"),
        ("$.roles.replicas[1]", "OUT_OF_RANGE"),
    ]


def test_what_is_no_columns_is_told_so():
    with pytest.raises(gp.InvalidInput, match="must be Columns or Snapshot, not Plan"):
        gp.Session(gp.Plan())


def test_a_wrong_snapshot_is_named_with_all_its_problems():
    wrong = gp.Snapshot(nodes=(gp.Node(name="", ready=1),), gangs=(gp.Gang(name="g", roles=()),))
    with pytest.raises(gp.InvalidInput) as caught:
        gp.Session(wrong)
    assert [problem.path for problem in caught.value.problems] == [
        "$.gangs[0].roles", "$.nodes[0].name", "$.nodes[0].ready",
    ]  # fmt: skip
    with pytest.raises(gp.InvalidInput, match=r"\$\.nodes\[0\]: must not be of type object"):
        gp.Session(gp.Snapshot(nodes=(object(),)))


def test_wrong_options_are_named():
    with pytest.raises(gp.InvalidInput, match=r"\$\.budget"):
        gp.Session(good()).solve(gp.SolveOptions(budget=-1))


class Stubborn:
    """An object that fails in its own way when it is asked for a number."""

    def __index__(self):
        raise ConnectionError("not now")


def test_failures_of_the_callers_own_objects_pass_through():
    with pytest.raises(ConnectionError):
        gp.Session(good(roles__replicas=[1, Stubborn()]))


JUNK = st.one_of(
    st.none(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.booleans(),
    st.lists(st.one_of(st.integers(-2, 9), st.none(), st.floats(), st.text(max_size=2)), max_size=9),
    st.builds(lambda shape, kind: np.zeros(shape, dtype=kind), st.lists(st.integers(0, 3), max_size=3),
              st.sampled_from(["i8", "u4", "u1", "?", "f8", ">i4", "U3", "O", "c16", "S2"])),
)  # fmt: skip


def places(value, path=()):
    """Every column, as the names of the fields that lead to it."""
    return [
        place
        for field in fields(value)
        for place in (
            places(getattr(value, field.name), (*path, field.name))
            if is_dataclass(getattr(value, field.name))
            else [(*path, field.name)]
        )
    ]


def put(value, place, junk):
    head, *rest = place
    return replace(value, **{head: put(getattr(value, head), rest, junk) if rest else junk})


@settings(max_examples=200)
@given(snapshots(), st.data())
def test_junk_anywhere_is_an_answer_or_invalid_input(snapshot, data):
    """Whatever stands in a column: either it can be meant, or it is told; never another exception."""
    broken = columns(snapshot)
    for _ in range(data.draw(st.integers(1, 3))):
        broken = put(broken, data.draw(st.sampled_from(places(broken))), data.draw(JUNK))
    wrong = []
    try:
        decisions = gp.Session(broken).solve()
    except gp.InvalidInput as error:
        wrong = error.problems
        decisions = None
    assert decisions is None or len(decisions.nodes) == len(decisions.gangs)
    assert (decisions is None) == bool(wrong)
    assert all(problem.path.startswith("$.") for problem in wrong)
