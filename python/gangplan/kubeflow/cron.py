"""When a schedule starts runs, as the server reads it: six fields, seconds first, in UTC.

The rules are those of the parser of Kubeflow's controller of scheduled workflows (robfig/cron, version 1):
https://pkg.go.dev/github.com/robfig/cron#hdr-CRON_Expression_Format
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gangplan.errors import InvalidInput, Problem

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_PART = re.compile(r"(?:[*?]|(?P<first>\w+)(?:-(?P<last>\w+))?)(?:/(?P<step>\d+))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    least: int
    most: int
    words: tuple[str, ...] = ()

    def value(self, text: str) -> int | None:
        """What a number or a word of it means; None: it is none of its."""
        if text.lower() in self.words:
            return self.words.index(text.lower()) + self.least
        if not text.isdecimal():
            return None
        return int(text) if self.least <= int(text) <= self.most else None

    def accepts(self, text: str) -> bool:
        return all(self._accepts(part) for part in text.split(","))

    def _accepts(self, part: str) -> bool:
        found = _PART.fullmatch(part)
        if found is None or found["step"] == "0":
            return False
        if found["first"] is None:
            return True
        first, last = self.value(found["first"]), self.value(found["last"] or found["first"])
        return first is not None and last is not None and first <= last


FIELDS: Final = (
    _Field("second", 0, 59),
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day", 1, 31),
    _Field("month", 1, 12, tuple(_MONTHS)),
    _Field("weekday", 0, 6, tuple(_DAYS)),
)


def read_cron(text: str) -> str:
    """Read five fields as people write them, or six with seconds first; the six that the server takes.

    >>> read_cron("30 2 * * mon-fri")
    '0 30 2 * * mon-fri'

    Raises:
        InvalidInput: These are no such fields; every one that is wrong is named.
    """
    words = text.split()
    if len(words) not in {5, 6}:
        message = f'must be five fields such as "30 2 * * *", or six with seconds first, not {text!r}'
        raise InvalidInput([Problem("--cron", "BAD_VALUE", message)], "arguments")
    six = ["0", *words] if len(words) == 5 else words
    if problems := list(_problems(six)):
        raise InvalidInput(problems, "arguments")
    return " ".join(six)


def _problems(words: list[str]) -> Iterator[Problem]:
    for field, word in zip(FIELDS, words, strict=True):
        if not field.accepts(word):
            or_words = f" or {field.words[0]} to {field.words[-1]}" if field.words else ""
            message = (
                f"{field.name} {word!r}: must be numbers from {field.least} to {field.most}{or_words}, "
                "as in 3, 1-5, */2 or 1,15"
            )
            yield Problem("--cron", "BAD_VALUE", message)
