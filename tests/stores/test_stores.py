"""The stores that need no cluster keep the contract: the file of one machine, and Gang objects of a modelled server."""

from pathlib import Path

import pytest
import yaml
from apimodel.server import ApiServer

from gangplan.kube.lease import LEASE_S
from gangplan.local.store import LocalStore
from stores.contract import LeadContract, Place, StoreContract
from stores.gangs import gang_stores

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
        return gang_stores(server, "default", time)

    @pytest.fixture
    def lose_leader(self, time):
        def lose() -> None:
            time[0] += LEASE_S

        return lose
