"""Markdown from texts that may hold anything: what was no markup stays none."""

import re
from collections.abc import Sequence

from gangplan.report.wording import one_line, printable

_MARKUP = re.compile(r"([\\`*_\[\]|~$])")
_LINE_START = re.compile(r"^(#+|[-+=]+|\d+[.)])")


def escape(text: str) -> str:
    """Escape a text for a line of Markdown, also for viewers that take HTML in Markdown."""
    text = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _MARKUP.sub(r"\\\1", text)
    return _LINE_START.sub(lambda match: match[0][:-1] + "\\" + match[0][-1], text)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table; short rows are filled up."""
    width = len(header)
    lines = [[escape(cell) for cell in row] + [""] * (width - len(row)) for row in (header, *rows)]
    lines.insert(1, ["---"] * width)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def numbered(items: Sequence[str]) -> str:
    """Write a numbered list."""
    return "\n".join(f"{number}. {escape(item)}" for number, item in enumerate(items, start=1))


def code(text: str) -> str:
    """Write a block of code, with a fence that the text cannot close."""
    text = printable(text).rstrip("\n")
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
