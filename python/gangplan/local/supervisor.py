"""The thread that follows the jobs of a runtime: the only one that touches their course and the fork server.

Others post events and read states, which are immutable. So an exception in another thread, Ctrl-C in the middle
of a call among them, never leaves a job half changed.
"""

import logging
import os
import queue
import select
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from gangplan.errors import StoreError
from gangplan.local import process
from gangplan.local.folder import JobFolder
from gangplan.local.job import (
    Break,
    Cancel,
    Event,
    Exited,
    Finish,
    JobRun,
    Start,
    Started,
    Stop,
    Tick,
)
from gangplan.local.keeper import GRACE_S, Keeper
from gangplan.local.log import last_lines
from gangplan.local.ports import free_ports
from gangplan.local.replica import Peers
from gangplan.local.survivors import end_survivors
from gangplan.runtime import Job, JobStatus

SETTLE_S: Final = GRACE_S + 4.0
"""Seconds in which a job that was canceled has ended, unless something of ours hangs."""

_TICK_S = 0.2

_logger = logging.getLogger(__name__)


class Supervised:
    """A job that runs here, with what its course does not know: files, addresses, processes.

    Attributes:
        folder: Its files.
        run: Its course.
        status: Where it stands; replaced as a whole.
    """

    def __init__(self, job: Job, folder: JobFolder) -> None:
        self.folder = folder
        self.run = JobRun(job)
        self.status: JobStatus = self.run.status
        self._specs = {spec.name: spec for spec in job.replicas}
        self._keys: dict[str, str] = {}
        self._starts: dict[str, int] = {}
        self._peers: tuple[int, Peers] | None = None
        self._words: dict[str, tuple[str, ...]] = {}

    def next_start(self, replica: str, generation: int) -> process.Start:
        """Say how a replica is started this time; a new generation gets new ports."""
        job = self.run.job
        if self._peers is None or self._peers[0] != generation:
            self._peers = generation, Peers(job=job, ports=free_ports(len(job.replicas)))
        count = self._starts.get(replica, 0)
        self._starts[replica] = count + 1
        self._keys[replica] = key = f"{self.folder.gang}/{self.folder.run_id}/{replica}#{count}"
        return self._peers[1].process(
            self._specs[replica],
            key=key,
            log=self.folder.log(replica),
            append=count > 0,
            scratch=self.folder.make_scratch(replica),
            inherited=os.environ,
        )

    def key(self, replica: str) -> str | None:
        """Key of the last start of a replica; None if it was not started yet."""
        return self._keys.get(replica)

    def replica(self, key: str) -> str | None:
        """Replica whose last start has a key; None for the keys of others and of earlier starts."""
        return next((replica for replica, last in self._keys.items() if last == key), None)

    @property
    def started(self) -> list[str]:
        """The replicas that were started at least once."""
        return list(self._keys)

    def end(self) -> None:
        """Kill what is left of the job's processes, and remove their temporary files."""
        end_survivors(self.folder.run_id, self.folder.gang)
        self.folder.remove_scratch()

    def refresh(self) -> None:
        """Bring the status up to date, in memory and in the file."""
        status = self._with_words(self.run.status)
        if status == self.status:
            return
        self.status = status
        try:
            self.folder.write(status)
        except OSError as error:
            _logger.warning("cannot write the status of job %s: %s", status.name, error)

    def _with_words(self, status: JobStatus) -> JobStatus:
        """Add to a status what only the log files tell."""
        replicas = []
        for replica in status.replicas:
            words: tuple[str, ...] = ()
            if replica.state == "Failed":
                if replica.name not in self._words:
                    self._words[replica.name] = last_lines(self.folder.log(replica.name))
                words = self._words[replica.name]
            log = str(self.folder.log(replica.name)) if replica.started_at is not None else None
            replicas.append(replace(replica, log=log, last_lines=words))
        last = self._words.get(status.replica, ())
        reason = f"{status.reason}: {last[-1]}" if last else status.reason
        return replace(status, reason=reason, replicas=tuple(replicas))


