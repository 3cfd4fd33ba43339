"""Labels: what may be a key or a value of one. Pods of a job are refused for theirs only once it is made.

https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
"""

import re
from collections.abc import Iterator, Mapping

from gangplan.errors import Problem
from gangplan.kube.paths import below

_WORD = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_PREFIX = r"(?=[^/]{1,253}/)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/"
_KEY = re.compile(rf"({_PREFIX})?{_WORD}")
_VALUE = re.compile(rf"({_WORD})?")

_SAID = "at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"


def label_problems(path: str, labels: Mapping[str, str | None]) -> Iterator[Problem]:
    """What is wrong with labels, or with a selector of them, at the path of each."""
    for key, value in labels.items():
        yield from key_problems(below(path, key), key)
        if not _VALUE.fullmatch(value or ""):
            yield Problem(
                below(path, key), "BAD_VALUE", f"its value must be {_SAID}, or empty, not {value!r}"
            )


def key_problems(path: str, key: str) -> Iterator[Problem]:
    """What is wrong with the key of a label or an annotation."""
    if not _KEY.fullmatch(key):
        message = f"its key must be {_SAID}, if need be after a DNS name and a stroke, not {key!r}"
        yield Problem(path, "BAD_VALUE", message)
