"""Wrong deltas are named one by one, each with its path, all at once, and then nothing of them is done."""

from array import array
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session.histories import delta_columns, facts, rich_snapshots
from session.test_bad_columns import JUNK, good, places, put

import gangplan as gp
from gangplan.documents import dump

HUGE = 2**63
SNAPSHOT = gp.Session(good()).snapshot()
OPENED = {"columns": lambda: gp.Session(good()), "snapshot": lambda: gp.Session(SNAPSHOT)}


@pytest.fixture(params=OPENED)
def session(request):
    """The same cluster, told in columns or in names."""
    return OPENED[request.param]()


def problems(session, deltas, **how):
    """What is wrong with deltas; that nothing of them is done."""
    before = (session.epoch, session.version, facts(session.snapshot()), session.plan())
    with pytest.raises(gp.InvalidInput) as caught:
        session.apply(deltas, **how)
    assert caught.value.source in {"deltas", "Deltas"}
    assert (session.epoch, session.version, facts(session.snapshot()), session.plan()) == before
    return [(problem.path, problem.code) for problem in caught.value.problems]


def node(**changed):
    return gp.Node(**{"name": "n3", "allocatable": {"cpu": "1"}} | changed)


def gang(**changed):
    return gp.Gang(**{"name": "new", "roles": (gp.Role(name="w", replicas=1),)} | changed)


IN_NAMES = {
    "a negative amount": (gp.Deltas(nodes=(node(allocatable={"cpu": "-1"}),)),
                          [("$.nodes[0].allocatable.cpu", "OUT_OF_RANGE")]),
    "no quantity": (gp.Deltas(nodes=(node(allocatable={"cpu": "much"}),)),
                    [("$.nodes[0].allocatable.cpu", "BAD_QUANTITY")]),
    "an amount beyond 64 bits": (gp.Deltas(nodes=(node(allocatable={"pods": str(HUGE)}),)),
                                 [("$.nodes[0].allocatable.pods", "OUT_OF_RANGE")]),
    "no name": (gp.Deltas(nodes=(node(name=""),)), [("$.nodes[0].name", "BAD_VALUE")]),
    "a name twice": (gp.Deltas(nodes=(node(), node(ready=False))), [("$.nodes[1].name", "DUPLICATE_NAME")]),
    "there and gone": (gp.Deltas(nodes=(node(),), gone=gp.Gone(nodes=("n9", "n3"))),
                       [("$.gone.nodes[1]", "CONTRADICTION")]),
    "an unknown queue": (gp.Deltas(gangs=(gang(queue="nowhere"),)), [("$.gangs[0].queue", "UNKNOWN_NAME")]),
    "an unknown level": (gp.Deltas(gangs=(gang(topology=gp.Closeness(required="row")),)),
                         [("$.gangs[0].topology.required", "UNKNOWN_NAME")]),
    "no roles": (gp.Deltas(gangs=(gang(roles=()),)), [("$.gangs[0].roles", "BAD_VALUE")]),
    "negative replicas": (gp.Deltas(gangs=(gang(roles=(gp.Role(name="w", replicas=-1),)),)),
                          [("$.gangs[0].roles[0].replicas", "OUT_OF_RANGE")]),
    "an unknown node": (gp.Deltas(running=(gp.Running(name="r", node="n9"),)),
                        [("$.running[0].node", "UNKNOWN_NAME")]),
    "an unknown gang": (gp.Deltas(running=(gp.Running(name="r", node="n1", gang="x", role="w", index=0),)),
                        [("$.running[0].gang", "UNKNOWN_NAME")]),
    "a replica too many": (gp.Deltas(running=(gp.Running(name="r", node="n1", gang="g", role="ps", index=1),)),
                           [("$.running[0].index", "OUT_OF_RANGE")]),
    "a replica twice": (gp.Deltas(running=tuple(gp.Running(name=name, node="n1", gang="g", role="ps", index=0)
                                                for name in "ab")), [("$.running[1]", "DUPLICATE_NAME")]),
    "queues in a circle": (gp.Deltas(queues=(gp.Queue(name="q", parent="p"), gp.Queue(name="p", parent="q"))),
                           [("$.queues[1].parent", "CYCLE")]),
    "a queue that is needed": (gp.Deltas(gone=gp.Gone(queues=("q",))), [("$.gone.queues[0]", "UNKNOWN_NAME")]),
    "a role that runs": (gp.Deltas(gangs=(gang(name="g"),)), [("$", "UNKNOWN_NAME")]),
    "a type": (gp.Deltas(nodes=(node(ready=1),)), [("$.nodes[0].ready", "WRONG_TYPE")]),
    "an integer beyond 64 bits": (gp.Deltas(now=HUGE), [("$.now", "OUT_OF_RANGE")]),
    "a version to come": (gp.Deltas(version=2), [("$.version", "UNSUPPORTED_VERSION")]),
}  # fmt: skip


