"""PodHistory: the pods of a job, and those that ended badly between two looks: a pod that is evicted may be gone in no time."""

import logging

from gangplan.errors import ClusterError, Expired, Forbidden
from gangplan.kube.actions import Object
from gangplan.kube.api import Api
from gangplan.kube.kinds import POD
from gangplan.kube.outcome import has_ended_badly

log = logging.getLogger(__name__)


class PodHistory:
    """Lists pods again and again, and watches what happens in between."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._where: dict[str, str] | None = None
        # Up to where all that happened was told; empty: from now on.
        self._version = ""
        # By name, which a replica's pods have in common, the last one as it was last.
        self._last: dict[str, Object] = {}
        self._there: set[str] = set()

    def now(self, *, namespace: str, labels: str) -> tuple[Object, ...]:
        """The pods that there are."""
        self._where = self._where or {"namespace": namespace, "labels": labels}
        listing = self._api.list(POD, namespace=namespace, labels=labels)
        self._version = self._version or listing.version
        for pod in listing.items:
            self._note(pod)
        self._there = {pod["metadata"]["uid"] for pod in listing.items}
        return listing.items

    def follow(self, *, for_s: float) -> None:
        """See what happens in the next seconds, and what has happened since the last time. Whoever may not, does without."""
        if self._where is None or not self._version:
            return
        try:
            for change in self._api.watch(POD, version=self._version, timeout_s=for_s, **self._where):
                self._version = change.object["metadata"]["resourceVersion"]
                if change.type != "BOOKMARK":
                    self._note(change.object)
        except Expired:
            self._version = ""
        except Forbidden as error:
            log.debug("pods are not watched: %s", error)
            self._version = ""
        except ClusterError as error:
            log.debug("the watch broke off: %s", error)

    def passed(self, owner: str | None) -> tuple[Object, ...]:
        """Pods of an owner that are gone, ended badly and were not made anew, as they were last."""
        return tuple(
            pod
            for pod in self._last.values()
            if pod["metadata"]["uid"] not in self._there and has_ended_badly(pod) and owner in _owners(pod)
        )

    def _note(self, pod: Object) -> None:
        self._last[pod["metadata"]["name"]] = pod


def _owners(pod: Object) -> set[str]:
    return {item["uid"] for item in pod["metadata"].get("ownerReferences") or ()}
