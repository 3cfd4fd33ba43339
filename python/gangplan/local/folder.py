"""The files of a job: the logs of its replicas and its status, for every process of this machine to read.

::

    <root>/.lock                     held while a name is taken
    <root>/<gang>/.current           run id of the job that has this name now
    <root>/<gang>/<run id>/status.json
    <root>/<gang>/<run id>/worker-0.log
    <root>/<gang>/<run id>/cancel    there: somebody wants the job to end
    <root>/<gang>/<run id>/tmp/worker-0    TMPDIR of a replica, until the job has ended
"""

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from gangplan.errors import Conflict, NotFound, StoreError
from gangplan.local.process import Identity
from gangplan.runtime import FINAL, JobStatus, ReplicaStatus

_VERSION = 1
_ROOM_BYTES = 1 << 20


class JobFolder:
    """The folder of one run of one gang.

    Attributes:
        gang: Name of the gang.
        run_id: Id of the run.
        path: The folder.
    """

    def __init__(self, root: Path, gang: str, run_id: str) -> None:
        self.gang, self.run_id = gang, run_id
        self._root = root
        self.path = root / gang / run_id
        self._current = root / gang / ".current"

    @classmethod
    def find(cls, root: Path, gang: str) -> "JobFolder":
        """Find the job that has a name now.

        Raises:
            NotFound: There is none.
            StoreError: The folder cannot be read.
        """
        try:
            run_id = (root / gang / ".current").read_text(encoding="utf-8").strip()
        except (FileNotFoundError, NotADirectoryError, ValueError) as error:
            raise NotFound(f"there is no job {gang}", verb="get", kind="Job", name=gang) from error
        except OSError as error:
            raise StoreError(f"cannot read {root / gang}: {error.strerror or error}") from error
        return cls(root, gang, run_id)

    def log(self, replica: str) -> Path:
        """Where a replica's log is."""
        return self.path / f"{replica}.log"

    def make_scratch(self, replica: str) -> Path:
        """Make the folder for a replica's temporary files, which stays when the replica is started again.

        Raises:
            OSError: It cannot be made.
        """
        path = self.path / "tmp" / replica
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path

    def remove_scratch(self) -> None:
        """Remove what replicas left in their temporary folders; they have ended."""
        shutil.rmtree(self.path / "tmp", ignore_errors=True)

    def claim(self, status: JobStatus, replicas: Iterable[str]) -> None:
        """Take the name of the gang, and make all files that the job will write; all or nothing.

        Raises:
            Conflict: The name is taken.
            StoreError: The files cannot be written.
        """
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            with (self._root / ".lock").open("a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                self._check_free()
                self._make(status, replicas)
        except OSError as error:
            message = f"cannot write {self.path}: {error.strerror or error}; nothing was started"
            raise StoreError(message) from error

    def _make(self, status: JobStatus, replicas: Iterable[str]) -> None:
        fresh = not self.path.exists()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._check_room()
            (self.path / "cancel").unlink(missing_ok=True)
            self.remove_scratch()
            for replica in replicas:
                self.log(replica).write_bytes(b"")
            self.write(status)
            _write_temporary(self.path, self.run_id).replace(self._current)
        except OSError:
            if fresh:
                shutil.rmtree(self.path, ignore_errors=True)
                with suppress(OSError):
                    self.path.parent.rmdir()
            raise

    def write(self, status: JobStatus) -> None:
        """Write the status, whole or not at all.

        Raises:
            OSError: It cannot be written.
        """
        document = {
            "version": _VERSION,
            "run_id": self.run_id,
            "supervisor": Identity.of(os.getpid()),
            "status": asdict(status),
        }
        temporary = _write_temporary(self.path, json.dumps(document, indent=1))
        temporary.replace(self.path / "status.json")

    def read(self) -> JobStatus:
        """Read the status. A job whose supervising process is gone has failed, whatever was written last.

        Raises:
            StoreError: There is no readable status.
        """
        try:
            document: dict[str, Any] = json.loads((self.path / "status.json").read_text(encoding="utf-8"))
            stored = document["status"]
            replicas = tuple(
                ReplicaStatus(**{**replica, "last_lines": tuple(replica["last_lines"])})
                for replica in stored["replicas"]
            )
            status = JobStatus(**{**stored, "replicas": replicas, "events": tuple(stored.get("events", ()))})
            supervisor = Identity(*document["supervisor"])
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise StoreError(f"cannot read the status of job {self.gang} in {self.path}: {error}") from error
        if status.state in FINAL or supervisor.alive:
            return status
        # It may have written its last word between our two looks.
        return self._abandoned(status, supervisor) if self._unchanged(document) else self.read()

    def ask_to_cancel(self) -> None:
        """Ask the supervising process to end the job."""
        with suppress(FileNotFoundError):
            (self.path / "cancel").touch()

    def asked_to_cancel(self) -> bool:
        """Whether somebody asked to end the job."""
        return (self.path / "cancel").exists()

    def release(self) -> None:
        """Give up the name; logs and last status stay."""
        self._current.unlink(missing_ok=True)

    def _unchanged(self, document: dict[str, Any]) -> bool:
        try:
            return bool(json.loads((self.path / "status.json").read_text(encoding="utf-8")) == document)
        except (OSError, ValueError):
            return True

    def _abandoned(self, status: JobStatus, supervisor: Identity) -> JobStatus:
        replicas = tuple(
            replace(replica, state="Stopped") if replica.state == "Running" else replica
            for replica in status.replicas
        )
        reason = f"the process that ran it ({supervisor.pid}) ended before the job did"
        return replace(status, state="Failed", reason=reason, replicas=replicas)

    def _check_free(self) -> None:
        try:
            taken = JobFolder.find(self._root, self.gang)
        except NotFound:
            return
        try:
            state = f" ({taken.read().state})"
        except StoreError:
            state = ""
        message = f"a job {self.gang} is there already{state}, run {taken.run_id}; delete it first"
        raise Conflict(message, verb="create", kind="Job", name=self.gang)

    def _check_room(self) -> None:
        room = os.statvfs(self.path)
        if room.f_bavail * room.f_frsize < _ROOM_BYTES:
            raise OSError(0, f"less than {_ROOM_BYTES} bytes are free")


def _write_temporary(folder: Path, text: str) -> Path:
    handle, name = tempfile.mkstemp(dir=folder, prefix=".")
    path = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(file.fileno(), 0o644)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return path
