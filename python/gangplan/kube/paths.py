"""Paths of fields in a manifest, as problems name them: ``$.metadata.annotations["gangplan.dev/queue"]``."""

import json
import re

_PLAIN = re.compile(r"[\w-]+")


def below(path: str, key: str) -> str:
    """The path of a field: plain names after a point, others quoted in brackets."""
    return f"{path}.{key}" if _PLAIN.fullmatch(key) else f"{path}[{json.dumps(key, ensure_ascii=False)}]"


def within(path: str, outer: str) -> bool:
    """Whether a path is another or leads to something inside it."""
    return path == outer or path.startswith((f"{outer}.", f"{outer}["))
