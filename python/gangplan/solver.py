"""The door to the Rust solver: load, solve, check, traffic. It and ``session`` are the users of ``_core``."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import overload

from gangplan import _core
from gangplan.deltas import Deltas
from gangplan.documents import KINDS, Document, Kind, decode, encode, yaml_to_json
from gangplan.errors import CheckFailed, InvalidInput, Problem, Violation
from gangplan.options import SolveOptions
from gangplan.plan import Plan
from gangplan.snapshot import Snapshot


@overload
def load(source: str | os.PathLike[str] | bytes, kind: type[Snapshot] = ...) -> Snapshot: ...
@overload
def load(source: str | os.PathLike[str] | bytes, kind: type[Plan]) -> Plan: ...
@overload
def load(source: str | os.PathLike[str] | bytes, kind: type[SolveOptions]) -> SolveOptions: ...
@overload
def load(source: str | os.PathLike[str] | bytes, kind: type[Deltas]) -> Deltas: ...
def load(source: str | os.PathLike[str] | bytes, kind: type[Document] = Snapshot) -> Document:
    """Read a document that a person may have written.

    Args:
        source: A file (JSON, or YAML if its name ends in ``.yaml`` or ``.yml``), or JSON bytes.
        kind: What it should be.

    Raises:
        InvalidInput: The document is wrong; every problem is named with its path, not only the first.
        OSError: The file cannot be read.
        TypeError: ``kind`` is no kind of document.
    """
    short = next((short for short, type_ in KINDS.items() if type_ is kind), None)
    if short is None:
        raise TypeError(f"kind must be {', '.join(type_.__name__ for type_ in KINDS.values())}, not {kind!r}")
    name = "document"
    if isinstance(source, bytes):
        data = source
    else:
        path = Path(source)
        name = str(path)
        data = path.read_bytes()
        if path.suffix in {".yaml", ".yml"}:
            data = yaml_to_json(_text(data, name), name)
    if problems := validate(short, data):
        raise InvalidInput(problems, name)
    return decode(data, kind)


def _text(data: bytes, source: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput([Problem("$", "MALFORMED_YAML", f"not UTF-8: {error}")], source) from error


def validate(kind: Kind, data: bytes) -> list[Problem]:
    """List every problem of a JSON document, ordered by path; empty if it is sound."""
    return decode(_core.validate(kind, data), list[Problem])


def solve(snapshot: Snapshot, options: SolveOptions | None = None) -> Plan:
    """Decide which waiting gangs may start now, where each of their replicas goes, and why the others must wait.

    Not fitting is an answer, in ``plan.rejections``. Equal snapshots give equal plans, whatever the order of
    their sequences. Ctrl-C interrupts.

    Args:
        snapshot: The cluster at one moment.
        options: Limits; None: the defaults.

    Raises:
        InvalidInput: The snapshot or the options are wrong; every problem is named.
        SolverError: A bug; please report it with the snapshot.
    """
    return decode(_core.solve(encode(snapshot), encode(options or SolveOptions())), Plan)


def check(snapshot: Snapshot, plan: Plan) -> None:
    """Judge a plan against the snapshot that it answers, by code that shares nothing with the search.

    Raises:
        CheckFailed: The plan breaks rules; every violation is named.
        InvalidInput: One of the documents is wrong.
    """
    violations = decode(_core.check(encode(snapshot), encode(plan)), list[Violation])
    if violations:
        raise CheckFailed(violations)


def traffic(snapshot: Snapshot, placements: Mapping[str, Mapping[str, tuple[str, ...]]]) -> dict[str, int]:
    """Tell what the traffic of placed gangs costs, for any placement, even of a part of a gang.

    Args:
        snapshot: The cluster, with the gangs.
        placements: Gang → role → nodes, as in :class:`gangplan.Plan`.

    Returns:
        Gang → cost, for each gang of ``placements``; the unit is explained at ``Plan.traffic``.

    Raises:
        InvalidInput: A gang, role or node is unknown, or a role has more places than replicas; every problem is named.
    """
    plan = Plan(placements=placements)
    return decode(_core.traffic(encode(snapshot), encode(plan)), dict[str, int])


def parse_quantity(resource: str, text: str, *, round_up: bool) -> int:
    """Read a Kubernetes quantity in base units: millicores of ``cpu``, else bytes, devices or replicas.

    Args:
        resource: The resource, which decides the unit.
        text: The quantity.
        round_up: Whether a fraction of the unit goes up, as for requests, or down, as for what is there.

    Raises:
        InvalidQuantity: The text is no quantity, or is out of range.
    """
    return _core.parse_quantity(resource, text, round_up)


def format_quantity(resource: str, amount: int) -> str:
    """Write base units as a Kubernetes quantity; the inverse of :func:`parse_quantity`."""
    return _core.format_quantity(resource, amount)


def core_version() -> str:
    """Version of the Rust solver."""
    return _core.version()


def rules() -> tuple[str, ...]:
    """Codes of all rules that refusals and checks name; ``docs/rules.md`` explains them."""
    return tuple(_core.rules())
