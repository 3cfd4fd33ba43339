"""Runtime on child processes: the replicas of a gang run on this machine, and none outlives the runtime."""

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Final, Self

from gangplan.errors import NotFound, StoreError
from gangplan.local.folder import JobFolder
from gangplan.local.job import Begin, Cancel
from gangplan.local.log import read_lines
from gangplan.local.replica import check_job
from gangplan.local.supervisor import SETTLE_S, Supervised, Supervisor
from gangplan.local.survivors import end_survivors
from gangplan.runtime import FINAL, Job, JobStatus
from gangplan.signals import ended_by

TRAINERS: Final = ("gangplan.train.classifier", "gangplan.train.benchmark")
"""Modules that are imported once and forked from (by name: this package does not import them)."""

_POLL_S = 0.05

_logger = logging.getLogger(__name__)
_told = threading.Event()


class LocalRuntime:
    """Runs jobs as processes of this machine (see :class:`gangplan.runtime.Runtime`).

    Leaving its ``with`` block in any way, also by an exception, Ctrl-C or SIGTERM, ends all its jobs; so does
    the end of the process that it is in, whatever the cause. Another runtime on the same folder, in this or
    another process, can read status and logs of its jobs, and delete them.

    Args:
        folder: Where logs and states are kept, see :mod:`gangplan.local.folder`.
        clock: Seconds since 1970.
        preload: Modules that are imported once; replicas with ``python -m MODULE`` are forked from there.

    Example:
        >>> import tempfile
        >>> from gangplan.runtime import ReplicaSpec
        >>> job = Job(name="hello", run_id="r1", replicas=(
        ...     ReplicaSpec(role="worker", index=0, node="n1", command=("python", "-c", "print('hello')")),))
        >>> with tempfile.TemporaryDirectory() as folder, LocalRuntime(Path(folder)) as runtime:
        ...     runtime.submit(job)
        ...     runtime.wait("hello").state, list(runtime.logs("hello", "worker-0"))
        ('Succeeded', ['hello'])
    """

    def __init__(
        self, folder: Path, clock: Callable[[], float] = time.time, *, preload: Sequence[str] = TRAINERS
    ) -> None:
        self._root = folder.absolute()
        self._supervisor = Supervisor(self._root / "forkserver.log", clock, preload)
        self._old_handler: Any = None

    def __enter__(self) -> Self:
        """Run jobs until the block is left; SIGTERM leaves it too, unless the program handles that itself."""
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            self._old_handler = signal.signal(signal.SIGTERM, _leave)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all jobs."""
        try:
            self.close("its runtime was closed" if error is None else ended_by(error))
        finally:
            if self._old_handler is not None:
                signal.signal(signal.SIGTERM, self._old_handler)
                self._old_handler = None

    def submit(self, job: Job) -> None:
        """Start a job and return.

        Raises:
            InvalidInput: The job cannot be run as given; nothing was started.
            Conflict: A job of this name is there already.
            StoreError: The folder cannot be written; nothing was started.
        """
        check_job(job)
        supervised = Supervised(job, JobFolder(self._root, job.name, job.run_id))
        supervised.folder.claim(supervised.status, [spec.name for spec in job.replicas])
        if len(job.replicas) > 1:
            _tell_of_open_ports()
        self._supervisor.post(supervised, Begin())

    def status(self, name: str) -> JobStatus:
        """Tell where a job stands.

        Raises:
            NotFound: There is no such job.
        """
        supervised = self._supervisor.jobs.get(name)
        return supervised.status if supervised is not None else JobFolder.find(self._root, name).read()

    def wait(
        self,
        name: str,
        *,
        timeout_s: float | None = None,
        on_change: Callable[[JobStatus], None] | None = None,
    ) -> JobStatus:
        """Wait until the job has ended or the time is over, and tell where it stands.

        Raises:
            NotFound: There is no such job.
        """
        end = None if timeout_s is None else time.monotonic() + timeout_s
        last: JobStatus | None = None
        while True:
            status = self.status(name)
            if status != last and on_change is not None:
                on_change(status)
            last = status
            if status.state in FINAL or (end is not None and time.monotonic() >= end):
                return status
            time.sleep(_POLL_S)

    def logs(self, name: str, replica: str, *, follow: bool = False) -> Iterator[str]:
        """Yield the log lines of a replica, without line ends; follow until it ends if asked.

        Raises:
            NotFound: There is no such job or replica.
        """
        folder = JobFolder.find(self._root, name)
        if all(each.name != replica for each in self.status(name).replicas):
            raise NotFound(f"job {name} has no replica {replica}", verb="logs", kind="Replica", name=replica)

        def more() -> bool:
            if not follow:
                return False
            with suppress(NotFound):
                status = self.status(name)
                states = {each.name: each.state for each in status.replicas}
                if status.state not in FINAL and states.get(replica) in {"Pending", "Running"}:
                    time.sleep(_POLL_S)
                    return True
            return False

        return read_lines(folder.log(replica), more)

    def delete(self, name: str) -> None:
        """End a job for certain, with all its processes; its logs stay. A job that is not there is no error."""
        try:
            folder = JobFolder.find(self._root, name)
        except NotFound:
            return
        supervised = self._supervisor.jobs.get(name)
        if supervised is None:
            folder.ask_to_cancel()
        elif self._runs(name):
            self._supervisor.post(supervised, Cancel("deleted"))
        end = time.monotonic() + SETTLE_S
        while self._runs(name) and time.monotonic() < end:
            time.sleep(_POLL_S)
        end_survivors(folder.run_id, name)
        folder.remove_scratch()
        folder.release()
        self._supervisor.jobs.pop(name, None)

    def close(self, reason: str = "its runtime was closed") -> None:
        """End all jobs and all their processes; idempotent."""
        self._supervisor.close(reason)

    def _runs(self, name: str) -> bool:
        try:
            return self.status(name).state not in FINAL
        except (NotFound, StoreError):
            return False


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _tell_of_open_ports() -> None:
    if not _told.is_set():
        _told.set()
        _logger.warning(
            "TensorFlow servers listen on all network interfaces of this machine and know no passwords; "
            "do not train where others can reach its ports"
        )
