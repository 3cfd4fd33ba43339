"""OnMachine: a run whose replicas are processes of this machine."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from typing import cast

from gangplan import admission
from gangplan.errors import Conflict, NotFound
from gangplan.kube.left_out import not_done_here
from gangplan.kube.tfjob import gang
from gangplan.kube.tfjob import job as describe
from gangplan.local.cluster import LocalCluster, this_process
from gangplan.local.runtime import LocalRuntime
from gangplan.local.store import LocalStore
from gangplan.local.survivors import end_survivors
from gangplan.record import GangRecord, Outcome, Owner
from gangplan.runtime import FINAL, Job, JobStatus
from gangplan.signals import ended_by
from gangplan.snapshot import Gang
from gangplan.steps.place import Manifest
from gangplan.steps.process import run_owner
from gangplan.steps.run import Run, clock, local_runtime

log = logging.getLogger(__name__)


class OnMachine:
    """A :class:`gangplan.steps.place.Place`: this machine."""

    outlives_steps = False

    def __init__(self, run: Run, runtime: LocalRuntime | None = None) -> None:
        """Find the place.

        Args:
            run: The run.
            runtime: What starts the replicas; None: one of its own for each launch.
        """
        self._run, self._runtime = run, runtime

    def of(self, run: Run, *, sleep: Callable[[float], None]) -> "OnMachine":
        """See :class:`gangplan.steps.place.Place`; its launches end with the runtime that they share."""
        return OnMachine(run, self._runtime)

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """See :class:`gangplan.steps.place.Place`; TensorFlow is imported once for all of them."""
        with local_runtime(self._run.settings) as self._runtime:
            yield
        self._runtime = None

    @property
    def gang(self) -> str:
        """See :class:`gangplan.steps.place.Place`."""
        return self._run.name

    @property
    def poll_s(self) -> float:
        """See :class:`gangplan.steps.place.Place`."""
        return self._run.settings.poll_s

    def store(self) -> LocalStore:
        """See :class:`gangplan.steps.place.Place`."""
        return LocalStore(self._run.settings.store)

    def view(self) -> LocalCluster:
        """See :class:`gangplan.steps.place.Place`."""
        return LocalCluster(self.store())

    def describe(self, manifest: Manifest, *, now: float) -> Gang:
        """See :class:`gangplan.steps.place.Place`."""
        return gang(manifest, created=int(now))

    def asker(self) -> Owner | None:
        """The step: when it is gone, nobody waits."""
        return this_process()

    def kept_until(self, now: float) -> float | None:
        """See :class:`gangplan.steps.place.Place`."""
        return None

    def admitted(self) -> None:
        """The run answers for the gang until its launch step does."""
        admission.hand_over(self.store(), self.gang, run_id=self._run.run_id, owner=run_owner())

    def launch(self, manifest: Manifest, *, tell: Callable[[str], None]) -> JobStatus:
        """Run the job; its processes and its room are given back whatever happens."""
        run, store = self._run, self.store()
        self._settle()
        record = store.get(run.name)
        if record is None or record.reservation is None or record.run_id != run.run_id:
            if (ended := self._ended_before(record)) is not None:
                return ended
            found = "it has no record" if record is None else f"it is {record.phase}: {record.reason}"
            reason = f"the gang holds no room any more: {found}"
            return JobStatus(name=run.name, state="Failed", reason=reason)
        placement = {role: tuple(nodes) for role, nodes in record.reservation.placement.items()}
        for sentence in not_done_here(manifest):
            log.warning("left out on this machine: %s", sentence)
        described = describe(manifest, run_id=run.run_id, placement=placement, env={})
        end: Outcome = "Failed"
        why = "the launch step ended before the job did"
        try:
            ended = self._follow(described, tell)
            assert ended.state in FINAL, "wait without a time limit ends with the job"
            end, why = cast(Outcome, ended.state), ended.reason
        except Conflict as error:
            ended = JobStatus(name=run.name, state="Failed", reason=str(error))
            why = str(error)
        except Exception as error:
            why = f"the launch step ended with {type(error).__name__}: {error}".rstrip(": ")
            raise
        except BaseException as error:
            end, why = "Canceled", ended_by(error)
            raise
        finally:
            admission.finish(store, run.name, run_id=run.run_id, outcome=end, reason=why, now=clock())
        return ended

    def published(self) -> None:
        """See :class:`gangplan.steps.place.Place`; a run on one machine asks once."""

    def release(self) -> GangRecord | None:
        """End what still runs and give up what is still held."""
        if ended := end_survivors(self._run.run_id):
            log.warning("ended %s processes that the run left behind", ended)
        # A gang whose launch step was killed has failed; it was not canceled.
        self._settle()
        return admission.finish(
            self.store(),
            self.gang,
            run_id=self._run.run_id,
            outcome="Canceled",
            reason="the run ended first",
            now=clock(),
            suspended=True,
        )

    def records(self) -> tuple[GangRecord, ...]:
        """All gangs of this machine."""
        return self.store().records()

    def _ended_before(self, record: GangRecord | None) -> JobStatus | None:
        """How the job ended in an earlier call of this step, if it came to its end there."""
        if record is None or record.phase != "Finished" or record.run_id != self._run.run_id:
            return None
        with contextlib.suppress(NotFound):
            ended = local_runtime(self._run.settings).status(self._run.name)
            if ended.state == record.outcome:
                return ended
        return None

    def _settle(self) -> None:
        store = self.store()
        with store.leadership():
            admission.run_settle(store, self.view().gone, now=clock(), terms=self._run.settings.terms)

    def _follow(self, described: Job, tell: Callable[[str], None]) -> JobStatus:
        run, store = self._run, self.store()
        shared = self._runtime
        with local_runtime(run.settings) if shared is None else contextlib.nullcontext(shared) as runtime:
            admission.hand_over(store, run.name, run_id=run.run_id, owner=this_process())
            runtime.submit(described)
            admission.bind(store, run.name, run_id=run.run_id, now=clock(), owner=this_process())
            seen: dict[str, str] = {}

            def look(status: JobStatus) -> None:
                for replica in status.replicas:
                    code = "" if replica.exit_code is None else f" ({replica.exit_code})"
                    state = f"{replica.state}{code}"
                    if seen.get(replica.name) != state:
                        tell(f"{replica.name} on {replica.node}: {state}")
                    seen[replica.name] = state

            with _echo(runtime, described, tell):
                return runtime.wait(run.name, on_change=look)


@contextlib.contextmanager
def _echo(runtime: LocalRuntime, described: Job, tell: Callable[[str], None]) -> Iterator[None]:
    """Repeat what the leading replica prints, while the job runs."""
    names = [replica.name for replica in described.replicas]
    leader = next((name for name in ("chief-0", "worker-0") if name in names), names[0])

    def follow() -> None:
        for line in runtime.logs(described.name, leader, follow=True):
            tell(f"{leader} | {line}")

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join(timeout=2.0)
