"""Launcher: looks at a TFJob and its pods, does what :mod:`gangplan.kube.launch` says, until it has ended."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gangplan import admission, attempts
from gangplan.errors import (
    AlreadyExists,
    ClusterError,
    Conflict,
    Expired,
    Forbidden,
    InvalidInput,
    NotFound,
    NotInstalled,
    Refused,
    Unreachable,
)
from gangplan.kube import volcano
from gangplan.kube.actions import Action, Admit, Again, Bind, Create, Delete, End, Pin, Renew, Seen
from gangplan.kube.api import Api, Object
from gangplan.kube.enforce import pinned
from gangplan.kube.gang_object import full_name
from gangplan.kube.kinds import POD, TFJOB, VOLCANO_GROUP
from gangplan.kube.launch import Launch, renewed
from gangplan.kube.names import ATTEMPT, JOB_NAME, RUN_ID
from gangplan.kube.pod_history import PodHistory
from gangplan.kube.pod_refusals import Refusals
from gangplan.store import Store

log = logging.getLogger(__name__)

CANCEL_S = 30.0
"""Seconds that a cancellation takes at most, beyond those that pods are given to end: somebody waits at the terminal."""


class Launcher:
    """One launch, carried out. Another one of the same run goes on where it was left."""

    def __init__(
        self,
        api: Api,
        store: Store,
        manifest: Mapping[str, Any],
        launch: Launch,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        poll_s: float,
        on_look: Callable[[Seen], None] = lambda _: None,
        admit: Callable[[], object] = lambda: None,
    ) -> None:
        """Prepare it; nothing is sent yet.

        Args:
            api: The API server.
            store: The records of gangs.
            manifest: The TFJob as it is to be created, with its namespace and with gates.
            launch: Decides.
            clock: Seconds since 1970.
            sleep: Waits the given seconds.
            poll_s: Seconds between two looks.
            on_look: Called with what there is, at each look.
            admit: Runs an admission cycle, for a gang that waits for another attempt. Nothing where others do.
        """
        self._api, self._store, self._manifest, self._launch = api, store, manifest, launch
        self._clock, self._sleep, self._poll_s, self._on_look = clock, sleep, poll_s, on_look
        self._admit = admit
        self._pods = PodHistory(api)
        self._refusals = Refusals(api, clock=clock)
        self._deadline: float | None = None
        self._refused_at: float | None = None
        self._name: str = manifest["metadata"]["name"]
        self._namespace: str = manifest["metadata"]["namespace"]
        self._gang = full_name(self._namespace, self._name)

    def run(self) -> End:
        """Go on until it has ended, and record how. A server that does not answer is asked again."""
        end = self._go_on(until_bound=False)
        assert end is not None, "only a launch until the gang is bound stops before the end"
        return end

    def run_until_bound(self) -> End | None:
        """Go on until all replicas have their nodes; how it ended, if it ended before."""
        return self._go_on(until_bound=True)

    def cancel(self, reason: str) -> End | None:
        """End the job, with nothing left of it, and give back its room.

        Not if all of its replicas have their nodes: then it goes on by itself. A job that has ended is left.

        Returns:
            How it ended, with what is left of it where something is; None: it goes on.

        Raises:
            Unreachable: The server has not answered for some time; what is left is told.
        """
        self._launch.give_up(End(outcome="Canceled", reason=reason), spare_ended=True)
        self._launch.patience = replace(self._launch.patience, gone=CANCEL_S)
        self._deadline = self._clock() + CANCEL_S
        return self.run_until_bound()

    def end(self, reason: str) -> End:
        """End the job, wherever it stands, with nothing left of it; if it has ended by itself, only record how."""
        self._launch.give_up(End(outcome="Canceled", reason=reason), spare_ended=True)
        return self.run()

    def _go_on(self, *, until_bound: bool) -> End | None:
        while True:
            began = self._clock()
            try:
                seen = self._look()
                self._on_look(seen)
                self._refused_at = None
                if until_bound and _is_bound(seen, self._launch.run_id):
                    return None
                for action in self._launch.step(seen, self._clock()):
                    if isinstance(action, End):
                        return self._finish(action)
                    self._do(action)
            except Refused as error:
                self._launch.give_up(End(outcome="Failed", reason=str(error)))
            except (Forbidden, NotInstalled) as error:
                if not self._may_pass():
                    # Nothing can be done, nor undone, by who may not do it.
                    return self._finish(End(outcome="Failed", reason=str(error)))
                log.warning("asking again: %s", error)
            except (Conflict, NotFound) as error:
                log.debug("looking again: %s", error)
            except (Unreachable, Expired, InvalidInput) as error:
                self._give_up_on(error)
                log.warning("asking again: %s", error)
            # A look at what has passed takes its time on a server.
            self._sleep(max(0.0, self._poll_s - (self._clock() - began)))

    def _may_pass(self) -> bool:
        """Whether a refusal may come from a server that is not itself yet: it let us look after the job before."""
        self._refused_at = self._refused_at or self._clock()
        return self._launch.has_begun and self._clock() - self._refused_at < self._launch.patience.refusal

    def _give_up_on(self, error: ClusterError | InvalidInput) -> None:
        """End a cancellation that nobody answers."""
        if self._deadline is not None and self._clock() >= self._deadline:
            message = (
                f"{error}; a TFJob {self._name} may be left in {self._namespace}: delete it with: "
                f"gangplan delete {self._name} -n {self._namespace}"
            )
            raise Unreachable(message) from error

    def _look(self) -> Seen:
        self._pods.follow(for_s=self._poll_s)
        try:
            job = self._api.get(TFJOB, self._name, namespace=self._namespace)
        except NotFound:
            job = None
        labels = f"{JOB_NAME}={self._name},{RUN_ID}={self._launch.run_id}"
        pods = self._pods.now(namespace=self._namespace, labels=labels)
        record = self._store.get(self._gang)
        waits = not pods or self._launch.enforcement == "volcano"
        looks = waits and record is not None and record.phase == "Reserved"
        group, is_hidden = self._group() if looks else (None, False)
        uid = None if job is None else job["metadata"].get("uid")
        return Seen(
            job=job,
            pods=pods,
            passed=self._pods.passed(uid),
            record=record,
            group=group,
            group_is_hidden=is_hidden,
            refused="" if job is None or pods else self._refusals.of(job, self._namespace),
        )

    def _group(self) -> tuple[Object | None, bool]:
        """Volcano's PodGroup of the job, and whether it may not be looked at: it only explains."""
        try:
            return self._api.get(VOLCANO_GROUP, self._name, namespace=self._namespace), False
        except (NotFound, NotInstalled):
            return None, False
        except Forbidden as error:
            log.debug("no PodGroup: %s", error)
            return None, True

    def _do(self, action: Action) -> None:
        match action:
            case Create(attempt=attempt, placement=placement):
                manifest = _labelled(self._manifest, attempt)
                if self._launch.enforcement == "volcano":
                    manifest = volcano.placed(manifest, placement)
                try:
                    self._api.create(TFJOB, manifest)
                    log.info("%s: created", self._name)
                except AlreadyExists:
                    log.info("%s: is there already", self._name)
            case Pin(pod=pod, node=node):
                name = pod["metadata"]["name"]
                self._api.patch(POD, name, pinned(pod, node), namespace=self._namespace)
                log.info("%s: goes to %s", name, node)
            case Renew(expires_at=expires_at):
                record = self._store.get(self._gang)
                if record is not None and record.run_id == self._launch.run_id and record.phase == "Reserved":
                    self._store.update(renewed(record, expires_at))
            case Bind():
                admission.bind(
                    self._store, self._gang, run_id=self._launch.run_id, now=self._clock(), owner=None
                )
                log.info("%s: all replicas have their nodes", self._name)
            case Admit():
                try:
                    self._admit()
                except Forbidden as error:
                    log.debug("others may decide about %s: %s", self._name, error)
            case Again(reason=reason):
                attempts.again(
                    self._store,
                    self._gang,
                    run_id=self._launch.run_id,
                    reason=reason,
                    now=self._clock(),
                    waiter_s=self._launch.waiter_s,
                )
                log.info("%s: waits for another attempt: %s", self._name, reason)
            case Delete(uid=uid):
                self._api.delete(
                    TFJOB, self._name, namespace=self._namespace, propagation="Foreground", uid=uid
                )
                log.info("%s: deleted", self._name)
            case End():
                raise AssertionError("an end is not carried out but recorded")

    def _finish(self, end: End) -> End:
        while True:
            try:
                admission.finish(
                    self._store,
                    self._gang,
                    run_id=self._launch.run_id,
                    outcome=end.outcome,
                    reason=end.reason,
                    now=self._clock(),
                )
            except Unreachable as error:
                log.warning("asking again: %s", error)
                self._sleep(self._poll_s)
                continue
            return end


def _is_bound(seen: Seen, run_id: str) -> bool:
    return seen.record is not None and seen.record.run_id == run_id and seen.record.phase == "Bound"


def _labelled(manifest: Mapping[str, Any], attempt: int) -> dict[str, Any]:
    metadata = manifest["metadata"]
    return {**manifest, "metadata": {**metadata, "labels": {**metadata["labels"], ATTEMPT: str(attempt)}}}