class Supervisor:
    """Drives jobs from the first start to the last process.

    Attributes:
        jobs: The jobs that were posted, by name.

    Args:
        log: File for what the fork server itself prints.
        clock: Seconds since 1970.
        preload: Modules that are imported once.
    """

    def __init__(self, log: Path, clock: Callable[[], float], preload: Sequence[str]) -> None:
        self.jobs: dict[str, Supervised] = {}
        self._log = log
        self._clock = clock
        self._preload = tuple(preload)
        self._inbox: queue.SimpleQueue[tuple[Supervised, Event]] = queue.SimpleQueue()
        self._rope: socket.socket | None = None
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closing: str | None = None
        self._keeper: Keeper | None = None
        self._proven = False
        self._unanswered: dict[str, process.Start] = {}

    def post(self, supervised: Supervised, event: Event) -> None:
        """Give an event to a job, which becomes known here if it is not yet."""
        assert self._closing is None, "the runtime was closed"
        self.jobs[supervised.folder.gang] = supervised
        self._inbox.put((supervised, event))
        with self._starting:
            if self._thread is None:
                bell, self._rope = socket.socketpair()
                self._rope.setblocking(False)
                self._thread = threading.Thread(
                    target=self._work, args=(bell, self._rope), name="gangplan-local", daemon=True
                )
                self._thread.start()
        self._ring()

    def close(self, reason: str) -> None:
        """End all jobs and the thread; idempotent. Jobs that have ended stay known."""
        try:
            if self._closing is None:
                self._closing = reason
            if self._thread is not None:
                self._ring()
                self._thread.join(SETTLE_S)
        finally:
            # Reached early by a second Ctrl-C, or when the thread hangs: then there is no time for manners.
            keeper = self._keeper
            if keeper is not None:
                keeper.kill()
            for supervised in list(self.jobs.values()):
                if not supervised.run.ended:
                    supervised.end()

    def _ring(self) -> None:
        if self._rope is not None:
            with suppress(OSError):
                self._rope.send(b"!")

    def _work(self, bell: socket.socket, rope: socket.socket) -> None:
        try:
            while not self._done():
                self._turn(bell)
        except Exception:
            _logger.exception("the supervisor of local jobs broke; all its jobs are ended")
            self._abandon("gangplan's supervisor broke, which is a bug; its log has the details")
        finally:
            if self._keeper is not None:
                self._keeper.close()
                self._keeper = None
            bell.close()
            rope.close()

    def _done(self) -> bool:
        return (
            self._closing is not None
            and self._inbox.empty()
            and all(supervised.run.ended for supervised in list(self.jobs.values()))
        )

    def _turn(self, bell: socket.socket) -> None:
        poll = select.poll()
        poll.register(bell, select.POLLIN)
        if self._keeper is not None:
            poll.register(self._keeper.line, select.POLLIN)
        ready = {number for number, _ in poll.poll(_TICK_S * 1000)}
        if bell.fileno() in ready:
            bell.recv(4096)
        keeper = self._keeper
        if keeper is not None and keeper.line.fileno() in ready:
            for message in keeper.events():
                self._on_message(message)
        while not self._inbox.empty():
            self._handle(*self._inbox.get())
        for supervised in self._unfinished():
            if self._closing is not None:
                self._handle(supervised, Cancel(self._closing))
            elif supervised.folder.asked_to_cancel():
                self._handle(supervised, Cancel("deleted"))
            self._handle(supervised, Tick())
        if keeper is not None and not keeper.alive:
            self._on_keeper_lost(keeper)

    def _unfinished(self) -> list[Supervised]:
        return [supervised for supervised in list(self.jobs.values()) if not supervised.run.ended]

    def _on_message(self, message: dict[str, Any]) -> None:
        key = message["key"]
        self._unanswered.pop(key, None)
        self._proven = True
        for supervised in self._unfinished():
            name = supervised.replica(key)
            if name is None:
                continue
            match message["event"]:
                case "started":
                    self._handle(supervised, Started(name, message["pid"]))
                case "exited":
                    self._handle(supervised, Exited(name, message["code"]))
                case "failed":
                    self._handle(supervised, Break(f"{name} could not be started: {message['message']}"))
                    self._handle(supervised, Exited(name, process.CANNOT_START))

    def _on_keeper_lost(self, keeper: Keeper) -> None:
        keeper.close()
        self._keeper = None
        waiting, self._unanswered = self._unanswered, {}
        if waiting and self._preload and not self._proven:
            _logger.warning("the fork server ended before its first use; replicas are started one by one")
            self._preload = ()
            for start in waiting.values():
                self._start(start)
        else:
            self._abandon("the fork server, parent of all its processes, was killed")

    def _abandon(self, reason: str) -> None:
        """Bring all jobs to their end; their processes are dead or die here."""
        for supervised in self._unfinished():
            if self._keeper is not None:
                self._keeper.kill()
            end_survivors(supervised.folder.run_id, supervised.folder.gang)
            self._handle(supervised, Break(reason))
            for name in supervised.started:
                self._handle(supervised, Exited(name, 128 + signal.SIGKILL))

    def _handle(self, supervised: Supervised, event: Event) -> None:
        """Give an event to a job, do what it asks for and publish where it stands."""
        for action in supervised.run.handle(event, self._clock()):
            match action:
                case Start(name, generation):
                    try:
                        self._start(supervised.next_start(name, generation))
                    except (StoreError, OSError) as error:
                        self._handle(supervised, Break(f"{name} could not be started: {error}"))
                case Stop(name):
                    key = supervised.key(name)
                    if self._keeper is not None and key is not None:
                        self._keeper.stop(key)
                    else:
                        self._handle(supervised, Exited(name, process.CANNOT_START))
                case Finish():
                    supervised.end()
        supervised.refresh()

    def _start(self, start: process.Start) -> None:
        if self._keeper is None:
            self._keeper = Keeper(self._log, self._preload)
            self._proven = False
        self._unanswered[start.key] = start
        self._keeper.start(start)
