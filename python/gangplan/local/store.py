"""Gang records in one SQLite file, shared by all processes that use the same folder."""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from gangplan.documents import decode, encode
from gangplan.errors import Conflict, InvalidInput, StoreError
from gangplan.record import HOLDING, GangRecord
from gangplan.snapshot import Snapshot

_FORMAT = 2
_ADVICE = {
    "locked": "; another process holds it: end that one, or use another --home",
    "unable to open": "; see that its folder can be written, or use another --home",
    "readonly": "; see that its folder can be written, or use another --home",
    "full": "; free space on its disk",
    "disk I/O": "; see whether its disk is full",
}
"""What to do about SQLite's errors, by a word of them."""

_BUSY_S = 30.0
"""How long a write waits for another process; a cycle takes milliseconds, so more means a stopped process."""

_TABLES = """
CREATE TABLE IF NOT EXISTS gang (name TEXT PRIMARY KEY, version INTEGER NOT NULL, record BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS cluster (id INTEGER PRIMARY KEY CHECK (id = 0), snapshot BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS counter (id INTEGER PRIMARY KEY CHECK (id = 0), version INTEGER NOT NULL) STRICT;
INSERT OR IGNORE INTO counter SELECT 0, coalesce(max(version), 0) FROM gang;
"""
"""One counter gives all versions, so that a record never has the version of an earlier one of its name.

Format 1 had no counter."""


class LocalStore:
    """The records of a local cluster, and its nodes and queues.

    Every method reads or writes the file at once; nothing is cached. A cycle under :meth:`leadership` is one
    transaction: all its writes happen, or none. An instance belongs to one thread.
    """

    def __init__(self, path: Path) -> None:
        """Open the store; its folder and file are made if they are not there.

        Args:
            path: The file.

        Raises:
            StoreError: It cannot be read or written, or a newer gangplan wrote it.
        """
        self._path = path
        self._leading: sqlite3.Connection | None = None
        with self._alone(), self._connection() as db:
            (found,) = db.execute("PRAGMA user_version").fetchone()
            if found > _FORMAT:
                raise StoreError(
                    f"{path} has format {found}, this version reads up to {_FORMAT}: use the newer gangplan"
                )
            if found < _FORMAT:
                db.execute("PRAGMA journal_mode = WAL")
                db.executescript(f"BEGIN IMMEDIATE;{_TABLES}PRAGMA user_version = {_FORMAT};COMMIT;")

    def records(self) -> tuple[GangRecord, ...]:
        """All records, by name."""
        with self._connection() as db:
            rows = db.execute("SELECT version, record FROM gang ORDER BY name").fetchall()
        return tuple(_record(version, raw) for version, raw in rows)

    def get(self, name: str) -> GangRecord | None:
        """The record of a gang, if there is one."""
        with self._connection() as db:
            row = db.execute("SELECT version, record FROM gang WHERE name = ?", (name,)).fetchone()
        return _record(*row) if row else None

    def create(self, record: GangRecord) -> GangRecord:
        """Add a record; see :class:`gangplan.store.Store`."""
        with self._transaction() as db:
            stored = replace(record, version=_next_version(db))
            try:
                db.execute("INSERT INTO gang VALUES (?, ?, ?)", (record.name, stored.version, encode(stored)))
            except sqlite3.IntegrityError as error:
                raise _conflict("create", record, "is there already") from error
        return stored

    def update(self, record: GangRecord) -> GangRecord:
        """Replace a record; see :class:`gangplan.store.Store`."""
        with self._transaction() as db:
            stored = replace(record, version=_next_version(db))
            done = db.execute(
                "UPDATE gang SET version = ?, record = ? WHERE name = ? AND version = ?",
                (stored.version, encode(stored), record.name, record.version),
            )
            if done.rowcount != 1:
                raise _conflict("update", record, "was changed or removed")
        return stored

    def remove(self, record: GangRecord) -> None:
        """Forget a record; see :class:`gangplan.store.Store`."""
        with self._transaction() as db:
            done = db.execute(
                "DELETE FROM gang WHERE name = ? AND version = ?", (record.name, record.version)
            )
            if done.rowcount != 1:
                raise _conflict("remove", record, "was changed or removed")

    @contextmanager
    def leadership(self) -> Iterator[bool]:
        """Hold the store alone: what is written inside happens as one transaction."""
        with self._transaction():
            yield True

    def tenure(self) -> AbstractContextManager[None]:
        """Nothing is kept: a cycle takes milliseconds, and all wait for it."""
        return nullcontext()

    def cluster(self) -> Snapshot | None:
        """The nodes and queues of this local cluster, once :meth:`set_cluster` has told them."""
        with self._connection() as db:
            row = db.execute("SELECT snapshot FROM cluster").fetchone()
        return decode(row[0], Snapshot) if row else None

    def set_cluster(self, cluster: Snapshot) -> None:
        """Tell the nodes and queues. Gangs that hold capacity keep it, so they forbid another cluster.

        Raises:
            Conflict: Gangs hold capacity of a different cluster.
        """
        with self.leadership():
            if self.cluster() == cluster:
                return
            if holding := [record.name for record in self.records() if record.phase in HOLDING]:
                raise Conflict(
                    f"gangs hold nodes of the present cluster: {', '.join(holding)}; "
                    "wait for them, delete them, or use another --home",
                    verb="update",
                    kind="Cluster",
                )
            with self._transaction() as db:
                db.execute("INSERT OR REPLACE INTO cluster VALUES (0, ?)", (encode(cluster),))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep others from opening the store meanwhile: SQLite does not wait for them when it makes a new file."""
        folder = self._path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise StoreError(f"the folder of the store cannot be made: {error}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All that is written inside happens, or nothing; a transaction inside another is a part of that one."""
        with self._connection() as db:
            if db is self._leading:
                yield db
                return
            db.execute("BEGIN IMMEDIATE")
            self._leading = db
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:  # SQLite has rolled back by itself if, for instance, the disk is full
                    db.execute("ROLLBACK")
                raise
            finally:
                self._leading = None

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """The connection of the transaction that runs, else one of its own."""
        try:
            if self._leading is not None:
                yield self._leading
                return
            with closing(sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None)) as db:
                yield db
        except sqlite3.Error as error:
            advice = next((text for word, text in _ADVICE.items() if word in str(error)), "")
            raise StoreError(f"the store {self._path} cannot be used: {error}{advice}") from error


def _next_version(db: sqlite3.Connection) -> int:
    (version,) = db.execute("UPDATE counter SET version = version + 1 RETURNING version").fetchone()
    return int(version)


def _record(version: int, raw: bytes) -> GangRecord:
    try:
        return replace(decode(raw, GangRecord), version=version)
    except InvalidInput as error:
        raise StoreError(f"a record of the store cannot be read: {error}") from error


def _conflict(verb: str, record: GangRecord, what: str) -> Conflict:
    return Conflict(f"the record of gang {record.name} {what}", verb=verb, kind="Gang", name=record.name)
