"""Place: where the gang of a run waits and its job runs – this machine or a cluster. Steps do not know which."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from gangplan.record import GangRecord, Owner
from gangplan.runtime import JobStatus
from gangplan.snapshot import Gang
from gangplan.steps.process import in_cluster
from gangplan.steps.run import Run
from gangplan.store import ClusterView, Store

Manifest = Mapping[str, Any]


class Place(Protocol):
    """Where one run's gang waits and its job runs."""

    @property
    def gang(self) -> str:
        """Name of the gang's record."""

    def of(self, run: Run, *, sleep: Callable[[float], None]) -> "Place":
        """The place of another gang of the same run, for a thread of its own.

        Args:
            run: That gang.
            sleep: Waits the given seconds.
        """

    def together(self) -> AbstractContextManager[None]:
        """The time for which several gangs are launched in this process; at its end none of them is followed any more."""

    @property
    def outlives_steps(self) -> bool:
        """Whether a gang goes on waiting when the step that waits for it is ended: another one will come for it."""

    @property
    def poll_s(self) -> float:
        """Seconds between two looks at a gang that waits."""

    def store(self) -> Store:
        """The records of gangs."""

    def view(self) -> ClusterView:
        """The cluster that the admission cycle sees."""

    def describe(self, manifest: Manifest, *, now: float) -> Gang:
        """What a sound TFJob asks for here.

        Raises:
            InvalidInput: It cannot run here.
        """

    def asker(self) -> Owner | None:
        """Who answers for a gang that waits; None: nobody has to be there."""

    def admitted(self) -> None:
        """Let the gang be kept until its job is launched."""

    def kept_until(self, now: float) -> float | None:
        """When a gang stops waiting unless it is asked for anew; None: as long as who asks is there."""

    def launch(self, manifest: Manifest, *, tell: Callable[[str], None]) -> JobStatus:
        """Run the job of the admitted gang to its end.

        Args:
            manifest: The TFJob.
            tell: Gets each thing that happens, as a line.
        """

    def published(self) -> None:
        """Note that the end of the job was told to whoever asked for it."""

    def release(self) -> GangRecord | None:
        """Let nothing of the run hold anything any more.

        Returns:
            Its record; None if there never was one.
        """

    def records(self) -> tuple[GangRecord, ...]:
        """The records that are told in the run's report."""


@contextmanager
def place_of(run: Run) -> Iterator[Place]:
    """The place of a run: the cluster of the pod that this process is in, else this machine.

    Raises:
        ConfigError: This pod cannot tell where it is.
    """
    if in_cluster():
        from gangplan.steps.on_cluster import on_cluster

        with on_cluster(run) as place:
            yield place
    else:
        from gangplan.steps.on_machine import OnMachine

        yield OnMachine(run)
