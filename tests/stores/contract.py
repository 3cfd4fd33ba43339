"""The contract of :class:`gangplan.store.Store`, as tests that each store's suite inherits."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import pytest
from builders import GPU, gang, node, role

import gangplan as gp
from gangplan import admission
from gangplan.config import Terms
from gangplan.errors import Conflict, Unreachable
from gangplan.record import GangRecord, Outcome, Reservation, enter, new
from gangplan.store import Cluster, Ending, Member, Store

TERMS = Terms(reservation_s=600.0, record_s=3600.0, earmark_s=300.0, earmark_bypasses=5)


@dataclass
class Place:
    """A kind of store under test.

    Attributes:
        open: Opens the store as an actor of its own.
        name: Gives a name for a gang.
        hung: Opens it as an actor that hangs once, in the middle of its first write of a record: then what is given is
            done.
        late: Opens it as an actor whose first write of a record gets no answer, and is done when what is given with it
            is called.
        heard: Opens it as an actor whose next sign of life can be waited for, by what is given with it.
        interrupted: Opens it as an actor that is interrupted during a request of the given number, which is then done or
            not, as told; what is given with it knows, and lets a late one arrive.
    """

    open: Callable[[], Store]
    name: Callable[[str], str]
    hung: Callable[[Callable[[], object]], Store] | None = None
    late: Callable[[], tuple[Store, Callable[[], None]]] | None = None
    heard: Callable[[], tuple[Store, Callable[[], None]]] | None = None
    interrupted: Callable[[int, str], tuple[Store, Any]] | None = None

    def asked(self, name: str = "a", workers: int = 1, **fields: object) -> GangRecord:
        """The record of a gang of one-GPU workers that was just asked for."""
        namespace, _, _ = self.name("").partition("/")
        described = gang(self.name(name), role("worker", workers, gpus=1), namespace=namespace, **fields)
        return new(described, uid="u", run_id="run", now=0.0)


def reserved(record: GangRecord, *nodes: str) -> GangRecord:
    """The record once it holds nodes."""
    place = Reservation(placement={"worker": nodes or ("n1",)}, expires_at=9.25)
    return enter(record, "Reserved", now=1.5, reason="admitted", reservation=place)


@dataclass
class View:
    """A cluster that tests can change."""

    nodes: tuple[gp.Node, ...]
    running: tuple[gp.Running, ...] = ()
    members: tuple[tuple[str, Member], ...] = ()
    ended: dict[str, Ending] = field(default_factory=dict)

    def read(self) -> Cluster:
        snapshot = gp.Snapshot(nodes=self.nodes, running=self.running)
        return Cluster(snapshot=snapshot, members=dict(self.members), ended=self.ended)

    def gone(self, owners: object) -> frozenset:
        return frozenset()


class Unread:
    """A cluster that gives no answer."""

    def read(self) -> Cluster:
        raise Unreachable("no answer")

    def gone(self, owners: object) -> frozenset:
        return frozenset()


def gpu_nodes(count: int, gpus: int) -> tuple[gp.Node, ...]:
    """Nodes with GPUs and enough of everything else."""
    return tuple(node(f"n{i}", gpus=gpus) for i in range(count))


class StoreContract:
    """Tests on a fixture ``place``."""

    def test_what_is_written_is_read_by_name_and_in_order(self, place):
        store = place.open()
        written = [store.create(place.asked(name)) for name in ("b", "a", "c")]
        assert place.open().records() == tuple(sorted(written, key=lambda record: record.name))
        assert place.open().get(place.name("a")) == written[1]
        assert store.get(place.name("d")) is None

    def test_every_part_of_a_record_comes_back(self, place):
        store = place.open()
        rejected = gp.Rejection(
            stage="capacity", rule="NO_ROOM", message="why", position=3, needs="4", has="2"
        )
        first = store.create(place.asked(workers=2, priority=-3, queue="q", min_member=1, runtime_s=60))
        waiting = replace(first, reason="why ✓ \n 2", position=3, rejection=rejected, bypassed=2)
        waiting = replace(waiting, expired_at=1.5)
        told = store.update(waiting)
        assert replace(told, version=first.version) == waiting
        holding = store.update(reserved(told, "n1", "n2"))
        assert place.open().get(place.name("a")) == holding
        assert (holding.reservation, holding.rejection, holding.position) == (
            Reservation(placement={"worker": ("n1", "n2")}, expires_at=9.25),
            None,
            None,
        )
        ended = store.update(enter(holding, "Finished", now=2.0, reason="done", outcome="Succeeded"))
        assert (ended.outcome, ended.reservation, ended.finished_at) == ("Succeeded", None, 2.0)
        for outcome in get_args(Outcome):
            ended = store.update(replace(ended, outcome=outcome))
            assert place.open().get(place.name("a")) == ended

    def test_a_write_that_read_an_older_version_is_refused(self, place):
        store, other = place.open(), place.open()
        first = store.create(place.asked())
        second = other.update(replace(first, reason="one"))
        assert second.version > first.version
        for act in (store.update, store.remove):
            with pytest.raises(Conflict):
                act(replace(first, reason="late"))
        with pytest.raises(Conflict):
            store.create(place.asked())
        assert store.records() == (second,)
        store.remove(second)
        for act in (store.update, store.remove):
            with pytest.raises(Conflict, match="removed"):
                act(second)
        assert store.records() == ()

    def test_a_record_made_anew_never_has_the_version_of_an_earlier_one(self, place):
        store = place.open()
        old = store.create(place.asked())
        store.remove(old)
        anew = store.create(place.asked())
        assert anew.version > old.version
        with pytest.raises(Conflict):
            store.update(replace(old, reason="late"))
        assert store.get(place.name("a")) == anew

    def test_one_cycle_admits_one_whole_gang_and_tells_the_other_why_it_waits(self, place):
        store, view = place.open(), View(gpu_nodes(2, 2))
        for name in "ab":
            store.create(place.asked(name, workers=4))
        assert admission.run_cycle(store, view, now=10.0, terms=TERMS) is not None
        first, second = place.open().records()
        assert (first.phase, second.phase) == ("Reserved", "Pending")
        assert sorted(first.reservation.placement["worker"]) == ["n0", "n0", "n1", "n1"]
        assert (second.position, second.rejection.stage, second.reason) == (
            1,
            "capacity",
            second.rejection.message,
        )
        admission.finish(store, first.name, run_id="run", outcome="Succeeded", reason="done", now=20.0)
        assert admission.run_cycle(place.open(), view, now=21.0, terms=TERMS) is not None
        assert place.open().get(second.name).phase == "Reserved"

    def test_pods_of_a_gang_are_counted_once_and_where_they_are(self, place):
        """Whoever binds may have put a replica on another node than the one that was kept for it."""
        store = place.open()
        record = store.update(reserved(store.create(place.asked(workers=2)), "n0", "n0"))
        pods = tuple(gp.Running(name=f"x/p{i}", node="n1", requests={GPU: "1"}) for i in range(2))
        members = tuple((f"x/p{i}", Member(gang=record.name, role="worker", index=0)) for i in range(2))
        view = View(gpu_nodes(2, 2), running=pods, members=members)
        store.create(place.asked("b", workers=1))
        assert admission.run_cycle(store, view, now=2.0, terms=TERMS) is not None
        # n1: its first worker and a second pod of the same name; n0: what is kept for its other worker.
        assert store.get(place.name("b")).reservation.placement == {"worker": ("n0",)}

    def test_a_gang_that_nobody_asks_for_anew_stops_waiting(self, place):
        """Whoever waited for it was killed; it must not be admitted again and again for nobody."""
        store, view = place.open(), View(gpu_nodes(1, 1))
        record = store.create(replace(place.asked(workers=1), kept_until=60.0))
        kept = record.kept_until
        assert kept is not None
        busy = View(gpu_nodes(1, 1), running=(gp.Running(name="x", node="n0", requests={GPU: "1"}),))
        assert admission.run_cycle(store, busy, now=kept - 1.0, terms=TERMS) is not None
        assert store.get(record.name).phase == "Pending"
        assert admission.run_cycle(place.open(), view, now=kept, terms=TERMS) is not None
        ended = store.get(record.name)
        assert (ended.phase, ended.outcome, ended.reason) == (
            "Finished",
            "Canceled",
            "nobody waits for it any more",
        )

    def test_a_gang_whose_job_has_ended_while_nobody_looked_ends(self, place):
        store, view = place.open(), View(gpu_nodes(1, 1))
        record = store.update(reserved(store.create(place.asked()), "n0"))
        admission.bind(store, record.name, run_id="run", now=2.0, owner=None)
        view.ended = {record.name: Ending(outcome="Failed", reason="worker-0: it ended with exit code 3")}
        assert admission.run_cycle(place.open(), view, now=3.0, terms=TERMS) is not None
        ended = store.get(record.name)
        assert (ended.outcome, ended.reason, ended.reservation) == (
            "Failed",
            "worker-0: it ended with exit code 3",
            None,
        )


class LeadContract:
    """Tests of stores whose leader can be lost while it works, on fixtures ``place`` and ``lose_leader``.

    ``lose_leader`` lets so much time pass that a leader which shows no sign of life counts as lost.
    """

    def test_of_two_cycles_at_once_the_second_decides_nothing(self, place):
        store, other = place.open(), place.open()
        store.create(place.asked())
        view = View(gpu_nodes(1, 8))
        with store.leadership() as leads:
            assert leads
            assert admission.run_cycle(other, view, now=1.0, terms=TERMS) is None
        assert admission.run_cycle(other, view, now=1.0, terms=TERMS) is not None

    def test_what_a_lost_leader_still_writes_books_nothing(self, place, lose_leader):
        """It had decided before it hung, in the middle of writing it; another leads since, to whom all looked as before."""
        other = place.open()
        full = View(gpu_nodes(1, 4), running=(gp.Running(name="x", node="n0", requests={GPU: "4"}),))
        other.create(place.asked(workers=4))
        assert admission.run_cycle(other, full, now=1.0, terms=TERMS) is not None
        (waiting,) = other.records()

        def meanwhile() -> None:
            assert admission.run_cycle(other, full, now=2.0, terms=TERMS) is None
            lose_leader()
            decision = admission.run_cycle(other, full, now=3.0, terms=TERMS)
            assert decision is not None
            assert decision.writes == ()

        lost = place.hung(meanwhile)
        assert admission.run_cycle(lost, View(gpu_nodes(1, 4)), now=2.0, terms=TERMS) is None
        (record,) = other.records()
        assert record.version > waiting.version
        assert replace(record, version=waiting.version) == waiting

    def test_a_leader_that_has_lost_the_lead_notices_before_it_writes(self, place, lose_leader):
        store, other = place.open(), place.open()
        first = store.create(place.asked())
        view = View(gpu_nodes(1, 4))
        with store.leadership() as leads:
            assert leads
            assert admission.run_cycle(other, view, now=1.0, terms=TERMS) is None
            lose_leader()
            with other.leadership() as leads_too:
                assert leads_too
                with pytest.raises(Conflict):
                    store.update(reserved(first))

    def test_who_waits_keeps_the_lead_between_cycles_and_gives_it_back_at_the_end(self, place):
        """So that of many who wait one reads the cluster, and not each of them."""
        store, other = place.open(), place.open()
        view = View(gpu_nodes(1, 8))
        with store.tenure():
            for _ in range(2):
                assert admission.run_cycle(store, view, now=1.0, terms=TERMS) is not None
                assert admission.run_cycle(other, view, now=1.0, terms=TERMS) is None
        assert admission.run_cycle(other, view, now=1.0, terms=TERMS) is not None
        assert admission.run_cycle(store, view, now=1.0, terms=TERMS) is not None

    def test_a_kept_lead_passes_to_another_when_its_holder_hangs(self, place, lose_leader):
        store, other = place.open(), place.open()
        view = View(gpu_nodes(1, 4))
        waiting = store.create(place.asked(workers=5))
        with store.tenure():
            assert admission.run_cycle(store, view, now=1.0, terms=TERMS) is not None
            with other.tenure():
                assert admission.run_cycle(other, view, now=1.0, terms=TERMS) is None
                lose_leader()
                assert admission.run_cycle(other, view, now=2.0, terms=TERMS) is not None
                assert admission.run_cycle(store, view, now=3.0, terms=TERMS) is None
                ended = admission.finish(
                    store, waiting.name, run_id="run", outcome="Canceled", reason="enough", now=4.0
                )
                assert ended is not None, "a record of its own may be written by who does not lead"
            assert admission.run_cycle(store, view, now=5.0, terms=TERMS) is not None

    def test_an_error_in_a_cycle_leaves_a_kept_lead_to_its_holder_alone(self, place):
        store, other = place.open(), place.open()
        view = View(gpu_nodes(1, 4))
        with store.tenure():
            with pytest.raises(RuntimeError), store.leadership():
                raise RuntimeError("no answer")
            assert admission.run_cycle(other, view, now=1.0, terms=TERMS) is None
            assert admission.run_cycle(store, view, now=1.0, terms=TERMS) is not None
        assert admission.run_cycle(other, view, now=1.0, terms=TERMS) is not None

    @pytest.mark.parametrize("kept", [True, False])
    def test_an_error_before_anything_is_booked_costs_no_gang_a_write(self, place, kept):
        """What fails again and again, at a server that is asked too much, must not be asked more for each gang that waits."""
        store, other = place.open(), place.open()
        full = View(gpu_nodes(1, 4), running=(gp.Running(name="x", node="n0", requests={GPU: "4"}),))
        for name in "abc":
            store.create(place.asked(name, workers=4))
        assert admission.run_cycle(store, full, now=1.0, terms=TERMS) is not None
        before = store.records()
        with store.tenure() if kept else nullcontext():
            for _ in range(3):
                with pytest.raises(Unreachable):
                    admission.run_cycle(store, Unread(), now=1.0, terms=TERMS)
            assert admission.run_cycle(store, full, now=1.0, terms=TERMS) is not None
        assert admission.run_cycle(other, full, now=1.0, terms=TERMS) is not None
        assert store.records() == before

    @pytest.mark.parametrize("kept", [True, False])
    def test_a_booking_that_got_no_answer_fails_when_it_comes_late(self, place, lose_leader, kept):
        """The room went to somebody else meanwhile. Gangs that were not booked are left as they are."""
        (store, arrive), lost = place.late(), place.open()
        free, full = View(gpu_nodes(1, 4)), View(gpu_nodes(1, 4))
        full.running = (gp.Running(name="x", node="n0", requests={GPU: "4"}),)
        for name in "ab":
            store.create(place.asked(name, workers=4))
        with lost.tenure():
            assert admission.run_cycle(lost, full, now=1.0, terms=TERMS) is not None
            assert admission.run_cycle(store, free, now=1.0, terms=TERMS) is None
            lose_leader()
            with store.tenure() if kept else nullcontext():
                with pytest.raises(Unreachable):
                    admission.run_cycle(store, free, now=2.0, terms=TERMS)
                before = store.get(place.name("b"))
                assert admission.run_cycle(store, full, now=3.0, terms=TERMS) is not None
                with pytest.raises(Conflict):
                    arrive()
                assert admission.run_cycle(store, full, now=3.0, terms=TERMS) is not None
                if kept:
                    assert store.get(place.name("b")) == before
        assert [record.phase for record in store.records()] == ["Pending", "Pending"]
        assert admission.run_cycle(place.open(), full, now=4.0, terms=TERMS) is not None

    def test_a_booking_without_an_answer_is_not_booked_again_where_it_was_done(self, place):
        (store, arrive), view = place.late(), View(gpu_nodes(1, 4))
        store.create(place.asked(workers=4))
        with store.tenure():
            with pytest.raises(Unreachable):
                admission.run_cycle(store, view, now=1.0, terms=TERMS)
            arrive()
            decision = admission.run_cycle(store, view, now=2.0, terms=TERMS)
        assert decision.writes == ()
        assert store.get(place.name("a")).phase == "Reserved"

    def test_a_lead_lasts_as_long_as_its_holder_reads(self, place, lose_leader):
        """A cluster that takes longer to read than a Lease lasts is decided on all the same, with many who wait."""
        (store, hear), other = place.heard(), place.open()
        store.create(place.asked())
        small = View(gpu_nodes(1, 1))

        class Slow(View):
            def read(self) -> Cluster:
                for _ in range(3):
                    assert admission.run_cycle(other, small, now=1.0, terms=TERMS) is None
                    lose_leader()
                    hear()
                return super().read()

        assert admission.run_cycle(store, Slow(gpu_nodes(1, 1)), now=1.0, terms=TERMS) is not None
        assert store.get(place.name("a")).phase == "Reserved"

    def test_a_kept_lead_lasts_through_a_long_pause(self, place, lose_leader):
        (store, hear), other = place.heard(), place.open()
        view = View(gpu_nodes(1, 4))
        with store.tenure():
            assert admission.run_cycle(store, view, now=1.0, terms=TERMS) is not None
            for _ in range(3):
                assert admission.run_cycle(other, view, now=1.0, terms=TERMS) is None
                lose_leader()
                hear()
            assert admission.run_cycle(other, view, now=1.0, terms=TERMS) is None
            assert admission.run_cycle(store, view, now=2.0, terms=TERMS) is not None

    def test_a_leader_that_hangs_for_minutes_shows_no_life_any_more(self, place, lose_leader):
        """Its pulse goes on by itself; it must not keep the lead for somebody who does nothing with it."""
        (store, _), other = place.heard(), place.open()
        first, view = store.create(place.asked()), View(gpu_nodes(1, 4))
        with store.leadership() as leads:
            assert leads
            while admission.run_cycle(other, view, now=1.0, terms=TERMS) is None:
                for _ in range(10):
                    lose_leader()
            with pytest.raises(Conflict):
                store.update(reserved(first))
        assert store.get(first.name).phase == "Reserved"
