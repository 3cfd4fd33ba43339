"""Whether a real Kubeflow does what we rely on: a pipeline is uploaded, run, stopped and cleaned up there."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gangplan.errors import ClusterError, JobTimedOut, NotFound, Refused
from gangplan.kubeflow.answers import Entry
from gangplan.kubeflow.follow import Known, follow, read_log
from gangplan.kubeflow.package import Package
from gangplan.kubeflow.publish import Published, publish
from gangplan.kubeflow.run import Run
from gangplan.kubeflow.server import Server
from gangplan.signals import uninterrupted


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Something that was tried.

    Attributes:
        name: What should be.
        passed: Whether it is.
        found: What was found; empty: nothing to tell.
    """

    name: str
    passed: bool
    found: str = ""


class Smoke:
    """A pipeline of a new name, a run that succeeds and one that is stopped; all of it is removed at the end."""

    def __init__(
        self,
        server: Server,
        package: Package,
        *,
        title: str,
        arguments: Mapping[str, Any],
        known: Known,
        tell: Callable[[str], None],
        pause_s: float,
        patience_s: float,
    ) -> None:
        """Prepare it.

        Args:
            server: The server.
            package: The pipeline ``train``.
            title: Name of the pipeline there, which must be new: it is deleted at the end.
            arguments: Arguments of the runs.
            known: What else is known of runs.
            tell: Gets each line of what the runs do.
            pause_s: Seconds between two looks at a run.
            patience_s: Seconds that a run may take.
        """
        self._server, self._package, self._title = server, package, title
        self._arguments, self._known, self._tell = dict(arguments), known, tell
        self._pause_s, self._patience_s = pause_s, patience_s
        self._runs: list[Run] = []
        self._pipeline: Entry | None = None

    def run(self, report: Callable[[Point], None]) -> None:
        """Try them; a fault of one ends the rest, but never the cleaning up.

        Args:
            report: Gets each point as soon as it was tried.
        """
        try:
            for point in self._tried():
                report(point)
        except JobTimedOut as error:
            report(Point(name="a run ends in time", passed=False, found=str(error)))
        except ClusterError as error:
            report(Point(name="the server does what it is asked", passed=False, found=str(error)))
        finally:
            with uninterrupted():
                cleaned = self._clean()
            report(cleaned)

    def _tried(self) -> Iterator[Point]:
        there = publish(self._server, self._package, name=self._title)
        self._pipeline = there.pipeline
        yield Point(name="a pipeline is uploaded", passed=there.is_new, found=f"version {there.version.name}")
        again = publish(self._server, self._package, name=self._title)
        yield Point(
            name="nothing is uploaded twice", passed=not again.is_new and again.version.id == there.version.id
        )
        experiment = self._server.experiment("Default")
        yield self._refused(there, experiment)

        run = self._start(there, experiment, "succeeds")
        run, ended = self._follow(run)
        yield Point(
            name="a run succeeds",
            passed=ended.outcome == "Succeeded",
            found=": ".join(filter(None, (ended.outcome, ended.reason))),
        )
        states = {step.name: step.state for step in run.steps}
        wrong = [f"{name} {state.lower()}" for name, state in states.items() if state != "SUCCEEDED"]
        yield Point(
            name="its steps are told", passed=bool(states) and not wrong, found=", ".join(wrong or states)
        )
        lost = [step.name for step in run.steps if read_log(self._server, run, step) is None]
        yield Point(name="their logs can be read", passed=bool(states) and not lost, found=", ".join(lost))

        run = self._start(there, experiment, "is stopped")
        self._known.stops.remember(run.id)
        self._server.terminate(run.id)
        run, ended = self._follow(run)
        yield Point(
            name="a run that is stopped ends", passed=ended.outcome == "Canceled", found=run.state.lower()
        )
        held = [record.name for record in self._known.records(run.id) if record.phase != "Finished"]
        yield Point(name="it holds nothing any more", passed=not held, found=", ".join(held))

    def _refused(self, there: Published, experiment: str) -> Point:
        name = "the server refuses what is no choice"
        try:
            self._runs.append(
                self._server.create_run(
                    f"{self._title} is refused",
                    pipeline=there.pipeline,
                    version=there.version,
                    arguments=self._arguments | {"train_strategy": "none of them"},
                    experiment=experiment,
                    service_account="",
                )
            )
        except Refused as error:
            return Point(name=name, passed=True, found=str(error))
        return Point(name=name, passed=False, found="it started a run: servers before 2.16 know no choices")

    def _start(self, there: Published, experiment: str, what: str) -> Run:
        run = self._server.create_run(
            f"{self._title} {what}",
            pipeline=there.pipeline,
            version=there.version,
            arguments=self._arguments,
            experiment=experiment,
            service_account="",
        )
        self._runs.append(run)
        self._tell(f"{run.name}: {self._server.access.page(run.id)}")
        return run

    def _follow(self, run: Run) -> Any:
        return follow(
            self._server,
            run.id,
            known=self._known,
            tell=self._tell,
            logs=False,
            pause_s=self._pause_s,
            patience_s=self._patience_s,
        )

    def _clean(self) -> Point:
        left = []
        for run in self._runs:
            try:
                self._server.delete_run(run.id)
                self._known.stops.forget(run.id)
            except NotFound:
                continue
            except ClusterError as error:
                left.append(f"run {run.id}: {error}")
        if self._pipeline is not None:
            try:
                self._server.delete_pipeline(self._pipeline)
            except ClusterError as error:
                left.append(f"pipeline {self._title}: {error}")
        return Point(name="what was made is removed", passed=not left, found="; ".join(left))
