"""A pipeline run on this machine: started, ended for certain, and told as one result."""

import contextlib
import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gangplan.config import Settings
from gangplan.documents import convert, to_builtins
from gangplan.errors import NotFound, StoreError
from gangplan.local.cluster import this_process
from gangplan.local.log import last_lines
from gangplan.local.process import Identity
from gangplan.local.store import LocalStore
from gangplan.local.survivors import descendants
from gangplan.pipeline import run_local
from gangplan.runtime import ReplicaStatus
from gangplan.signals import interrupting, uninterrupted
from gangplan.snapshot import Snapshot
from gangplan.steps.outcome import SUCCEEDED
from gangplan.steps.process import NOTES, RUNNER
from gangplan.steps.release import release
from gangplan.steps.release_all import release_all
from gangplan.steps.result import RunResult
from gangplan.steps.run import local_runtime

LAST_WORDS = 3
"""Last lines of each replica's log in the reason of a run whose step could not say more."""

PATIENCE_S = 4.0
"""Seconds that steps have to end by themselves after Ctrl-C; then they are killed."""


def prepare_home(chosen: Settings, cluster: Snapshot | None) -> None:
    """Make the folder of the local cluster, and set its nodes if a cluster is given.

    Raises:
        StoreError: The folder cannot be written.
        Conflict: Gangs hold nodes of another cluster.
    """
    try:
        for folder in (chosen.home, chosen.jobs, chosen.volume):
            folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=chosen.home):
            pass
    except OSError as error:
        raise StoreError(f"the folder {chosen.home} cannot be written: {error}") from error
    store = LocalStore(chosen.store)
    if cluster is not None:
        store.set_cluster(cluster)


def run_pipeline(
    package: Path,
    arguments: Mapping[str, Any],
    *,
    chosen: Settings,
    cluster: Snapshot | None = None,
    tell: Callable[[str], None],
) -> RunResult:
    """Run a compiled pipeline here. Afterwards no process of the run is left and its gang holds nothing.

    Args:
        package: The compiled pipeline.
        arguments: Values of its parameters.
        chosen: The settings.
        cluster: The virtual nodes to run on; None: those of the store.
        tell: Gets each line that KFP or a step prints.

    Raises:
        KeyboardInterrupt: Ctrl-C or SIGTERM; all is ended and given back by then.
        StoreError: The folder cannot be written; nothing was started.
    """
    prepare_home(chosen, cluster)
    with _notes_folder(chosen) as notes, interrupting():
        environment = {
            "GANGPLAN_HOME": str(chosen.home),
            "GANGPLAN_FORKSERVER": str(chosen.forkserver).lower(),
            RUNNER: str(this_process().pid),
            NOTES: notes,
            "TMPDIR": notes,  # KFP and TensorFlow leave files behind; these go with the run
            "PYTHONSAFEPATH": "1",  # a queue.py in the working folder is not the library's
        }
        try:
            ended = run_local(
                package, arguments, outputs=chosen.home / "outputs", environment=environment, tell=tell
            )
        except BaseException:
            with uninterrupted():
                _end_steps()
                _release(Path(notes), chosen)
            raise
        _end_steps()
        _release(Path(notes), chosen)
        return _result(
            Path(notes), chosen, failed_step="" if ended.succeeded else ended.failed_step or "a step"
        )


@contextlib.contextmanager
def _notes_folder(chosen: Settings) -> Iterator[str]:
    """A folder for the run's notes and temporary files; those that killed runs left go too."""
    root = chosen.home / "tmp"
    root.mkdir(exist_ok=True)
    for folder in root.iterdir():
        pid, _, started = folder.name.partition("-")
        if pid.isdigit() and started.isdigit() and not Identity(int(pid), int(started)).alive:
            shutil.rmtree(folder, ignore_errors=True)
    own = this_process()
    folder = root / f"{own.pid}-{own.started}"
    folder.mkdir()
    try:
        yield str(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _end_steps() -> None:
    """End every process below this one: steps get time to end their gangs, then nothing survives."""
    for process in descendants(os.getpid()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM)
    deadline = time.monotonic() + PATIENCE_S
    while left := descendants(os.getpid()):
        if time.monotonic() > deadline:
            for process in left:
                process.kill()
        time.sleep(0.05)


def _release(notes: Path, chosen: Settings) -> None:
    """What the exit handler does, for the ends at which KFP does not run it."""
    run = _note(notes, "run")
    if not run:
        return
    before = os.environ.get("GANGPLAN_HOME")
    os.environ["GANGPLAN_HOME"] = str(chosen.home)
    try:
        names = {name: run[name] for name in ("run_id", "job_name", "volume")}
        release(**names)
        held = LocalStore(chosen.store).records()
        if any(record.run_id == run["run_id"] and record.phase != "Finished" for record in held):
            release_all(**names)
    finally:
        if before is None:
            del os.environ["GANGPLAN_HOME"]
        else:
            os.environ["GANGPLAN_HOME"] = before


def _result(notes: Path, chosen: Settings, *, failed_step: str) -> RunResult:
    run = _note(notes, "run")
    names: dict[str, Any] = {"run_id": run.get("run_id", ""), "gang": run.get("name", "")}
    summary = Path(run["folder"]) / "summary.json" if run else None
    found: dict[str, Any] = {}
    if summary is not None and summary.is_file():
        found = json.loads(summary.read_text(encoding="utf-8"))
    errors = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(notes.glob("error-*.json"))]
    broken = [error for error in errors if error["step"] != "conclude"]
    if broken:
        first = broken[0]
        reason = f"step {first['step']}: {first['message']}"
        return RunResult(**names, outcome="Error", reason=reason, error=first["kind"])
    if found:
        return convert(found, RunResult)
    if failed_step:
        record = LocalStore(chosen.store).get(run["name"]) if run else None
        told = f"; its gang: {record.reason}" if record is not None else ""
        reason = f"step {failed_step} was ended from outside, or could not begin{told}"
        replicas = _last_seen(chosen, run.get("name", ""))
        tails = [
            f"  {item.name} | {line}"
            for item in replicas
            if item.log is not None
            for line in last_lines(Path(item.log), LAST_WORDS)
        ]
        return RunResult(
            **names,
            outcome="Error",
            reason="\n".join([reason, *tails]),
            replicas=tuple(to_builtins(item) for item in replicas),
        )
    return RunResult(**names, outcome=SUCCEEDED, reason="every step succeeded")


def _last_seen(chosen: Settings, name: str) -> tuple[ReplicaStatus, ...]:
    """The replicas as their runtime last wrote them down, where no step could publish them."""
    try:
        return local_runtime(chosen).status(name).replicas
    except (NotFound, StoreError):
        return ()


def _note(notes: Path, name: str) -> dict[str, Any]:
    path = notes / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found
