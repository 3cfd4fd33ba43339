"""Errors: a tree with one root, drawn as it is, that crosses process borders whole."""

import pickle
import re

import pytest

from gangplan import errors
from gangplan.errors import GangplanError, InvalidInput, Problem, Violation


def kinds(root: type = GangplanError) -> list[type]:
    return [root, *(kind for child in root.__subclasses__() for kind in kinds(child))]


MADE = {
    "InvalidInput": lambda kind: kind([Problem("$.a", "CODE", "message")], "file"),
    "InvalidQuantity": lambda kind: kind([Problem("$.a", "CODE", "message")], "file"),
    "CheckFailed": lambda kind: kind([Violation("RULE", "$.a", "message")]),
    **dict.fromkeys(
        ["ClusterError", "Unreachable", "Forbidden", "NotFound", "NotInstalled", "Conflict"],
        lambda kind: kind("message", verb="get", kind="Gang", name="g", namespace="n"),
    ),
    **dict.fromkeys(
        ["JobError", "JobFailed", "JobCanceled", "JobTimedOut"],
        lambda kind: kind("message", replica="worker-0", last_lines=("one", "two")),
    ),
}


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_an_error_survives_pickling(kind):
    error = MADE.get(kind.__name__, lambda kind: kind("message"))(kind)
    error.add_note("a note")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == str(error)
    assert vars(again) == vars(error)
    assert again.args == error.args


def test_the_tree_is_drawn_as_it_is():
    drawn = {}
    stack = ["GangplanError"]
    for line in errors.__doc__.splitlines():
        if (match := re.match(r"    ([│ ]*)[├└]── (\w+)", line)) is not None:
            depth = len(match[1]) // 4 + 1
            stack[depth:] = [match[2]]
            drawn[match[2]] = stack[depth - 1]
    assert drawn == {kind.__name__: kind.__bases__[0].__name__ for kind in kinds()[1:]}


def test_an_error_of_a_job_is_told_with_its_last_lines_once():
    error = pickle.loads(pickle.dumps(errors.JobFailed("it failed", replica="ps-0", last_lines=("a", "b"))))
    assert str(error) == "it failed\n  | a\n  | b"


def test_invalid_input_is_a_value_error_and_counts_its_problems():
    error = InvalidInput([Problem("$.a", "X", "one"), Problem("$.b", "Y", "two")], "my.yaml")
    assert isinstance(error, ValueError)
    assert str(error) == "my.yaml: 2 problems\n  $.a: one\n  $.b: two"
