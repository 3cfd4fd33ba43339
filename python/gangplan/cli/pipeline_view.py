"""How runs on Kubeflow are followed and shown."""

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from gangplan.cli import exits, render
from gangplan.cli.place import Place
from gangplan.config import settings
from gangplan.errors import ClusterError, ConfigError
from gangplan.kubeflow.stops import Stops
from gangplan.record import GangRecord
from gangplan.signals import interrupting

if TYPE_CHECKING:
    from gangplan.kubeflow.follow import Known
    from gangplan.kubeflow.outcome import Ending
    from gangplan.kubeflow.run import Run
    from gangplan.kubeflow.server import Server


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What the command line says about what is known of runs beside what the server says.

    Attributes:
        home: The home folder, which remembers stops.
        kubeconfig: The kubeconfig of the cluster where their gangs are.
        context: The context in it.
        namespace: The namespace of their gangs; None: in a pod its own, else any.
    """

    home: Path | None
    kubeconfig: Path | None = None
    context: str | None = None
    namespace: str | None = None

    @property
    def stops(self) -> Stops:
        """Which runs were asked to stop."""
        return Stops(settings(home=self.home).home / "pipelines" / "stopped")

    @property
    def known(self) -> "Known":
        """For following runs."""
        from gangplan.kubeflow.follow import Known

        return Known(stops=self.stops, records=self.records)

    def records(self, run_id: str) -> Sequence[GangRecord]:
        """Read the records of a run's gangs; none where nothing says which cluster they are on."""
        in_pod = "KUBERNETES_SERVICE_HOST" in os.environ
        named = self.kubeconfig is not None or self.context is not None
        if not (named or in_pod or settings(home=self.home).cluster == "kubernetes"):
            return ()
        place = Place(
            home=self.home,
            kubeconfig=self.kubeconfig,
            context=self.context,
            namespace=self.namespace,
            everywhere=self.namespace is None and not in_pod,
        )
        try:
            with place.open() as gangs:
                return tuple(record for record in gangs.records() if record.run_id == run_id)
        except (ClusterError, ConfigError) as error:
            render.progress(f"the gangs of the run cannot be read: {error}")
            return ()


def follow_run(server: "Server", run_id: str, beside: Beside, *, quiet: bool) -> "tuple[Run, Ending]":
    """Follow a run to its end, and tell on stderr what happens."""
    from gangplan.kubeflow.follow import follow

    def tell(line: str) -> None:
        render.progress(f"{time.strftime('%H:%M:%S')} {line}")

    try:
        with interrupting():
            return follow(
                server,
                run_id,
                known=beside.known,
                tell=tell,
                logs=not quiet,
                pause_s=4 * settings(home=beside.home).poll_s,
            )
    except KeyboardInterrupt:
        render.progress(
            f"the run goes on: gangplan pipeline status {run_id} --watch, or gangplan pipeline stop {run_id}"
        )
        raise


def end(found: "Run", ended: "Ending", page: str, output: render.Format) -> None:
    """Show a run that has ended, and end with the exit code of its outcome."""
    show(found, ended, page, output)
    raise typer.Exit(exits.code_of_outcome(ended.outcome))


def show(found: "Run", ended: "Ending | None", page: str, output: render.Format) -> None:
    """Show where a run stands."""
    if output is not render.Format.TABLE:
        render.emit(as_data(found, ended, page), output)
        return
    lines = [("run", f"{found.name} ({found.id})"), ("state", found.state.lower())]
    if ended is not None:
        lines += [("outcome", ended.outcome), ("reason", ended.reason or "–")]
    render.table(("", ""), [*lines, ("page", page)])
    if found.steps:
        rows = [
            (step.name, step.state.lower(), _span(step.begun, step.ended), step.reason)
            for step in found.steps
        ]
        render.table(("step", "state", "took", "reason"), rows, cut="reason")


def _span(begun: datetime | None, ended: datetime | None) -> str:
    if begun is None:
        return "–"
    return render.age(((ended or datetime.now(UTC)) - begun).total_seconds())


def as_data(found: "Run", ended: "Ending | None", page: str) -> dict[str, Any]:
    """Where a run stands, as data."""
    steps = [
        {
            "name": step.name,
            "state": step.state,
            "begun": step.begun,
            "ended": step.ended,
            "reason": step.reason,
        }
        for step in found.steps
    ]
    told = {"id": found.id, "name": found.name, "state": found.state, "page": page, "steps": steps}
    return told | (asdict(ended) if ended is not None else {"outcome": None})
