"""What we read of the objects that a cluster has many of: only these fields are decoded."""

from typing import TypeVar

import msgspec

from gangplan.errors import InvalidInput, Problem
from gangplan.snapshot import Container, Pod

T = TypeVar("T")


# Objects of lists are trees, and there are hundreds of thousands of their parts: the collector of cycles, which finds none,
# took most of the time of a read.
class _Read(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """A part of an object; fields that are not named here are passed over."""


class Notes(
    msgspec.Struct,
    frozen=True,
    gc=False,
    rename={
        "group": "scheduling.k8s.io/group-name",
        "volcano_group": "scheduling.volcano.sh/group-name",
        "task": "volcano.sh/task-spec",
        "told_node": "gangplan.dev/node",
    },
):
    """Annotations of a pod: which PodGroup of Volcano it is of, and as what; the node that we told it."""

    group: str | None = None
    volcano_group: str | None = None
    task: str | None = None
    told_node: str | None = None


class Metadata(_Read, frozen=True):
    """Metadata of any object."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: Notes | None = None


class TaintOfNode(_Read, frozen=True):
    """A taint."""

    key: str
    effect: str
    value: str | None = None


class NodeSpec(_Read, frozen=True):
    """What is wanted of a node."""

    unschedulable: bool | None = None
    taints: tuple[TaintOfNode, ...] | None = None


class Condition(_Read, frozen=True):
    """A condition of an object."""

    type: str
    status: str


class NodeStatus(_Read, frozen=True):
    """What a node offers."""

    allocatable: dict[str, str] | None = None
    conditions: tuple[Condition, ...] | None = None


class NodeObject(_Read, frozen=True):
    """A Node."""

    metadata: Metadata
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Amounts(_Read, frozen=True):
    """What a container asks for."""

    requests: dict[str, str] | None = None
    limits: dict[str, str] | None = None


class ContainerOfPod(_Read, frozen=True):
    """A container of a pod."""

    resources: Amounts = Amounts()
    restart_policy: str | None = None


class PodSpec(_Read, frozen=True):
    """What is wanted of a pod."""

    node_name: str | None = None
    containers: tuple[ContainerOfPod, ...] = ()
    init_containers: tuple[ContainerOfPod, ...] | None = None
    overhead: dict[str, str] | None = None
    priority: int | None = None


class PodStatus(_Read, frozen=True):
    """Where a pod stands."""

    phase: str | None = None


class PodObject(_Read, frozen=True):
    """A Pod."""

    metadata: Metadata
    spec: PodSpec
    status: PodStatus = PodStatus()


class QuotaSpec(_Read, frozen=True):
    """What a quota limits, and for which pods."""

    hard: dict[str, str] | None = None
    scopes: tuple[str, ...] | None = None
    scope_selector: msgspec.Raw | None = None


class QuotaObject(_Read, frozen=True):
    """A ResourceQuota."""

    metadata: Metadata
    spec: QuotaSpec = QuotaSpec()


class _Page(msgspec.Struct, frozen=True):
    items: msgspec.Raw


def items_of(page: bytes, kind: type[T]) -> list[T]:
    """The objects of one page of a list.

    Raises:
        InvalidInput: They are not of that kind.
    """
    try:
        return msgspec.json.decode(msgspec.json.decode(page, type=_Page).items, type=list[kind] | None) or []  # type: ignore[valid-type]
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise InvalidInput([Problem("$.items", "WRONG_TYPE", str(error))], kind.__name__) from error


def pod_of(pod: PodObject) -> Pod:
    """The containers of a pod, with what they ask for."""
    return Pod(
        containers=tuple(map(_container, pod.spec.containers)),
        init_containers=tuple(map(_container, pod.spec.init_containers or ())),
        overhead=pod.spec.overhead or {},
    )


def _container(container: ContainerOfPod) -> Container:
    return Container(
        requests=container.resources.requests or {},
        limits=container.resources.limits or {},
        sidecar=container.restart_policy == "Always",
    )
