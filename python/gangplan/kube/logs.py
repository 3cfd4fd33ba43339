"""Logs of a job's replicas: LogFollower follows them while they run, LogKeeper keeps them in a file each.

Pods are removed with their logs; what a replica said last is mostly why it failed.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from gangplan.errors import ClusterError, Forbidden, NotFound, Refused
from gangplan.kube.actions import Object
from gangplan.kube.api import Api
from gangplan.kube.kept_log import keep_log
from gangplan.kube.names import TENSORFLOW_CONTAINER
from gangplan.kube.outcome import container_status, replica_name

log = logging.getLogger(__name__)

RETRY_S = 1.0
"""Seconds until a log that broke off is asked for again."""

END_S = 10.0
"""Seconds that the last lines may take after the job has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """What takes the lines of one pod.

    Attributes:
        write: Takes a line, with its end, and the moment at which it was said.
        since: The moment of the last line that it has already; empty: it has none.
    """

    write: Callable[[str, bytes], object]
    since: str = ""


class LogFollower:
    """Follows the pods of one job: every line once, in order, also where the way to a pod breaks off."""

    def __init__(self, api: Api, sink: Callable[[str, str], AbstractContextManager[Sink]]) -> None:
        """Prepare it.

        Args:
            api: The API server; it is asked from threads.
            sink: Opens what takes the lines of a pod, given its replica and its uid; used from the thread that follows
                it. It is opened anew where the pod's container has started again.
        """
        self._api, self._sink = api, sink
        # Each by uid of the pod: who follows it; how often its container had started again when its log was followed to
        # the end; the moment of the last line that was copied.
        self._threads: dict[str, threading.Thread] = {}
        self._done: dict[str, int] = {}
        self._seen: dict[str, str] = {}
        self._closed = threading.Event()

    def look(self, pods: Sequence[Object]) -> None:
        """Follow those pods that have started, or started again, and are not followed yet."""
        for pod in pods:
            uid = str(pod["metadata"].get("uid"))
            if not has_started(pod) or self._done.get(uid) == restarts(pod):
                continue
            thread = self._threads.get(uid)
            if thread is None or not thread.is_alive():
                self._threads[uid] = threading.Thread(target=self._follow, args=(pod,), daemon=True)
                self._threads[uid].start()

    def close(self, *, wait_s: float = END_S) -> None:
        """Wait for the last lines of pods that have ended, but not for ever."""
        until = time.monotonic() + wait_s
        for thread in self._threads.values():
            thread.join(max(0.0, until - time.monotonic()))
        self._closed.set()

    def _follow(self, pod: Object) -> None:
        replica, uid = replica_name(pod), str(pod["metadata"].get("uid"))
        with self._sink(replica, uid) as sink:
            self._seen.setdefault(uid, sink.since)
            while not self._closed.is_set():
                try:
                    self._copy_life_before(pod, sink)
                    self._copy(pod, sink)
                except (NotFound, Refused) as error:
                    # A container that is just started again has no log: who looks next finds one, or the pod gone.
                    log.debug("the log of %s is not there: %s", replica, error)
                    return
                except Forbidden as error:
                    log.warning("the log of %s cannot be read: %s", replica, error)
                except ClusterError as error:
                    log.debug("the log of %s broke off: %s", replica, error)
                    self._closed.wait(RETRY_S)
                    continue
                self._done[uid] = restarts(pod)
                return

    def _copy_life_before(self, pod: Object, sink: Sink) -> None:
        """Copy what is left of the life before this one, where nobody followed that to its end."""
        before = restarts(pod) - 1
        uid = str(pod["metadata"].get("uid"))
        if before < 0 or self._done.get(uid, -1) >= before:
            return
        try:
            self._copy(pod, sink, previous=True)
        except (NotFound, Refused) as error:
            log.debug("the log of %s as it was before is not there: %s", replica_name(pod), error)
        self._done[uid] = before

    def _copy(self, pod: Object, sink: Sink, *, previous: bool = False) -> None:
        """Copy a log from where it broke off to its end.

        The server takes moments in whole seconds: lines of the same second that were copied before come again.
        """
        metadata = pod["metadata"]
        uid = str(metadata.get("uid"))
        since = self._seen[uid]
        lines = self._api.log(
            metadata["name"],
            namespace=metadata["namespace"],
            container=TENSORFLOW_CONTAINER,
            follow=not previous,
            previous=previous,
            since=since,
        )
        come_again, found = bool(since), False
        for line in lines:
            moment, text = split_moment(line)
            # Those up to the last one that was copied: after it a clock may have been set back.
            found = found or moment == since
            come_again = come_again and (moment == since or (not found and _key(moment) < _key(since)))
            if not come_again:
                sink.write(moment, text + b"\n")
                self._seen[uid] = moment


class LogKeeper:
    """Keeps what the replicas of one job say in a file each."""

    def __init__(
        self, api: Api, folder: Path, *, on_line: Callable[[str, str], None] = lambda _replica, _line: None
    ) -> None:
        """Keep logs in a folder, which is made. Where they cannot be kept, that is told, and lines are repeated on.

        Args:
            api: The API server; it is asked from threads.
            folder: Where the files go, ``worker-0.log``.
            on_line: Called with replica and line, from the thread that follows it.
        """
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
        with keep_log(self.path(replica), uid) as (since, keep):

            def write(moment: str, line: bytes) -> None:
                keep(moment, line)
                self._on_line(replica, line.decode(errors="replace").rstrip("\n"))

            yield Sink(write=write, since=since)


def split_moment(line: bytes) -> tuple[str, bytes]:
    """Moment and text of a line as :meth:`gangplan.kube.api.Api.log` gives it."""
    moment, _, text = line.partition(b" ")
    return moment.decode(), text.rstrip(b"\n")


def has_started(pod: Object) -> bool:
    """Whether the ``tensorflow`` container of a pod runs or has ended, if only before: only then is there a log."""
    container = container_status(pod)
    now, before = container.get("state") or {}, container.get("lastState") or {}
    return bool({"running", "terminated"} & now.keys()) or "terminated" in before


def restarts(pod: Object) -> int:
    """How often its ``tensorflow`` container was started again."""
    return int(container_status(pod).get("restartCount") or 0)


def _key(moment: str) -> tuple[str, str]:
    """Orders moments with fractions of any length."""
    whole, _, fraction = moment.rstrip("Z").partition(".")
    return whole, fraction.ljust(9, "0") if moment else ""
