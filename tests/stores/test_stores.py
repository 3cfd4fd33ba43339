"""The stores that need no cluster keep the contract: the file of one machine, and Gang objects of a modelled server."""

import itertools
from pathlib import Path

import pytest
import yaml
from apimodel.server import ApiServer
from stores.contract import LeadContract, Place, StoreContract

from gangplan.kube.lease import LEASE_S, LeaseLock
from gangplan.kube.store import GangStore
from gangplan.local.store import LocalStore

CRDS = Path(__file__).parents[2] / "deploy" / "crds"


class TestLocalStore(StoreContract):
    @pytest.fixture
    def place(self, tmp_path):
        return Place(open=lambda: LocalStore(tmp_path / "store.sqlite"), name=lambda name: name)


class TestGangStore(StoreContract, LeadContract):
    @pytest.fixture
    def time(self):
        """Seconds that only grow."""
        return [0.0]

    @pytest.fixture
    def place(self, time):
        server = ApiServer(crds=[yaml.safe_load(file.read_text()) for file in sorted(CRDS.glob("*.yaml"))])
        actors = itertools.count()

        def start() -> GangStore:
            lock = LeaseLock(
                server,
                name="admission",
                namespace="default",
                identity=f"actor-{next(actors)}",
                clock=lambda: 1_000.0 + time[0],
                monotonic=lambda: time[0],
            )
            return GangStore(server, lock)

        return Place(open=start, name=lambda name: f"default/{name}")

    @pytest.fixture
    def lose_leader(self, time):
        def lose() -> None:
            time[0] += LEASE_S

        return lose
