"""Both stores, behind the same tests."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from admission.memory import Door, Shelf

from gangplan.config import Terms
from gangplan.local.store import LocalStore


class Watched:
    """A LocalStore whose steps can be disturbed."""

    def __init__(self, store: LocalStore, step: Callable[[str], None]) -> None:
        self._store = store
        self._step = step
        self.records, self.get, self.leadership = store.records, store.get, store.leadership
        self.tenure = store.tenure

    def create(self, record):
        return self._watched(self._store.create, record)

    def update(self, record):
        return self._watched(self._store.update, record)

    def remove(self, record):
        self._watched(self._store.remove, record)

    def _watched(self, write, record):
        self._step("before write")
        stored = write(record)
        self._step("after write")
        return stored


@pytest.fixture(params=["memory", "file"])
def doors(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., object]]:
    """Open doors to one store: with no argument an ordinary one, else one that calls ``step`` at every write.

    A door that was opened after a crash finds the lead free, as a Lease is once its holder has been silent.
    """
    shelf = Shelf()

    def open_door(step: Callable[[str], None] = lambda _: None):
        if request.param == "memory":
            shelf.depose()
            return Door(shelf, step)
        return Watched(LocalStore(tmp_path / "store.sqlite"), step)

    return open_door


@pytest.fixture
def terms() -> Terms:
    """Ten minutes for a reservation, a day for a record."""
    return Terms(reservation_s=600.0, record_s=86_400.0, earmark_s=300.0, earmark_bypasses=5)
