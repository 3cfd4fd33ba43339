"""Following a run to its end: what its steps do, what they print, and how it ended."""

import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gangplan.errors import ClusterError, JobTimedOut, Unreachable
from gangplan.kubeflow.outcome import Ending, ending
from gangplan.kubeflow.run import Run, Step
from gangplan.kubeflow.server import Server
from gangplan.kubeflow.stops import Stops
from gangplan.record import GangRecord

LOST = 60
"""So many looks in a row may go unanswered, two minutes by default: a rolling update of the server takes less."""

_POD = re.compile(r"(.*)-(\d+)")
"""The server tells the ids of Argo's nodes; a node's pod is named as its id, with the name of the template between, which
is this one for every step that KFP compiles."""


def read_log(server: Server, run: Run, step: Step) -> str | None:
    """What a step has printed; None: the server does not have it (no more)."""
    for node in reversed(step.pods):
        for pod in (_POD.sub(r"\1-system-container-impl-\2", node), node):
            try:
                return server.log(run.id, pod)
            except ClusterError:
                continue
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of runs beside what the server says.

    Attributes:
        stops: Which of them were asked to stop.
        records: Gives the records of a run's gangs, where these can be read.
    """

    stops: Stops
    records: Callable[[str], Sequence[GangRecord]]


def look(server: Server, run_id: str, known: Known) -> tuple[Run, Ending | None]:
    """Read a run and, if it has ended, how."""
    run = server.run(run_id)
    if not run.has_ended:
        return run, None
    asked = run_id in known.stops
    if run.state != "FAILED" or asked:
        return run, ending(run, asked=asked, logs={})
    failed = [step for step in run.steps if step.state == "FAILED"]
    logs = {step.name: text for step in failed if (text := read_log(server, run, step)) is not None}
    return run, ending(run, asked=asked, logs=logs, records=known.records(run_id))


@dataclass(kw_only=True)
class _Told:
    """What was said already."""

    states: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


def follow(
    server: Server,
    run_id: str,
    *,
    known: Known,
    tell: Callable[[str], None],
    logs: bool,
    pause_s: float,
    patience_s: float = math.inf,
) -> tuple[Run, Ending]:
    """Wait until a run has ended, and tell what happens until then.

    Args:
        server: The server.
        run_id: The run.
        known: What else is known; a stop that is seen here is noted, since the server forgets it.
        tell: Gets each line.
        logs: Whether what running steps print is told too.
        pause_s: Seconds between two looks.
        patience_s: Seconds after which it is followed no longer.

    Raises:
        JobTimedOut: It has not ended in time; it goes on.
        Unreachable: The server was away for too long.
        ClusterError: The run cannot be read any more.
    """
    told, lost, begun = _Told(), 0, time.monotonic()
    while True:
        if time.monotonic() - begun > patience_s:
            raise JobTimedOut(f"it has not ended after {patience_s:.0f} s")
        try:
            run, ended = look(server, run_id, known)
        except Unreachable as error:
            lost += 1
            if lost >= LOST:
                raise
            if lost == 1:
                tell(f"the server does not answer, the run goes on: {error}")
            time.sleep(pause_s)
            continue
        lost = 0
        if run.state == "CANCELING":
            known.stops.remember(run_id)
        for step in run.steps:
            before = told.states.get(step.name)
            if logs and "RUNNING" in {step.state, before}:
                _tell_log(server, run, step, told, tell)
            if before != step.state:
                told.states[step.name] = step.state
                tell(f"{step.name}: {step.state.lower()}" + (f": {step.reason}" if step.reason else ""))
        if ended is not None:
            return run, ended
        time.sleep(pause_s)


def _tell_log(server: Server, run: Run, step: Step, told: _Told, tell: Callable[[str], None]) -> None:
    lines = (read_log(server, run, step) or "").splitlines()
    for line in lines[told.lines.get(step.name, 0) :]:
        tell(f"{step.name} | {line}")
    told.lines[step.name] = max(told.lines.get(step.name, 0), len(lines))
