"""The records in a file: every write is a compare-and-swap, a cycle is all or nothing, nothing is lost on a bad disk."""

import multiprocessing
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from builders import gang, node, role, snapshot

from gangplan.errors import Conflict, GangplanError, StoreError
from gangplan.local.store import LocalStore
from gangplan.record import GangRecord, Reservation, enter, new

OPENED = 60
SPAWN = multiprocessing.get_context("spawn")


def asked(name: str = "g1", uid: str = "u") -> GangRecord:
    return new(gang(name), uid=uid, run_id="run", now=0.0)


def held(record: GangRecord) -> GangRecord:
    place = Reservation(placement={"worker": ("n1",)}, expires_at=9.0)
    return enter(record, "Reserved", now=1.0, reason="", reservation=place)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store's file will be, in a folder that is not there yet."""
    return tmp_path / "home" / "store.sqlite"


@pytest.fixture
def store(path: Path) -> LocalStore:
    """An empty store."""
    return LocalStore(path)


def test_what_is_written_is_read_by_name_and_in_order(store, path):
    written = [store.create(asked(name)) for name in ("b", "a", "c")]
    assert LocalStore(path).records() == tuple(sorted(written, key=lambda record: record.name))
    assert LocalStore(path).get("a") == written[1]
    assert store.get("d") is None


def test_every_part_of_a_record_comes_back(store):
    record = held(asked())
    record = replace(record, reason="why ✓ \n 2", position=3, expired_at=1.5)
    stored = store.create(record)
    assert store.get("g1") == stored
    assert replace(stored, version=0) == record


def test_a_write_that_read_an_older_version_is_refused(store):
    first = store.create(asked())
    second = store.update(replace(first, reason="one"))
    assert second.version > first.version
    for act in (store.update, store.remove):
        with pytest.raises(Conflict, match="changed"):
            act(first)
    with pytest.raises(Conflict, match="already"):
        store.create(asked())
    assert store.records() == (second,)
    store.remove(second)
    for act in (store.update, store.remove):
        with pytest.raises(Conflict, match="removed"):
            act(second)
    assert store.records() == ()


def test_a_record_made_anew_never_has_the_version_of_an_earlier_one(store):
    """Else a write that was meant for the earlier gang of that name would hit the new one."""
    old = store.create(asked(uid="old"))
    store.remove(old)
    anew = store.create(asked(uid="new"))
    assert anew.version > old.version
    with pytest.raises(Conflict):
        store.update(replace(old, reason="late"))
    assert store.get("g1") == anew


# ---- several processes


def add_up(path: Path, times: int, name: str) -> None:
    """Count in a record, as often as asked, whatever others do."""
    store = LocalStore(path)
    done = 0
    while done < times:
        record = store.get(name)
        try:
            store.update(replace(record, bypassed=record.bypassed + 1))
            done += 1
        except Conflict:
            continue


def lead_up(path: Path, times: int, name: str) -> None:
    """Count in a record, each time as a cycle: nobody can come between."""
    store = LocalStore(path)
    for _ in range(times):
        with store.leadership():
            record = store.get(name)
            store.update(replace(record, bypassed=record.bypassed + 1))


def race(path: Path, names: list[str], winners: "multiprocessing.Queue[str]") -> None:
    """Create records that others create too."""
    for name in names:
        try:
            LocalStore(path).create(asked(name, uid=str(os.getpid())))
            winners.put(name)
        except Conflict:
            continue


def open_new(folder: Path, barrier: "multiprocessing.Barrier", results: "multiprocessing.Queue[str]") -> None:
    """Open new stores in the very moment in which others do."""
    for number in range(OPENED):
        barrier.wait(30)
        try:
            LocalStore(folder / str(number) / "store.sqlite").create(asked(f"g{os.getpid()}"))
        except GangplanError as error:
            results.put(str(error))


def run_all(processes: list) -> None:
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0


