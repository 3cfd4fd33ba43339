"""How a job runs, without running anything: events and the time come in, actions come out.

The rules are those of training-operator v1.9 (see :class:`gangplan.runtime.Job`), with two things of our own:
``backoff_limit`` caps the restarts of every policy, and a job whose servers found a port taken starts again as
a whole, with other ports.
"""

import signal
from dataclasses import dataclass, replace
from typing import Final

from gangplan.runtime import FINAL, Job, JobState, JobStatus, ReplicaSpec, ReplicaStatus
from gangplan.tf_config import CHIEF, MASTER, ROLES, WORKER

PORT_TAKEN: Final = 98
"""Exit code of a trainer whose server's port was taken by somebody else (98 is Linux's EADDRINUSE)."""

PORT_RETRIES: Final = 3
"""How often a job starts again with other ports; that is no restart in the sense of ``backoff_limit``."""

STARTING_S: Final = 60.0
"""Seconds after its start in which a replica may report a taken port; later the code means something else."""


@dataclass(frozen=True, slots=True)
class Begin:
    """The job was accepted."""


@dataclass(frozen=True, slots=True)
class Started:
    """A replica has become a process."""

    replica: str
    pid: int


@dataclass(frozen=True, slots=True)
class Exited:
    """The process of a replica has ended; 128 + n for signal n."""

    replica: str
    code: int


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """Somebody wants the job to end."""

    reason: str


@dataclass(frozen=True, slots=True)
class Break:
    """Something of ours broke, so the job cannot go on."""

    reason: str


@dataclass(frozen=True, slots=True)
class Start:
    """Start a replica. Ports differ from generation to generation."""

    replica: str
    generation: int


