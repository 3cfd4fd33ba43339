"""Documents: bytes and files on one side, frozen dataclasses on the other.

JSON is the format; hand-written documents may be YAML. This module is the only user of msgspec's JSON side, so
a change of codec is a change here.
"""

import dataclasses
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
import yaml

from gangplan.deltas import Deltas
from gangplan.errors import InvalidInput, Problem
from gangplan.options import SolveOptions
from gangplan.plan import Plan
from gangplan.snapshot import Snapshot

Document = Snapshot | SolveOptions | Plan | Deltas
Kind = Literal["snapshot", "options", "plan", "deltas"]
T = TypeVar("T")

_MOST_VALUES = 10_000_000
"""A YAML text of a few lines may stand for more values than fit any memory, by aliases of aliases."""

KINDS: dict[Kind, type[Document]] = {
    "snapshot": Snapshot,
    "options": SolveOptions,
    "plan": Plan,
    "deltas": Deltas,
}
"""The documents that cross the border to the solver, by their short name."""


def encode(value: Any, *, indent: int = 0) -> bytes:
    """Encode a document, or any of the dataclasses in it, as JSON.

    Args:
        value: The dataclass.
        indent: Spaces for each level; 0 writes one line.

    Returns:
        JSON in UTF-8, fields in their declared order, defaults included. Keys of maps are sorted, so that equal
        values give equal bytes.

    Raises:
        InvalidInput: Something in it has no place in JSON; every such place is named.
    """
    try:
        raw = msgspec.json.encode(value, order="deterministic")
    except (TypeError, ValueError, RecursionError) as error:
        problems = list(_foreign(value, "$", ())) or [Problem("$", "WRONG_TYPE", str(error))]
        raise InvalidInput(problems, type(value).__name__) from error
    return msgspec.json.format(raw, indent=indent) + b"\n" if indent else raw


def _foreign(value: Any, path: str, above: tuple[int, ...]) -> Iterator[Problem]:
    """Find what JSON cannot hold: other types, keys that are no texts, and texts that are not Unicode."""
    if id(value) in above:
        yield Problem(path, "CYCLE", "must not hold itself")
    elif value is None or isinstance(value, bool | float):
        return
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            yield Problem(path, "OUT_OF_RANGE", f"must fit 64 bits, not {value}")
    elif isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            yield Problem(path, "BAD_VALUE", f"must be Unicode text, not {value!a}")
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _foreign(getattr(value, field.name), f"{path}.{field.name}", (*above, id(value)))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(key, str):
                yield from _foreign(key, path, above)
                yield from _foreign(
                    item, f"{path}.{key}".encode(errors="replace").decode(), (*above, id(value))
                )
            else:
                yield Problem(path, "WRONG_TYPE", f"keys must be texts, not {key!r}")
    elif isinstance(value, list | tuple | set | frozenset):
        for index, item in enumerate(value):
            yield from _foreign(item, f"{path}[{index}]", (*above, id(value)))
    else:
        yield Problem(path, "WRONG_TYPE", f"must not be of type {type(value).__name__}")


def decode(data: bytes, kind: type[T]) -> T:
    """Decode JSON that gangplan wrote.

    Documents written by people go through :func:`gangplan.load`, which knows unknown fields and reports every
    problem at once.

    Raises:
        InvalidInput: The bytes are not such a document; one problem is reported.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `")
        raise InvalidInput([Problem(path.rstrip("`") or "$", "WRONG_TYPE", text)], kind.__name__) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput([Problem("$", "MALFORMED_JSON", str(error))], kind.__name__) from error


def convert(value: Any, kind: type[T]) -> T:
    """Read a value of plain dicts, lists, strings and numbers as a type.

    Raises:
        InvalidInput: It is not of that type; one problem is reported.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `")
        raise InvalidInput([Problem(path.rstrip("`") or "$", "WRONG_TYPE", text)], kind.__name__) from error


def to_builtins(value: Any) -> Any:
    """Turn dataclasses into plain dicts, lists, strings and numbers, for YAML or a template."""
    return msgspec.to_builtins(value)


def schema(kind: Kind) -> dict[str, Any]:
    """Give the JSON schema of a document, as Python declares it."""
    return msgspec.json.schema(KINDS[kind])


