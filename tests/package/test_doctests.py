"""The examples in docstrings run, and give what they say."""

import doctest
import importlib
import pkgutil

import pytest

import gangplan

MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(gangplan.__path__, "gangplan.")
    if not found.name.startswith(("gangplan._core", "gangplan.train"))
)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def examples(name: str) -> doctest.TestResults:
    return doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)


@pytest.mark.parametrize("name", ["gangplan", *MODULES])
def test_the_examples_of_a_module_hold(name):
    assert examples(name).failed == 0


def test_there_are_examples():
    assert (
        sum(examples(name).attempted for name in ("gangplan", "gangplan.extras", "gangplan.steps.run")) >= 5
    )