@pytest.mark.parametrize(("deltas", "found"), IN_NAMES.values(), ids=IN_NAMES)
def test_a_wrong_delta_in_names_is_named(session, deltas, found):
    assert problems(session, deltas) == found


def test_all_problems_of_deltas_in_names_come_at_once(session):
    wrong = gp.Deltas(
        nodes=(node(allocatable={"cpu": "x"}),), gangs=(gang(queue="nowhere"),), gone=gp.Gone(nodes=("n3",))
    )
    assert problems(session, wrong) == [
        ("$.gangs[0].queue", "UNKNOWN_NAME"),
        ("$.gone.nodes[0]", "CONTRADICTION"),
        ("$.nodes[0].allocatable.cpu", "BAD_QUANTITY"),
    ]


def test_what_would_break_something_else_says_what(session):
    with pytest.raises(gp.InvalidInput, match=r"\$\.gone\.queues\[0\]: is still the queue of the gang 'g'"):
        session.apply(gp.Deltas(gone=gp.Gone(queues=("q",))))


def test_what_cannot_be_written_is_told(session):
    assert problems(session, gp.Deltas(nodes=(object(),))) == [("$.nodes[0]", "WRONG_TYPE")]


@pytest.mark.parametrize("what", [None, 7, "deltas", {"nodes": []}, gp.Snapshot()])
def test_what_is_no_deltas_is_told_so(session, what):
    assert problems(session, what) == [("$", "WRONG_TYPE")]


@pytest.mark.parametrize("version", [-1, 2**64, 1.0, "1", True])
def test_what_is_no_version_is_told_so(session, version):
    assert problems(session, gp.Deltas(), version=version) == [("$.version", "OUT_OF_RANGE")]


def of_nodes(**columns):
    return gp.DeltaColumns(nodes=gp.NodeDeltas(**{"rows": [0]} | columns))


def new_gangs(**roles):
    rows = {"gangs": [0], "names": ["w"], "replicas": [1], "requests": [[1], [1]]}
    return gp.DeltaColumns(gangs=gp.GangColumns(names=["new"]), roles=gp.RoleColumns(**rows | roles))


