"""One run of a pipeline: its gang's name, its folder on the volume, the cluster that it runs on."""

import hashlib
import re
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from gangplan.config import Settings, settings
from gangplan.errors import InvalidInput, Problem
from gangplan.local.runtime import TRAINERS, LocalRuntime
from gangplan.steps.process import in_cluster, note

MOST_GANGS = 64
"""Gangs that a run may have at most. Whoever ends what a run has left asks for each of their names: a second's work."""

_SLUG_LIMIT = 30
"""Longest readable part of a gang's name: with the hash and the longest child suffix it stays within 63."""


def gang_name(job_name: str, run_id: str) -> str:
    """Name the gang of a run: readable, a DNS label, the same in every step and in every attempt of the run.

    >>> gang_name("MNIST classifier", "a-run")
    'mnist-classifier-484d9350'
    """
    slug = re.sub(r"[^a-z0-9]+", "-", job_name.lower()).strip("-")[:_SLUG_LIMIT].strip("-")
    if not slug or not slug[0].isalpha():
        slug = f"job-{slug}".strip("-")
    return f"{slug}-{hashlib.sha256(run_id.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What every step of a run derives from the run's id.

    Attributes:
        run_id: Id of the run.
        name: Name of its gang.
        folder: Its folder on the volume: data, checkpoints, model, report.
        settings: The settings in force.
        whole: Of one gang of a run that has several: the folder that they share; None: it is the only one.
    """

    run_id: str
    name: str
    folder: Path
    settings: Settings
    whole: Path | None = None

    @property
    def data(self) -> Path:
        """The prepared data set."""
        return (self.whole or self.folder) / "data.npz"

    @property
    def trained(self) -> Path:
        """What the training program writes: model, events, history, checkpoints."""
        return self.folder / "train"

    @property
    def events(self) -> Path:
        """Event files for TensorBoard."""
        return self.trained / "events"

    @property
    def report(self) -> Path:
        """The report, a copy of what the report step publishes."""
        return self.folder / "report.html"

    @property
    def page(self) -> Path:
        """The report as data, for a page that holds more."""
        return self.folder / "page.json"

    @property
    def summary(self) -> Path:
        """The result of the run for programs."""
        return self.folder / "summary.json"


def one_of(run: Run, index: int) -> Run:
    """One gang of a run that has several: with a name and a folder of its own, the same in every step and attempt.

    Args:
        run: The run as a whole.
        index: Which of its gangs, from 0.
    """
    slug, _, digest = run.name.rpartition("-")
    return replace(
        run, name=f"{slug}-{index:02}-{digest}", folder=run.folder / f"gang-{index:02}", whole=run.folder
    )


def open_run(run_id: str, job_name: str, volume: str = "") -> Run:
    """Find the run that a step belongs to.

    Args:
        run_id: Id of the run, from KFP.
        job_name: Readable name of the job.
        volume: Where the shared volume is mounted; empty: a folder of this machine.

    Raises:
        InvalidInput: There is no run id.
    """
    if not run_id:
        raise InvalidInput([Problem("run_id", "MISSING_FIELD", "must not be empty")], "parameters")
    chosen = settings()
    root = chosen.volume
    if in_cluster():
        # A pod without the volume has a folder of its own, which goes with it.
        root = Path(volume or Path(tempfile.gettempdir()) / "gangplan").absolute()
    name = gang_name(job_name, run_id)
    run = Run(run_id=run_id, name=name, folder=root / name, settings=chosen)
    note(
        "run",
        {"run_id": run_id, "job_name": job_name, "volume": volume, "name": name, "folder": str(run.folder)},
    )
    return run


def see_that_it_is_mounted(volume: str) -> None:
    """See that this pod mounts the shared volume, before anything is written where nobody else looks.

    Raises:
        InvalidInput: It does not.
    """
    if in_cluster() and volume and not Path(volume).is_mount():
        message = f"nothing is mounted at {volume} in this step: mount the claim of the replicas there"
        raise InvalidInput([Problem("volume", "CONTRADICTION", message)], "run parameters")


def clock() -> float:
    """Seconds since 1970."""
    return time.time()


def local_runtime(chosen: Settings) -> LocalRuntime:
    """What starts the replicas."""
    return LocalRuntime(chosen.jobs, preload=TRAINERS if chosen.forkserver else ())