def yaml_to_json(text: str, source: str) -> bytes:
    """Translate a YAML text to JSON, refusing what JSON would lose.

    Raises:
        InvalidInput: The text is not YAML, holds more than one document, or has duplicate or non-string keys;
            all such keys are reported.
    """
    try:
        documents = list(yaml.compose_all(text, Loader=yaml.CSafeLoader))
        if len(documents) > 1:
            message = f"holds {len(documents)} documents: give one"
            raise InvalidInput([Problem("$", "MALFORMED_YAML", message)], source)
        node = documents[0] if documents else None
        problems = [] if node is None else list(_key_problems(node, "$", set()))
        if node is not None and (values := _values(node, {})) > _MOST_VALUES:
            message = f"its aliases stand for {values} values; {_MOST_VALUES} are the most"
            problems.append(Problem("$", "OUT_OF_RANGE", message))
    except yaml.YAMLError as error:
        raise InvalidInput([Problem("$", "MALFORMED_YAML", str(error))], source) from error
    except RecursionError as error:
        raise InvalidInput([Problem("$", "MALFORMED_YAML", "it is nested too deeply")], source) from error
    if problems:
        raise InvalidInput(problems, source)
    try:
        return msgspec.json.encode(yaml.load(text, Loader=yaml.CSafeLoader))
    except RecursionError as error:
        message = "it is nested too deeply, or an alias stands inside its own anchor"
        raise InvalidInput([Problem("$", "MALFORMED_YAML", message)], source) from error
    except Exception as error:
        # Values that YAML's own rules take for a date or a number and then cannot read, and tags of other programs:
        # PyYAML raises whatever its constructors do.
        raise InvalidInput(
            [Problem("$", "MALFORMED_YAML", f"a value cannot be read: {error}")], source
        ) from error


def _values(node: yaml.Node, known: dict[int, int]) -> int:
    """Count the values that a node stands for, with every alias written out; one inside its own anchor counts once."""
    if id(node) not in known:
        known[id(node)] = 1
        if isinstance(node, yaml.SequenceNode):
            known[id(node)] += sum(_values(item, known) for item in node.value)
        elif isinstance(node, yaml.MappingNode):
            known[id(node)] += sum(_values(item, known) for _, item in node.value)
    return known[id(node)]


def _key_problems(node: yaml.Node, path: str, seen: set[int]) -> "list[Problem]":
    """Find keys that a JSON object cannot hold once each; ``seen`` guards against recursive anchors."""
    if id(node) in seen:
        return []
    seen.add(id(node))
    found: list[Problem] = []
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            found += _key_problems(item, f"{path}[{index}]", seen)
    elif isinstance(node, yaml.MappingNode):
        names: set[str] = set()
        for key, item in node.value:
            name = str(key.value)
            line = key.start_mark.line + 1
            if key.tag == "tag:yaml.org,2002:merge":
                pass  # `<<: *anchor`: its keys are meant to be overridden
            elif key.tag != "tag:yaml.org,2002:str":
                message = f"line {line}: the key {name} must be a string; put it in quotes"
                found.append(Problem(path, "WRONG_TYPE", message))
            elif name in names:
                found.append(Problem(f"{path}.{name}", "DUPLICATE_FIELD", f"line {line}: given twice"))
            names.add(name)
            found += _key_problems(item, f"{path}.{name}", seen)
    return found


def dump(value: Document, path: str | os.PathLike[str]) -> None:
    """Write a document to a file: YAML if its name ends so, else indented JSON. All of it or nothing.

    Raises:
        OSError: The file cannot be written; a file that was there is as it was.
    """
    target = Path(path)
    if target.suffix in {".yaml", ".yml"}:
        text = yaml.dump(msgspec.json.decode(encode(value)), Dumper=yaml.CSafeDumper, sort_keys=False)
        write_atomic(target, text.encode())
    else:
        write_atomic(target, encode(value, indent=2))


def write_atomic(target: Path, data: bytes) -> None:
    """Write a file so that a reader sees the old bytes or all of the new ones, never a part.

    Raises:
        OSError: It cannot be written; a file that was there is as it was and no temporary file is left.
    """
    if target.exists() and not target.is_file():
        # A device or a pipe is written to; renaming a file onto it would replace it.
        with target.open("wb") as file:
            file.write(data)
        return
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        # Nobody has heard of the temporary file: the error is about the one that was asked for.
        raise type(error)(error.errno, error.strerror, str(target)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), 0o644)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
