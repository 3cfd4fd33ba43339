"""The placement map: which replica is where, node by node, or domain by domain where there are many nodes."""

from typing import Any

from gangplan.extras import needed
from gangplan.report.canvas import INK, LINE, OTHER, PAPER, SOFT, draw, ink_on, short, squeezed
from gangplan.report.domain_bars import domain_bars
from gangplan.report.map_layout import GAP, HEAD, LEGEND_ROW, MARGIN, ROW, WAITING, Frame, Layout, Span
from gangplan.report.occupancy import Placements, Tenant, occupancy
from gangplan.report.wording import count, natural
from gangplan.snapshot import Node, Snapshot

with needed("report"):
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

_MAX_NODES = 48
"""Nodes that are drawn one by one; above that a page shows no more than a pattern."""

_CENTER: dict[str, Any] = {"ha": "center", "va": "center_baseline"}
_INSET = 0.015


def placement_map(snapshot: Snapshot, placements: Placements, title: str) -> str:
    """Draw nodes grouped by topology, filled with replicas by what they take of the scarcest resource.

    Args:
        snapshot: The cluster. What runs there and belongs to none of the placed gangs is grey.
        placements: Gang → role → nodes, as in :class:`gangplan.Plan`; replicas with None are drawn beside the nodes.
        title: Title of the figure. Above 48 nodes the domains of the topology are drawn in place of the nodes, and
            the figure says so.

    Raises:
        InvalidQuantity: A quantity of the snapshot cannot be read.
        KeyError: A gang or role of the placements is not in the snapshot.
    """
    seen = occupancy(snapshot, placements)
    if len(snapshot.nodes) > _MAX_NODES:
        return domain_bars(snapshot, seen, title)
    layout = Layout(snapshot, seen, sorted(placements, key=natural), title)
    placed = sum(tenant.gang is not None for tenants in seen.tenants.values() for tenant in tenants)
    label = f"{title}: {count(placed, 'replica')} on {count(len(snapshot.nodes), 'node')}"
    if seen.waiting:
        label += f", {count(len(seen.waiting), 'replica')} without a place"
    return draw(label, layout.width, layout.height, _Painter(layout).paint)


