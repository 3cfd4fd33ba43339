"""Where everything stands on a placement map: sizes, frames and labels, in inches from the top left."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil

from gangplan.report.canvas import COLORS, color_of, short
from gangplan.report.occupancy import Occupancy, Tenant
from gangplan.report.wording import amount, natural, one_line
from gangplan.snapshot import Node, Snapshot
from gangplan.solver import format_quantity

MARGIN, GAP, ROW, HEAD = 0.12, 0.12, 0.27, 0.22
"""Around the map; between things; height of a row of cells; height of a node's name."""

LEGEND_ROW, WAITING = 0.24, 0.85
"""Height of a line of the legend; width of a replica that has no place."""

_WIDTH, _CELL, _CHIP, _FRAME_HEAD, _CHIP_GAP = 9.5, 0.62, 0.68, 0.32, 0.06
_CELLS, _COLUMNS, _CHIP_ROWS, _NAMED_GANGS = 16, 4, 2, 14

Span = tuple[float, float, float]
"""A piece of a row: left, top, width."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A domain with its nodes.

    Attributes:
        label: The domain.
        nodes: Its nodes, in the order in which they are drawn.
        columns: How many of them stand side by side.
        node_height: Height of the tallest of them.
        left: Left edge.
        top: Upper edge.
        width: Width.
        height: Height.
    """

    label: str
    nodes: Sequence[Node]
    columns: int
    node_height: float
    left: float
    top: float
    width: float
    height: float


