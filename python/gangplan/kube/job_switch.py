"""JobSwitch: the TFJob of a gang, by which the operator ends its pods or makes them again, and what is left of them."""

from gangplan.errors import ClusterError, Conflict, NotFound
from gangplan.kube.actions import Object
from gangplan.kube.api import Api
from gangplan.kube.gang_object import split_name
from gangplan.kube.kinds import POD, TFJOB
from gangplan.kube.names import JOB_NAME, RUN_ID, VOLCANO
from gangplan.kube.outcome import replica_name, state_of


class JobSwitch:
    """The TFJob of one run of a gang. One that is being deleted, or is another run's, is none.

    Attributes:
        name: Full name of the gang.
    """

    def __init__(self, api: Api, name: str, run_id: str) -> None:
        """Prepare it; nothing is sent yet."""
        self.name = name
        self._api, self._run = api, run_id
        self._namespace, self._short = split_name(name)

    def job(self) -> Object | None:
        """The TFJob as it is now, if there is one."""
        try:
            job = self._api.get(TFJOB, self._short, namespace=self._namespace)
        except NotFound:
            return None
        metadata = job["metadata"]
        is_ours = (metadata.get("labels") or {}).get(RUN_ID, "") == self._run
        return job if is_ours and not metadata.get("deletionTimestamp") else None

    def pods(self) -> tuple[Object, ...]:
        """Its pods, those that end too."""
        labels = f"{JOB_NAME}={self._short},{RUN_ID}={self._run}"
        return self._api.list(POD, namespace=self._namespace, labels=labels).items

    def left(self) -> str:
        """The replicas whose pods are there: ``chief-0, worker-0``; empty: none."""
        return ", ".join(sorted(replica_name(pod) for pod in self.pods()))

    def turn(self, job: Object, *, suspend: bool) -> None:
        """Suspend it or let it go on. One that was changed since it was read is left, to be looked at again."""
        version = {"metadata": {"resourceVersion": job["metadata"]["resourceVersion"]}}
        change = {**version, **_changed(suspend=suspend)}
        try:
            self._api.patch(TFJOB, self._short, change, namespace=self._namespace)
        except (Conflict, NotFound):
            return

    def see_that_it_can_be(self, job: Object | None, *, suspend: bool) -> None:
        """See that it may be changed, before the record is: a gang must not seem to be what its job is not.

        Raises:
            ClusterError: The server, or a webhook, would refuse it; nothing was changed.
        """
        if job is None or is_suspended(job) == suspend:
            return
        try:
            self._api.would_patch(TFJOB, self._short, _changed(suspend=suspend), namespace=self._namespace)
        except NotFound:
            return  # it is looked at again
        except ClusterError as error:
            verb = "suspended" if suspend else "resumed"
            asked = {"verb": "patch", "kind": TFJOB.name, "name": self._short}
            message = f"{self.name} is not {verb}, and all stays as it was: {error}"
            raise type(error)(message, **asked, namespace=self._namespace) from error


def is_suspended(job: Object) -> bool:
    """Whether it is asked to have no pods; the operator may not have heard of it yet."""
    return bool((job["spec"].get("runPolicy") or {}).get("suspend"))


def has_ended(job: Object) -> bool:
    """Whether the operator calls it ended."""
    return state_of(job) in {"Succeeded", "Failed"}


def is_volcanos(job: Object) -> bool:
    """Whether Volcano binds pods of it."""
    replicas = (job["spec"].get("tfReplicaSpecs") or {}).values()
    return any(spec["template"]["spec"].get("schedulerName") == VOLCANO for spec in replicas)


def _changed(*, suspend: bool) -> Object:
    return {"spec": {"runPolicy": {"suspend": suspend}}}
