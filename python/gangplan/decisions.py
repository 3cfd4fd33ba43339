"""Decisions: what a session decided, as arrays; names are looked up when they are asked for."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gangplan.columns import NONE, Columns
from gangplan.plan import Earmark

if TYPE_CHECKING:
    from gangplan import _core

Array = Any
"""A numpy array where numpy can be imported, else a ``memoryview``; it cannot be written to."""


class Decisions:
    """What a solve decided: a row for each replica that starts, ordered by gang (by name), role and index.

    Arrays are made when they are first asked for: numpy arrays where numpy can be imported, else memoryviews; they
    cannot be written to.
    """

    def __init__(self, core: "_core.Decisions", names: "Names") -> None:
        self._core, self._names = core, names

    @cached_property
    def gangs(self) -> Array:
        """By replica that starts: row of its gang; ``uint32``."""
        return _array(self._core.gangs, "I")

    @cached_property
    def roles(self) -> Array:
        """By replica that starts: row of its role; ``uint32``."""
        return _array(self._core.roles, "I")

    @cached_property
    def indexes(self) -> Array:
        """By replica that starts: its index in the role; ``uint32``."""
        return _array(self._core.indexes, "I")

    @cached_property
    def nodes(self) -> Array:
        """By replica that starts: row of its node; ``uint32``."""
        return _array(self._core.nodes, "I")

    @cached_property
    def refused(self) -> Array:
        """Rows of the gangs that were not placed, in the order in which they were asked; ``uint32``."""
        return _array(self._core.refused, "I")

    @cached_property
    def proven(self) -> Array:
        """By refused gang: whether it is certain that it has no placement now; booleans."""
        return _array(self._core.proven, "?")

    @cached_property
    def kept_gangs(self) -> Array:
        """By node on which room is kept for a refused gang (its Earmark): row of the gang; ``uint32``."""
        return _array(self._core.kept_gangs, "I")

    @cached_property
    def kept_nodes(self) -> Array:
        """By node on which room is kept for a refused gang: its row; ``NONE``: room under limits; ``uint32``."""
        return _array(self._core.kept_nodes, "I")

    @cached_property
    def kept_starts_s(self) -> Array:
        """By node on which room is kept for a refused gang: seconds until it can start, or -1; ``int64``."""
        return _array(self._core.kept_starts_s, "q")

    @property
    def epoch(self) -> int:
        """The epoch of the session that they were made in."""
        return self._core.epoch

    @property
    def stopped(self) -> bool:
        """Whether the deadline cut the solve."""
        return self._core.stopped

    @property
    def work(self) -> dict[str, int]:
        """What it took, the same on every machine: table ``cells``, ``nodes`` looked at, ``trials`` of domains."""
        return {"cells": self._core.cells, "nodes": self._core.visited, "trials": self._core.trials}

    def placements(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """The placements in names: gang → role → nodes, by ascending index, as :attr:`gangplan.Plan.placements`."""
        names = self._names.at(self.epoch)
        lists: dict[str, dict[str, list[str]]] = {}
        rows = zip(self.gangs.tolist(), self.roles.tolist(), self.nodes.tolist(), strict=True)
        for gang, role, node in rows:
            lists.setdefault(names.gangs[gang], {}).setdefault(names.roles[role], []).append(
                names.nodes[node]
            )
        return {gang: {role: tuple(places) for role, places in of.items()} for gang, of in lists.items()}

    def refusals(self) -> tuple[str, ...]:
        """Names of the gangs that were not placed, in the order in which they were asked."""
        names = self._names.at(self.epoch)
        return tuple(names.gangs[gang] for gang in self.refused.tolist())

    def earmarks(self) -> dict[str, Earmark]:
        """Refused gang → the room that is kept for it, as :attr:`gangplan.Plan.earmarks`."""
        names = self._names.at(self.epoch)
        nodes: dict[int, list[str]] = {}
        starts: dict[int, int | None] = {}
        kept = zip(
            self.kept_gangs.tolist(), self.kept_nodes.tolist(), self.kept_starts_s.tolist(), strict=True
        )
        for gang, node, starts_in_s in kept:
            nodes.setdefault(gang, []).extend([] if node == NONE else [names.nodes[node]])
            starts[gang] = None if starts_in_s < 0 else starts_in_s
        return {
            names.gangs[gang]: Earmark(nodes=tuple(on), starts_in_s=starts[gang])
            for gang, on in nodes.items()
        }


class Names:
    """Names by row. They only grow: what was fetched once holds for all earlier epochs."""

    __slots__ = ("_core", "_epoch", "gangs", "nodes", "roles")

    def __init__(self, core: "_core.Session", columns: Columns | None) -> None:
        self._core = core
        self._epoch = -1 if columns is None else 0
        self.nodes = () if columns is None else _texts(columns.nodes.names)
        self.gangs = () if columns is None else _texts(columns.gangs.names)
        self.roles = () if columns is None else _texts(columns.roles.names)

    def now(self) -> "Names":
        """With all that the session has now."""
        return self.at(self._core.epoch)

    def at(self, epoch: int) -> "Names":
        """With at least what it had in an epoch."""
        if self._epoch < epoch:
            self.nodes, self.gangs, self.roles, _ = map(tuple, self._core.names())
            self._epoch = epoch
        return self


def _texts(names: Sequence[str]) -> tuple[str, ...]:
    # An array of numpy hands its names out as a type of its own.
    return tuple(names.tolist() if hasattr(names, "tolist") else names)


def _array(data: bytes, kind: str) -> Array:
    """Look at bytes as an array; numpy is imported here, so that who needs no array does not wait for it."""
    try:
        import numpy as np  # noqa: PLC0415
    except ImportError:
        return memoryview(data).cast(kind)  # type: ignore[call-overload]
    return np.frombuffer(data, dtype=kind)
