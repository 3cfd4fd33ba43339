"""The same cluster has the same placements, whichever way it goes in: the laws of :class:`gangplan.Session`."""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given, note
from hypothesis import strategies as st
from session.strategies import columns, snapshots

import gangplan as gp

OPTIONS = gp.SolveOptions(changes=False)


@given(snapshots())
def test_columns_are_decided_as_the_document_is(snapshot):
    plan = gp.solve(snapshot, OPTIONS)
    decisions = gp.Session(columns(snapshot)).solve(OPTIONS)
    assert decisions.placements() == plan.placements
    in_turn = sorted(plan.rejections, key=lambda gang: plan.rejections[gang].position)
    assert decisions.refusals() == tuple(in_turn)
    proven = [plan.rejections[gang].proven for gang in in_turn]
    assert decisions.proven.tolist() == proven


@given(snapshots(), st.randoms(use_true_random=False))
def test_the_order_of_rows_decides_nothing(snapshot, chance):
    def shuffled(rows):
        rows = list(rows)
        chance.shuffle(rows)
        return rows

    there = gp.Session(columns(snapshot)).solve(OPTIONS)
    mixed = gp.Session(columns(snapshot, shuffled)).solve(OPTIONS)
    note(str(snapshot))
    assert mixed.placements() == there.placements()
    assert mixed.refusals() == there.refusals()
    assert mixed.work == there.work


@given(st.lists(snapshots(), min_size=1, max_size=3))
def test_eight_threads_at_once_answer_as_one(snapshots):
    sessions = [gp.Session(columns(snapshot)) for snapshot in snapshots]
    alone = [session.solve(OPTIONS).placements() for session in sessions]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda session: session.solve(OPTIONS).placements(), sessions * 8))
    assert together == alone * 8


def answered_by_a_child(session):
    """What a forked child decides with the session of its parent."""
    fork = multiprocessing.get_context("fork")
    mine, other = fork.Pipe()
    child = fork.Process(target=lambda: other.send(session.solve(OPTIONS).placements()))
    child.start()
    assert mine.poll(60), "the child did not answer"
    answer = mine.recv()
    child.join()
    assert child.exitcode == 0
    return answer


def test_a_forked_child_answers_as_its_parent():
    snapshot = gp.Snapshot(
        topology=("block", "rack"),
        nodes=tuple(
            gp.Node(
                name=f"n{place}",
                allocatable={"cpu": "4", "pods": "9"},
                labels={"block": "b", "rack": f"r{place}"},
            )
            for place in range(3)
        ),
        gangs=tuple(
            gp.Gang(name=name, roles=(gp.Role(name="worker", replicas=3, requests={"cpu": "1500m"}),))
            for name in ("first", "second", "third")
        ),
    )
    session = gp.Session(columns(snapshot))
    before = session.solve(OPTIONS).placements()
    assert len(before) == 2
    assert answered_by_a_child(session) == before
    assert session.solve(OPTIONS).placements() == before


def test_indexes_that_run_or_are_leaving_are_not_given_again():
    """Whatever the names of what runs: their order is not that of the indexes."""
    held = [("a", 2, False), ("b", 0, False), ("c", 4, True)]
    snapshot = gp.Snapshot(
        nodes=(gp.Node(name="n1", allocatable={"cpu": "9"}),),
        gangs=(gp.Gang(name="g", roles=(gp.Role(name="w", replicas=6, min=5, requests={"cpu": "1"}),)),),
        running=tuple(
            gp.Running(name=name, node="n1", gang="g", role="w", index=index, terminating=terminating)
            for name, index, terminating in held
        ),
    )
    session = gp.Session(snapshot)
    decisions = session.solve()
    assert decisions.indexes.tolist() == [1, 3, 5]
    assert session.commit(decisions) == ()
    assert sorted(one.index for one in session.snapshot().running) == list(range(6))