IN_COLUMNS = {
    "a row that is none": (of_nodes(rows=[2]), [("$.nodes.rows[0]", "OUT_OF_RANGE")]),
    "no row at all": (of_nodes(rows=[None]), [("$.nodes.rows[0]", "OUT_OF_RANGE")]),
    "a negative row": (of_nodes(rows=np.array([-1])), [("$.nodes.rows[0]", "OUT_OF_RANGE")]),
    "a row twice": (of_nodes(rows=[1, 1]), [("$.nodes.rows[1]", "DUPLICATE_NAME")]),
    "a negative amount": (of_nodes(allocatable=[[-1], [1]]), [("$.nodes.allocatable[0][0]", "OUT_OF_RANGE")]),
    "an amount beyond 64 bits": (of_nodes(allocatable=[[HUGE], [1]]),
                                 [("$.nodes.allocatable[0][0]", "OUT_OF_RANGE")]),
    "too few resources": (of_nodes(allocatable=[[1]]), [("$.nodes.allocatable", "BAD_VALUE")]),
    "too many rows": (of_nodes(allocatable=[[1, 2], [1]]), [("$.nodes.allocatable[0]", "BAD_VALUE")]),
    "floats": (of_nodes(allocatable=np.array([[1.0], [1.0]])), [("$.nodes.allocatable", "WRONG_TYPE")]),
    "one dimension": (of_nodes(allocatable=np.array([1, 1])), [("$.nodes.allocatable", "BAD_VALUE")]),
    "every second item": (of_nodes(rows=np.zeros(4, dtype=np.uint32)[::2]), [("$.nodes.rows", "BAD_VALUE")]),
    "the order of other machines": (of_nodes(rows=np.array([0], dtype=">u4")), [("$.nodes.rows", "WRONG_TYPE")]),
    "capacity and what is free": (of_nodes(allocatable=[[1], [1]], free=[[1], [1]]),
                                  [("$.nodes.free", "CONTRADICTION")]),
    "more free than can be": (of_nodes(free=[[2**62], [1]]), [("$.nodes.free[0][0]", "OUT_OF_RANGE")]),
    "no truths": (of_nodes(ready=[1]), [("$.nodes.ready[0]", "WRONG_TYPE")]),
    "too many truths": (of_nodes(unschedulable=[True, False]), [("$.nodes.unschedulable", "BAD_VALUE")]),
    "a gang that is none": (gp.DeltaColumns(gone_gangs=[0, 3]), [("$.gone_gangs[1]", "OUT_OF_RANGE")]),
    "a gang twice": (gp.DeltaColumns(gone_gangs=[0, 0]), [("$.gone_gangs[1]", "DUPLICATE_NAME")]),
    "a pod that is none": (gp.DeltaColumns(gone_pods=[1]), [("$.gone_pods[0]", "OUT_OF_RANGE")]),
    "a role that is none": (gp.DeltaColumns(ended=gp.EndedColumns(roles=[2], indexes=[0])),
                            [("$.ended.roles[0]", "OUT_OF_RANGE")]),
    "a replica that is none": (gp.DeltaColumns(ended=gp.EndedColumns(roles=[1], indexes=[2])),
                               [("$.ended.indexes[0]", "OUT_OF_RANGE")]),
    "no index": (gp.DeltaColumns(ended=gp.EndedColumns(roles=[1])), [("$.ended.indexes", "BAD_VALUE")]),
    "a replica twice": (gp.DeltaColumns(bound=gp.RunningColumns(roles=[1, 1], indexes=[0, 0], nodes=[0, 1])),
                        [("$.bound.indexes[1]", "DUPLICATE_NAME")]),
    "a place that is none": (gp.DeltaColumns(bound=gp.RunningColumns(roles=[1], indexes=[0], nodes=[2])),
                             [("$.bound.nodes[0]", "OUT_OF_RANGE")]),
    "a name that is known": (replace(new_gangs(), gangs=gp.GangColumns(names=["g"])),
                             [("$.gangs.names[0]", "DUPLICATE_NAME")]),
    "a gang without roles": (gp.DeltaColumns(gangs=gp.GangColumns(names=["x"])),
                             [("$.gangs.names[0]", "BAD_VALUE")]),
    "a role without gang": (new_gangs(gangs=[1]), [("$.roles.gangs[0]", "OUT_OF_RANGE")]),
    "no replicas": (new_gangs(replicas=[0]), [("$.roles.replicas[0]", "OUT_OF_RANGE")]),
    "a minimum too large": (new_gangs(mins=[2]), [("$.roles.mins[0]", "OUT_OF_RANGE")]),
    "a pod nowhere": (gp.DeltaColumns(pods=gp.PodColumns(nodes=[7], requests=[[1], [1]])),
                      [("$.pods.nodes[0]", "OUT_OF_RANGE")]),
    "a table that is none": (replace(gp.DeltaColumns(), nodes=None), [("$.nodes", "WRONG_TYPE")]),
    "a resource twice": (gp.DeltaColumns(resources=["cpu", "cpu"]), [("$.resources[1]", "DUPLICATE_NAME")]),
}  # fmt: skip


@pytest.mark.parametrize(("deltas", "found"), IN_COLUMNS.values(), ids=IN_COLUMNS)
def test_a_wrong_delta_in_columns_is_named(session, deltas, found):
    assert problems(session, deltas) == found


def test_all_problems_of_deltas_in_columns_come_at_once(session):
    wrong = gp.DeltaColumns(
        gone_gangs=[9],
        nodes=gp.NodeDeltas(rows=[0], ready=["yes"]),
        ended=gp.EndedColumns(roles=[9], indexes=[0]),
        bound=gp.RunningColumns(roles=[0], indexes=[1], nodes=[0.5]),
    )
    assert problems(session, wrong) == [
        ("$.bound.nodes[0]", "WRONG_TYPE"),
        ("$.ended.roles[0]", "OUT_OF_RANGE"),
        ("$.gone_gangs[0]", "OUT_OF_RANGE"),
        ("$.nodes.ready[0]", "WRONG_TYPE"),
    ]


def test_a_resource_that_columns_lack_is_told_and_names_take_it():
    strange = replace(of_nodes(allocatable=[[1]]), resources=["tpu"])
    assert problems(OPENED["columns"](), strange) == [("$.resources[0]", "UNKNOWN_NAME")]
    session = OPENED["snapshot"]()
    assert session.apply(strange)
    assert session.snapshot().nodes[0].allocatable["tpu"] == "1"


def test_a_node_that_is_gone_takes_nothing_more(session):
    session.apply(gp.Deltas(gone=gp.Gone(nodes=("n1",))))
    bound = gp.DeltaColumns(bound=gp.RunningColumns(roles=[0], indexes=[0], nodes=[0]))
    assert problems(session, bound) == [("$.bound.nodes[0]", "UNKNOWN_NAME")]
    assert problems(session, of_nodes(ready=[True])) == [("$.nodes.rows[0]", "UNKNOWN_NAME")]


