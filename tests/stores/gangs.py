"""Gang stores of several actors on one API server, which may hang in the middle of what they do."""

import itertools
from collections.abc import Callable
from typing import Any

from gangplan.kube.api import Api
from gangplan.kube.kinds import GANG, Kind
from gangplan.kube.lease import LeaseLock
from gangplan.kube.store import GangStore
from stores.contract import Place

_actors = itertools.count()


class Hanging:
    """A way to a server that hangs once, before its first replacement of a Gang."""

    def __init__(self, api: Api, meanwhile: Callable[[], object]) -> None:
        self._api, self._meanwhile = api, meanwhile
        self._has_hung = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._api, name)

    def replace(self, kind: Kind, body: dict, *, subresource: str = "") -> dict:
        if kind == GANG and not self._has_hung:
            self._has_hung = True
            self._meanwhile()
        return self._api.replace(kind, body, subresource=subresource)


def gang_stores(api: Api, namespace: str, time: list[float]) -> Place:
    """Stores on the gangs of a namespace, whose actors judge each other by ``time``: seconds that only grow."""

    def start(to_server: Any = api) -> GangStore:
        lock = LeaseLock(
            to_server,
            name="admission",
            namespace=namespace,
            identity=f"actor-{next(_actors)}",
            clock=lambda: 1_000.0 + time[0],
            monotonic=lambda: time[0],
        )
        return GangStore(to_server, lock, namespace=namespace)

    return Place(
        open=start,
        name=lambda name: f"{namespace}/{name}",
        hung=lambda meanwhile: start(Hanging(api, meanwhile)),
    )
