"""Following: one job on a cluster, launched, told as it comes along, and its logs kept."""

from collections.abc import Callable, Mapping
from pathlib import Path

from gangplan.config import Settings
from gangplan.kube.actions import End, Object, Seen
from gangplan.kube.cluster import KubeCluster
from gangplan.kube.launch import Launch
from gangplan.kube.launcher import Launcher
from gangplan.kube.logs import LogKeeper
from gangplan.kube.outcome import replica_name
from gangplan.kube.patience import Patience
from gangplan.kube.progress import Told, leader_of
from gangplan.kube.submission import Submission
from gangplan.kube.waited_for import WaitedFor
from gangplan.verdict import Pace, ask, keep_waiting

POLL_S = 1.0
"""Seconds between two looks at a cluster: each is three requests."""


class Following:
    """The launch of one admitted gang.

    Attributes:
        keeper: Has the logs of its replicas.
        job: The TFJob as it was last seen; None: it was not yet.
        pods: Name → pod of the job, as each was last seen: the operator deletes those that run when it has ended.
        placement: Where its gang had room when that was last seen, Role → nodes; None: it had none.
        is_bound: Whether all replicas had their nodes when it was last looked at: then it goes on by itself.
    """

    def __init__(
        self,
        cluster: KubeCluster,
        wanted: Submission,
        *,
        folder: Path,
        chosen: Settings,
        tell: Callable[[str], None],
        sleep: Callable[[float], None],
    ) -> None:
        """Prepare it; nothing is sent yet.

        Args:
            cluster: The cluster.
            wanted: What is launched.
            folder: Where the logs go, a file for each replica.
            chosen: How long things are kept and waited for, and how often a job is tried.
            tell: Gets each thing that happens, and what the leading replica says, as a line.
            sleep: Waits the given seconds.
        """
        leader = leader_of(wanted.gang)

        def repeat(replica: str, line: str) -> None:
            if replica == leader:
                tell(f"{replica} | {line}")

        store, terms, pace = cluster.store(), chosen.terms, Pace(cluster, clock=cluster.clock)

        def admit() -> None:
            # Also who may not decide keeps asking.
            keep_waiting(store, store.get(wanted.gang.name), clock=cluster.clock, terms=terms)
            ask(store, pace, wanted.gang.name, clock=cluster.clock, terms=terms)

        patience = Patience(image=chosen.image_patience_s)
        self.keeper = LogKeeper(cluster.api, folder, on_line=repeat)
        self.job: Object | None = None
        self.pods: dict[str, Object] = {}
        self.placement: Mapping[str, tuple[str, ...]] | None = None
        self.is_bound = False
        self._told, self._run_id = Told(tell), wanted.run_id
        self._tell, self._clock = tell, cluster.clock
        self._waited_for: WaitedFor | None = None
        self._keeps_logs = True
        self._launcher = Launcher(
            cluster.api,
            store,
            wanted.manifest,
            Launch(
                run_id=wanted.run_id,
                reservation_s=terms.reservation_s,
                waiter_s=terms.waiter_s,
                attempts=chosen.attempts,
                patience=patience.with_volcano() if wanted.enforcement == "volcano" else patience,
                enforcement=wanted.enforcement,
            ),
            clock=cluster.clock,
            sleep=sleep,
            poll_s=POLL_S,
            on_look=self._look,
            admit=admit,
        )

    def run(self) -> End:
        """Go on until the job has ended."""
        end = self._launcher.run()
        self.keeper.close()
        return end

    def run_until_bound(self) -> End | None:
        """Go on until all replicas have their nodes; how it ended, if it ended before. No logs are kept."""
        self._keeps_logs = False
        return self._launcher.run_until_bound()

    def cancel(self, reason: str) -> str:
        """End a job whose replicas have not all got their nodes; see :meth:`Launcher.cancel`.

        Returns:
            What is left of it, in words; empty: nothing, or it goes on.
        """
        self._waited_for = WaitedFor(self._tell, now=self._clock())
        end = self._launcher.cancel(reason)
        return "" if end is None or end.outcome != "Canceled" else end.reason.removeprefix(reason).strip("; ")

    def _look(self, seen: Seen) -> None:
        record = seen.record
        if record is not None and record.run_id != self._run_id:
            record = None
        if record is not None:
            self._told.stands(record)
        self._told(seen)
        self.is_bound = record is not None and record.phase == "Bound"
        if self._waited_for is not None and not self.is_bound and (seen.job or seen.pods):
            left = ", ".join(sorted(replica_name(pod) for pod in seen.pods)) or "its TFJob"
            self._waited_for.look(f"it is taken away: waits for {left} to end", self._clock())
        if record is not None and record.reservation is not None:
            self.placement = record.reservation.placement
        if self._keeps_logs:
            self.keeper.look(seen.pods)
        self.job = seen.job or self.job
        self.pods |= {pod["metadata"]["name"]: pod for pod in seen.pods}
