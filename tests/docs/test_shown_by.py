"""Where the docs say that a test shows something, there is such a test."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("*/README.md"))]
NAMED = sorted(
    {
        (page.relative_to(ROOT).as_posix(), file, name)
        for page in PAGES
        for file, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page.read_text())
    }
)
LAUNCHING = (ROOT / "docs" / "launching.md").read_text()


@cache
def declared_in(file: str) -> frozenset[str]:
    """Names of the tests of a file."""
    tree = ast.parse((ROOT / file).read_text())
    return frozenset(
        node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


@pytest.mark.parametrize(("page", "file", "name"), NAMED, ids=[f"{file}::{name}" for _, file, name in NAMED])
def test_each_test_that_the_docs_name_is_there(page, file, name):
    assert name in declared_in(file), page


def test_each_fault_that_others_reported_has_a_test_that_shows_what_becomes_of_it_here():
    table = LAUNCHING.partition("## What users of other launchers reported")[2]
    rows = re.findall(r"^\| (\d+) \| (.*?) \|.*\| (.*?) \|$", table, re.MULTILINE)
    assert [int(number) for number, _, _ in rows] == list(range(1, 33))
    assert all(re.search(r"\w#\d+", thread) and "::test_" in shown for _, thread, shown in rows), rows


def test_each_thing_that_may_happen_to_a_step_has_its_test():
    """These are named by their beginnings, without "test_"."""
    table = LAUNCHING.partition("## What happens when")[2].partition("\n## ")[0]
    (file,) = re.findall(r"test in `([\w/.]+)`", table)
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+){3,})_?…?`", table))
    assert len(named) > 5
    assert {
        name for name in named if not any(test[5:].startswith(name) for test in declared_in(file))
    } == set()
