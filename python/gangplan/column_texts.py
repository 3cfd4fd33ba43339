"""The parts of columns that have a form of their own – queues, needs, taints – as a document for the Rust core."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TypeVar

from gangplan.columns import Columns, NodeNeeds
from gangplan.documents import encode
from gangplan.errors import InvalidInput, Problem
from gangplan.snapshot import Queue

T = TypeVar("T")


def texts(columns: Columns, problems: list[Problem]) -> bytes:
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
    written = []
    for part, (path, value) in parts.items():
        try:
            written.append(b'"%b":%b' % (part.encode(), encode(value)))
        except (TypeError, ValueError, RecursionError) as error:
            problems.append(Problem(path, "WRONG_TYPE", f"cannot be written as JSON: {error}"))
    if len(written) < len(parts):
        raise InvalidInput(problems, "columns")
    return b"{" + b",".join(written) + b"}"


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
