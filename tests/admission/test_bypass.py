"""Others may start before a gang that waits for room, but not for ever."""

from dataclasses import replace

import pytest
from admission.memory import Cluster
from builders import gang, node, role

import gangplan as gp
from gangplan import admission
from gangplan.admission import run_cycle
from gangplan.record import new

FOUR_GPUS = Cluster(nodes=(node("n1", gpus=2), node("n2", gpus=2)))


def ask(store, name, gpus, now, **more):
    wanted = gang(name, role(replicas=gpus, gpus=1), created=int(now), **more)
    store.create(new(wanted, uid=f"uid-{name}", run_id="run", now=now))


def end(store, name, now):
    admission.finish(store, name, run_id="run", outcome="Succeeded", reason="", now=now)


@pytest.mark.parametrize(
    ("earmark_s", "bypasses", "passed"),
    [(1e6, 3, 3), (1e6, 0, 0), (25.0, 1000, 2)],
)
def test_a_gang_is_passed_only_so_often_or_so_long(doors, terms, earmark_s, bypasses, passed):
    """Jobs of one GPU keep coming, each while another runs, and a job of four waits: it starts all the same."""
    store = doors()
    terms = replace(terms, earmark_s=earmark_s, earmark_bypasses=bypasses)
    ask(store, "first", 1, 0.0)
    run_cycle(store, FOUR_GPUS, now=0.0, terms=terms)
    ask(store, "large", 4, 1.0)
    running = ["first"]
    started = 0
    for number in range(10):
        now = 10.0 * (number + 1)
        ask(store, f"small-{number}", 1, now)
        run_cycle(store, FOUR_GPUS, now=now, terms=terms)
        records = {record.name: record for record in store.records()}
        if records[f"small-{number}"].phase == "Reserved":
            running.append(f"small-{number}")
            started += 1
        assert records["large"].bypassed == started
        if started == passed:
            break
        end(store, running.pop(0), now + 1.0)
    assert started == passed

    ask(store, "late", 1, 200.0)
    run_cycle(store, FOUR_GPUS, now=200.0, terms=terms)
    late = store.get("late")
    assert (late.phase, late.rejection.rule) == ("Pending", "ROOM_KEPT")
    assert "; room is kept for it on n1, n2" in store.get("large").reason
    assert late.reason == "fits only into room that is kept for large, which comes first"
    for name in running:
        end(store, name, 201.0)
    run_cycle(store, FOUR_GPUS, now=202.0, terms=terms)
    assert store.get("large").phase == "Reserved"
    assert store.get("large").bypassed == 0


def test_who_comes_first_or_waits_in_another_queue_passes_nobody(doors, terms):
    store = doors()
    cluster = replace(FOUR_GPUS, queues=(gp.Queue(name="a"), gp.Queue(name="b")))
    ask(store, "holds", 1, 0.0)
    run_cycle(store, cluster, now=0.0, terms=terms)
    ask(store, "large", 4, 2.0, queue="a")
    ask(store, "urgent", 1, 3.0, queue="a", priority=5)
    ask(store, "other", 1, 3.0, queue="b")
    run_cycle(store, cluster, now=4.0, terms=terms)
    assert {record.name for record in store.records() if record.phase == "Reserved"} == {
        "holds",
        "urgent",
        "other",
    }
    assert store.get("large").bypassed == 0


def test_an_elastic_gang_that_runs_stays_as_it_is_when_room_comes(doors, terms):
    """Growing is not part of admission on one machine: what was admitted is what runs."""
    store = doors()
    ask(store, "holds", 2, 0.0)
    run_cycle(store, FOUR_GPUS, now=0.0, terms=terms)
    elastic = gang("elastic", role(replicas=4, gpus=1), created=1, min_member=1)
    store.create(new(elastic, uid="uid-elastic", run_id="run", now=1.0))
    run_cycle(store, FOUR_GPUS, now=1.0, terms=terms)
    held = store.get("elastic").reservation
    assert len(held.placement["worker"]) == 2
    end(store, "holds", 2.0)
    run_cycle(store, FOUR_GPUS, now=3.0, terms=terms)
    admission.bind(store, "elastic", run_id="run", now=4.0, owner=None)
    run_cycle(store, FOUR_GPUS, now=5.0, terms=terms)
    assert store.get("elastic").phase == "Bound"
    assert store.get("elastic").reservation.placement == held.placement
