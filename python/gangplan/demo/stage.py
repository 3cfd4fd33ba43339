"""Where a demo plays: a local cluster of its own and two TFJobs, run by the ordinary admission and runtime."""

import fcntl
import shutil
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from gangplan.config import Settings
from gangplan.errors import Conflict
from gangplan.kube.manifest import GangRequest, RoleSize, training_job
from gangplan.kube.tfjob import gang, job, read, write
from gangplan.local.cluster import LocalCluster, this_process
from gangplan.local.runtime import LocalRuntime
from gangplan.local.scheduler import Request, run_gangs
from gangplan.local.store import LocalStore
from gangplan.record import GangRecord
from gangplan.runtime import Job, JobStatus
from gangplan.snapshot import Gang, Snapshot
from gangplan.steps.run import local_runtime

DEADLINE_S = 600
"""A demo's job takes seconds; ten minutes mean that this machine cannot run it."""

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """A TFJob of a demo.

    Attributes:
        name: Its name.
        manifest: The manifest.
    """

    name: str
    manifest: Mapping[str, object]

    def gang(self, created: int) -> Gang:
        """The job as a gang."""
        return gang(self.manifest, created=created)


class Stage:
    """A folder with a store, a cluster and a runtime, made anew for each demo."""

    def __init__(self, chosen: Settings, name: str, cluster: Snapshot) -> None:
        """Make the folder ``<home>/demo/<name>``; what an earlier demo left there is removed.

        Args:
            chosen: The settings; the home is the parent of the demo's folder.
            name: Name of the demo.
            cluster: Its nodes.

        Raises:
            Conflict: Another demo of this name plays there now.
        """
        self.folder = chosen.home / "demo" / name
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        self._lock = _take(self.folder.with_suffix(".lock"), name)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self.settings = replace(chosen, home=self.folder)
        self.cluster = cluster
        self.run_id = str(uuid.uuid4())
        self.store = LocalStore(self.settings.store)
        self.store.set_cluster(cluster)

    def tfjob(self, name: str, roles: Mapping[str, RoleSize], flags: tuple[str, ...]) -> Play:
        """Write the TFJob of a small training on the bundled digits.

        Args:
            name: Name of the job.
            roles: Role → size.
            flags: Flags for the training program.
        """
        out = self.folder / "out" / name
        manifest = training_job(
            name=name,
            run_id=self.run_id,
            image="gangplan/python",
            command=(
                *("python", "-m", "gangplan.train.classifier", "--data", "digits", "--out", str(out)),
                *flags,
            ),
            roles=roles,
            request=GangRequest(),
            deadline_s=DEADLINE_S,
            keep_s=DEADLINE_S,
        )
        return Play(name=name, manifest=read(write(manifest)))

    def job(self, play: Play, placement: Mapping[str, tuple[str | None, ...]]) -> Job:
        """The job of a play with a placement; replicas without a node are not started."""
        return job(play.manifest, run_id=self.run_id, placement=placement, env={})

    def runtime(self, part: str) -> LocalRuntime:
        """The ordinary runtime, with a folder for one part of the demo."""
        return local_runtime(replace(self.settings, home=self.folder / part))

    def run(
        self, plays: tuple[Play, ...], on_change: Callable[[GangRecord], None]
    ) -> tuple[dict[str, JobStatus], tuple[GangRecord, ...]]:
        """Run all plays through admission to their ends.

        Returns:
            Name → how it ended, and the records of all.
        """
        now = int(time.time())
        requests = [
            Request(gang=play.gang(now + place), uid=str(uuid.uuid4()), job=_job_of(self, play))
            for place, play in enumerate(plays)
        ]
        with self.runtime("ours") as runtime:
            ended = run_gangs(
                requests,
                run_id=self.run_id,
                store=self.store,
                view=LocalCluster(self.store),
                runtime=runtime,
                owner=this_process(),
                terms=self.settings.terms,
                clock=time.time,
                sleep=time.sleep,
                poll_s=self.settings.poll_s,
                on_change=on_change,
            )
        return ended, self.store.records()


def _take(path: Path, name: str) -> IO[bytes]:
    """Hold a lock until the file is closed, by the end of the process at the latest."""
    file = path.open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        message = f"the demo {name} runs in this folder already: wait for it, or use another --home"
        raise Conflict(message, verb="create", kind="Demo", name=name) from error
    return file


def _job_of(stage: Stage, play: Play) -> Callable[[Mapping[str, tuple[str, ...]]], Job]:
    return lambda placement: stage.job(play, placement)