@pytest.mark.parametrize("count", [add_up, lead_up], ids=["single writes", "cycles"])
def test_no_update_of_several_processes_is_lost(count, store, path):
    store.create(asked())
    run_all([SPAWN.Process(target=count, args=(path, 40, "g1")) for _ in range(4)])
    assert store.get("g1").bypassed == 160


def test_of_several_that_open_a_new_file_and_create_one_name_one_wins(path):
    winners = SPAWN.Queue()
    names = [f"g{number}" for number in range(20)]
    run_all([SPAWN.Process(target=race, args=(path, names, winners)) for _ in range(4)])
    assert sorted(winners.get(timeout=10) for _ in names) == sorted(names)
    assert winners.empty()
    assert len({record.version for record in LocalStore(path).records()}) == len(names)


def test_a_new_store_can_be_opened_by_many_at_once(tmp_path: Path):
    barrier, results = SPAWN.Barrier(5), SPAWN.Queue()
    run_all([SPAWN.Process(target=open_new, args=(tmp_path, barrier, results)) for _ in range(5)])
    assert results.empty(), results.get()
    assert [len(LocalStore(tmp_path / str(number) / "store.sqlite").records()) for number in range(40)] == [
        5
    ] * 40


def test_a_leader_that_is_killed_in_a_cycle_leaves_nothing_of_it(store, path):
    first = store.create(asked("a"))
    code = (
        "import os, signal, sys; from dataclasses import replace; from pathlib import Path\n"
        "from gangplan.local.store import LocalStore\n"
        "store = LocalStore(Path(sys.argv[1]))\n"
        "with store.leadership():\n"
        "    record = store.get('a')\n"
        "    store.create(replace(record, gang=replace(record.gang, name='b')))\n"
        "    store.update(replace(record, reason='half'))\n"
        "    assert [each.reason for each in store.records()] == ['half', 'it was not looked at yet']\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert store.records() == (first,)
    store.update(replace(first, reason="goes on"))


# ---- leadership


def test_a_cycle_is_seen_as_a_whole_or_not_at_all(store, path):
    other = LocalStore(path)
    with store.leadership() as leads:
        assert leads
        store.create(asked("a"))
        assert other.records() == ()
    assert len(other.records()) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, Conflict])
def test_an_error_in_a_cycle_takes_all_of_it_back(error, store):
    before = store.create(asked("a"))

    def half_a_cycle() -> None:
        with store.leadership():
            store.remove(before)
            store.create(asked("b"))
            raise error("no")

    with pytest.raises(error):
        half_a_cycle()
    assert store.records() == (before,)
    with store.leadership():
        store.create(asked("b"))
    assert len(store.records()) == 2


def test_a_conflict_that_is_handled_in_a_cycle_leaves_the_rest_of_it(store):
    stale = store.create(asked("a"))
    store.update(replace(stale, reason="newer"))
    with store.leadership():
        store.create(asked("b"))
        with pytest.raises(Conflict):
            store.update(stale)
        with pytest.raises(Conflict):
            store.create(asked("b"))
    assert [record.name for record in store.records()] == ["a", "b"]


def test_leading_within_a_lead_is_one_cycle(store, path):
    """A cycle that is the first to ask for the nodes also writes them."""

    def half_a_cycle() -> None:
        with store.leadership():
            with store.leadership() as leads:
                assert leads
                store.set_cluster(snapshot())
                store.create(asked())
            assert LocalStore(path).records() == ()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half_a_cycle()
    assert store.records() == ()
    assert store.cluster() is None


# ---- the cluster


def test_the_cluster_can_be_told_while_nothing_holds_room(store):
    assert store.cluster() is None
    store.create(asked())
    for cluster in (snapshot(), snapshot(nodes=(node("n2"),))):
        store.set_cluster(cluster)
        assert store.cluster() == cluster