class _Painter:
    """Puts a layout on a figure."""

    def __init__(self, layout: Layout) -> None:
        self.layout, self.seen = layout, layout.seen

    def paint(self, figure: Figure) -> None:
        layout = self.layout
        figure.set_layout_engine("none")
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, layout.width)
        axes.set_ylim(layout.height, 0)
        axes.set_axis_off()
        axes.text(MARGIN, 0.24, layout.title, fontsize=11, fontweight="bold", va="center")
        for number, line in enumerate(layout.legend):
            for name, left, _ in line:
                self._legend_entry(axes, name, left, 0.52 + LEGEND_ROW * number)
        axes.text(MARGIN, layout.key_top, layout.key, fontsize=8, color=SOFT, va="center")
        for frame in layout.frames:
            self._frame(axes, frame)
        if self.seen.waiting:
            text = f"Without a place: {count(len(self.seen.waiting), 'replica')}"
            axes.text(MARGIN, layout.waiting_top + 0.1, text, fontsize=9, fontweight="bold", va="center")
        for i, tenant in enumerate(self.seen.waiting):
            row, column = divmod(i, layout.waiting_columns)
            top = layout.waiting_top + 0.24 + row * (ROW + 0.04)
            self._box(axes, tenant, (MARGIN + column * WAITING, top, WAITING - 0.04), dashed=True)

    def _legend_entry(self, axes: Axes, name: str, left: float, y: float) -> None:
        label = self.layout.gang_label(name)
        if not name:
            axes.text(left, y, label, color=SOFT, va="center")
            return
        color, hatch = self.layout.looks[name]
        axes.add_patch(
            Rectangle((left, y - 0.07), 0.2, 0.14, facecolor=color, hatch=hatch, edgecolor=PAPER, lw=0)
        )
        axes.text(left + 0.26, y, label, va="center")

    def _frame(self, axes: Axes, frame: Frame) -> None:
        place = (frame.left, frame.top)
        axes.add_patch(
            Rectangle(place, frame.width, frame.height, facecolor="#f5f7f9", edgecolor=LINE, lw=0.8)
        )
        label = short(frame.label, int(frame.width / 0.08)) or count(len(frame.nodes), "node")
        axes.text(frame.left + GAP, frame.top + 0.16, label, fontsize=9, color=SOFT, va="center")
        for number, node in enumerate(frame.nodes):
            self._node(axes, node, *self.layout.place(frame, number))

    def _node(self, axes: Axes, node: Node, x: float, y: float) -> None:
        state = " (cordoned)" if node.unschedulable else "" if node.ready else " (not ready)"
        room = max(4, int(self.layout.node_width / 0.078) - len(state))
        axes.text(x, y + 0.11, squeezed(node.name, room) + state, fontsize=8.5, va="center")
        self._cells(axes, node.name, x, y + HEAD, "#e3e6ea" if state else PAPER)
        start = 0
        for tenant in self.seen.tenants.get(node.name, ()):
            spans = self.layout.spans(start, start + tenant.amount, x, y + HEAD)
            labelled = max(spans, key=lambda span: span[2], default=None)  # the first of the widest
            for span in spans:
                self._box(axes, tenant, span, written=span is labelled)
            start += tenant.amount
        capacity = self.seen.capacity[node.name]
        if start > capacity:
            left, top, _ = self.layout.spans(capacity, start, x, y + HEAD)[0]
            axes.plot([left, left], [top, top + ROW], color=INK, lw=2.5)
        self._chips(axes, node.name, x, y + self.layout.chips_top(node.name))

    def _cells(self, axes: Axes, node: str, x: float, y: float, ground: str) -> None:
        """Draw what a node has; the replicas cover what they take."""
        capacity, cell = self.seen.capacity[node], self.layout.cell
        for first in range(0, capacity, cell):
            for left, top, width in self.layout.spans(first, min(first + cell, capacity), x, y):
                axes.add_patch(Rectangle((left, top), width, ROW, facecolor=ground, edgecolor=LINE, lw=0.7))

    def _chips(self, axes: Axes, node: str, x: float, y: float) -> None:
        """Draw the replicas that take nothing of the resource, and count the rest."""
        chips, others = self.layout.chips(node), self.layout.others(node)
        columns = self.layout.chip_columns
        places = columns * self.layout.chip_rows(node)
        width = self.layout.node_width / columns
        shown = chips if len(chips) + bool(others) <= places else chips[: places - 1]
        for i, tenant in enumerate(shown):
            row, column = divmod(i, columns)
            self._box(axes, tenant, (x + column * width + 0.01, y + row * ROW, width - 0.02), outlined=True)
        if rest := len(chips) - len(shown) + others:
            row, column = divmod(len(shown), columns)
            text = f"{'+' if shown else ''}{rest:,} other{'' if rest == 1 else 's'}"
            place = (x + column * width + 0.03, y + (row + 0.5) * ROW)
            axes.text(*place, text, va="center_baseline", fontsize=7, color=SOFT)

    def _box(
        self,
        axes: Axes,
        tenant: Tenant,
        span: Span,
        *,
        written: bool = True,
        outlined: bool = False,
        dashed: bool = False,
    ) -> None:
        x, y, width = span
        color, hatch = self.layout.looks[tenant.gang] if tenant.gang is not None else (OTHER, "")
        face = PAPER if outlined else color
        box = Rectangle(
            (x + _INSET, y + _INSET),
            max(width - 2 * _INSET, 0.01),
            ROW - 2 * _INSET,
            facecolor=face,
            edgecolor=INK if dashed else color if outlined else PAPER,
            hatch="" if outlined else hatch,
            linestyle="--" if dashed else "-",
            lw=1.6 if outlined else 1.0,
        )
        axes.add_patch(box)
        label = self.layout.label(tenant, width) if written and tenant.role is not None else None
        if label is not None:
            ground = {"facecolor": face, "edgecolor": "none", "pad": 0.8} if hatch else None
            place = (x + width / 2, y + ROW / 2)
            axes.text(*place, label[0], **_CENTER, fontsize=label[1], color=ink_on(face), bbox=ground)
