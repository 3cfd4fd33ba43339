"""The wait of one gang: it ends with admission, or with a finished gang and a reason."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from admission.memory import Cluster
from builders import gang, node, role

from gangplan import admission
from gangplan.errors import StoreError
from gangplan.record import GangRecord, Owner, enter, new
from gangplan.verdict import Verdict, judge, wait

ME, NEXT_ATTEMPT = Owner(pid=7, started=1), Owner(pid=8, started=1)


@dataclass
class Waiter:
    """A gang that waits in a store, in simulated time: each sleep is a chance for others to act."""

    store: object
    terms: admission.Terms
    cluster: Cluster = field(default_factory=lambda: Cluster(nodes=(node(),)))
    now: float = 1000.0
    sleeps: int = 0
    meanwhile: Callable[[int], None] = lambda _: None
    told: list[tuple[str, int | None]] = field(default_factory=list)

    def ask(self, wanted=None, **more) -> GangRecord:
        wanted = wanted or gang()
        return self.store.create(
            new(wanted, uid=f"uid-{wanted.name}", run_id="run", now=self.now, owner=ME, **more)
        )

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.sleeps += 1
        assert self.sleeps < 1000, "it waits for ever"
        self.meanwhile(self.sleeps)

    def wait(self, record: GangRecord, *, seconds: float = 60.0, **more) -> Verdict:
        return wait(
            self.store,
            self.cluster,
            record,
            **{
                "clock": lambda: self.now,
                "sleep": self.sleep,
                "terms": self.terms,
                "deadline": self.now + seconds,
                "poll_s": 1.0,
                "on_change": lambda found: self.told.append((found.phase, found.position)),
            }
            | more,
        )


@pytest.fixture
def waiter(doors, terms) -> Waiter:
    """Nobody else is there; one node of 16 cores."""
    return Waiter(doors(), terms)


def ended(waiter: Waiter, name: str = "g1", outcome: str = "Canceled") -> bool:
    record = waiter.store.get(name)
    return (record.phase, record.outcome, record.reservation) == ("Finished", outcome, None)


def test_a_gang_that_fits_is_admitted_without_a_wait(waiter):
    verdict = waiter.wait(waiter.ask())
    assert verdict.admitted
    assert verdict.record == waiter.store.get("g1")
    assert verdict.record.reservation.placement == {"worker": ("n1",)}
    assert verdict.decision.plan.placements["g1"] == {"worker": ("n1",)}
    assert (waiter.sleeps, waiter.told) == (0, [("Reserved", None)])


def test_a_gang_waits_until_another_has_ended(waiter):
    full = role(cpu="16")
    waiter.wait(waiter.ask(gang("first", full)))
    record = waiter.ask(gang("second", full))

    def meanwhile(sleeps: int) -> None:
        if sleeps == 5:
            admission.finish(
                waiter.store, "first", run_id="run", outcome="Succeeded", reason="", now=waiter.now
            )

    waiter.meanwhile = meanwhile
    assert waiter.wait(record).admitted
    assert waiter.sleeps == 5
    assert waiter.told[1:] == [("Pending", 1), ("Reserved", None)], "each state is told once"


def test_a_gang_that_others_admitted_is_admitted(waiter):
    """A daemon, or another waiter, may run all the cycles."""
    record = waiter.ask()
    with waiter.store.leadership():
        decision = admission.cycle(
            waiter.cluster.snapshot(), waiter.store.records(), now=1.0, terms=waiter.terms
        )
        for write in decision.writes:
            waiter.store.update(write)
    verdict = waiter.wait(record)
    assert verdict.admitted


def test_a_gang_that_cannot_fit_is_told_at_once(waiter):
    verdict = waiter.wait(waiter.ask(gang("g1", role(cpu="17"))))
    assert not verdict.admitted
    assert waiter.sleeps == 0
    assert "even when nothing runs" in verdict.reason
    assert not verdict.deleted
    assert verdict.record.reason == verdict.reason
    assert ended(waiter, outcome="NotAdmitted"), "nobody canceled it"


def test_a_patient_gang_waits_until_the_cluster_has_grown(waiter):
    def meanwhile(sleeps: int) -> None:
        if sleeps == 3:
            waiter.cluster.nodes = (node("n1"), node("n2", cpu="32"))

    waiter.meanwhile = meanwhile
    verdict = waiter.wait(waiter.ask(gang("g1", role(cpu="17"))), patient=True)
    assert verdict.admitted
    assert [phase for phase, _ in waiter.told] == ["Impossible", "Reserved"]


@pytest.mark.parametrize("patient", [True, False])
def test_at_the_deadline_the_gang_leaves_the_queue(patient, waiter):
    full = role(cpu="16")
    waiter.wait(waiter.ask(gang("first", full)))
    verdict = waiter.wait(waiter.ask(gang("second", full)), seconds=10.0, patient=patient)
    assert not verdict.admitted
    assert waiter.sleeps == 10
    assert "not admitted in time" in verdict.reason
    assert ended(waiter, "second", "NotAdmitted")


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, StoreError, RuntimeError, MemoryError])
@pytest.mark.parametrize("where", ["sleep", "on_change", "snapshot", "clock"])
def test_whatever_ends_the_wait_the_gang_is_finished(where, error, waiter):
    full = role(cpu="16")
    waiter.wait(waiter.ask(gang("first", full)))
    record = waiter.ask(gang("second", full))
    calls = []

    def fail(*_):
        calls.append(1)
        if len(calls) == 1:
            raise error("no")
        return waiter.now

    if where == "snapshot":
        waiter.cluster.step = fail
    with pytest.raises(error, match="no"):
        waiter.wait(record, **({where: fail} if where != "snapshot" else {}))
    waiter.cluster.step = lambda _: None
    assert ended(waiter, "second")
    told = {KeyboardInterrupt: "interrupted by its user", SystemExit: "told to end"}.get(
        error, error.__name__
    )
    assert told in waiter.store.get("second").reason


def test_an_interrupt_between_admission_and_its_news_gives_the_room_back(waiter):
    def interrupt(record: GangRecord) -> None:
        assert record.phase == "Reserved"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        waiter.wait(waiter.ask(), on_change=interrupt)
    assert ended(waiter)


@pytest.mark.parametrize("interrupted", [True, False])
def test_a_gang_that_another_attempt_took_over_is_not_finished_by_the_first(interrupted, waiter):
    """KFP starts a killed step again; the old process may live long enough to clean up after itself."""
    full = role(cpu="16")
    waiter.wait(waiter.ask(gang("first", full)))
    record = waiter.ask(gang("second", full))

    def take_over(_: int) -> None:
        admission.hand_over(waiter.store, "second", run_id="run", owner=NEXT_ATTEMPT)
        if interrupted:
            raise KeyboardInterrupt

    waiter.meanwhile = take_over
    if interrupted:
        with pytest.raises(KeyboardInterrupt):
            waiter.wait(record)
    else:
        verdict = waiter.wait(record)
        assert (verdict.admitted, verdict.deleted) == (False, False)
        assert "taken over" in verdict.reason
    found = waiter.store.get("second")
    assert (found.phase, found.owner) == ("Pending", NEXT_ATTEMPT)


def test_a_later_record_of_the_same_run_is_not_touched(waiter):
    full = role(cpu="16")
    waiter.wait(waiter.ask(gang("first", full)))
    record = waiter.ask(gang("second", full))

    def ask_again(_: int) -> None:
        waiter.store.remove(waiter.store.get("second"))
        waiter.store.create(replace(record, uid="another"))

    waiter.meanwhile = ask_again
    assert not waiter.wait(record).admitted
    found = waiter.store.get("second")
    assert (found.uid, found.phase) == ("another", "Pending")


@pytest.mark.parametrize("removed", [True, False])
def test_a_gang_that_somebody_deleted_waits_no_longer(removed, waiter):
    full = role(cpu="16")
    waiter.wait(waiter.ask(gang("first", full)))
    record = waiter.ask(gang("second", full))

    def delete(_: int) -> None:
        done = admission.finish(
            waiter.store, "second", run_id="run", outcome="Canceled", reason="deleted by the user", now=1.0
        )
        if removed:
            waiter.store.remove(done)

    waiter.meanwhile = delete
    verdict = waiter.wait(record)
    assert not verdict.admitted
    assert verdict.deleted
    assert verdict.reason == ("it was deleted while it waited" if removed else "deleted by the user")
    assert waiter.sleeps == 1


def test_while_another_leads_a_waiter_waits(terms):
    from admission.memory import Door, Shelf

    shelf = Shelf(led=True)
    waiter = Waiter(Door(shelf), terms)

    def meanwhile(sleeps: int) -> None:
        shelf.led = sleeps < 4

    waiter.meanwhile = meanwhile
    assert waiter.wait(waiter.ask()).admitted
    assert waiter.sleeps == 4


def test_a_suspended_gang_waits_until_its_deadline():
    suspended = enter(new(gang(), uid="u", run_id="r", now=0.0), "Suspended", now=1.0, reason="paused")
    assert judge(suspended, now=5.0, deadline=6.0, patient=False) is None
    assert judge(suspended, now=6.0, deadline=6.0, patient=False) == (False, "not admitted in time: paused")


def slow(waiter: Waiter, seconds: float) -> list[float]:
    """Let each look at the cluster take some seconds, and begin to note when they were."""
    looks: list[float] = []

    def look(_: str) -> None:
        looks.append(waiter.now)
        waiter.now += seconds

    waiter.cluster.step = look
    return looks


def test_a_cluster_that_is_slow_to_read_is_left_alone_most_of_the_time(waiter):
    full = role(cpu="16")
    waiter.wait(waiter.ask(gang("first", full)))
    looks = slow(waiter, 4.0)
    waiter.wait(waiter.ask(gang("second", full)), seconds=240.0)
    assert [second - first for first, second in itertools.pairwise(looks)] == [24.0] * 10
    assert waiter.sleeps >= 180, "it looks at its own gang all the time"


def test_what_others_do_to_a_gang_is_seen_between_two_looks_at_a_slow_cluster(waiter):
    full = role(cpu="16")
    waiter.wait(waiter.ask(gang("first", full)))
    looks = slow(waiter, 4.0)

    def delete(sleeps: int) -> None:
        if sleeps == 2:
            admission.finish(
                waiter.store, "second", run_id="run", outcome="Canceled", reason="deleted", now=1.0
            )

    waiter.meanwhile = delete
    assert not waiter.wait(waiter.ask(gang("second", full))).admitted
    assert (waiter.sleeps, len(looks)) == (2, 1)


@pytest.mark.parametrize("took", [30.0, 3600.0])
def test_no_look_makes_a_gang_wait_for_much_longer_than_a_minute(took, waiter):
    full = role(cpu="16")
    waiter.wait(waiter.ask(gang("first", full)))
    looks = slow(waiter, took)
    waiter.wait(waiter.ask(gang("second", full)), seconds=took + 100.0)
    assert [second - first for first, second in itertools.pairwise(looks)] == [took + 60.0]


def test_a_clock_that_is_set_back_does_not_stop_the_wait(waiter):
    full = role(cpu="16")
    waiter.wait(waiter.ask(gang("first", full)))
    looks = slow(waiter, 4.0)

    def set_back(sleeps: int) -> None:
        if sleeps == 1:
            waiter.now -= 900.0
            admission.finish(
                waiter.store, "first", run_id="run", outcome="Succeeded", reason="", now=waiter.now
            )

    waiter.meanwhile = set_back
    assert waiter.wait(waiter.ask(gang("second", full))).admitted
    assert len(looks) == 2


def test_between_two_looks_at_a_gang_there_is_a_minute_at_most(waiter):
    """Who leads and sleeps for longer than that counts as one that hangs."""
    full = role(cpu="16")
    waiter.wait(waiter.ask(gang("first", full)))
    begun = waiter.now
    waiter.wait(waiter.ask(gang("second", full)), seconds=600.0, poll_s=300.0)
    assert (waiter.now - begun, waiter.sleeps) == (600.0, 10)
