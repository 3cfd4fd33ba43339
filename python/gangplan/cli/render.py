"""How results and progress look. The only user of rich."""

import json
import logging
import re
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

import yaml
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gangplan.documents import to_builtins
from gangplan.moments import told


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

LEAST_CUT = 20
"""Columns that are left of a text in any case: on a narrower terminal it goes on below."""


def _console(*, stderr: bool = False) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    return Console(
        file=stream, width=None if stream.isatty() else PIPED_WIDTH, highlight=False, soft_wrap=True
    )


def emit(value: Any, form: Format) -> None:
    """Print a value as JSON or YAML on stdout; moments as :func:`gangplan.moments.told` tells them."""
    plain = to_builtins(told(value))
    if form is Format.YAML:
        sys.stdout.write(yaml.dump(plain, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True))
    else:
        sys.stdout.write(json.dumps(plain, indent=2, ensure_ascii=False) + "\n")


def emit_all(documents: Iterable[Any]) -> None:
    """Print values as YAML documents on stdout."""
    plain = [to_builtins(value) for value in documents]
    sys.stdout.write(yaml.dump_all(plain, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True))


def emit_one(value: Any, form: Format) -> None:
    """Print one of several values that come one after the other: JSON on a line, or a YAML document."""
    plain = to_builtins(told(value))
    if form is Format.YAML:
        sys.stdout.write(
            "---\n" + yaml.dump(plain, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)
        )
    else:
        sys.stdout.write(json.dumps(plain, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, title: str = "", cut: str | None = None
) -> None:
    """Print a table on stdout.

    Args:
        header: Titles of the columns.
        rows: The cells.
        title: A line before it.
        cut: Title of the last column, if on a terminal it is cut to what is left of a line; others go on below.
    """
    rows = [tuple(row) for row in rows]
    if cut is not None:
        widths = [max(cell_len(row[at]) for row in (header, *rows)) for at in range(len(header) - 1)]
        rows = [(*row[:-1], _cut(row[-1], widths)) for row in rows]
    drawn = Table(title=Text(title) if title else None, title_justify="left", box=None, pad_edge=False)
    for name in header:
        drawn.add_column(Text(name.upper()), overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))
    _console().print(drawn)


class Rows:
    """A table whose rows come one after the other; it is printed as they do."""

    def __init__(self, header: Sequence[str], *, cut: str) -> None:
        """Prepare it.

        Args:
            header: Titles of the columns.
            cut: Title of the last one, which on a terminal is cut to what is left of a line.
        """
        self._widths = [cell_len(name) for name in header[:-1]]
        self._waits: Sequence[str] | None = [name.upper() for name in header]

    def add(self, row: Sequence[str]) -> None:
        """Print a row; columns only get wider."""
        self._widths = [max(width, cell_len(cell)) for width, cell in zip(self._widths, row, strict=False)]
        lines = [row] if self._waits is None else [self._waits, row]
        self._waits = None
        for line in lines:
            cells = [
                cell + " " * (width - cell_len(cell)) for width, cell in zip(self._widths, line, strict=False)
            ]
            say("  ".join([*cells, _cut(line[-1], self._widths)]).rstrip(), now=True)


def _cut(text: str, widths: Sequence[int]) -> str:
    """A text that is last in a row, cut to the width of the terminal, if there is one."""
    left = max(_console().width - sum(widths) - 2 * len(widths), LEAST_CUT)
    return text if cell_len(text) <= left else f"{set_cell_size(text, left - 1).rstrip()}…"


def age(seconds: float) -> str:
    """How long ago something was, in a word: ``3h``."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{max(0, int(seconds))}s"


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
