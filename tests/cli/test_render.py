"""How tables look on a terminal, and where a program reads them."""

import io
import re
import sys

from gangplan.cli import render

ROW = (
    "mnist",
    "needs 8 GPUs; the nodes that it may use have 4 free, and more words than a line has room for",
)


class Terminal(io.StringIO):
    """A terminal of 60 columns."""

    def isatty(self) -> bool:
        return True


def printed(monkeypatch, stream: io.StringIO, *, one_by_one: bool) -> list[str]:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys, "stdout", stream)
    if one_by_one:
        rows = render.Rows(("gang", "reason"), cut="reason")
        rows.add(ROW)
    else:
        render.table(("gang", "reason"), [ROW], cut="reason")
    return [re.sub(r"\x1b\[\d*m", "", line).rstrip() for line in stream.getvalue().splitlines()]


def test_on_a_terminal_a_reason_is_cut_to_its_width(monkeypatch):
    for one_by_one in (False, True):
        header, line = printed(monkeypatch, Terminal(), one_by_one=one_by_one)
        assert header.split() == ["GANG", "REASON"]
        assert len(line) <= 60
        assert line.startswith("mnist  needs 8 GPUs; the nodes")
        assert line.endswith("…")


def test_a_program_reads_reasons_whole(monkeypatch):
    for one_by_one in (False, True):
        assert printed(monkeypatch, io.StringIO(), one_by_one=one_by_one)[1].split("  ")[1] == ROW[1]
