"""One cycle decides for all gangs: who is admitted, who waits and why, what expires, what is forgotten."""

import json
from dataclasses import replace

import pytest
from admission.memory import Cluster, Crash, Door, Shelf, use
from builders import gang, node, role
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import gangplan as gp
from gangplan import admission
from gangplan.admission import cycle, run_cycle, settle
from gangplan.cli.main import app
from gangplan.config import Terms
from gangplan.errors import Conflict, Refused
from gangplan.local.store import LocalStore
from gangplan.record import (
    HOLDING,
    LONGEST_REASON,
    MOST_EVENTS,
    TRANSITIONS,
    WAITING,
    GangRecord,
    Owner,
    Reservation,
    enter,
    new,
)
from gangplan.record_snapshot import combine

DEAD, ALIVE = Owner(pid=2, started=1), Owner(pid=3, started=1)
FOUR_GPUS = Cluster(nodes=(node("n1", gpus=2), node("n2", gpus=2)))


def asked(wanted: gp.Gang, **more) -> GangRecord:
    """The record of a gang that was just asked for."""
    return new(wanted, uid=f"uid-{wanted.name}", run_id="run", now=0.0, **more)


def reserved(name: str = "g1", node_name: str = "n1", *, until: float = 100.0, **more) -> GangRecord:
    """The record of a gang of one worker that was admitted."""
    held = Reservation(placement={"worker": (node_name,)}, expires_at=until)
    record = asked(gang(name, **more))
    return enter(record, "Reserved", now=1.0, reason="", reservation=held, owner=ALIVE)


def phases(store) -> dict[str, str]:
    return {record.name: record.phase for record in store.records()}


def test_two_gangs_of_four_on_four_gpus_never_hold_two_and_two(doors, terms):
    """The deadlock that gangplan was made for: one gang gets all four, the other is told why and gets them next."""
    store = doors()
    for name in ("job-a", "job-b"):
        store.create(asked(gang(name, role(replicas=4, gpus=1))))
    run_cycle(store, FOUR_GPUS, now=10.0, terms=terms)
    first, second = store.records()
    assert (first.phase, second.phase) == ("Reserved", "Pending")
    assert sorted(first.reservation.placement["worker"]) == ["n1", "n1", "n2", "n2"]
    assert (second.position, second.rejection.needs, second.rejection.has) == (1, "4", "0")

    admission.bind(store, "job-a", run_id="run", now=11.0, owner=None)
    run_cycle(store, FOUR_GPUS, now=12.0, terms=terms)
    assert phases(store) == {"job-a": "Bound", "job-b": "Pending"}
    admission.finish(store, "job-a", run_id="run", outcome="Succeeded", reason="", now=13.0)
    run_cycle(store, FOUR_GPUS, now=14.0, terms=terms)
    assert phases(store) == {"job-a": "Finished", "job-b": "Reserved"}


@given(order=st.permutations(["old", "young", "urgent"]))
def test_priority_comes_first_then_age_and_neither_the_order_of_asking(order):
    wanted = {
        "old": gang("old", role(cpu="16"), created=1),
        "young": gang("young", role(cpu="16"), created=2),
        "urgent": gang("urgent", role(cpu="16"), created=3, priority=1),
    }
    decision = cycle(
        gp.Snapshot(nodes=(node(),)),
        [asked(wanted[name]) for name in order],
        now=5.0,
        terms=Terms(reservation_s=1, record_s=1, earmark_s=300.0, earmark_bypasses=5),
    )
    after = {record.name: record for record in decision.writes}
    assert after["urgent"].phase == "Reserved"
    assert [after["old"].position, after["young"].position] == [1, 2]
    assert after["old"].reason == after["old"].rejection.message


