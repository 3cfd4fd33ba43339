"""What changed in a cluster, by name: a document for :meth:`gangplan.Session.apply`."""

from dataclasses import dataclass
from typing import Literal

from gangplan.snapshot import Gang, NamespaceQuota, Node, Queue, Running


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """Names of what is gone; names that are not known change nothing.

    Attributes:
        nodes: Nodes, with all that holds a place there.
        queues: Queues.
        gangs: Gangs, with all their replicas.
        running: Replicas and pods, by their names in the snapshot.
        quotas: Namespaces whose limits are gone.
    """

    nodes: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    gangs: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    quotas: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deltas:
    """What a cluster has now, new or other than before, and what is gone.

    The order decides nothing, and said twice it changes nothing the second time. Each item stands whole in the place of
    the one with its name: a node that is cordoned is the node with ``unschedulable=True`` and all else as it was.

    Attributes:
        version: Version of the document format.
        now: The moment, in seconds since 1970; None: as before.
        nodes: Nodes that are new, or other than before.
        queues: Queues; the same.
        gangs: Gangs; the same. What runs of a gang stays.
        running: What holds a place: it takes the place of what has the same name, or is the same replica.
        quotas: Limits on namespaces.
        gone: What is gone.
    """

    version: Literal[1] = 1
    now: int | None = None
    nodes: tuple[Node, ...] = ()
    queues: tuple[Queue, ...] = ()
    gangs: tuple[Gang, ...] = ()
    running: tuple[Running, ...] = ()
    quotas: tuple[NamespaceQuota, ...] = ()
    gone: Gone = Gone()
