"""A session that followed a history decides as a fresh start does, whatever happened and however it was told."""

from itertools import count

import pytest
from hypothesis import event, given, note, settings
from hypothesis import strategies as st
from session.histories import delta_columns, deltas, facts, followed, followed_columns, rich_snapshots
from session.strategies import columns, snapshots

import gangplan as gp

OPTIONS = gp.SolveOptions(bypass="earmark")
STEPS = 6


def assert_decides_as_one_shot(session):
    """Plan, decisions and explanations are those of the snapshot."""
    snapshot = session.snapshot()
    plan = gp.solve(snapshot, OPTIONS)
    gp.check(snapshot, plan)
    assert session.plan(OPTIONS) == plan
    assert session.plan(OPTIONS).hash == plan.hash != ""
    decisions = session.solve(OPTIONS)
    assert decisions.placements() == plan.placements
    in_turn = sorted(plan.rejections, key=lambda gang: plan.rejections[gang].position)
    assert decisions.refusals() == tuple(in_turn)
    assert decisions.proven.tolist() == [plan.rejections[gang].proven for gang in in_turn]
    assert decisions.earmarks() == plan.earmarks
    for gang in snapshot.gangs:
        assert session.explain(gang.name, OPTIONS) == plan.rejections.get(gang.name)
    return decisions


def assert_commit_books_what_it_says(session, decisions):
    before = {(one.gang, one.role, one.index) for one in session.snapshot().running if one.gang is not None}
    conflicts = {conflict.gang for conflict in session.commit(decisions)}
    placed = decisions.placements()
    after = [one for one in session.snapshot().running if one.gang is not None]
    new = [one for one in after if (one.gang, one.role, one.index) not in before]
    assert all(one.reserved for one in new)
    booked = {gang: roles for gang, roles in placed.items() if gang not in conflicts}
    assert sorted((one.gang, one.role, one.node) for one in new) == sorted(
        (gang, role, node)
        for gang, roles in booked.items()
        for role, nodes in roles.items()
        for node in nodes
    )
    return conflicts


def assert_said_again_nothing_changes(session, step):
    """Neither as the same version, nor as a later one; an older one is refused."""
    epoch, version = session.epoch, session.version
    assert session.apply(step, version=version) is False
    assert session.apply(step, version=version + 1) is False
    assert (session.epoch, session.version) == (epoch, version + 1)
    with pytest.raises(gp.InvalidInput) as caught:
        session.apply(step, version=version)
    found = [(problem.path, problem.code) for problem in caught.value.problems]
    assert found == [("$.version", "OUT_OF_RANGE")]


def take(session, step):
    """Apply; whether it was sound. What is wrong leaves everything as it was."""
    before = (session.epoch, session.version, facts(session.snapshot()))
    wrong: tuple[gp.Problem, ...] = ()
    changed = False
    try:
        changed = session.apply(step)
    except gp.InvalidInput as error:
        wrong = error.problems
    if session.version == before[1]:
        event("refused")
        assert wrong
        assert (session.epoch, session.version, facts(session.snapshot())) == before
        return False
    assert session.version == before[1] + 1
    assert session.epoch == before[0] + changed
    event("changed" if changed else "the same")
    if not changed:
        assert facts(session.snapshot()) == before[2]
    assert_said_again_nothing_changes(session, step)
    return True


@settings(max_examples=60, deadline=None)
@given(rich_snapshots(), st.data())
def test_a_session_of_documents_decides_as_a_fresh_start_after_every_step(snapshot, data):
    session = gp.Session(snapshot)
    decisions = assert_decides_as_one_shot(session)
    for step in range(data.draw(st.integers(1, STEPS))):
        kind = data.draw(st.sampled_from(["names", "names", "names", "columns", "commit"]))
        if kind == "names":
            told = data.draw(deltas(snapshot, step))
            note(repr(told))
            if take(session, told):
                snapshot = followed(snapshot, told)
                assert facts(session.snapshot()) == facts(snapshot)
        elif kind == "columns":
            told = data.draw(delta_columns(session, snapshot))
            note(repr(told))
            expected = followed_columns(snapshot, told, session)
            if take(session, told):
                if not told.nodes.free and not told.bound.roles and not told.ended.roles:
                    assert facts(session.snapshot())[:4] == facts(expected)[:4]
                snapshot = session.snapshot()
        else:
            assert_commit_books_what_it_says(session, decisions)
            snapshot = session.snapshot()
        decisions = assert_decides_as_one_shot(session)


@settings(max_examples=60, deadline=None)
@given(snapshots(), st.data())
def test_a_session_of_columns_decides_as_a_fresh_start_after_every_step(snapshot, data):
    """With the first delta in names it goes over to names; before and after it decides as its snapshot does."""
    session = gp.Session(columns(snapshot))
    decisions = assert_decides_as_one_shot(session)
    for step in range(data.draw(st.integers(1, STEPS))):
        kind = data.draw(st.sampled_from(["names", "columns", "columns", "columns", "commit"]))
        before = session.snapshot()
        if kind == "commit":
            assert_commit_books_what_it_says(session, decisions)
        else:
            told = data.draw(deltas(before, step) if kind == "names" else delta_columns(session, before))
            note(repr(told))
            if take(session, told) and kind == "names":
                assert facts(session.snapshot()) == facts(followed(before, told))
        decisions = assert_decides_as_one_shot(session)


@settings(max_examples=60, deadline=None)
@given(snapshots())
def test_columns_and_their_snapshot_are_one_cluster(snapshot):
    session = gp.Session(columns(snapshot))
    assert session.plan(OPTIONS).hash == gp.solve(session.snapshot(), OPTIONS).hash
    assert session.plan(OPTIONS).hash == gp.solve(snapshot, OPTIONS).hash
    assert gp.Session(snapshot).plan(OPTIONS).hash == gp.Session(session.snapshot()).plan(OPTIONS).hash


@settings(max_examples=60, deadline=None)
@given(rich_snapshots())
def test_what_was_just_decided_can_be_committed_whole_once(snapshot):
    session = gp.Session(snapshot)
    decisions = session.solve(OPTIONS)
    assert assert_commit_books_what_it_says(session, decisions) == set()
    assert session.epoch == bool(decisions.placements())
    again = session.commit(decisions)
    assert [conflict.gang for conflict in again] == sorted(decisions.placements())
    assert {conflict.cause for conflict in again} <= {"gang"}
    assert session.epoch == bool(decisions.placements())


@settings(max_examples=60, deadline=None)
@given(rich_snapshots(), st.data())
def test_rows_stay_what_they_are(snapshot, data):
    session = gp.Session(snapshot)
    before = (session.nodes, session.gangs, session.roles)
    for step in count():
        if step == STEPS:
            break
        take(session, data.draw(deltas(session.snapshot(), step)))
        now = (session.nodes, session.gangs, session.roles)
        assert all(new[: len(old)] == old for new, old in zip(now, before, strict=True))
        before = now
