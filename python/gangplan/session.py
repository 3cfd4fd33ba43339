"""Session: a cluster held in memory by the Rust core, taken from columns and answered in columns."""

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeVar

from gangplan import _core
from gangplan.columns import Columns, NodeNeeds
from gangplan.documents import encode
from gangplan.errors import InvalidInput, Problem
from gangplan.options import SolveOptions
from gangplan.snapshot import Queue

T = TypeVar("T")

Array = Any
"""A numpy array where numpy can be imported, else a ``memoryview``; it cannot be written to."""


class Session:
    """A cluster that is taken in once and decided on any number of times, from any thread.

    The columns are copied: what happens to the caller's arrays afterwards changes nothing. A session still works in
    a child process after a fork.

    >>> from gangplan import Columns, GangColumns, NodeColumns, RoleColumns
    >>> session = Session(Columns(
    ...     resources=("cpu", "nvidia.com/gpu"),
    ...     nodes=NodeColumns(names=["n1", "n2"], allocatable=[[8000, 8000], [4, 2]]),
    ...     gangs=GangColumns(names=["mnist", "large"]),
    ...     roles=RoleColumns(gangs=[0, 1], names=["worker", "worker"], replicas=[3, 9], requests=[[1000, 1000], [1, 1]]),
    ... ))
    >>> decisions = session.solve()
    >>> decisions.nodes.tolist(), decisions.placements()
    ([0, 0, 0], {'mnist': {'worker': ('n1', 'n1', 'n1')}})
    >>> decisions.refusals()
    ('large',)
    """

    def __init__(self, columns: Columns) -> None:
        """Take a cluster in.

        Raises:
            InvalidInput: The columns are wrong; every problem is named with its path, such as
                ``$.nodes.allocatable[0][17]``.
            SolverError: A bug; please report it with the columns.
        """
        _must_be_columns(columns)
        problems: list[Problem] = []
        texts = _texts(columns, problems)
        try:
            self._core = _core.Session(columns, texts)
        except InvalidInput as error:
            if not problems:
                raise
            problems += error.problems
        if problems:
            raise InvalidInput(sorted(problems, key=_place), "columns")
        self._names = _Names(columns)

    def solve(self, options: SolveOptions | None = None) -> "Decisions":
        """Decide which waiting gangs start now, and where; as :func:`gangplan.solve`, without reasons.

        The session stays as it is: nothing is placed. Equal clusters give equal decisions, whatever the order of
        their rows. Ctrl-C interrupts.

        Args:
            options: Limits; None: the defaults. ``changes`` has no meaning here.

        Raises:
            InvalidInput: The options are wrong; every problem is named.
            SolverError: A bug; please report it with the columns.
        """
        return Decisions(self._core.solve(encode(options or SolveOptions())), self._names)


class Decisions:
    """What a solve decided: a row for each replica that starts, ordered by gang (by name), role and index.

    Arrays are made when they are first asked for: numpy arrays where numpy can be imported, else memoryviews; they
    cannot be written to.
    """

    def __init__(self, core: _core.Decisions, names: "_Names") -> None:
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
        gangs, roles, nodes = self._names.gangs, self._names.roles, self._names.nodes
        lists: dict[str, dict[str, list[str]]] = {}
        rows = zip(self.gangs.tolist(), self.roles.tolist(), self.nodes.tolist(), strict=True)
        for gang, role, node in rows:
            lists.setdefault(gangs[gang], {}).setdefault(roles[role], []).append(nodes[node])
        return {gang: {role: tuple(places) for role, places in of.items()} for gang, of in lists.items()}

    def refusals(self) -> tuple[str, ...]:
        """Names of the gangs that were not placed, in the order in which they were asked."""
        return tuple(self._names.gangs[gang] for gang in self.refused.tolist())


class _Names:
    """Names by row, as they were when the session was opened."""

    __slots__ = ("gangs", "nodes", "roles")

    def __init__(self, columns: Columns) -> None:
        self.nodes: Sequence[str] = tuple(columns.nodes.names)
        self.gangs: Sequence[str] = tuple(columns.gangs.names)
        self.roles: Sequence[str] = tuple(columns.roles.names)


def _array(data: bytes, kind: str) -> Array:
    """Look at bytes as an array; numpy is imported here, so that who needs no array does not wait for it."""
    try:
        import numpy as np  # noqa: PLC0415
    except ImportError:
        return memoryview(data).cast(kind)  # type: ignore[call-overload]
    return np.frombuffer(data, dtype=kind)


def _must_be_columns(value: object) -> None:
    if not isinstance(value, Columns):
        problem = Problem("$", "WRONG_TYPE", f"must be Columns, not {type(value).__name__}")
        raise InvalidInput([problem], "columns")


def _texts(columns: Columns, problems: list[Problem]) -> bytes:
    """The parts that have a form of their own, as a snapshot: taints at nodes, needs at the roles of one gang."""
    queues = _items(columns, "$.queues", Queue, lambda row: Queue(name=f"queue {row}"), problems)
    needs = _items(columns, "$.needs", NodeNeeds, lambda _: NodeNeeds(), problems)
    sets = _items(columns, "$.nodes.taint_sets", (list, tuple), lambda _: (), problems)
    roles = [
        {
            "name": str(row),
            "replicas": 1,
            "node_selector": need.node_selector,
            "node_affinity": need.node_affinity,
            "tolerations": need.tolerations,
        }
        for row, need in enumerate(needs)
    ]
    parts: dict[str, tuple[str, object]] = {
        "queues": ("$.queues", queues),
        "nodes": ("$.nodes.taint_sets", [{"name": str(row), "taints": one} for row, one in enumerate(sets)]),
        "gangs": ("$.needs", [{"name": "needs", "roles": roles}] if roles else []),
    }
    texts = []
    for part, (path, value) in parts.items():
        try:
            texts.append(b'"%b":%b' % (part.encode(), encode(value)))
        except (TypeError, ValueError, RecursionError) as error:
            problems.append(Problem(path, "WRONG_TYPE", f"cannot be written as JSON: {error}"))
    if len(texts) < len(parts):
        raise InvalidInput(problems, "columns")
    return b"{" + b",".join(texts) + b"}"


def _items(
    columns: Columns,
    path: str,
    kind: type[T] | tuple[type[T], ...],
    stand_in: Callable[[int], T],
    problems: list[Problem],
) -> list[T]:
    """The items of a sequence; those that are of another kind are told as problems, and others stand for them."""
    wanted = kind.__name__ if isinstance(kind, type) else "list or tuple"
    try:
        value = attrgetter(path.removeprefix("$."))(columns)
    except AttributeError:
        return []  # the table that should have it is told as missing
    if not isinstance(value, Sequence) or isinstance(value, str):
        message = f"must be a sequence of {wanted}, not {type(value).__name__}"
        problems.append(Problem(path, "WRONG_TYPE", message))
        return []
    items = []
    for row, item in enumerate(value):
        if isinstance(item, kind):
            items.append(item)
        else:
            items.append(stand_in(row))
            message = f"must be {wanted}, not {type(item).__name__}"
            problems.append(Problem(f"{path}[{row}]", "WRONG_TYPE", message))
    return items


def _place(problem: Problem) -> list[tuple[int, str]]:
    """Sorts paths with the numbers in them as numbers."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", problem.path)]