@dataclass(frozen=True, slots=True)
class Stop:
    """End the process of a replica; ``Exited`` must follow."""

    replica: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The job has ended: nothing of it runs any more."""

    state: JobState
    reason: str
    replica: str


Event = Begin | Started | Exited | Tick | Cancel | Break
Action = Start | Stop | Finish


class JobRun:
    """The course of one job.

    A decision (success, failure, …) is made once; the job's state becomes final when the last process of it has
    ended after that.

    Args:
        job: The job; valid.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self.generation = 0
        order = {role: i for i, role in enumerate(ROLES)}
        self._specs: dict[str, ReplicaSpec] = {
            spec.name: spec for spec in sorted(job.replicas, key=lambda spec: (order[spec.role], spec.index))
        }
        self._replicas: dict[str, ReplicaStatus] = {
            name: ReplicaStatus(role=spec.role, index=spec.index, node=spec.node)
            for name, spec in self._specs.items()
        }
        self._live: set[str] = set()
        self._stopping: set[str] = set()
        self._began: float | None = None
        self._restarts = 0
        self._port_retries = 0
        self._regrouping = False
        self._verdict: Finish | None = None
        self._state: JobState = "Pending"

    @property
    def status(self) -> JobStatus:
        """Where the job stands; logs and last lines are not known here."""
        verdict = self._verdict if self._state in FINAL else None
        return JobStatus(
            name=self.job.name,
            state=self._state,
            reason=verdict.reason if verdict else "",
            replica=verdict.replica if verdict else "",
            replicas=tuple(self._replicas.values()),
        )

    @property
    def ended(self) -> bool:
        """Whether the job's state is final."""
        return self._state in FINAL

    def handle(self, event: Event, now: float) -> list[Action]:
        """Take note of an event and tell what is to be done, in this order.

        Args:
            event: What happened. Events of replicas that do not run are ignored.
            now: Seconds since 1970.
        """
        if self.ended:
            return []
        match event:
            case Begin():
                if self._began is not None:
                    return []
                self._began = now
                return self._start_all(now)
            case Started(replica, pid):
                if replica in self._live:
                    self._set(replica, state="Running", pid=pid, started_at=now)
                    self._state = "Running"
                return []
            case Exited(replica, code):
                return self._exited(replica, code, now) if replica in self._live else []
            case Tick():
                limit = self.job.deadline_s
                if limit is None or self._began is None or now - self._began < limit:
                    return []
                return self._decide("TimedOut", f"did not end within its deadline of {limit:g} s")
            case Cancel(reason):
                return self._decide("Canceled", reason)
            case Break(reason):
                return self._decide("Failed", reason)

    def _start_all(self, now: float) -> list[Action]:
        return [
            action
            for name, spec in self._specs.items()
            if spec.node is not None
            for action in self._start(name, now)
        ]

    def _start(self, name: str, now: float) -> list[Action]:
        self._live.add(name)
        self._set(name, state="Pending", pid=None, exit_code=None, started_at=None, finished_at=None)
        return [Start(name, self.generation)]

    def _exited(self, name: str, code: int, now: float) -> list[Action]:
        self._live.discard(name)
        told = name in self._stopping
        self._stopping.discard(name)
        started = self._replicas[name].started_at
        self._set(name, exit_code=code, finished_at=now)
        if self._verdict is not None:
            # One that ended well by itself while a job that succeeded was taken down was not ended by us.
            well = code == 0 and self._verdict.state == "Succeeded"
            self._set(name, state="Stopped" if told and not well else _state(code))
            return self._settle()
        if self._regrouping:
            self._set(name, state="Pending")
            return self._regroup(now)
        if (
            code == PORT_TAKEN
            and len(self._specs) > 1
            and started is not None
            and now - started <= STARTING_S
        ):
            return self._other_ports(name, now)
        return self._restart_or_settle(name, code, now)

    def _restart_or_settle(self, name: str, code: int, now: float) -> list[Action]:
        policy = self._specs[name].restart
        again = (
            policy == "Always"
            or (policy == "OnFailure" and code != 0)
            or (policy == "ExitCode" and code >= 128)
        )
        if again and self._restarts < self.job.backoff_limit:
            self._restarts += 1
            self._set(name, restarts=self._replicas[name].restarts + 1)
            return self._start(name, now)
        if code == 0 and not again:
            self._set(name, state="Succeeded")
            return self._decide("Succeeded", self._success_reason()) if self._succeeded() else []
        self._set(name, state="Failed")
        used_up = f", after {self._restarts} restarts, all that the job may use" if again else ""
        return self._decide("Failed", f"{name} {_ending(code)}{used_up}", name)

    def _other_ports(self, name: str, now: float) -> list[Action]:
        if self._port_retries >= PORT_RETRIES:
            self._set(name, state="Failed")
            return self._decide(
                "Failed", f"{name} found its port taken, {PORT_RETRIES + 1} times in a row", name
            )
        self._port_retries += 1
        self._regrouping = True
        self._set(name, state="Pending")
        return [*self._stop_live(), *self._regroup(now)]

    def _regroup(self, now: float) -> list[Action]:
        if self._live:
            return []
        self._regrouping = False
        self.generation += 1
        return self._start_all(now)

    def _succeeded(self) -> bool:
        """Whether those whose success is the job's have succeeded."""
        state = {name: replica.state for name, replica in self._replicas.items()}
        chiefs = [state[name] for name, spec in self._specs.items() if spec.role in {CHIEF, MASTER}]
        workers = [state[name] for name, spec in self._specs.items() if spec.role == WORKER]
        if chiefs:
            deciding = chiefs
        elif workers and self.job.success_policy == "AllWorkers":
            deciding = workers
        elif workers:
            deciding = [state[f"{WORKER}-0"]]
        else:
            deciding = list(state.values())
        return all(each == "Succeeded" for each in deciding)

    def _success_reason(self) -> str:
        for name, spec in self._specs.items():
            if spec.role in {CHIEF, MASTER}:
                return f"{name} has ended with success"
        if self.job.success_policy == "AllWorkers" or f"{WORKER}-0" not in self._specs:
            return "all have ended with success"
        return f"{WORKER}-0 has ended with success"

    def _decide(self, state: JobState, reason: str, replica: str = "") -> list[Action]:
        if self._verdict is not None:
            return []
        self._verdict = Finish(state, reason, replica)
        return [*self._stop_live(), *self._settle()]

    def _stop_live(self) -> list[Action]:
        names = [name for name in self._specs if name in self._live and name not in self._stopping]
        self._stopping.update(names)
        return [Stop(name) for name in names]

    def _settle(self) -> list[Action]:
        if self._live or self._verdict is None:
            return []
        self._state = self._verdict.state
        for name, replica in self._replicas.items():
            if replica.state == "Pending" and self._specs[name].node is not None:
                self._set(name, state="Stopped")
        return [self._verdict]

    def _set(self, name: str, **changes: object) -> None:
        self._replicas[name] = replace(self._replicas[name], **changes)  # type: ignore[arg-type]


def _state(code: int) -> str:
    return "Succeeded" if code == 0 else "Failed"


def _ending(code: int) -> str:
    if code > 128:
        try:
            return f"was ended by {signal.Signals(code - 128).name} (exit code {code})"
        except ValueError:
            pass
    return f"failed with exit code {code}"