def test_what_is_as_it_was_is_not_written_again(doors, terms):
    store = doors()
    store.create(asked(gang("a", role(cpu="16"), created=1)))
    store.create(asked(gang("b", role(cpu="16"), created=2)))
    store.create(asked(gang("c", role(cpu="99"), created=3)))
    run_cycle(store, Cluster(nodes=(node(),)), now=5.0, terms=terms)
    run_cycle(store, Cluster(nodes=(node(),)), now=6.0, terms=terms)
    before = store.records()
    again = run_cycle(store, Cluster(nodes=(node(),)), now=7.0, terms=terms)
    assert again.writes == ()
    assert store.records() == before


def test_a_gang_that_can_never_fit_is_impossible_until_the_cluster_grows(doors, terms):
    store, cluster = doors(), Cluster(nodes=(node("n1"),))
    store.create(asked(gang("big", role(replicas=2, cpu="16")), owner=ALIVE))
    run_cycle(store, cluster, now=1.0, terms=terms)
    assert phases(store) == {"big": "Impossible"}
    cluster.nodes = (node("n1"), node("n2"))
    run_cycle(store, cluster, now=2.0, terms=terms)
    record = store.get("big")
    assert [event.phase for event in record.history] == ["Pending", "Impossible", "Pending", "Reserved"]
    assert record.owner == ALIVE
    assert record.rejection is None


def test_an_impossible_gang_waits_again_where_it_would_fit_an_empty_cluster(doors, terms):
    store, cluster = doors(), Cluster(nodes=(node("n1"),))
    store.create(asked(gang("big", role(cpu="32"))))
    run_cycle(store, cluster, now=1.0, terms=terms)
    store.create(asked(gang("first", role(cpu="16"))))
    cluster.nodes = (node("n1", cpu="32"),)
    store.create(asked(gang("holder", role(cpu="16"), priority=1)))
    run_cycle(store, cluster, now=2.0, terms=terms)
    assert store.get("big").phase == "Pending"


