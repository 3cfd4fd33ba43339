"""The placement map: which replica is where, node by node, or domain by domain where there are many nodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from gangplan.report.canvas import INK, LINE, OTHER, PAPER, SOFT, color_of, draw, ink_on, short
from gangplan.report.domain_bars import domain_bars
from gangplan.report.occupancy import Occupancy, Placements, Tenant, occupancy
from gangplan.report.wording import amount, count
from gangplan.snapshot import Node, Snapshot
from gangplan.solver import format_quantity

_MAX_NODES = 48
"""Nodes that are drawn one by one; above that a page shows no more than a pattern."""

_WIDTH, _MARGIN, _GAP = 9.5, 0.12, 0.12
_CELL, _ROW, _CHIP_ROWS = 0.62, 0.27, 2
_LEGEND = 14


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
        return domain_bars(snapshot, seen, sorted(placements), title)
    page = _Map(snapshot, seen, sorted(placements), title)
    placed = sum(tenant.gang is not None for tenants in seen.tenants.values() for tenant in tenants)
    label = f"{title}: {count(placed, 'replica')} on {count(len(snapshot.nodes), 'node')}"
    if seen.waiting:
        label += f", {count(len(seen.waiting), 'replica')} without a place"
    return draw(label, _WIDTH, page.height, page.paint)


def domain_of(node: Node, topology: Sequence[str]) -> str:
    """Name the smallest domain of a node: ``zone z1, rack r7``."""
    if any(key not in node.labels for key in topology):
        return "outside the topology"
    return ", ".join(f"{key} {node.labels[key]}" for key in topology)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """A domain with its nodes, in inches from the top left."""

    label: str
    nodes: Sequence[Node]
    left: float
    top: float
    columns: int


class _Map:
    """The layout of one map; all measures in inches, y downwards."""

    def __init__(self, snapshot: Snapshot, seen: Occupancy, gangs: Sequence[str], title: str) -> None:
        self.seen, self.title = seen, title
        self.looks = color_of(gangs)
        roles = {tenant.role for tenants in (*seen.tenants.values(), seen.waiting) for tenant in tenants}
        self.letters = _prefixes(sorted(role for role in roles if role))
        largest = max((max(seen.capacity[node.name], seen.used(node.name)) for node in snapshot.nodes), default=0)
        self.cell = seen.unit * max(1, ceil(largest / seen.unit / 16))
        cells = max(1, ceil(largest / self.cell))
        self.columns = min(cells, 4)
        self.rows = ceil(cells / self.columns)
        self.node_width = max(1.1, self.columns * _CELL)
        self.cell_width = self.node_width / self.columns
        chips = max((len(self._chips(node.name)) for node in snapshot.nodes), default=0)
        self.chip_columns = max(1, int(self.node_width / 0.55))
        self.chip_rows = min(_CHIP_ROWS, ceil(chips / self.chip_columns))
        self.node_height = 0.24 + (self.rows + self.chip_rows) * _ROW + (0.06 if self.chip_rows else 0)
        self.legend = self._legend_rows(gangs)
        self.frames, bottom = self._frames(snapshot, 0.46 + 0.24 * (len(self.legend) + 1))
        self.waiting_top = bottom
        self.waiting_columns = int((_WIDTH - 2 * _MARGIN) / 0.85)
        waiting_rows = ceil(len(seen.waiting) / self.waiting_columns)
        self.height = bottom + (0.3 + waiting_rows * (_ROW + 0.04) + _MARGIN if seen.waiting else 0)

    def _chips(self, node: str) -> list[Tenant | int]:
        """Replicas that take nothing of the drawn resource, and how much else there is of that kind."""
        tenants = [tenant for tenant in self.seen.tenants.get(node, ()) if tenant.amount == 0]
        chips: list[Tenant | int] = [tenant for tenant in tenants if tenant.gang is not None]
        others = len(tenants) - len(chips)
        return [*chips, others] if others else chips

    def _legend_rows(self, gangs: Sequence[str]) -> list[list[tuple[str, float]]]:
        """Break the legend into lines: each entry with its left edge."""
        entries = list(gangs[:_LEGEND]) + ([""] if len(gangs) > _LEGEND else [])
        rows: list[list[tuple[str, float]]] = []
        left = _WIDTH
        for name in entries:
            width = 0.36 + 0.078 * len(short(name, 30) or f"and {len(gangs) - _LEGEND} more")
            if left + width > _WIDTH - _MARGIN:
                rows.append([])
                left = _MARGIN
            rows[-1].append((name, left))
            left += width
        return rows

    def _frames(self, snapshot: Snapshot, top: float) -> tuple[list[_Frame], float]:
        """Let the domains flow into lines; returns them and where they end."""
        label_of = {node.name: domain_of(node, snapshot.topology) for node in snapshot.nodes}
        ordered = sorted(snapshot.nodes, key=lambda node: (label_of[node.name], node.name))
        most = int((_WIDTH - 2 * _MARGIN - _GAP) / (self.node_width + _GAP))
        frames: list[_Frame] = []
        left, line_height = _MARGIN, 0.0
        for label, members in groupby(ordered, key=lambda node: label_of[node.name]):
            nodes = list(members)
            columns = min(len(nodes), most)
            width, height = self._frame_size(len(nodes), columns)
            if left > _MARGIN and left + width > _WIDTH - _MARGIN:
                left, top, line_height = _MARGIN, top + line_height + _GAP, 0.0
            frames.append(_Frame(label=label, nodes=nodes, left=left, top=top, columns=columns))
            left, line_height = left + width + _GAP, max(line_height, height)
        return frames, top + line_height + _MARGIN

    def _frame_size(self, nodes: int, columns: int) -> tuple[float, float]:
        return columns * (self.node_width + _GAP) + _GAP, ceil(nodes / columns) * (self.node_height + _GAP) + 0.32

    def paint(self, figure: Figure) -> None:
        figure.set_layout_engine("none")
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, _WIDTH)
        axes.set_ylim(self.height, 0)
        axes.set_axis_off()
        axes.text(_MARGIN, 0.24, short(self.title, 100), fontsize=11, fontweight="bold", va="center")
        for number, row in enumerate(self.legend):
            for name, left in row:
                self._legend_entry(axes, name, left, 0.52 + 0.24 * number)
        key = f"1 cell: {amount(format_quantity(self.seen.resource, self.cell), self.seen.resource)}"
        if self.seen.resource.endswith("/gpu"):
            key = f"1 cell: {amount(format_quantity(self.seen.resource, self.cell), 'gpu', gpu='gpu')}"
        notes = [key, *self._notes()]
        axes.text(_MARGIN, 0.52 + 0.24 * len(self.legend), "; ".join(notes), fontsize=8, color=SOFT, va="center")
        for frame in self.frames:
            self._frame(axes, frame)
        if self.seen.waiting:
            text = f"Without a place: {count(len(self.seen.waiting), 'replica')}"
            axes.text(_MARGIN, self.waiting_top + 0.1, text, fontsize=9, fontweight="bold", va="center")
        for i, tenant in enumerate(self.seen.waiting):
            x = _MARGIN + i % self.waiting_columns * 0.85
            y = self.waiting_top + 0.24 + i // self.waiting_columns * (_ROW + 0.04)
            self._box(axes, tenant, x, y, 0.81, dashed=True)

    def _notes(self) -> list[str]:
        tenants = [tenant for found in self.seen.tenants.values() for tenant in found]
        notes = []
        if any(tenant.amount == 0 and tenant.gang is not None for tenant in tenants):
            notes.append("outlined: takes none")
        if any(tenant.gang is None for tenant in tenants):
            notes.append("grey: runs there and is none of these gangs")
        if any(self.seen.used(name) > has for name, has in self.seen.capacity.items()):
            notes.append("beyond the thick line: more than there is")
        return notes

    def _legend_entry(self, axes: Axes, name: str, left: float, y: float) -> None:
        if not name:
            axes.text(left, y, f"and {len(self.looks) - _LEGEND} more", color=SOFT, va="center")
            return
        color, hatch = self.looks[name]
        axes.add_patch(Rectangle((left, y - 0.07), 0.2, 0.14, facecolor=color, hatch=hatch, edgecolor=PAPER, lw=0))
        axes.text(left + 0.26, y, short(name, 30), va="center")

    def _frame(self, axes: Axes, frame: _Frame) -> None:
        width, height = self._frame_size(len(frame.nodes), frame.columns)
        box = Rectangle((frame.left, frame.top), width, height, facecolor="#f5f7f9", edgecolor=LINE, lw=0.8)
        axes.add_patch(box)
        label = short(frame.label, int(width / 0.08)) or count(len(frame.nodes), "node")
        axes.text(frame.left + _GAP, frame.top + 0.16, label, fontsize=9, color=SOFT, va="center")
        for i, node in enumerate(frame.nodes):
            x = frame.left + _GAP + i % frame.columns * (self.node_width + _GAP)
            y = frame.top + 0.32 + i // frame.columns * (self.node_height + _GAP)
            self._node(axes, node, x, y)

    def _node(self, axes: Axes, node: Node, x: float, y: float) -> None:
        state = "" if node.ready else " (not ready)"
        state = " (cordoned)" if node.unschedulable else state
        room = max(4, int(self.node_width / 0.078) - len(state))
        axes.text(x, y + 0.11, short(node.name, room) + state, fontsize=8.5, va="center")
        top = y + 0.22
        capacity, used = self.seen.capacity[node.name], self.seen.used(node.name)
        for left, row_top, width in self._spans(0, max(capacity, used), x, top):
            face = PAPER if not state else "#e3e6ea"
            axes.add_patch(Rectangle((left, row_top), width, _ROW, facecolor=face, edgecolor="none"))
        start = 0
        for tenant in self.seen.tenants.get(node.name, ()):
            spans = self._spans(start, start + tenant.amount, x, top)
            widest = max((span[2] for span in spans), default=0)
            for span in spans:
                self._box(axes, tenant, *span, written=span[2] == widest)
                widest += span[2] == widest  # the label stands in the first of the widest pieces only
            start += tenant.amount
        step = self.cell if max(capacity, used) <= 16 * self.cell else capacity
        for first in range(0, capacity, step):
            for left, row_top, width in self._spans(first, min(first + step, capacity), x, top):
                axes.add_patch(Rectangle((left, row_top), width, _ROW, facecolor="none", edgecolor=LINE, lw=0.7))
        if used > capacity:
            for left, row_top, _ in self._spans(capacity, used, x, top)[:1]:
                axes.plot([left, left], [row_top, row_top + _ROW], color=INK, lw=2.5)
        self._draw_chips(axes, node.name, x, top + self.rows * _ROW + 0.06)

    def _spans(self, start: int, stop: int, x: float, y: float) -> list[tuple[float, float, float]]:
        """Lay an amount out over the rows of a node: left, top and width of each piece."""
        row = self.columns * self.cell
        pieces = []
        for number in range(start // row, ceil(stop / row)):
            first, last = max(start, number * row), min(stop, (number + 1) * row)
            left = x + (first - number * row) / self.cell * self.cell_width
            pieces.append((left, y + number * _ROW, (last - first) / self.cell * self.cell_width))
        return pieces

    def _draw_chips(self, axes: Axes, node: str, x: float, y: float) -> None:
        chips = self._chips(node)
        places = self.chip_columns * self.chip_rows
        width = self.node_width / self.chip_columns
        hidden = len(chips) - places + 1 if len(chips) > places else 0
        for i, chip in enumerate(chips[: places - 1] if hidden else chips):
            left, top = x + i % self.chip_columns * width, y + i // self.chip_columns * _ROW
            if isinstance(chip, Tenant):
                self._box(axes, chip, left + 0.01, top, width - 0.02, outlined=True)
            else:
                axes.text(left + width / 2, top + _ROW / 2, f"+{chip} other", **_CENTER, fontsize=7, color=SOFT)
        if hidden:
            left = x + (places - 0.5) % self.chip_columns * width
            top = y + (self.chip_rows - 0.5) * _ROW
            axes.text(left, top, f"+{hidden}", **_CENTER, fontsize=7, color=SOFT)

    def _box(
        self,
        axes: Axes,
        tenant: Tenant,
        x: float,
        y: float,
        width: float,
        *,
        written: bool = True,
        outlined: bool = False,
        dashed: bool = False,
    ) -> None:
        color, hatch = self.looks[tenant.gang] if tenant.gang is not None else (OTHER, "")
        face = PAPER if outlined else color
        style = "--" if dashed else "-"
        edge, thick = (color, 1.6) if outlined else (PAPER, 1.0)
        inset = 0.015
        box = Rectangle(
            (x + inset, y + inset),
            max(width - 2 * inset, 0.01),
            _ROW - 2 * inset,
            facecolor=face,
            edgecolor=INK if dashed else edge,
            hatch=hatch,
            linestyle=style,
            lw=thick,
        )
        axes.add_patch(box)
        if not written or tenant.role is None:
            return
        for text in (f"{tenant.role} {tenant.index}", f"{self.letters[tenant.role]}{tenant.index}"):
            for size in (8.0, 6.5):
                if len(text) * size * 0.6 / 72 <= width - 0.05:
                    ground = {"facecolor": face, "edgecolor": "none", "pad": 0.8} if hatch else None
                    color = ink_on(face)
                    axes.text(x + width / 2, y + _ROW / 2, text, **_CENTER, fontsize=size, color=color, bbox=ground)
                    return


_CENTER: Mapping[str, str] = {"ha": "center", "va": "center_baseline"}


def _prefixes(names: Sequence[str]) -> dict[str, str]:
    """Shorten each name to as few letters as tell it apart from the others."""
    found = {}
    for name in names:
        others = [other for other in names if other != name]
        lengths = (n for n in range(1, len(name)) if not any(other.startswith(name[:n]) for other in others))
        found[name] = name[: next(lengths, len(name))]
    return found
