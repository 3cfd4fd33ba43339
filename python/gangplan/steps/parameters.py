"""Checks of run parameters: KFP passes ``12.5`` for a whole number, and anything for a string."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from gangplan.errors import InvalidInput, InvalidQuantity, Problem
from gangplan.solver import parse_quantity


def joined(problems: Sequence[Problem], error: InvalidInput) -> InvalidInput:
    """An error with what was found besides; what is in a document then says in which."""
    if not problems:
        return error
    named = [
        replace(each, path=f"{error.source}: {each.path}") if each.path.startswith("$") else each
        for each in error.problems
    ]
    return InvalidInput([*problems, *named], "run parameters")


class Checker:
    """Collects what is wrong with a run's parameters, so that all of it is said at once."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []

    def whole(self, name: str, value: Any, *, at_least: int, at_most: int = 2**31 - 1) -> int:
        """A whole number within limits."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            self._add(name, "WRONG_TYPE", f"must be a whole number, not {value!r}")
            return at_least
        if value != int(value) or not at_least <= value <= at_most:
            limits = f"at least {at_least}" if value < at_least else f"at most {at_most}"
            self._add(name, "OUT_OF_RANGE", f"must be a whole number, {limits}, not {value!r}")
            return at_least
        return int(value)

    def positive(self, name: str, value: float) -> float:
        """A number above zero."""
        if not 0 < value < float("inf"):
            self._add(name, "OUT_OF_RANGE", f"must be more than 0, not {value!r}")
        return value

    def choice(self, name: str, value: str, choices: Sequence[str]) -> str:
        """One of a few words."""
        if value not in choices:
            self._add(name, "BAD_VALUE", f"must be one of {', '.join(choices)}, not {value!r}")
        return value

    def quantity(self, name: str, resource: str, value: str) -> str:
        """A resource quantity above zero."""
        try:
            if parse_quantity(resource, value, round_up=True) <= 0:
                self._add(name, "BAD_QUANTITY", f"must be more than 0, not {value!r}")
        except InvalidQuantity as error:
            self._problems += [Problem(name, problem.code, problem.message) for problem in error.problems]
        return value

    def pattern(self, name: str, value: str) -> re.Pattern[str]:
        """A regular expression with one group."""
        try:
            found = re.compile(value)
        except re.error as error:
            self._add(name, "BAD_VALUE", f"must be a regular expression, not {value!r}: {error}")
            return re.compile("()")
        if found.groups != 1:
            self._add(name, "BAD_VALUE", f"must have one group in round brackets, and has {found.groups}")
        return found

    def contradiction(self, name: str, message: str) -> None:
        """Two parameters that do not go together."""
        self._add(name, "CONTRADICTION", message)

    def add(self, name: str, problems: Iterable[Problem]) -> None:
        """What was found in a document that a parameter holds."""
        self._problems += [
            replace(each, path=f"{name}: {each.path}") if each.path.startswith("$") else each
            for each in problems
        ]

    def problems(self) -> tuple[Problem, ...]:
        """What was found so far."""
        return tuple(self._problems)

    def raise_if_any(self) -> None:
        """Raise all that was found.

        Raises:
            InvalidInput: Something was.
        """
        if self._problems:
            raise InvalidInput(self._problems, "run parameters")

    def _add(self, name: str, code: str, message: str) -> None:
        self._problems.append(Problem(name, code, message))
