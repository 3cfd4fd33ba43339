"""The stores that need no cluster keep the contract: the file of one machine, and Gang objects of a modelled server."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from apimodel.server import ApiServer, Fault
from builders import GPU

import gangplan as gp
from gangplan import admission
from gangplan.errors import Busy, Unreachable
from gangplan.kube.lease import LEASE_S
from gangplan.kube.refusals import About
from gangplan.local.store import LocalStore
from gangplan.verdict import wait
from stores.contract import TERMS, LeadContract, Place, StoreContract, View, gpu_nodes
from stores.gangs import gang_stores
from stores.queue_use import QueueContract

FAULTS = (
    *(Fault(error=Unreachable), *[None] * 11),
    *(Fault(error=Busy), *[None] * 10),
    *(Fault(error=Unreachable, applied=True), *[None] * 12),
)
"""What goes wrong with requests, in turn."""

CRDS = Path(__file__).parents[2] / "deploy" / "crds"


class Filling(View):
    """A cluster that has room only after it was looked at some times."""

    looks = 10

    def read(self):
        self.looks -= 1
        self.running = (gp.Running(name="x", node="n0", requests={GPU: "2"}),) if self.looks > 0 else ()
        return super().read()


class TestLocalStore(StoreContract, QueueContract):
    @pytest.fixture
    def place(self, tmp_path):
        return Place(open=lambda: LocalStore(tmp_path / "store.sqlite"), name=lambda name: name)


class TestGangStore(StoreContract, LeadContract, QueueContract):
    @pytest.fixture
    def time(self):
        """Seconds that only grow."""
        return [0.0]

    @pytest.fixture
    def place(self, time):
        server = ApiServer(crds=[yaml.safe_load(file.read_text()) for file in sorted(CRDS.glob("*.yaml"))])
        return gang_stores(server, "default", time)

    @pytest.fixture
    def lose_leader(self, time):
        def lose() -> None:
            time[0] += LEASE_S

        return lose

    @pytest.mark.parametrize("first", range(len(FAULTS)))
    def test_a_wait_outlasts_a_server_that_answers_now_and_then(self, time, first):
        """Whatever request fails, done or not, the gang is admitted once, and nobody's place is lost."""
        server = ApiServer(crds=[yaml.safe_load(file.read_text()) for file in sorted(CRDS.glob("*.yaml"))])
        place, requests = gang_stores(server, "default", time), itertools.count(first)
        record = place.open().create(replace(place.asked(workers=2), kept_until=60.0))
        given = []

        def fault(about: About) -> Fault | None:
            given.append(FAULTS[next(requests) % len(FAULTS)])
            return given[-1]

        server.faults = fault
        verdict = wait(
            place.open(),
            Filling(gpu_nodes(1, 2)),
            record,
            clock=lambda: time[0],
            sleep=lambda seconds: time.__setitem__(0, time[0] + seconds),
            terms=TERMS,
            deadline=10_000.0,
            poll_s=1.0,
        )
        server.faults = None
        assert verdict.admitted
        assert any(given)
        (kept,) = place.open().records()
        assert (kept.phase, kept.reservation.placement) == ("Reserved", {"worker": ("n0", "n0")})

    @pytest.mark.parametrize("then", ["done", "never", "late"])
    @pytest.mark.parametrize("was_led", [True, False])
    def test_who_is_interrupted_keeps_the_lead_from_nobody_and_books_nothing(self, time, was_led, then):
        """Whatever request it waits for: the next one decides at once, and what arrives late changes nothing."""
        full = (gp.Running(name="x", node="n0", requests={GPU: "2"}),)
        booked = set()
        for at in itertools.count():
            server = ApiServer(
                crds=[yaml.safe_load(file.read_text()) for file in sorted(CRDS.glob("*.yaml"))]
            )
            place = gang_stores(server, "default", time)
            first, _, _ = (place.open().create(place.asked(name)) for name in "abc")
            if was_led:
                busy = View(gpu_nodes(1, 2), running=full)
                assert admission.run_cycle(place.open(), busy, now=1.0, terms=TERMS) is not None
            store, way = place.interrupted(at, then)
            try:
                wait(
                    store,
                    View(gpu_nodes(1, 2)),
                    first,
                    clock=lambda: time[0],
                    sleep=lambda _: None,
                    terms=TERMS,
                    deadline=10.0,
                    poll_s=1.0,
                )
            except KeyboardInterrupt:
                assert place.open().get(first.name).phase == "Finished"
            decision = admission.run_cycle(
                place.open(), View(gpu_nodes(1, 2), running=full), now=1.0, terms=TERMS
            )
            assert decision is not None, "the lead is free"
            before = [record.phase for record in place.open().records()]
            way.arrive()
            assert [record.phase for record in place.open().records()] == before
            booked.add(before.count("Reserved"))
            if not way.is_over:
                break
        assert at > 6
        assert booked == {0, 1, 2}
