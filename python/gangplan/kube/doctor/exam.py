"""Exam: a cluster that is examined, and what its jobs will ask for."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from gangplan.config import Enforcement
from gangplan.errors import Forbidden, NotFound, NotInstalled
from gangplan.kube.api import Api, Object
from gangplan.kube.kinds import LIMIT_RANGE, NODE, Kind
from gangplan.kube.limit_ranges import Rule, least_of, rules_of


@dataclass(frozen=True, kw_only=True)
class Exam:
    """A cluster, seen from one namespace by one identity.

    Attributes:
        api: Its API server.
        namespace: Where jobs are to run.
        clock: Seconds since 1970.
        sleep: Waits the given seconds.
        tell: Told what takes its time, as a line.
        probe: Whether a TFJob may be made and deleted again; its pod never starts.
        enforcement: Who is to bind the pods of jobs.
        claim: The claim that jobs are to mount; empty: any.
        queue: The queue that jobs are to wait in; empty: any.
        image: An image that is to be pulled by a pod; empty: none.
        pipelines: URL of Kubeflow Pipelines; empty: the one in the cluster, where it is installed.
    """

    api: Api
    namespace: str
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    tell: Callable[[str], None] = lambda _: None
    probe: bool = True
    enforcement: Enforcement = "default"
    claim: str = ""
    queue: str = ""
    image: str = ""
    pipelines: str = ""

    def found(self, kind: Kind, name: str, *, namespace: str = "") -> Object | None:
        """An object, if it is there."""
        try:
            return self.api.get(kind, name, namespace=namespace)
        except (NotFound, NotInstalled):
            return None

    def all(self, kind: Kind, *, namespace: str = "", labels: str = "") -> tuple[Object, ...]:
        """All objects of a kind; none where it is not installed."""
        try:
            return self.api.list(kind, namespace=namespace, labels=labels).items
        except NotInstalled:
            return ()

    def is_served(self, kind: Kind) -> bool:
        """Whether the server knows a kind."""
        try:
            next(iter(self.api.pages(kind, namespace=self.namespace)))  # one page tells
        except NotInstalled:
            return False
        return True

    @cached_property
    def nodes(self) -> tuple[Object, ...]:
        """The nodes, as they were when they were first asked for."""
        return self.all(NODE)

    def limits(self) -> tuple[Rule, ...]:
        """What LimitRanges allow of the pods of the namespace."""
        return rules_of(self.all(LIMIT_RANGE, namespace=self.namespace))

    def least(self) -> dict[str, dict[str, str]]:
        """The resources of a pod that asks for as little as the namespace allows, as far as it may be known."""
        amounts = {"cpu": "1m", "memory": "1Mi"}
        try:
            return least_of(self.limits(), amounts)
        except Forbidden:
            return {"requests": amounts}
