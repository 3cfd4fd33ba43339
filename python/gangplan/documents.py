"""Documents: bytes and files on one side, frozen dataclasses on the other.

JSON is the format; hand-written documents may be YAML. This module is the only user of msgspec's JSON side, so
a change of codec is a change here.
"""

import os
import tempfile
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
import yaml

from gangplan.errors import InvalidInput, Problem
from gangplan.options import SolveOptions
from gangplan.plan import Plan
from gangplan.snapshot import Snapshot

Document = Snapshot | SolveOptions | Plan
Kind = Literal["snapshot", "options", "plan"]
T = TypeVar("T")

KINDS: dict[Kind, type[Document]] = {"snapshot": Snapshot, "options": SolveOptions, "plan": Plan}
"""The documents that cross the border to the solver, by their short name."""


def encode(value: Any, *, indent: int = 0) -> bytes:
    """Encode a document, or any of the dataclasses in it, as JSON.

    Args:
        value: The dataclass.
        indent: Spaces for each level; 0 writes one line.

    Returns:
        JSON in UTF-8, fields in their declared order, defaults included. Keys of maps are sorted, so that equal
        values give equal bytes.
    """
    raw = msgspec.json.encode(value, order="deterministic")
    return msgspec.json.format(raw, indent=indent) + b"\n" if indent else raw


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
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
        problems = [] if node is None else list(_key_problems(node, "$", set()))
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
        text = yaml.dump(to_builtins(value), Dumper=yaml.CSafeDumper, sort_keys=False)
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
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
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
