"""LogKeeper: the logs of a job's replicas, followed while they run and kept in a file each.

Pods are removed with their logs; what a replica said last is mostly why it failed.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from gangplan.errors import ClusterError, NotFound, Refused
from gangplan.kube.actions import Object
from gangplan.kube.api import Api
from gangplan.kube.names import TENSORFLOW_CONTAINER
from gangplan.kube.outcome import replica_name

log = logging.getLogger(__name__)

RETRY_S = 1.0
"""Seconds until a log that broke off is asked for again."""

END_S = 10.0
"""Seconds that the last lines may take after the job has ended."""


class LogKeeper:
    """Follows the pods of one job."""

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
        self._api, self._folder, self._on_line = api, folder, on_line
        self._threads: dict[str, threading.Thread] = {}
        # By uid of the pod, the moment of the last line that was copied.
        self._seen: dict[str, str] = {}
        self._closed = threading.Event()

    def look(self, pods: Sequence[Object]) -> None:
        """Follow those pods that have started and are not followed yet."""
        for pod in pods:
            uid = str(pod["metadata"].get("uid"))
            if uid not in self._threads and _has_started(pod):
                self._threads[uid] = threading.Thread(target=self._follow, args=(pod,), daemon=True)
                self._threads[uid].start()

    def close(self, *, wait_s: float = END_S) -> None:
        """Wait for the last lines of pods that have ended, but not for ever."""
        for thread in self._threads.values():
            thread.join(wait_s)
        self._closed.set()

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

    def _follow(self, pod: Object) -> None:
        replica = replica_name(pod)
        with self.path(replica).open("ab") as file:
            while not self._closed.is_set():
                try:
                    self._copy(pod, replica, file.write)
                    return
                except (NotFound, Refused):
                    return
                except ClusterError as error:
                    log.debug("the log of %s broke off: %s", replica, error)
                finally:
                    file.flush()
                self._closed.wait(RETRY_S)

    def _copy(self, pod: Object, replica: str, write: Callable[[bytes], object]) -> None:
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
            moment, _, text = line.partition(b" ")
            if _key(moment.decode()) <= _key(self._seen.get(uid, "")):
                continue
            self._seen[uid] = moment.decode()
            write(text.rstrip(b"\n") + b"\n")
            self._on_line(replica, text.decode(errors="replace").rstrip("\n"))


def _has_started(pod: Object) -> bool:
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
