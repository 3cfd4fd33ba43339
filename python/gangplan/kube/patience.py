"""Patience: how long a launch waits for what may pass by itself."""

from dataclasses import dataclass, replace

from gangplan.kube.outcome import Trouble


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long what may pass by itself is waited for, in seconds.

    Attributes:
        controller: Until the training-operator says anything about a TFJob. Default 60: it takes a second, and minutes
            only where it is not there.
        image: Until an image can be pulled. Default 180: registries fail for a minute, wrong names for ever.
        schedule: Until a pod that was told its node is there. Default 60: the room is reserved, so that only others
            who ask nobody can have taken it, or the node is gone.
        config: Until a container can be made of what its pod names, a secret in its environment for instance. Default 60.
        pods: Until the pods of a TFJob are there. Default 120: quotas and webhooks refuse them without a word here.
        refused: Until the server takes pods that it refuses, unless a quota is why: then as ``pods``. Default 20.
        room: Until a gang has room for another attempt. Default 3600: what took it may run for long.
        leaving: Until a pod whose node is gone has ended. Default 120: if its node is not there, nobody tells.
        gone: Until nothing is left of a TFJob that was deleted. Default 600: longer than pods are mostly given to end.
        refusal: Until a server that has let us do something before lets us do it again. Default 300: while it starts, or what
            it asks about rights does, it says no to everybody.
        group: Until Volcano's PodGroup does what the way of enforcement needs: in volcano mode, until it is there; else,
            until its turn comes, which only Volcano gives it. Default 60: the training-operator makes it at once.
    """

    controller: float = 60.0
    image: float = 180.0
    schedule: float = 60.0
    config: float = 60.0
    pods: float = 120.0
    refused: float = 20.0
    room: float = 3600.0
    leaving: float = 120.0
    gone: float = 600.0
    refusal: float = 300.0
    group: float = 60.0

    def with_volcano(self) -> "Patience":
        """The same where Volcano decides when pods come and when they have nodes, which may take it an hour."""
        return replace(self, schedule=3600.0, pods=3600.0)

    def of(self, trouble: Trouble) -> float | None:
        """How long a trouble may last; None: it is for the controller to decide about."""
        known = {
            "ImagePull": self.image,
            "Unschedulable": self.schedule,
            "Config": self.config,
            "NodeLost": self.leaving,
        }
        return known.get(trouble.cause)
