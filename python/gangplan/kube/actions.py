"""What a launcher sees, and what it is told to do about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gangplan.record import GangRecord, Outcome

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What there is.

    Attributes:
        job: The TFJob of the gang's name; None: none.
        pods: Its pods.
        passed: Pods of it that are gone, and ended badly or were made to go.
        record: The record of the gang; None: none.
        group: Volcano's PodGroup of that name; None: none, or not looked for.
        group_is_hidden: Whether it may not be looked at.
        refused: Why the server does not take its pods, as the operator notes it; empty if it does, or is not asked.
    """

    job: Object | None
    pods: Sequence[Object]
    record: GangRecord | None
    passed: Sequence[Object] = ()
    group: Object | None = None
    group_is_hidden: bool = False
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admit:
    """See to it that the gang gets room again: it waits for another attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Create the TFJob.

    Attributes:
        attempt: Which attempt of the gang it is, from 1.
        placement: Role → nodes, one for each replica.
    """

    attempt: int
    placement: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """Tell a gated pod its node.

    Attributes:
        pod: The pod.
        node: Name of the node.
    """

    pod: Object
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Renew:
    """Keep the reservation longer.

    Attributes:
        expires_at: Seconds since 1970 at which it becomes void instead.
    """

    expires_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bind:
    """Record that all replicas have their nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """Delete the TFJob, and wait until nothing is left of it.

    Attributes:
        uid: Its uid: one that was made anew since is not meant.
    """

    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """Let the gang wait for another attempt: what ended this one was not the job's own fault.

    Attributes:
        reason: What ended it, in a sentence.
    """

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The launch has ended; nothing is to be done any more but to record it.

    Attributes:
        outcome: How.
        reason: Why, in a sentence.
        replica: The replica that decided it, ``worker-1``; empty if none did.
        cause: What kind of trouble it was, as :class:`gangplan.kube.outcome.Trouble` has it; empty if it was none.
    """

    outcome: Outcome
    reason: str
    replica: str = ""
    cause: str = ""


Action = Admit | Create | Pin | Renew | Bind | Delete | Again | End