def test_columns_of_deltas_that_cannot_be_written_to_are_taken(session):
    rows, amounts = np.array([0], dtype=np.uint32), np.array([[1000], [5]])
    rows.flags.writeable = amounts.flags.writeable = False
    assert session.apply(of_nodes(rows=rows, allocatable=amounts))
    assert session.apply(of_nodes(rows=memoryview(bytes(array("I", [0]))).cast("I"), ready=[False]))


def test_what_is_free_is_added_to_what_is_held(session):
    """Of node n2 one replica of 1 core and 1 pod runs: 500m free make 1500m."""
    assert session.apply(gp.DeltaColumns(resources=["cpu"], nodes=gp.NodeDeltas(rows=[1], free=[[500]])))
    (node,) = [node for node in session.snapshot().nodes if node.name == "n2"]
    assert node.allocatable == {"cpu": "1500m", "pods": "10"}


@pytest.mark.parametrize(
    "cluster",
    [gp.Snapshot(), gp.Columns(resources=["cpu"], nodes=gp.NodeColumns(names=[], allocatable=[[]]))],
)
def test_a_cluster_of_nothing_takes_deltas(cluster):
    session = gp.Session(cluster)
    assert session.solve().nodes.tolist() == []
    assert session.apply(gp.DeltaColumns()) is False
    assert session.apply(gp.Deltas()) is False
    assert session.epoch == 0
    assert session.apply(gp.Deltas(nodes=(node(),), gangs=(gang(),)))
    assert session.solve().placements() == {"new": {"w": ("n3",)}}
    assert session.apply(gp.Deltas(gone=gp.Gone(nodes=("n3",), gangs=("new",))))
    assert session.snapshot() == gp.Snapshot()


def test_who_explains_or_commits_what_is_not_there_is_told(session):
    decisions = session.solve()
    for what, code in (
        ("x", "UNKNOWN_NAME"),
        (9, "OUT_OF_RANGE"),
        (-1, "OUT_OF_RANGE"),
        (None, "WRONG_TYPE"),
    ):
        with pytest.raises(gp.InvalidInput) as caught:
            session.explain(what)
        assert [(problem.path, problem.code) for problem in caught.value.problems] == [("$.gang", code)]
        with pytest.raises(gp.InvalidInput) as caught:
            session.commit(decisions, ["g", what])
        assert [(problem.path, problem.code) for problem in caught.value.problems] == [("$.gangs[1]", code)]
    with pytest.raises(gp.InvalidInput, match="of another session"):
        session.commit(gp.Session(good()).solve())
    with pytest.raises(gp.InvalidInput, match="must be Decisions, not dict"):
        session.commit({"g": {}})
    with pytest.raises(gp.InvalidInput, match=r"\$\.budget"):
        session.explain("g", gp.SolveOptions(budget=0))
    with pytest.raises(gp.InvalidInput, match=r"\$\.budget"):
        session.plan(gp.SolveOptions(budget=0))
    assert session.epoch == 0


def test_a_file_of_deltas_is_read_with_all_its_problems(tmp_path):
    wrong = gp.Deltas(nodes=(node(allocatable={"cpu": "x"}),), gone=gp.Gone(nodes=("n3",)))
    dump(wrong, tmp_path / "deltas.json")
    with pytest.raises(gp.InvalidInput) as caught:
        gp.load(tmp_path / "deltas.json", gp.Deltas)
    assert [problem.path for problem in caught.value.problems] == [
        "$.gone.nodes[0]", "$.nodes[0].allocatable.cpu",
    ]  # fmt: skip


@settings(max_examples=150)
@given(rich_snapshots(), st.data())
def test_junk_anywhere_in_deltas_is_an_answer_or_invalid_input(snapshot, data):
    """Whatever stands in a column: either it can be meant, or it is told and nothing is done."""
    session = gp.Session(snapshot)
    broken = data.draw(delta_columns(session, snapshot))
    for _ in range(data.draw(st.integers(1, 3))):
        broken = put(broken, data.draw(st.sampled_from(places(broken))), data.draw(JUNK))
    before = facts(session.snapshot())
    wrong: tuple[gp.Problem, ...] = ()
    try:
        session.apply(broken)
    except gp.InvalidInput as error:
        wrong = error.problems
    assert bool(wrong) == (session.version == 0)
    assert all(problem.path.startswith("$.") for problem in wrong)
    assert not wrong or facts(session.snapshot()) == before
    session.solve()
