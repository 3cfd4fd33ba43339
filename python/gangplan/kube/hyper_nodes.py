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
    below = {name: set(_members(item, named, nodes)) for name, item in named.items()}
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
    item: HyperNode, named: Mapping[str, HyperNode], nodes: Sequence[NodeObject]
) -> Iterator[tuple[str, str]]:
    """(type, name) of what a HyperNode chooses."""
    for member in (item.get("spec") or {}).get("members") or ():
        kind, selector = member.get("type"), member.get("selector") or {}
        names = named if kind == "HyperNode" else [node.metadata.name for node in nodes]
        if (exact := selector.get("exactMatch")) is not None:
            yield from ((kind, name) for name in names if name == exact.get("name"))
        elif (pattern := selector.get("regexMatch")) is not None:
            yield from ((kind, name) for name in names if _fits(pattern.get("pattern") or "", name))
        elif (labels := selector.get("labelMatch")) is not None and kind == "Node":
            yield from (
                (kind, node.metadata.name) for node in nodes if _selects(labels, node.metadata.labels or {})
            )


def _fits(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return False


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