class Layout:
    """The layout of one map."""

    def __init__(self, snapshot: Snapshot, seen: Occupancy, gangs: Sequence[str], title: str) -> None:
        self.seen, self.gangs, self.title = seen, gangs, short(title, 100)
        known = sorted((gang.name for gang in snapshot.gangs), key=natural)
        self.looks = color_of(
            known if len(known) <= len(COLORS) else gangs
        )  # the same in two maps of one cluster
        roles = {tenant.role for tenants in (*seen.tenants.values(), seen.waiting) for tenant in tenants}
        self._letters = _prefixes(sorted(role for role in roles if role))

        largest = max((self.extent(node.name) for node in snapshot.nodes), default=0)
        self.cell = seen.unit * max(1, ceil(largest / seen.unit / _CELLS))
        self.columns = min(max(1, ceil(largest / self.cell)), _COLUMNS)
        longest = max((len(one_line(node.name)) for node in snapshot.nodes), default=0)
        self.node_width = max(1.1, self.columns * _CELL, min(1.7, 0.078 * (longest + 1)))
        self.chip_columns = max(1, int(self.node_width / _CHIP))

        self.key = self._key()
        self.legend = self._legend()
        self.key_top = 0.52 + LEGEND_ROW * len(self.legend)
        self.frames, self.waiting_top = self._frames(snapshot, self.key_top + 0.18)
        self.waiting_columns = int((_WIDTH - 2 * MARGIN) / WAITING)
        waiting_rows = ceil(len(seen.waiting) / self.waiting_columns)
        self.height = self.waiting_top
        if seen.waiting:
            self.height += 0.3 + waiting_rows * (ROW + 0.04) + MARGIN
        self.width = max(
            0.105 * len(self.title) + 2 * MARGIN,
            0.07 * len(self.key) + 2 * MARGIN,
            MARGIN + max((left + width for line in self.legend for _, left, width in line), default=0),
            MARGIN + max((frame.left + frame.width for frame in self.frames), default=0),
            2 * MARGIN + WAITING * min(len(seen.waiting), self.waiting_columns),
        )

    def extent(self, node: str) -> int:
        """How much of the resource is drawn for a node: what it has, and what is taken beyond that."""
        return max(self.seen.capacity[node], self.seen.used(node))

    def rows(self, node: str) -> int:
        """How many rows of cells a node has."""
        return ceil(self.extent(node) / (self.columns * self.cell))

    def spans(self, start: int, stop: int, x: float, y: float) -> list[Span]:
        """Lay an amount out over the rows of the node whose cells begin at x and y."""
        row, scale = self.columns * self.cell, self.node_width / self.columns / self.cell
        pieces = []
        for number in range(start // row, ceil(stop / row)):
            first, last = max(start, number * row), min(stop, (number + 1) * row)
            pieces.append((x + (first - number * row) * scale, y + number * ROW, (last - first) * scale))
        return pieces

    def chips(self, node: str) -> list[Tenant]:
        """Replicas on a node that take nothing of the resource."""
        return [
            item for item in self.seen.tenants.get(node, ()) if item.amount == 0 and item.gang is not None
        ]

    def others(self, node: str) -> int:
        """How much else on a node takes nothing of the resource."""
        return sum(item.amount == 0 and item.gang is None for item in self.seen.tenants.get(node, ()))

    def chip_rows(self, node: str) -> int:
        """How many rows of them there are on a node; what does not fit in two is counted only."""
        return min(_CHIP_ROWS, ceil((len(self.chips(node)) + bool(self.others(node))) / self.chip_columns))

    def chips_top(self, node: str) -> float:
        """Where they begin, below the node's upper edge."""
        rows = self.rows(node)
        return HEAD + rows * ROW + (_CHIP_GAP if rows else 0)

    def label(self, tenant: Tenant, width: float) -> tuple[str, float] | None:
        """Choose text and font size that fit a width: ``worker 0``, or ``w0``; None if nothing fits."""
        for text in (f"{tenant.role} {tenant.index}", f"{self._letters[tenant.role or '']}{tenant.index}"):
            for size in (8.0, 6.5):
                if len(text) * size * 0.6 / 72 <= width - 0.05:
                    return one_line(text), size
        return None

    def _key(self) -> str:
        """Say what cells, outlines, grey and letters mean, as far as they occur."""
        if not self.seen.capacity:
            return "there is no node"
        resource = self.seen.resource
        gpu = resource if resource.endswith("/gpu") else None
        tenants = [item for found in self.seen.tenants.values() for item in found]
        notes = [f"1 cell: {amount(format_quantity(resource, self.cell), resource, gpu=gpu)}"]
        if any(item.amount == 0 and item.gang is not None for item in tenants):
            notes.append("outlined: takes none")
        if any(item.gang is None for item in tenants):
            notes.append("grey: runs there and is none of these gangs")
        if any(self.seen.used(name) > has for name, has in self.seen.capacity.items()):
            notes.append("beyond the thick line: more than there is")
        notes += [f"{self._letters[role]}: {short(role, 20)}" for role in sorted(self._shortened(tenants))]
        return "; ".join(notes)

    def _shortened(self, tenants: Sequence[Tenant]) -> set[str]:
        """Find the roles that some label does not write out."""
        found = set()
        for item in tenants:
            width = self.node_width / self.chip_columns - 0.02
            if item.amount:
                width = max(
                    span[2] for span in self.spans(0, min(item.amount, self.columns * self.cell), 0, 0)
                )
            if item.role and (label := self.label(item, width)) and " " not in label[0]:
                found.add(item.role)
        return found

    def _legend(self) -> list[list[tuple[str, float, float]]]:
        """Break the legend into lines: each gang with left edge and width; the empty name stands for the others."""
        lines: list[list[tuple[str, float, float]]] = []
        left = _WIDTH
        for name in [*self.gangs[:_NAMED_GANGS], *([""] if len(self.gangs) > _NAMED_GANGS else [])]:
            width = 0.36 + 0.078 * len(self.gang_label(name))
            if left + width > _WIDTH - MARGIN:
                lines.append([])
                left = MARGIN
            lines[-1].append((name, left, width))
            left += width
        return lines

    def gang_label(self, name: str) -> str:
        """Give the text of the legend for a gang."""
        return short(name, 30) if name else f"and {len(self.gangs) - _NAMED_GANGS} more"

    def _frames(self, snapshot: Snapshot, top: float) -> tuple[list[Frame], float]:
        """Let the domains flow into lines; returns them, and where they end."""
        label_of = {node.name: _domain(node, snapshot.topology) for node in snapshot.nodes}
        ordered = sorted(snapshot.nodes, key=lambda node: (natural(label_of[node.name]), natural(node.name)))
        most = int((_WIDTH - 2 * MARGIN - GAP) / (self.node_width + GAP))
        frames: list[Frame] = []
        left, line = MARGIN, 0.0
        for label, members in groupby(ordered, key=lambda node: label_of[node.name]):
            nodes = list(members)
            columns = min(len(nodes), most)
            each = max(self.chips_top(node.name) + self.chip_rows(node.name) * ROW for node in nodes)
            width = columns * (self.node_width + GAP) + GAP
            height = ceil(len(nodes) / columns) * (each + GAP) + _FRAME_HEAD
            if left > MARGIN and left + width > _WIDTH - MARGIN:
                left, top, line = MARGIN, top + line + GAP, 0.0
            frames.append(
                Frame(
                    label=label,
                    nodes=nodes,
                    columns=columns,
                    node_height=each,
                    left=left,
                    top=top,
                    width=width,
                    height=height,
                )
            )
            left, line = left + width + GAP, max(line, height)
        return frames, top + line + MARGIN

    def place(self, frame: Frame, number: int) -> tuple[float, float]:
        """Tell where a node of a frame stands."""
        row, column = divmod(number, frame.columns)
        x = frame.left + GAP + column * (self.node_width + GAP)
        return x, frame.top + _FRAME_HEAD + row * (frame.node_height + GAP)


def _domain(node: Node, topology: Sequence[str]) -> str:
    """Name the smallest domain of a node: ``zone z1, rack r7``."""
    if any(key not in node.labels for key in topology):
        return "outside the topology"
    return ", ".join(f"{key} {node.labels[key]}" for key in topology)


def _prefixes(names: Sequence[str]) -> dict[str, str]:
    """Shorten each name to as few letters as tell it apart from the others."""
    found = {}
    for name in names:
        others = [other for other in names if other != name]
        lengths = (n for n in range(1, len(name)) if not any(other.startswith(name[:n]) for other in others))
        found[name] = name[: next(lengths, len(name))]
    return found
