"""Whose gangs a command is about: those of this machine, or of a Kubernetes cluster."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gangplan.config import settings
from gangplan.gangs import Gangs


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What the command line says about where gangs are.

    Attributes:
        home: Folder of the local cluster.
        kubeconfig: The kubeconfig.
        context: The context in it.
        namespace: The namespace.
        everywhere: All namespaces.
        names: Names of gangs that were given. One with a namespace before it can only be of a cluster.
    """

    home: Path | None
    kubeconfig: Path | None = None
    context: str | None = None
    namespace: str | None = None
    everywhere: bool = False
    names: tuple[str, ...] = ()

    @property
    def is_cluster(self) -> bool:
        """Whether it is a Kubernetes cluster: a flag or a name of one was given, or the setting says so."""
        given = (self.kubeconfig, self.context, self.namespace)
        named = any("/" in name for name in self.names)
        if self.everywhere or named or any(value is not None for value in given):
            return True
        return settings(home=self.home).cluster == "kubernetes"

    @contextmanager
    def open(self) -> Iterator[Gangs]:
        """Open it for the time of a command."""
        chosen = settings(home=self.home)
        if not self.is_cluster:
            from gangplan.local.gangs import LocalGangs

            yield LocalGangs(chosen)
            return
        from gangplan.kube.client import connect
        from gangplan.kube.cluster import KubeCluster
        from gangplan.kube.gangs import KubeGangs
        from gangplan.kube.own_namespace import own_namespace

        meant = self.namespace or own_namespace(kubeconfig=self.kubeconfig, context=self.context)
        with connect(kubeconfig=self.kubeconfig, context=self.context) as connection:
            yield KubeGangs(
                KubeCluster(connection, clock=time.time, monotonic=time.monotonic),
                namespace="" if self.everywhere else meant,
                chosen=chosen,
                sleep=time.sleep,
            )
