"""KeptLog: what one replica says, kept in a file that outlives its pod, and how far it goes.

A keeper may be killed at any moment and another one of the same run goes on: every line is kept once.
"""

import glob
import hashlib
import io
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

log = logging.getLogger(__name__)

_NOTE_BYTES = 160
"""Each note is written over the one before by one write of this length, so that none is ever half there."""


class KeptLog:
    """The file of a replica; beside it is noted the last line that it has: pod, moment, and where the line ends.

    Attributes:
        since: The moment of the last line of the pod that is kept already; empty: none is.
    """

    def __init__(self, file: io.FileIO, note: io.FileIO, uid: str) -> None:
        """Go on with a file.

        Args:
            file: The file, open to append.
            note: What is noted beside it, open to read and write.
            uid: The pod whose lines come. Of another pod's nothing comes again, they stay.
        """
        self._file, self._note, self._uid = file, note, uid
        self._end = file.seek(0, os.SEEK_END)
        self.since = ""
        known = note.read(_NOTE_BYTES).split()
        if len(known) == 3 and known[0].decode() == uid and int(known[2]) <= self._end:
            self.since, self._end = known[1].decode().strip("-"), int(known[2])
        else:
            self._write_note("")
        self._tidy = False

    def add(self, moment: str, line: bytes) -> None:
        """Keep a line that came at a moment."""
        if not self._tidy:
            # A keeper was killed between a line and its note: now that the line comes again, it may go. Not before: its
            # pod may be gone with it.
            self._file.truncate(self._end)
            self._tidy = True
        self._end += self._file.write(line)
        self._write_note(moment)

    def _write_note(self, moment: str) -> None:
        self._note.seek(0)
        self._note.write(f"{self._uid} {moment or '-'} {self._end}\n".ljust(_NOTE_BYTES).encode())


@contextmanager
def keep_log(path: Path, uid: str) -> Iterator[tuple[str, Callable[[str, bytes], None]]]:
    """Keep the lines of a pod in a file, which is made, with its folder.

    Where that cannot be, the disk being full for instance, it is told once, and nothing more is kept.

    Args:
        path: The file.
        uid: Tells the pod from others of the same replica.

    Yields:
        The moment of the last line that is kept already, empty: none is; and what takes each later line with its moment.
    """
    with ExitStack() as files:
        kept: KeptLog | None = None

        def stop(error: OSError) -> None:
            nonlocal kept
            kept = None
            log.warning("%s is not kept any further: %s", path, error.strerror or error)

        def add(moment: str, line: bytes) -> None:
            if kept is not None:
                try:
                    kept.add(moment, line)
                except OSError as error:
                    stop(error)

        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = files.enter_context(path.open("ab", buffering=0))
            note_path = path.with_name(f".{path.stem}.upto")
            note = files.enter_context(io.FileIO(os.open(note_path, os.O_RDWR | os.O_CREAT, 0o644), "r+"))
            kept = KeptLog(file, note, uid)
        except OSError as error:
            stop(error)
        yield "" if kept is None else kept.since, add


def kept_folder(logs: Path, namespace: str, name: str, run_id: str) -> Path:
    """Where the logs of a job's run are kept; ids of runs may be alike at either end."""
    return logs / namespace / f"{name}-{hashlib.sha256(run_id.encode()).hexdigest()[:8]}"


def newest_kept(logs: Path, namespace: str, name: str) -> Path | None:
    """Where the logs of the last run of a job's name are kept; None if none are."""
    found = [path for path in (logs / namespace).glob(f"{glob.escape(name)}-????????") if path.is_dir()]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)
