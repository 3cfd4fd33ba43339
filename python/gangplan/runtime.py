"""What runs the replicas of an admitted gang: a Job in, its honest end out.

A :class:`Runtime` is the cluster's operator or the processes of this machine; callers do not know which.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from gangplan.moments import Moment

RestartPolicy = Literal["Never", "OnFailure", "Always", "ExitCode"]
SuccessPolicy = Literal["", "AllWorkers"]
ReplicaState = Literal["Pending", "Running", "Succeeded", "Failed", "Stopped", "Unknown"]
JobState = Literal["Pending", "Running", "Succeeded", "Failed", "Canceled", "TimedOut"]

FINAL: frozenset[str] = frozenset({"Succeeded", "Failed", "Canceled", "TimedOut"})
"""Job states that a job does not leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaSpec:
    """How one replica is started.

    Attributes:
        role: Its role in lower case: ``chief``, ``ps``, ``worker``, ``evaluator``; ``master`` is taken as chief.
        index: Its index in the role, from 0 without gaps.
        node: The node it was given; None: it has no place yet and is not started.
        command: Program and arguments. A first word ``python`` means the interpreter that gangplan runs in.
        env: Environment variables on top of those that the runtime gives (``TF_CONFIG`` among them).
        restart: When a replica that ended is started again, as training-operator's ``restartPolicy``:
            ``ExitCode`` starts again on exit codes of 128 and above (signals) only.
    """

    role: str
    index: int
    node: str | None
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    restart: RestartPolicy = "Never"

    @property
    def name(self) -> str:
        """``worker-0``."""
        return f"{self.role}-{self.index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A gang that is to run.

    The job has succeeded when its chief has, without a chief when worker 0 has; with ``success_policy``
    ``AllWorkers`` and no chief, when all workers have. It has failed as soon as a replica has failed that is not
    started again. Then the replicas that still run are stopped.

    Attributes:
        name: Name of the gang.
        run_id: Id of the run; every process of the job carries it as ``GANGPLAN_RUN_ID`` in its environment.
        replicas: The replicas, in no order.
        success_policy: As training-operator's ``successPolicy``; empty is its default.
        deadline_s: Seconds from start to forced end; None: no limit.
        backoff_limit: How many restarts the whole job may use.
    """

    name: str
    run_id: str
    replicas: tuple[ReplicaSpec, ...]
    success_policy: SuccessPolicy = ""
    deadline_s: float | None = None
    backoff_limit: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaStatus:
    """What became of a replica.

    Attributes:
        role: Its role.
        index: Its index.
        node: Its node; None: it waits for one.
        state: ``Stopped`` replicas were ended by us, or by the operator of a cluster, after the job was decided; of
            ``Unknown`` ones the node of a cluster does not tell.
        pid: Process id of its last start; None if never started.
        exit_code: Exit code, 128 + n for signal n; None while it runs.
        restarts: How often it was started again.
        log: Path of its log file.
        started_at: Seconds since 1970; None if never started.
        finished_at: Seconds since 1970; None while it runs.
        last_lines: Last lines of the log of a failed replica, oldest first.
    """

    role: str
    index: int
    node: str | None = None
    state: ReplicaState = "Pending"
    pid: int | None = None
    exit_code: int | None = None
    restarts: int = 0
    log: str | None = None
    started_at: Moment | None = None
    finished_at: Moment | None = None
    last_lines: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """``worker-0``."""
        return f"{self.role}-{self.index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """What became of a job.

    Attributes:
        name: Name of the gang.
        state: Where it stands.
        reason: Why, in a sentence; empty while it runs.
        replica: The replica that decided a failure, ``worker-1``; empty if none did.
        replicas: Its replicas, by role and index.
        events: What was noted about a job that did not succeed, a line each, oldest first.
        uid: Uid of its TFJob; empty on one machine, where there is no such object.
    """

    name: str
    state: JobState
    reason: str = ""
    replica: str = ""
    replicas: tuple[ReplicaStatus, ...] = ()
    events: tuple[str, ...] = ()
    uid: str = ""


class Runtime(Protocol):
    """Starts, follows and ends jobs."""

    def submit(self, job: Job) -> None:
        """Start a job and return.

        Raises:
            InvalidInput: The job cannot be run as given; nothing was started.
            Conflict: A job of this name is there already.
        """

    def status(self, name: str) -> JobStatus:
        """Tell where a job stands.

        Raises:
            NotFound: There is no such job.
        """

    def wait(
        self,
        name: str,
        *,
        timeout_s: float | None = None,
        on_change: Callable[[JobStatus], None] | None = None,
    ) -> JobStatus:
        """Wait until the job has ended or the time is over, and tell where it stands.

        Args:
            name: Name of the gang.
            timeout_s: Seconds to wait; None: without limit.
            on_change: Called with each new status, the first one included.

        Raises:
            NotFound: There is no such job.
        """

    def logs(self, name: str, replica: str, *, follow: bool = False) -> Iterator[str]:
        """Yield the log lines of a replica (``worker-0``), without line ends; follow until it ends if asked.

        Raises:
            NotFound: There is no such job or replica.
        """

    def delete(self, name: str) -> None:
        """End a job for certain, with all its processes. A job that is not there is no error."""
