"""Following a run to its end: what its steps do, what they print, and how it ended."""

import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from gangplan.errors import ClusterError, JobTimedOut, Unreachable
from gangplan.kubeflow.outcome import CONCLUDE, Ending, ending
from gangplan.kubeflow.run import ENDED, Run, Step
from gangplan.kubeflow.server import Server
from gangplan.kubeflow.stops import Stops
from gangplan.record import GangRecord

T = TypeVar("T")

TAIL = 20
"""Lines of a running step that are told to who begins to follow a run; ``pipeline logs`` has all."""

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


def no_log(run: Run, step: str) -> str:
    """What is said where the server has no log of a step."""
    where = f"kubectl logs -l pipeline/runid={run.id} -c main --prefix"
    return f"{step}: the server has no log of it; while its pod is there: {where}"


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
    if run.state not in {"FAILED", "SUCCEEDED"} or (asked and run.state == "FAILED"):
        return run, ending(run, asked=asked, logs={})
    telling = [step for step in run.steps if step.state == "FAILED" or step.name == CONCLUDE]
    logs = {step.name: text for step in telling if (text := read_log(server, run, step)) is not None}
    records = known.records(run_id) if run.state == "FAILED" else ()
    return run, ending(run, asked=asked, logs=logs, records=records)


@dataclass(kw_only=True)
class _Told:
    """What was said already."""

    states: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)

    def new_lines(self, server: Server, run: Run, step: Step) -> list[str]:
        """What a step has printed since it was asked last; of one that has ended the rest, once."""
        if step.name in self.whole:
            return []
        read = read_log(server, run, step)
        if step.state in ENDED:
            self.whole.add(step.name)
            if read is None:
                self.lost.add(step.name)
        lines, before = (read or "").splitlines(), self.lines.get(step.name, 0)
        self.lines[step.name] = max(before, len(lines))
        return lines[before:]


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
    told = _Told()
    looks = _looks(lambda: look(server, run_id, known), tell=tell, pause_s=pause_s, patience_s=patience_s)
    for run, ended in looks:
        if run.state == "CANCELING":
            known.stops.remember(run_id)
        is_first = not told.states
        for step in run.steps:
            before = told.states.get(step.name)
            if before != step.state == "RUNNING":  # before what it prints
                told.states[step.name] = before = step.state
                tell(f"{step.name}: running")
            if logs and (step.state == "RUNNING" or (before != step.state and not is_first)):
                lines = told.new_lines(server, run, step)
                for line in lines[-TAIL:] if is_first else lines:
                    tell(f"{step.name} | {line}")
            if before != step.state:
                told.states[step.name] = step.state
                tell(f"{step.name}: {step.state.lower()}" + (f": {step.reason}" if step.reason else ""))
        if ended is not None:
            return run, ended
    raise AssertionError("looks go on until the run has ended")


def follow_lines(
    server: Server, run_id: str, step: str | None, *, tell: Callable[[str], None], pause_s: float
) -> Iterator[tuple[str, str]]:
    """Yield what the steps of a run print, each with its step, as it comes, until the run or the step has ended.

    Args:
        server: The server.
        run_id: The run.
        step: Only this step, which may not have begun yet; None: all.
        tell: Told when the server is away.
        pause_s: Seconds between two looks.

    Raises:
        Unreachable: The server was away for too long.
        ClusterError: The run cannot be read any more.
    """
    told, mentioned = _Told(), set[str]()
    for run in _looks(lambda: server.run(run_id), tell=tell, pause_s=pause_s):
        for each in run.steps:
            if step in {None, each.name}:
                yield from ((each.name, line) for line in told.new_lines(server, run, each))
        for lost in sorted(told.lost - mentioned):
            tell(no_log(run, lost))
        mentioned |= told.lost
        if run.has_ended or step in told.whole:
            return


def _looks(
    ask: Callable[[], T], *, tell: Callable[[str], None], pause_s: float, patience_s: float = math.inf
) -> Iterator[T]:
    """Yield one answer after the other; a server that is away is asked again for a while."""
    lost, begun = 0, time.monotonic()
    while True:
        if time.monotonic() - begun > patience_s:
            raise JobTimedOut(f"it has not ended after {patience_s:.0f} s")
        try:
            answer = ask()
        except Unreachable as error:
            lost += 1
            if lost >= LOST:
                raise
            if lost == 1:
                tell(f"the server does not answer, the run goes on: {error}")
        else:
            lost = 0
            yield answer
        time.sleep(pause_s)
