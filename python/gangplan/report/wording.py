"""Words for numbers and names: plural forms, amounts, durations, ranges, and text that is safe to show."""

import re
from collections.abc import Iterable, Sequence

_TERMINAL_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_UNSAFE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # control characters but tab, line feed and carriage return
    "\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that turn the direction of what follows
    "\u2028\u2029\ud800-\udfff\ufffe\uffff]"  # separators, surrogates and what is no character
)
_WORDS = {"cpu": "CPU", "pods": "replica"}
"""Resources that are counted in a word; the word is given as singular."""


_BINARY = "KMGTP"
"""Units of bytes by powers of 1024, the first of which is Ki."""


def printable(text: str) -> str:
    """Make a text safe for terminals, SVG and HTML; escaping the markup is another matter.

    Colour sequences of terminals go, line ends become line feeds, and what is left of control characters,
    direction marks and broken Unicode becomes U+FFFD, so that a reader sees that something was there.
    """
    text = _TERMINAL_SEQUENCE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str) -> str:
    """Make a text safe as :func:`printable` does, and put it on one line."""
    return " ".join(printable(text).split())


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Count things: ``1 node``, ``3 nodes``, ``1,000 nodes``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(items: Sequence[str]) -> str:
    """List things in a sentence: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(part for part in (", ".join(items[:-1]), *items[-1:]) if part)


def ranges(numbers: Iterable[int]) -> str:
    """Write indices short, runs of them by their ends."""
    runs: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return ", ".join(str(first) if first == last else f"{first}\N{EN DASH}{last}" for first, last in runs)


def natural(text: str) -> list[tuple[int, str]]:
    """Give a key that sorts names as people do: ``r2`` before ``r10``."""
    parts = re.findall(r"[0-9]+|[^0-9]+", text)
    numbers = [part.lstrip("0") if part[0] in "0123456789" else None for part in parts]
    pairs = zip(parts, numbers, strict=True)
    return [(-1, part) if number is None else (len(number), number) for part, number in pairs] + [(-2, text)]


def amount(quantity: str, resource: str, *, gpu: str | None = None) -> str:
    """Write how much there is of a resource: ``12 GPUs``, ``1500m CPU``, ``16Gi memory``, ``1 replica``.

    Args:
        quantity: A Kubernetes quantity.
        resource: Its resource.
        gpu: The resource that may be called GPU, because there is no other kind of GPU around.
    """
    word = "GPU" if resource == gpu else _WORDS.get(resource)
    if word is None or not re.fullmatch(r"-?\d+", quantity):
        return f"{quantity} {word or resource}"
    return f"{quantity} {word}{'' if quantity == '1' else 's'}"


def rounded(quantity: str) -> str:
    """Write an amount in bytes by its largest unit, rounded down to a tenth, ``23.5Gi``; others as they are."""
    found = re.fullmatch(r"(\d+)([KMGT])i", quantity)
    if found is None:
        return quantity
    tenths, place = int(found[1]) * 10, _BINARY.index(found[2])
    while tenths >= 10240 and place + 1 < len(_BINARY):
        tenths, place = tenths // 1024, place + 1
    whole, tenth = divmod(tenths, 10)
    return f"{whole}{f'.{tenth}' if tenth else ''}{_BINARY[place]}i"


def is_one(quantity: str) -> bool:
    """Tell whether an amount of a resource takes a verb in the singular: ``1 GPU is``, ``16Gi memory is``."""
    return quantity == "1" or not quantity.isdecimal()


def duration(seconds: float) -> str:
    """Write a duration by its largest unit: ``40 s``, ``5 min``, ``2 h``, ``3 days``; below zero is zero."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 60 * 60:
        return f"{whole // 60} min"
    if whole < 48 * 60 * 60:
        return f"{whole // (60 * 60)} h"
    return f"{whole // (24 * 60 * 60)} days"
