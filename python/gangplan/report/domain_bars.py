"""The placement map of many nodes: one bar for each domain of the topology."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from gangplan.extras import needed
from gangplan.report.canvas import COLORS, INK, LINE, OTHER, PAPER, draw, short
from gangplan.report.occupancy import Occupancy
from gangplan.report.wording import count, natural
from gangplan.snapshot import Snapshot
from gangplan.solver import format_quantity

with needed("report"):
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

_MAX_BARS = 40
_Domain = tuple[str, ...]


def domain_bars(snapshot: Snapshot, seen: Occupancy, title: str) -> str:
    """Draw how much of each domain the gangs take, what else takes, and what is free.

    Args:
        snapshot: The cluster.
        seen: Who holds what.
        title: Title of the figure; how the nodes were summed up is added. The gangs that take most have a colour
            of their own, the others share one.
    """
    depth = len(snapshot.topology)
    domains = _domains(snapshot, depth)
    while depth > 1 and len(domains) > _MAX_BARS:
        depth -= 1
        domains = _domains(snapshot, depth)
    level = snapshot.topology[depth - 1] if depth else ""
    sums = {domain: _taken(seen, nodes) for domain, nodes in domains.items()}
    room = {domain: sum(seen.capacity[node] for node in nodes) for domain, nodes in domains.items()}
    fullest = sorted(domains, key=lambda d: (sums[d][""] - sums[d].total(), -sums[d].total(), d))
    shown = sorted(fullest[:_MAX_BARS], key=lambda domain: [natural(value) for value in domain])
    total = Counter[str]()
    for taken in sums.values():
        total.update({gang: amount for gang, amount in taken.items() if gang})
    named = sorted(sorted(total, key=lambda gang: (-total[gang], gang))[: len(COLORS)], key=natural)
    rest = [gang for gang in sorted(total) if gang not in named]
    layers: list[tuple[str, Sequence[str], dict[str, Any]]] = [
        *((short(name, 30), [name], {"color": color}) for name, color in zip(named, COLORS, strict=False)),
        *([(f"{len(rest)} more gangs", rest, {"color": INK, "hatch": "///"})] if rest else []),
        ("none of these gangs", [""], {"color": OTHER}),
    ]

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        scale = 1000 if seen.resource == "cpu" else 1
        for row, domain in enumerate(shown):
            axes.barh(row, room[domain] / scale, height=0.72, facecolor=PAPER, edgecolor=LINE, lw=0.8)
            left = 0
            for _, members, look in layers:
                width = sum(sums[domain][gang] for gang in members)
                axes.barh(row, width / scale, left=left / scale, height=0.72, edgecolor=PAPER, lw=0.4, **look)
                left += width
        labels = [
            f"{'/'.join(domain) or 'whole cluster'} ({count(len(domains[domain]), 'node')})"
            for domain in shown
        ]
        axes.set_yticks(range(len(shown)), [short(label, 44) for label in labels], fontsize=8)
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(f"{seen.resource}{', in base units' if scale == 1 and seen.unit > 1 else ''}")
        handles = [Patch(label=label, **look) for label, _, look in layers]
        handles.append(Patch(facecolor=PAPER, edgecolor=LINE, label="free"))
        axes.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(-0.01, 1),
            ncols=5,
            borderaxespad=0.3,
            fontsize=8,
        )
        axes.set_title(
            _head(title, snapshot, level, len(domains) - len(shown)), pad=14 + 14 * -(-len(handles) // 5)
        )

    placed = format_quantity(seen.resource, total.total())
    label = f"{title}: gangs take {placed} {seen.resource} of {count(len(snapshot.nodes), 'node')}"
    return draw(label, 9.5, 1.7 + 0.24 * len(shown), paint)


def _domains(snapshot: Snapshot, depth: int) -> Mapping[_Domain, list[str]]:
    """Sum nodes up by the first levels of the topology."""
    found: dict[_Domain, list[str]] = defaultdict(list)
    keys = snapshot.topology[:depth]
    for node in snapshot.nodes:
        inside = all(key in node.labels for key in keys)
        found[tuple(node.labels[key] for key in keys) if inside else ("outside the topology",)].append(
            node.name
        )
    return found


def _taken(seen: Occupancy, nodes: Sequence[str]) -> "Counter[str]":
    """Sum up by gang what is taken on some nodes; the empty name is for what is none of the gangs."""
    taken = Counter[str]()
    for node in nodes:
        for tenant in seen.tenants.get(node, ()):
            taken[tenant.gang or ""] += tenant.amount
    return taken


def _head(title: str, snapshot: Snapshot, level: str, hidden: int) -> str:
    by = f" by {short(level, 20)}" if level else ""
    more = f", {count(hidden, 'domain')} with less not shown" if hidden else ""
    return f"{short(title, 60)} ({count(len(snapshot.nodes), 'node')}, summed up{by}{more})"
