"""How results and progress look. The only user of rich."""

import json
import logging
import re
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gangplan.documents import to_builtins


class Format(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


_COLORS = re.compile(r"\x1b\[[0-9;]*m")
_TOLD = re.compile(r"(?P<time>\d\d:\d\d:\d\d)(\.\d+ - [A-Z]+ -)? (?P<text>.*)")
_CHATTER = re.compile(r"Streamed logs:|Wrote executor output|outputs:$|Running pipeline|^\W*$")
"""What KFP's local runner says about itself."""

PIPED_WIDTH = 4096
"""Columns where stdout is no terminal: nothing is cut for a program that reads it."""


def _console(*, stderr: bool = False) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    return Console(
        file=stream, width=None if stream.isatty() else PIPED_WIDTH, highlight=False, soft_wrap=True
    )


def emit(value: Any, form: Format) -> None:
    """Print a value as JSON or YAML on stdout."""
    plain = to_builtins(value)
    if form is Format.YAML:
        sys.stdout.write(yaml.dump(plain, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True))
    else:
        sys.stdout.write(json.dumps(plain, indent=2, ensure_ascii=False) + "\n")


def emit_all(documents: Iterable[Any]) -> None:
    """Print values as YAML documents on stdout."""
    plain = [to_builtins(value) for value in documents]
    sys.stdout.write(yaml.dump_all(plain, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True))


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, title: str = "") -> None:
    """Print a table on stdout."""
    drawn = Table(title=Text(title) if title else None, title_justify="left", box=None, pad_edge=False)
    for name in header:
        drawn.add_column(Text(name.upper()), overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))
    _console().print(drawn)


def say(text: str, *, now: bool = False) -> None:
    """Print text on stdout as it is; ``now``: also where a program reads it and more comes later."""
    sys.stdout.write(text.rstrip("\n") + "\n")
    if now:
        sys.stdout.flush()


def progress(text: str) -> None:
    """Print a line about what is going on, on stderr."""
    sys.stderr.write(text.rstrip("\n") + "\n")
    sys.stderr.flush()


def error(text: str) -> None:
    """Print an error on stderr."""
    _console(stderr=True).print(Text.assemble(("error: ", "bold red"), text))


def pipeline_line(text: str) -> None:
    """Print a line of a running pipeline: what steps say and which task begins and ends; all of it with -v."""
    line = _COLORS.sub("", text).strip()
    if logging.getLogger().isEnabledFor(logging.DEBUG):
        progress(line)
    elif (told := _TOLD.match(line)) and not _CHATTER.search(line):
        progress(f"{told['time']} {told['text']}")
