"""Logs of a job's replicas: LogFollower follows them while they run, LogKeeper keeps them in a file each.

Pods are removed with their logs; what a replica said last is mostly why it failed.
"""

import glob
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from gangplan.errors import ClusterError, Forbidden, NotFound, Refused
from gangplan.kube.actions import Object
from gangplan.kube.api import Api
from gangplan.kube.names import TENSORFLOW_CONTAINER
from gangplan.kube.outcome import replica_name

log = logging.getLogger(__name__)

RETRY_S = 1.0
"""Seconds until a log that broke off is asked for again."""

END_S = 10.0
"""Seconds that the last lines may take after the job has ended."""


Sink = Callable[[bytes], object]


class LogFollower:
    """Follows the pods of one job: every line once, in order, also where the way to a pod breaks off."""

    def __init__(self, api: Api, sink: Callable[[str, str], AbstractContextManager[Sink]]) -> None:
        """Prepare it.

        Args:
            api: The API server; it is asked from threads.
            sink: Opens what takes the lines of a replica, each with its end, all of them from the first on; given the
                replica and the uid of its pod; used from the thread that follows it.
        """
        self._api, self._sink = api, sink
        self._threads: dict[str, threading.Thread] = {}
        # By uid of the pod, the moment of the last line that was copied.
        self._seen: dict[str, str] = {}
        self._closed = threading.Event()

    def look(self, pods: Sequence[Object]) -> None:
        """Follow those pods that have started and are not followed yet."""
        for pod in pods:
            uid = str(pod["metadata"].get("uid"))
            if uid not in self._threads and has_started(pod):
                self._threads[uid] = threading.Thread(target=self._follow, args=(pod,), daemon=True)
                self._threads[uid].start()

    def close(self, *, wait_s: float = END_S) -> None:
        """Wait for the last lines of pods that have ended, but not for ever."""
        until = time.monotonic() + wait_s
        for thread in self._threads.values():
            thread.join(max(0.0, until - time.monotonic()))
        self._closed.set()

    def _follow(self, pod: Object) -> None:
        replica = replica_name(pod)
        with self._sink(replica, str(pod["metadata"].get("uid"))) as write:
            while not self._closed.is_set():
                try:
                    self._copy(pod, write)
                    return
                except (NotFound, Refused):
                    return
                except Forbidden as error:
                    log.warning("the log of %s cannot be read: %s", replica, error)
                    return
                except ClusterError as error:
                    log.debug("the log of %s broke off: %s", replica, error)
                self._closed.wait(RETRY_S)

    def _copy(self, pod: Object, write: Sink) -> None:
        """Copy a log from where it broke off to its end.

        The server takes moments in whole seconds: lines of the same second that were copied before come again.
        """
        metadata = pod["metadata"]
        uid = str(metadata.get("uid"))
        lines = self._api.log(
            metadata["name"],
            namespace=metadata["namespace"],
            container=TENSORFLOW_CONTAINER,
            follow=True,
            since=self._seen.get(uid, ""),
        )
        for line in lines:
            moment, text = split_moment(line)
            if _key(moment) <= _key(self._seen.get(uid, "")):
                continue
            self._seen[uid] = moment
            write(text + b"\n")


class LogKeeper:
    """Keeps what the replicas of one job say in a file each."""

    def __init__(
        self, api: Api, folder: Path, *, on_line: Callable[[str, str], None] = lambda _replica, _line: None
    ) -> None:
        """Keep logs in a folder, which is made.

        Args:
            api: The API server; it is asked from threads.
            folder: Where the files go, ``worker-0.log``.
            on_line: Called with replica and line, from the thread that follows it.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._on_line = folder, on_line
        self._follower = LogFollower(api, self._file)

    def look(self, pods: Sequence[Object]) -> None:
        """Follow those pods that have started and are not followed yet."""
        self._follower.look(pods)

    def close(self, *, wait_s: float = END_S) -> None:
        """Wait for the last lines of pods that have ended, but not for ever."""
        self._follower.close(wait_s=wait_s)

    def path(self, replica: str) -> Path:
        """The file of a replica."""
        return self._folder / f"{replica}.log"

    def last_lines(self, replica: str, count: int) -> tuple[str, ...]:
        """The last lines that a replica said; none if it said nothing."""
        try:
            with self.path(replica).open(encoding="utf-8", errors="replace") as file:
                return tuple(line.rstrip("\n") for line in deque(file, count))
        except FileNotFoundError:
            return ()

    @contextmanager
    def _file(self, replica: str, uid: str) -> Iterator[Sink]:
        with self.path(replica).open("ab", buffering=0) as file:
            file.truncate(self._beginning(replica, uid, file.seek(0, os.SEEK_END)))

            def write(line: bytes) -> None:
                file.write(line)
                self._on_line(replica, line.decode(errors="replace").rstrip("\n"))

            yield write

    def _beginning(self, replica: str, uid: str, end: int) -> int:
        """Where the lines of a pod begin in the file of its replica: those that an earlier keeper wrote come again."""
        noted = self._folder / f".{replica}.begins"
        with suppress(FileNotFoundError):
            known, _, beginning = noted.read_text(encoding="utf-8").partition(" ")
            if known == uid:
                return int(beginning)
        noted.write_text(f"{uid} {end}", encoding="utf-8")
        return end


def kept_folder(logs: Path, namespace: str, name: str, run_id: str) -> Path:
    """Where the logs of a job's run are kept."""
    return logs / namespace / f"{name}-{run_id[:8]}"


def newest_kept(logs: Path, namespace: str, name: str) -> Path | None:
    """Where the logs of the last run of a job's name are kept; None if none are."""
    found = [path for path in (logs / namespace).glob(f"{glob.escape(name)}-????????") if path.is_dir()]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def split_moment(line: bytes) -> tuple[str, bytes]:
    """Moment and text of a line as :meth:`gangplan.kube.api.Api.log` gives it."""
    moment, _, text = line.partition(b" ")
    return moment.decode(), text.rstrip(b"\n")


def has_started(pod: Object) -> bool:
    """Whether the ``tensorflow`` container of a pod runs or has ended: only then is there a log."""
    states = (pod.get("status") or {}).get("containerStatuses") or ()
    return any(
        item.get("name") == TENSORFLOW_CONTAINER
        and {"running", "terminated"} & (item.get("state") or {}).keys()
        for item in states
    )


def _key(moment: str) -> tuple[str, str]:
    """Orders moments with fractions of any length."""
    whole, _, fraction = moment.rstrip("Z").partition(".")
    return whole, fraction.ljust(9, "0") if moment else ""
