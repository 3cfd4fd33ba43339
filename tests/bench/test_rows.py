"""The rows of ``make bench``: ids, bounds, verdicts, and the table of them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gangplan.bench import rows
from gangplan.bench.rows import ROWS, Line

PROMISED = [
    "T1.10k",
    "T2.100k",
    "T3.easy",
    "T3.hard",
    "T4.easy",
    "T4.hard",
    "T5.easy",
    "T5.hard",
    "T6.warm",
    "T6.cold",
    "T7.warm",
    "T7.cold",
    "T8.raw",
    "T8.shapes",
    "T10",
    "T13.arrays",
    "T13.json",
    "T14.10k",
    "T14.640",
    "Q4",
    "W1.1250",
    "W1.10000",
    "W1t.1250",
    "W1t.10000",
    "W2.10000",
    "W3.1250",
    "W3t.1250",
    "W5.10000",
    "memory.100k",
]
ROOT = Path(__file__).parents[2]
KEYS = ["id", "value", "unit", "better", "must", "aim", "ratio", "ok"]


def test_every_promised_row_is_there():
    assert sorted(ROWS) == sorted(PROMISED)


@pytest.mark.parametrize(("value", "ok"), [(59.9, True), (60.0, True), (60.1, False)])
def test_a_value_is_fine_up_to_what_it_must_be(value, ok):
    line = rows.line("T13.json", value, 0.01)
    assert (line.ok, line.must, line.aim) == (ok, 60, 30)
    assert line.ratio == round(value / 0.01, 1)
    assert list(rows.as_json(line)) == KEYS


def test_without_a_scan_there_is_no_ratio():
    assert rows.line("T13.json", 1.0, None).ratio is None


def test_the_table_tells_which_bound_each_row_keeps_in_the_order_of_the_rows():
    values = {"W5.10000": 2.9, "T13.json": 31.0, "W2.10000": 3.0}
    table = rows.table(rows.line(name, value, None) for name, value in values.items())
    verdicts = {text.split("|")[1].strip(): text.split("|")[7].strip() for text in table.splitlines()[2:]}
    assert list(verdicts.items()) == [("T13.json", "must"), ("W2.10000", "**missed**"), ("W5.10000", "aim")]


def test_more_may_be_better():
    line = Line(id="Q4", value=3, unit="x", better="higher", must=1, aim=2, ratio=None, ok=True)
    assert "| aim |" in rows.table([line])


def test_the_page_has_a_place_for_the_figures():
    page = (ROOT / "docs" / "performance.md").read_text()
    assert page.index("<!-- figures: written by make bench -->") < page.index("<!-- end of figures -->")


def test_the_tool_prints_a_line_for_each_row_that_is_asked_for_and_fails_where_one_is_missed():
    """The exit code goes with the lines, whatever this machine reaches."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "bench.py"), "--only", "T13.arrays,T13.json,Q4", "--runs", "1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["id"] for line in lines] == ["T13.arrays", "T13.json", "Q4"]
    assert all(list(line) == KEYS for line in lines)
    assert done.returncode == (0 if all(line["ok"] for line in lines) else 1)


def test_the_tool_refuses_rows_that_it_does_not_know():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "bench.py"), "--only", "T99"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 1
    assert "no row is called T99" in done.stderr
