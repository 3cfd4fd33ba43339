"""Label selectors: ``a=b,c!=d,e in (f,g),h notin (i),j,!k``."""

import re
from collections.abc import Mapping

_SET = re.compile(r"(?P<key>\S+)\s+(?P<not>not)?in\s+\((?P<values>[^)]*)\)")


def matches(selector: str, labels: Mapping[str, str]) -> bool:
    """Whether all terms of a selector hold; the empty one always does."""
    terms = re.split(r",(?![^(]*\))", selector) if selector else []
    return all(_holds(term.strip(), labels) for term in terms)


def _holds(term: str, labels: Mapping[str, str]) -> bool:
    if of_set := _SET.fullmatch(term):
        values = {value.strip() for value in of_set["values"].split(",")}
        return (labels.get(of_set["key"]) in values) != bool(of_set["not"])
    if "!=" in term:
        key, value = term.split("!=")
        return labels.get(key.strip()) != value.strip()
    if "=" in term:
        key, value = re.split("==?", term)
        return labels.get(key.strip()) == value.strip()
    return term.removeprefix("!") not in labels if term.startswith("!") else term in labels
