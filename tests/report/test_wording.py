"""Words for numbers and names."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.report.markdown import code, escape, table
from gangplan.report.wording import amount, count, duration, listed, natural, one_line, printable, ranges

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_printable_text_can_be_encoded_and_shown(text):
    shown = printable(text)
    shown.encode()
    assert all(char in "\n\t" or char >= " " for char in shown)
    assert not any("\x7f" <= char <= "\x9f" or "\u202a" <= char <= "\u202e" for char in shown)
    assert printable(shown) == shown


@given(ANY_TEXT)
def test_one_line_is_one_line(text):
    assert len(one_line(text).splitlines()) <= 1


def test_colour_goes_and_what_remains_is_marked():
    assert printable("\x1b[1;31mred\x1b[0m\x00 \x1b]0;title\x07end") == "red\ufffd end"


def test_progress_bars_become_lines():
    assert printable("10%\r20%\r\ndone") == "10%\n20%\ndone"


@given(st.sets(st.integers(0, 50)))
def test_ranges_name_exactly_the_numbers(numbers):
    named = set()
    for part in filter(None, ranges(numbers).split(", ")):
        first, _, last = part.partition("\N{EN DASH}")
        named |= set(range(int(first), int(last or first) + 1))
    assert named == numbers


@pytest.mark.parametrize(
    ("quantity", "resource", "words"),
    [
        ("1", "nvidia.com/gpu", "1 GPU"),
        ("12", "nvidia.com/gpu", "12 GPUs"),
        ("0", "nvidia.com/gpu", "0 GPUs"),
        ("4", "cpu", "4 CPUs"),
        ("1500m", "cpu", "1500m CPU"),
        ("16Gi", "memory", "16Gi memory"),
        ("1", "pods", "1 replica"),
        ("2", "pods", "2 replicas"),
        ("3", "example.com/fpga", "3 example.com/fpga"),
    ],
)
def test_amounts_read_well(quantity, resource, words):
    assert amount(quantity, resource, gpu="nvidia.com/gpu") == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0 s"),
        (0.9, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (7200, "2 h"),
        (200_000, "2 days"),
    ],
)
def test_durations_use_their_largest_unit(seconds, words):
    assert duration(seconds) == words


def test_counts_and_lists_agree():
    assert [count(n, "node") for n in (0, 1, 2, 1000)] == ["0 nodes", "1 node", "2 nodes", "1,000 nodes"]
    assert [listed(items) for items in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]


@given(st.lists(ANY_TEXT), st.randoms(use_true_random=False))
def test_natural_order_is_total(names, rng: random.Random):
    mixed = list(names)
    rng.shuffle(mixed)
    assert sorted(names, key=natural) == sorted(mixed, key=natural)
    assert sorted(["r10", "r2", "r"], key=natural) == ["r", "r2", "r10"]


@given(ANY_TEXT)
def test_markdown_text_holds_no_markup(text):
    escaped = escape(text)
    assert "<" not in escaped
    bare = escaped.replace("\\\\", "")
    for mark in "`*_[]|~":
        assert bare.count(mark) == bare.count("\\" + mark)


@given(st.lists(ANY_TEXT, min_size=1, max_size=4), st.data())
def test_markdown_tables_keep_their_shape(header, data):
    rows = data.draw(st.lists(st.lists(ANY_TEXT, min_size=len(header), max_size=len(header)), max_size=3))
    lines = table(header, rows).splitlines()
    assert len(lines) == 2 + len(rows)
    for line in lines:
        assert line.replace("\\\\", "").replace("\\|", "").count("|") == len(header) + 1


@given(ANY_TEXT)
def test_code_cannot_close_its_fence(text):
    lines = code(text).split("\n")
    assert lines[0] == lines[-1]
    assert not any(line.strip().startswith(lines[0]) for line in lines[1:-1])
