"""HyperNodes of Volcano: an explicit tree of a network, as levels by tier."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gangplan.kube.objects import NodeObject

HyperNode = Mapping[str, Any]
Tree = tuple[tuple[str, ...], dict[str, dict[str, str]]]
"""Names of the levels from coarse to fine, and node → level → domain."""


def tree_of(found: Sequence[HyperNode], nodes: Sequence[NodeObject], problems: list[str]) -> Tree:
    """The levels that HyperNodes describe: each tier is one, named by its ``tierName`` or ``tier-N``.

    Where a node's HyperNodes leave out a tier, its place there is that of the next finer one, or the node itself: so
    far it shares it with nobody else.

    Args:
        found: The HyperNodes.
        nodes: The nodes that they choose from.
        problems: Gets what contradicts itself.
    """
    named = {item["metadata"]["name"]: item for item in found}
    tiers = {name: int((item.get("spec") or {}).get("tier") or 0) for name, item in named.items()}
    there_are = {node.metadata.name: node for node in nodes}
    below = {name: set(_members(item, named, there_are)) for name, item in named.items()}
    levels = {tier: _level(tier, named, tiers) for tier in sorted({*tiers.values()})}
    places: dict[str, dict[int, str]] = {}
    for name in sorted(named):
        for node in _nodes_below(name, below, problems, (name,)):
            there = places.setdefault(node, {})
            if there.setdefault(tiers[name], name) != name:
                problems.append(
                    f"{node} lies in {there[tiers[name]]} and in {name}, both of tier {tiers[name]}"
                )
    labels = {}
    for node, there in places.items():
        label, place = {}, node
        for tier, level in levels.items():
            label[level] = place = there.get(tier, place)
        labels[node] = label
    return tuple(reversed(levels.values())), labels


def _level(tier: int, named: Mapping[str, HyperNode], tiers: Mapping[str, int]) -> str:
    names = {(named[name].get("spec") or {}).get("tierName") for name in named if tiers[name] == tier}
    only = next(iter(names)) if len(names) == 1 else None
    return only or f"tier-{tier}"


def _members(
    item: HyperNode, named: Mapping[str, HyperNode], nodes: Mapping[str, NodeObject]
) -> Iterator[tuple[str, str]]:
    """(type, name) of what a HyperNode chooses."""
    for member in (item.get("spec") or {}).get("members") or ():
        kind, selector = member.get("type"), member.get("selector") or {}
        known: Mapping[str, object] = named if kind == "HyperNode" else nodes
        if (exact := selector.get("exactMatch")) is not None:
            yield from ((kind, name) for name in [exact.get("name")] if name in known)
        elif (regex := selector.get("regexMatch")) is not None:
            fits = _pattern(regex.get("pattern") or "")
            yield from ((kind, name) for name in known if fits.search(name) is not None)
        elif (labels := selector.get("labelMatch")) is not None and kind == "Node":
            yield from (
                (kind, name) for name, node in nodes.items() if _selects(labels, node.metadata.labels or {})
            )


def _pattern(text: str) -> re.Pattern[str]:
    """A pattern; one that is none fits nothing."""
    try:
        return re.compile(text)
    except re.error:
        return re.compile(r"(?!)")


def _selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """As a label selector of Kubernetes does."""
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    for rule in selector.get("matchExpressions") or ():
        value, values = labels.get(rule.get("key", "")), rule.get("values") or ()
        holds = {
            "In": value in values,
            "NotIn": value not in values,
            "Exists": value is not None,
            "DoesNotExist": value is None,
        }
        if not holds.get(rule.get("operator", ""), False):
            return False
    return True


def _nodes_below(
    name: str, below: Mapping[str, set[tuple[str, str]]], problems: list[str], path: tuple[str, ...]
) -> Iterator[str]:
    for kind, member in sorted(below[name]):
        if kind != "HyperNode":
            yield member
        elif member in path:
            problems.append(f"HyperNodes in a circle: {' → '.join((*path, member))}")
        else:
            yield from _nodes_below(member, below, problems, (*path, member))
