"""OnCluster: a run whose steps are pods, and whose replicas are the pods of a TFJob beside them."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial

from gangplan import admission, attempts
from gangplan.errors import ClusterError, InvalidInput, Problem
from gangplan.kube import own_pod
from gangplan.kube.actions import Object
from gangplan.kube.api import Api, Owners
from gangplan.kube.client import connect
from gangplan.kube.cluster import KubeCluster
from gangplan.kube.entry import Retries
from gangplan.kube.follow import POLL_S, Following
from gangplan.kube.gang_object import full_name
from gangplan.kube.job_status import job_status
from gangplan.kube.kinds import EVENT, TFJOB
from gangplan.kube.launch import Launch
from gangplan.kube.launcher import Launcher
from gangplan.kube.limit_ranges import see_that_limits_allow
from gangplan.kube.patient import PatientApi, PatientCluster
from gangplan.kube.priority import with_priority
from gangplan.kube.quota_needs import see_that_quotas_are_told
from gangplan.kube.shapes import as_it_stands
from gangplan.kube.store import GangStore
from gangplan.kube.submission import Submission, submission
from gangplan.kube.volcano_queue import with_volcano_queue
from gangplan.kube.volumes import with_claims
from gangplan.record import GangRecord, Owner
from gangplan.runtime import JobStatus
from gangplan.snapshot import Gang
from gangplan.steps.place import Manifest
from gangplan.steps.run import Run, clock

log = logging.getLogger(__name__)

AWAY_S = 60.0
"""Seconds for which a server may not answer: it is started again within a minute."""


class OnCluster:
    """A :class:`gangplan.steps.place.Place`: the cluster of the step's pod."""

    outlives_steps = True

    def __init__(
        self,
        run: Run,
        api: Api,
        *,
        namespace: str,
        owners: Owners,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Find the place; nothing is sent yet.

        Args:
            run: The run.
            api: The API server.
            namespace: Where the gang and its job are.
            owners: What they go with.
            sleep: Waits the given seconds.
        """
        self._run, self._namespace, self._owners, self._sleep = run, namespace, owners, sleep
        self._way = api
        self._api = PatientApi(api, partial(_patience, sleep))
        self._cluster = PatientCluster(
            api=self._api,
            clock=clock,
            monotonic=time.monotonic,
            owners=owners,
            patience=partial(_patience, sleep),
        )

    def of(self, run: Run, *, sleep: Callable[[float], None]) -> "OnCluster":
        """See :class:`gangplan.steps.place.Place`; it contends for the lead over admission like any other."""
        return OnCluster(run, self._way, namespace=self._namespace, owners=self._owners, sleep=sleep)

    def together(self) -> AbstractContextManager[None]:
        """See :class:`gangplan.steps.place.Place`; what is followed no more goes on by itself."""
        return nullcontext()

    @property
    def gang(self) -> str:
        """See :class:`gangplan.steps.place.Place`."""
        return full_name(self._namespace, self._run.name)

    @property
    def poll_s(self) -> float:
        """See :class:`gangplan.steps.place.Place`."""
        return max(self._run.settings.poll_s, POLL_S)

    def store(self) -> GangStore:
        """See :class:`gangplan.steps.place.Place`."""
        return self._cluster.store()

    def view(self) -> KubeCluster:
        """See :class:`gangplan.steps.place.Place`."""
        return self._cluster

    def describe(self, manifest: Manifest, *, now: float) -> Gang:
        """See :class:`gangplan.steps.place.Place`; a TFJob runs in the namespace of its run."""
        if (manifest["metadata"].get("namespace") or self._namespace) != self._namespace:
            message = f"must be left out, or be {self._namespace}, where this run is"
            raise InvalidInput([Problem("$.metadata.namespace", "CONTRADICTION", message)], "tfjob_yaml")
        wanted = with_priority(self._api, with_claims(self._api, self._submission(manifest, now)))
        see_that_quotas_are_told(self._api, wanted)
        see_that_limits_allow(self._api, wanted)
        wanted = with_volcano_queue(self._api, wanted)
        terms = self._run.settings.terms
        return as_it_stands(wanted, self._cluster, self.store(), now=now, terms=terms).gang

    def asker(self) -> Owner | None:
        """See :class:`gangplan.steps.place.Place`."""
        return None

    def kept_until(self, now: float) -> float | None:
        """A step that is ended is started again; if it is not, its gang goes by itself."""
        return now + self._run.settings.terms.waiter_s

    def admitted(self) -> None:
        """The reservation is kept by itself for a while, and the launch renews it."""

    def launch(self, manifest: Manifest, *, tell: Callable[[str], None]) -> JobStatus:
        """Run the job, or go on with one that an earlier launch of this run has begun.

        When this process is ended, nothing is deleted: a step that is started again must find its job.
        """
        run, store = self._run, self.store()
        found = store.get(self.gang)
        if found is not None and found.published and found.outcome != "Succeeded":
            reason = f"launched anew after: {found.reason}"
            attempts.again(
                store,
                self.gang,
                run_id=run.run_id,
                reason=reason,
                now=clock(),
                waiter_s=run.settings.terms.waiter_s,
            )
        following = Following(
            self._cluster,
            self._submission(manifest, clock()),
            folder=run.folder / "logs",
            chosen=run.settings,
            tell=tell,
            sleep=self._sleep,
        )
        end = following.run()
        pods = tuple(following.pods.values())
        events = () if end.outcome == "Succeeded" else self._events()
        return job_status(self.gang, end, following.job, pods, following.keeper, events=events)

    def published(self) -> None:
        """See :class:`gangplan.steps.place.Place`; a run is not red because this cannot be noted."""
        try:
            attempts.publish(self.store(), self.gang, run_id=self._run.run_id)
        except ClusterError as error:
            log.warning("that its end was told is not noted: %s", error)

    def release(self) -> GangRecord | None:
        """Delete a TFJob that still runs; one that has ended is left to its time to live."""
        store = self.store()
        metadata = {"name": self._run.name, "namespace": self._namespace}
        launch = Launch(run_id=self._run.run_id, reservation_s=self._run.settings.terms.reservation_s)
        launcher = Launcher(
            self._api,
            store,
            {"apiVersion": TFJOB.api_version, "kind": TFJOB.name, "metadata": metadata},
            launch,
            clock=clock,
            sleep=self._sleep,
            poll_s=POLL_S,
        )
        # Also where there is no record any more there may be a job.
        end = launcher.end("the run ended first")
        admission.finish(
            store,
            self.gang,
            run_id=self._run.run_id,
            outcome=end.outcome,
            reason=end.reason,
            now=clock(),
            suspended=True,
        )
        record = store.get(self.gang)
        return record if record is not None and record.run_id == self._run.run_id else None

    def records(self) -> tuple[GangRecord, ...]:
        """The gang of this run: a step sees no other."""
        record = self.store().get(self.gang)
        return () if record is None else (record,)

    def _events(self) -> tuple[Object, ...]:
        """Events of the namespace; none where this step may not look at them."""
        try:
            return self._api.list(EVENT, namespace=self._namespace).items
        except ClusterError as error:
            log.warning("events are not told: %s", error)
            return ()

    def _submission(self, manifest: Manifest, now: float) -> Submission:
        return submission(
            manifest,
            namespace=self._namespace,
            run_id=self._run.run_id,
            now=now,
            enforcement=self._run.settings.enforcement,
            owners=self._owners,
        )


@contextmanager
def on_cluster(run: Run) -> Iterator[OnCluster]:
    """The cluster of the pod that this process runs in.

    Raises:
        ConfigError: The pod does not tell its namespace, or has no way to its server.
        ClusterError: The server does not answer or does not allow the pod to look at itself.
    """
    namespace = own_pod.namespace()
    with connect() as api:
        patient = PatientApi(api, partial(_patience, time.sleep))
        owners = own_pod.owners(patient, namespace=namespace, name=own_pod.name())
        yield OnCluster(run, api, namespace=namespace, owners=owners)


def _patience(sleep: Callable[[float], None]) -> Retries:
    return Retries(
        deadline=clock() + AWAY_S,
        clock=clock,
        sleep=sleep,
        poll_s=POLL_S,
        on_trouble=lambda error: log.warning("asking again: %s", error),
    )