@pytest.mark.parametrize("key", ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"])
def test_a_gang_waits_for_a_node_that_is_not_ready_for_a_moment(key, doors, terms):
    """Kubernetes taints such a node too. Who waits for a gang that is impossible gives it up at once."""
    away = gp.Taint(key=key, value="", effect="NoSchedule")
    store, cluster = doors(), Cluster(nodes=(node("n1"), node("n2", ready=False, taints=(away,))))
    store.create(asked(gang("pair", role(replicas=2, cpu="16"))))
    store.create(asked(gang("huge", role(cpu="99"))))
    run_cycle(store, cluster, now=1.0, terms=terms)
    assert phases(store) == {"huge": "Impossible", "pair": "Pending"}
    assert not store.get("pair").rejection.impossible
    cluster.nodes = (node("n1"), node("n2"))
    run_cycle(store, cluster, now=2.0, terms=terms)
    assert phases(store) == {"huge": "Impossible", "pair": "Reserved"}


def test_a_node_that_would_not_take_a_gang_anyway_is_not_waited_for(doors, terms):
    own = gp.Taint(key="team", value="a", effect="NoSchedule")
    store, cluster = doors(), Cluster(nodes=(node("n1"), node("n2", ready=False, taints=(own,))))
    store.create(asked(gang("pair", role(replicas=2, cpu="16"))))
    run_cycle(store, cluster, now=1.0, terms=terms)
    assert phases(store) == {"pair": "Impossible"}


@pytest.mark.parametrize(
    ("now", "phase"),
    [(99.9, "Reserved"), (100.0, "Pending"), (1e9, "Pending")],
    ids=["before", "at", "after"],
)
def test_a_reservation_lives_until_its_time_and_not_longer(now, phase, terms):
    settled = settle([reserved()], now=now, terms=terms)
    assert [record.phase for record in settled.changed] == ([] if phase == "Reserved" else [phase])
    assert all(record.reservation is None for record in settled.changed)


def test_a_bound_gang_does_not_expire(doors, terms):
    store = doors()
    store.create(asked(gang()))
    run_cycle(store, FOUR_GPUS, now=1.0, terms=terms)
    admission.bind(store, "g1", run_id="run", now=2.0, owner=None)
    run_cycle(store, FOUR_GPUS, now=1e9, terms=terms)
    assert store.get("g1").phase == "Bound"


def test_who_lets_a_reservation_expire_stands_behind_its_equals(doors, terms):
    """Else a launcher that hangs would be admitted again and again, and keep out all who came after it."""
    store, cluster = doors(), Cluster(nodes=(node(),))
    store.create(asked(gang("hangs", role(cpu="16"), created=1), owner=ALIVE))
    run_cycle(store, cluster, now=10.0, terms=terms)
    store.create(asked(gang("waits", role(cpu="16"), created=20)))
    run_cycle(store, cluster, now=20.0, terms=terms)
    assert phases(store) == {"hangs": "Reserved", "waits": "Pending"}
    run_cycle(store, cluster, now=610.0, terms=terms)
    assert phases(store) == {"hangs": "Pending", "waits": "Reserved"}
    assert store.get("hangs").position == 1


def test_with_nobody_else_waiting_an_expired_gang_is_admitted_again(doors, terms):
    store = doors()
    store.create(asked(gang("g1")))
    for now in (1.0, 601.0):
        run_cycle(store, FOUR_GPUS, now=now, terms=terms)
    record = store.get("g1")
    assert record.phase == "Reserved"
    assert record.reservation.expires_at == 1201.0


@pytest.mark.parametrize(
    ("phase", "outcome"), [("Pending", "Canceled"), ("Reserved", "Canceled"), ("Bound", "Failed")]
)
def test_the_gang_of_a_dead_owner_ends_and_holds_nothing(phase, outcome, doors, terms):
    store, cluster = doors(), Cluster(nodes=(node(),), dead={DEAD})
    store.create(asked(gang("g1", role(cpu="99" if phase == "Pending" else "1")), owner=DEAD))
    run_cycle(store, replace(cluster, dead=set()), now=1.0, terms=terms)
    if phase == "Bound":
        admission.bind(store, "g1", run_id="run", now=1.0, owner=DEAD)
    run_cycle(store, cluster, now=2.0, terms=terms)
    record = store.get("g1")
    assert (record.phase, record.outcome, record.reservation) == ("Finished", outcome, None)
    assert str(DEAD.pid) in record.reason


def test_a_finished_record_is_kept_for_its_time_then_forgotten(doors, terms):
    store = doors()
    store.create(asked(gang()))
    admission.finish(store, "g1", run_id="run", outcome="Failed", reason="", now=1000.0)
    run_cycle(store, FOUR_GPUS, now=1000.0 + terms.record_s - 1, terms=terms)
    assert phases(store) == {"g1": "Finished"}
    run_cycle(store, FOUR_GPUS, now=1000.0 + terms.record_s, terms=terms)
    assert store.records() == ()


@pytest.mark.parametrize(
    "unsound",
    [
        gang("bad", queue="nowhere"),
        gang("bad", required="building"),
        gang("bad", role(cpu="a lot")),
        gang("bad", role("worker"), role("worker")),
        gang("bad", traffic=(gp.Traffic(a="worker", b="ghost"),)),
    ],
    ids=["queue", "level", "quantity", "role", "traffic"],
)
def test_one_gang_that_the_cluster_cannot_consider_stops_no_other(unsound, doors, terms):
    """A queue may be removed while a gang waits in it: that must not end admission for everybody."""
    store = doors()
    store.create(asked(unsound))
    store.create(asked(gang("good")))
    run_cycle(store, FOUR_GPUS, now=1.0, terms=terms)
    assert phases(store) == {"bad": "Impossible", "good": "Reserved"}
    bad = store.get("bad")
    assert bad.reason
    assert bad.rejection is None
    assert run_cycle(store, FOUR_GPUS, now=2.0, terms=terms).writes == ()


def test_explain_tells_of_all_that_wait_also_of_one_that_cannot_be_considered(tmp_path):
    store = LocalStore(tmp_path / "store.sqlite")
    store.set_cluster(gp.Snapshot(nodes=(node(),)))
    for wanted in (gang("bad", queue="nowhere"), gang("large", role(cpu="99"))):
        store.create(asked(wanted))
    for name, words in (("bad", "nowhere"), ("large", "99 cpu"), ("", "nowhere")):
        done = CliRunner().invoke(app, ["explain", *filter(None, [name]), "--home", str(tmp_path)])
        assert done.exit_code == 0, done.output
        assert words in done.stdout
    done = CliRunner().invoke(app, ["explain", "-o", "json", "--home", str(tmp_path)])
    assert sorted(json.loads(done.stdout)) == ["bad", "large"]


def test_a_refusal_is_forgotten_once_something_else_is_wrong(doors, terms):
    store, cluster = doors(), Cluster(nodes=(node(),), queues=(gp.Queue(name="research"),))
    store.create(asked(gang("g1", role(cpu="99"), queue="research")))
    run_cycle(store, cluster, now=1.0, terms=terms)
    assert store.get("g1").rejection is not None
    cluster.queues = ()
    run_cycle(store, cluster, now=2.0, terms=terms)
    record = store.get("g1")
    assert (record.phase, record.rejection, record.position) == ("Impossible", None, None)


def test_a_gang_is_admitted_once_its_queue_is_there(doors, terms):
    store, cluster = doors(), Cluster(nodes=(node(),))
    store.create(asked(gang(queue="research")))
    run_cycle(store, cluster, now=1.0, terms=terms)
    assert "research" in store.get("g1").reason
    cluster.queues = (gp.Queue(name="research"),)
    run_cycle(store, cluster, now=2.0, terms=terms)
    assert store.get("g1").phase == "Reserved"


def test_what_is_wrong_with_the_cluster_itself_is_an_error(doors, terms):
    store = doors()
    store.create(asked(gang()))
    with pytest.raises(gp.InvalidInput, match="nodes"):
        run_cycle(store, Cluster(nodes=(node("n1"), node("n1"))), now=1.0, terms=terms)
    assert phases(store) == {"g1": "Pending"}


def test_a_reservation_on_a_node_that_left_is_void(doors, terms):
    store, cluster = doors(), Cluster(nodes=(node("n1"),))
    store.create(asked(gang(), owner=ALIVE))
    run_cycle(store, cluster, now=1.0, terms=terms)
    cluster.nodes = (node("n2"),)
    run_cycle(store, cluster, now=2.0, terms=terms)
    record = store.get("g1")
    assert record.reservation.placement == {"worker": ("n2",)}
    assert "n1" in record.history[-2].reason
    assert record.expired_at is None, "it is not the gang's fault, so it keeps its place"


def test_a_running_gang_whose_node_queue_and_level_left_stops_no_other(doors, terms):
    store = doors()
    cluster = Cluster(nodes=(node("n1", rack="r1"),), queues=(gp.Queue(name="research"),), topology=("rack",))
    store.create(asked(gang("old", queue="research", required="rack", preferred="rack")))
    run_cycle(store, cluster, now=1.0, terms=terms)
    admission.bind(store, "old", run_id="run", now=2.0, owner=None)
    store.create(asked(gang("new", role(cpu="16"))))
    run_cycle(store, Cluster(nodes=(node("n2"),)), now=3.0, terms=terms)
    assert phases(store) == {"new": "Reserved", "old": "Bound"}


def test_a_gang_that_runs_keeps_its_room_while_its_node_is_away_and_back(doors, terms):
    store, cluster = doors(), Cluster(nodes=(node("n1"),))
    store.create(asked(gang("runs", role(cpu="16"))))
    run_cycle(store, cluster, now=1.0, terms=terms)
    admission.bind(store, "runs", run_id="run", now=2.0, owner=None)
    store.create(asked(gang("waits", role(cpu="16"))))
    for nodes in ((node("n9", cpu="1"),), (node("n1"),)):
        cluster.nodes = nodes
        run_cycle(store, cluster, now=3.0, terms=terms)
        assert store.get("waits").phase != "Reserved"
    assert use(store.records()) == {"n1": 16}


def test_a_waiting_gang_without_a_record_is_left_alone(terms):
    """The cluster may know gangs of others; a cycle writes only what has a record."""
    cluster = gp.Snapshot(nodes=(node(),), gangs=(gang("foreign"),))
    decision = cycle(cluster, [asked(gang("ours"))], now=1.0, terms=terms)
    assert [record.name for record in decision.writes] == ["ours"]


def test_suspended_and_finished_gangs_take_no_part():
    suspended = enter(asked(gang("s")), "Suspended", now=1.0, reason="")
    finished = enter(asked(gang("f")), "Finished", now=1.0, reason="", outcome="Failed")
    assert combine(gp.Snapshot(), [suspended, finished], now=0.0) == gp.Snapshot()


def test_only_a_reserved_gang_of_that_run_can_be_bound(doors, terms):
    store = doors()
    with pytest.raises(Conflict, match="no record"):
        admission.bind(store, "g1", run_id="run", now=1.0, owner=None)
    store.create(asked(gang()))
    with pytest.raises(Conflict, match="Pending"):
        admission.bind(store, "g1", run_id="run", now=1.0, owner=None)
    run_cycle(store, FOUR_GPUS, now=1.0, terms=terms)
    with pytest.raises(Conflict, match="no record"):
        admission.bind(store, "g1", run_id="another run", now=1.0, owner=None)
    assert admission.bind(store, "g1", run_id="run", now=1.0, owner=ALIVE).owner == ALIVE
    with pytest.raises(Conflict, match="Bound"):
        admission.bind(store, "g1", run_id="run", now=1.0, owner=None)


def test_a_gang_is_finished_once_and_only_by_its_own_run(doors):
    store = doors()
    end = {"reason": "why", "now": 5.0}
    assert admission.finish(store, "g1", run_id="run", outcome="Failed", **end) is None
    store.create(asked(gang()))
    assert admission.finish(store, "g1", run_id="other", outcome="Failed", **end) is None
    assert store.get("g1").phase == "Pending"
    ended = admission.finish(store, "g1", run_id="run", outcome="Failed", **end)
    again = admission.finish(store, "g1", run_id="run", outcome="Succeeded", **end)
    assert ended == again
    with pytest.raises(Conflict):
        admission.hand_over(store, "g1", run_id="run", owner=ALIVE)


def test_a_reason_that_quotes_a_file_name_which_is_no_text_can_be_stored(doors):
    store = doors()
    store.create(asked(gang()))
    admission.finish(store, "g1", run_id="run", outcome="Failed", reason="no file \udcff", now=1.0)
    assert store.get("g1").reason == "no file ?"


def test_a_cluster_that_changes_for_days_makes_no_record_longer(doors, terms):
    """A node that comes and goes makes a gang impossible and possible; a record that grows is one day too large to write."""
    store, cluster = doors(), Cluster()
    store.create(asked(gang("holder", role(cpu="16"), priority=1)))
    store.create(asked(gang("big", role(replicas=2, cpu="16"))))
    lengths = set()
    for day in range(10):
        cluster.nodes = (node("n1"), node("n2")) if day % 2 else (node("n1"),)
        run_cycle(store, cluster, now=100.0 * day, terms=terms)
        record = store.get("big")
        assert record.phase == record.history[-1].phase == ("Pending" if day % 2 else "Impossible")
        assert record.history[-1].at == 100.0 * day
        lengths.add(len(record.history))
    assert lengths == {2, 3}
    assert record.history[0].reason == "asked for"
    assert record.attempt == 1


def test_of_a_long_life_the_first_and_the_last_is_told_and_all_attempts_are_counted():
    record = asked(gang())
    for turn in range(MOST_EVENTS):
        held = Reservation(placement={"worker": ("n1",)}, expires_at=None)
        record = enter(record, "Reserved", now=10.0 * turn, reason="admitted", reservation=held)
        record = enter(record, "Pending", now=10.0 * turn + 5, reason="a" * 2 * LONGEST_REASON)
        assert record.attempt == turn + 2
    assert len(record.history) == MOST_EVENTS
    assert record.history[0] == asked(gang()).history[0]
    assert record.history[-1].at == 10.0 * (MOST_EVENTS - 1) + 5
    assert len(record.history[-1].reason) == LONGEST_REASON
    assert len(record.reason) == 2 * LONGEST_REASON, "the present reason is told whole"


@pytest.mark.parametrize("refused", ["expired", "new", "newer", "huge", "orphan", "past"])
def test_one_record_that_cannot_be_written_stops_no_other(refused, terms):
    shelf = Shelf()
    cluster = Cluster(nodes=(node("n1"), node("n2")), dead={DEAD})
    for record in busy_records():
        Door(shelf).create(record)
    before = shelf.records[refused]
    for now in (200.0, 201.0):
        assert run_cycle(Strict(shelf, refused), cluster, now=now, terms=terms) is not None
        assert all(amount <= 16 for amount in use(shelf.records.values()).values())
    after = {name: record.phase for name, record in shelf.records.items() if name != refused}
    assert shelf.records[refused] == before
    assert (
        after.items()
        <= {
            "expired": "Pending",
            "huge": "Impossible",
            "new": "Reserved",
            "newer": "Pending" if refused in {"expired", "orphan"} else "Reserved",
            "orphan": "Finished",
        }.items()
    )


class Strict(Door):
    """A door that takes no record of one gang, as a server whose rules forbid it."""

    def __init__(self, shelf: Shelf, refused: str) -> None:
        super().__init__(shelf)
        self.refused = refused

    def _write(self, record, wanted, new):
        if record.name == self.refused:
            raise Refused(f"{record.name} is too large")
        return super()._write(record, wanted, new)


# ---- what happens in between


def disturbed(number: int, what, kind: str = "after write"):
    """A step function that does something at the n-th step of a kind."""
    seen = []

    def step(found: str) -> None:
        if found == kind:
            seen.append(found)
            if len(seen) == number:
                what()

    return step


def crash() -> None:
    raise Crash


def busy_records() -> list[GangRecord]:
    """Some of everything that a cycle has to write."""
    return [
        replace(reserved("expired", "n1"), gang=gang("expired", role(cpu="16")), owner=None),
        asked(gang("new", role(cpu="16"), created=3)),
        asked(gang("newer", role(cpu="16"), created=4)),
        asked(gang("huge", role(cpu="99"), created=5)),
        replace(reserved("orphan", "n2"), gang=gang("orphan", role(cpu="16")), owner=DEAD),
        enter(asked(gang("past")), "Finished", now=-1e6, reason="", outcome="Failed"),
    ]


@pytest.mark.parametrize("kind", ["before write", "after write"])
def test_a_crash_at_any_write_of_a_cycle_is_repaired_by_the_next(kind, doors, terms):
    cluster = Cluster(nodes=(node("n1"), node("n2")), dead={DEAD})
    for record in busy_records():
        doors().create(record)
    begin = doors().records()
    writes = 0
    while True:
        writes += 1
        try:
            run_cycle(doors(disturbed(writes, crash, kind)), cluster, now=200.0, terms=terms)
            break
        except Crash:
            pass
        store = doors()
        assert all(amount <= 16 for amount in use(store.records()).values())
        run_cycle(store, cluster, now=200.0, terms=terms)
        assert phases(store) == {
            "expired": "Pending",
            "huge": "Impossible",
            "new": "Reserved",
            "newer": "Reserved",
            "orphan": "Finished",
        }
        for record in store.records():
            store.remove(record)
        for record in begin:
            store.create(record)
    assert writes > 6, "it has to have crashed at each of its writes"


@pytest.mark.parametrize("kind", ["before write", "after write"])
@pytest.mark.parametrize("act", ["finish", "bind", "hand_over"])
def test_a_crash_at_a_single_write_leaves_the_old_or_the_new_record(act, kind, doors, terms):
    acts = {
        "finish": lambda store: admission.finish(
            store, "g1", run_id="run", outcome="Failed", reason="", now=2.0
        ),
        "bind": lambda store: admission.bind(store, "g1", run_id="run", now=2.0, owner=DEAD),
        "hand_over": lambda store: admission.hand_over(store, "g1", run_id="run", owner=DEAD),
    }
    doors().create(asked(gang("g1"), owner=DEAD))
    cluster = Cluster(nodes=(node(),))
    run_cycle(doors(), cluster, now=1.0, terms=terms)
    with pytest.raises(Crash):
        acts[act](doors(disturbed(1, crash, kind)))
    store = doors()
    assert store.get("g1").phase == {"finish": "Finished", "bind": "Bound"}.get(
        act if kind == "after write" else "", "Reserved"
    )
    cluster.dead = {DEAD}
    run_cycle(store, cluster, now=3.0, terms=terms)
    assert phases(store) == {"g1": "Finished"}
    assert use(store.records()) == {}


def test_room_is_not_given_out_when_the_gang_that_let_it_expire_is_bound_in_that_moment(terms):
    """Both hold the same version of the truth; the one who is late must not win."""
    shelf = Shelf()
    launcher = Door(shelf)
    launcher.create(asked(gang("z-slow", role(cpu="16"))))
    run_cycle(launcher, Cluster(nodes=(node(),)), now=1.0, terms=terms)
    launcher.create(asked(gang("a-next", role(cpu="16"))))
    bind = disturbed(
        1, lambda: admission.bind(launcher, "z-slow", run_id="run", now=700.0, owner=None), "before write"
    )
    assert run_cycle(Door(shelf, bind), Cluster(nodes=(node(),)), now=700.0, terms=terms) is None
    assert phases(launcher) == {"a-next": "Pending", "z-slow": "Bound"}


def test_a_cycle_whose_records_changed_says_look_again(terms):
    shelf = Shelf()
    others = Door(shelf)
    others.create(asked(gang("g1")))
    end = disturbed(
        1,
        lambda: admission.finish(others, "g1", run_id="run", outcome="Canceled", reason="", now=1.0),
        "before write",
    )
    assert run_cycle(Door(shelf, end), Cluster(nodes=(node(),)), now=1.0, terms=terms) is None
    assert phases(others) == {"g1": "Finished"}


@settings(max_examples=200)
@given(st.data())
def test_records_move_along_the_transitions_only(data):
    record = asked(gang())
    for _ in range(6):
        phase = data.draw(st.sampled_from(sorted(TRANSITIONS)))
        held = Reservation(placement={}, expires_at=None) if phase in HOLDING else None
        more = {"reservation": held, "outcome": "Failed" if phase == "Finished" else None}
        if phase in TRANSITIONS[record.phase]:
            after = enter(record, phase, now=1.0, reason="why", **more)
            again = len(record.history) > 2 and {each.phase for each in record.history[-3:]} <= WAITING
            assert after.history[:-1] == record.history[: -2 if again and phase in WAITING else None]
            assert after.history[-1].phase == after.phase == phase
            record = after
        else:
            with pytest.raises(ValueError, match=f"from {record.phase} to {phase}"):
                enter(record, phase, now=1.0, reason="why", **more)


@pytest.mark.parametrize("phase", ["Reserved", "Finished"])
def test_a_phase_comes_with_what_it_needs(phase):
    with pytest.raises(ValueError, match=phase):
        enter(asked(gang()), phase, now=1.0, reason="")
