"""Gang stores of several actors on one API server, which may hang in the middle of what they do."""

import itertools
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from gangplan.errors import ClusterError, Unreachable
from gangplan.kube.api import Api
from gangplan.kube.kinds import GANG, LEASE, Kind
from gangplan.kube.lease import LeaseLock
from gangplan.kube.pulse import Pulse
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


class Late:
    """A way to a server that loses the first replacement of a Gang: it is done when it is told to arrive."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._lost: list[Callable[[], object]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._api, name)

    def replace(self, kind: Kind, body: dict, *, subresource: str = "") -> dict:
        if kind == GANG and not self._lost:
            self._lost.append(lambda: self._api.replace(kind, body, subresource=subresource))
            raise Unreachable("no answer")
        return self._api.replace(kind, body, subresource=subresource)

    def arrive(self) -> None:
        """Do what was lost."""
        (late,) = self._lost
        late()


class Interrupted:
    """A way to a server on which Ctrl-C is pressed during one request.

    Attributes:
        is_over: Whether that has happened.
    """

    def __init__(self, api: Api, *, at: int, then: str) -> None:
        """Prepare it.

        Args:
            api: The server.
            at: During which request, from 0.
            then: Whether the request is done: ``done``, ``never`` or ``late``, when it is told to arrive.
        """
        self._api, self._at, self._then = api, at, then
        self._requests = itertools.count()
        self._late: Callable[[], object] = lambda: None
        self.is_over = False

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._api, name)

        def request(*args: Any, **kwargs: Any) -> Any:
            if next(self._requests) != self._at:
                return real(*args, **kwargs)
            self.is_over = True
            if self._then == "done":
                real(*args, **kwargs)
            elif self._then == "late":
                self._late = lambda: real(*args, **kwargs)
            raise KeyboardInterrupt

        return request

    def arrive(self) -> None:
        """Do what was late, if the server still takes it."""
        with suppress(ClusterError):
            self._late()


class Heard:
    """A way to a server by which signs of life can be waited for."""

    def __init__(self, api: Api) -> None:
        self._api, self._alive = api, threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._api, name)

    def replace(self, kind: Kind, body: dict, *, subresource: str = "") -> dict:
        done = self._api.replace(kind, body, subresource=subresource)
        if kind == LEASE:
            self._alive.set()
        return done

    def hear(self) -> None:
        """Wait for the next sign of life."""
        self._alive.clear()
        assert self._alive.wait(30.0), "a leader that works shows no sign of life"


def gang_stores(api: Api, namespace: str, time: list[float]) -> Place:
    """Stores on the gangs of a namespace, whose actors judge each other by ``time``: seconds that only grow."""

    # One that hangs shows no sign of life, so most have no pulse.
    def start(to_server: Any = api, pulse: Pulse | None = None) -> GangStore:
        lock = LeaseLock(
            to_server,
            name="admission",
            namespace=namespace,
            identity=f"actor-{next(_actors)}",
            clock=lambda: 1_000.0 + time[0],
            monotonic=lambda: time[0],
            pulse=pulse,
        )
        return GangStore(to_server, lock, namespace=namespace)

    def late() -> tuple[GangStore, Callable[[], None]]:
        way = Late(api)
        return start(way), way.arrive

    def heard() -> tuple[GangStore, Callable[[], None]]:
        way = Heard(api)
        return start(way, pulse=Pulse(period_s=0.01)), way.hear

    def interrupted(at: int, then: str) -> tuple[GangStore, Interrupted]:
        way = Interrupted(api, at=at, then=then)
        return start(way), way

    return Place(
        open=start,
        name=lambda name: f"{namespace}/{name}",
        hung=lambda meanwhile: start(Hanging(api, meanwhile)),
        late=late,
        heard=heard,
        interrupted=interrupted,
    )