def test_gangs_that_hold_room_forbid_another_cluster_but_not_the_same(store):
    store.set_cluster(snapshot())
    record = store.create(held(asked("holder")))
    store.set_cluster(snapshot())
    with pytest.raises(Conflict, match="holder"):
        store.set_cluster(snapshot(nodes=(node("n2"),)))
    assert store.cluster() == snapshot()
    store.update(enter(record, "Finished", now=2.0, reason="", outcome="Succeeded"))
    store.set_cluster(snapshot(nodes=(node("n2"),)))


# ---- bad files and disks


def test_a_store_of_a_newer_gangplan_is_refused_and_left_alone(store, path):
    store.create(asked())
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreError, match=r"format 99.*newer gangplan"):
        LocalStore(path)
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM gang").fetchone() == (1,)
    db.close()


def test_a_store_of_format_1_is_read_and_goes_on(path):
    path.parent.mkdir()
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE TABLE gang (name TEXT PRIMARY KEY, version INTEGER NOT NULL, record BLOB NOT NULL) STRICT"
        )
        db.execute(
            "CREATE TABLE cluster (id INTEGER PRIMARY KEY CHECK (id = 0), snapshot BLOB NOT NULL) STRICT"
        )
        record = (
            b'{"gang":{"name":"old","roles":[{"name":"w","replicas":1}]},"uid":"u","run_id":"r","version":7}'
        )
        db.execute("INSERT INTO gang VALUES ('old', 7, ?)", (record,))
        db.execute("PRAGMA user_version = 1")
    db.close()
    store = LocalStore(path)
    assert store.update(store.get("old")).version == 8


@pytest.mark.parametrize("damage", [b"this is no database, but long enough to be one" * 50, b"\0" * 5000])
def test_a_file_that_is_no_store_is_an_error_that_names_it(damage, path):
    path.parent.mkdir()
    path.write_bytes(damage)
    with pytest.raises(StoreError, match=str(path)):
        LocalStore(path).records()
    assert path.read_bytes() == damage


def test_a_record_that_cannot_be_read_is_an_error(store, path):
    store.create(asked())
    with sqlite3.connect(path) as db:
        db.execute("UPDATE gang SET record = ?", (b'{"gang": 3}',))
    db.close()
    with pytest.raises(StoreError, match="cannot be read"):
        store.records()
    with pytest.raises(StoreError, match="cannot be read"):
        store.get("g1")


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be made"):
        LocalStore(tmp_path / "file" / "store.sqlite")
    with pytest.raises(StoreError, match="cannot be used"):
        LocalStore(tmp_path)


def fill(path: Path, results: "multiprocessing.Queue[object]") -> None:
    """Write until the disk is full; it is so small for this process only."""
    store = LocalStore(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    big = replace(asked(), reason="x" * 20_000)
    written = []
    try:
        for number in range(1000):
            record = replace(big, gang=gang(f"g{number:04}", role()))
            if number % 2:
                with store.leadership():
                    store.create(record)
            else:
                store.create(record)
            written.append(record.name)
    except GangplanError as error:
        results.put((repr(error), written, [record.name for record in store.records()]))


def test_on_a_full_disk_a_write_fails_as_a_whole_and_nothing_is_lost(path):
    results = SPAWN.Queue()
    run_all([SPAWN.Process(target=fill, args=(path, results))])
    error, written, readable = results.get(timeout=10)
    assert error.startswith("StoreError")
    assert "rollback" not in error, "what is told is the cause"
    assert len(written) > 2
    assert readable == written
    store = LocalStore(path)
    assert [record.name for record in store.records()] == written
    store.create(asked("later"))


@pytest.mark.parametrize("act", [LocalStore.records, LocalStore.cluster], ids=["records", "cluster"])
def test_a_file_that_was_taken_away_is_an_error(act: Callable[[LocalStore], object], store, path):
    store.create(asked())
    for file in path.parent.iterdir():
        file.unlink()
    with pytest.raises(StoreError, match=str(path)):
        act(store)
