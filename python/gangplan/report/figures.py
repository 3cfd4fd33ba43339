"""The figures of the reports, as SVG: where replicas are, what gangs went through, how training went.

Equal input gives equal bytes. Names may be any text. A lot of input is drawn in less detail, and the figure says so.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from gangplan.extras import needed
from gangplan.record import GangRecord, Phase
from gangplan.report.canvas import COLORS, INK, LINE, OTHER, PAPER, SOFT, draw, ink_on, short
from gangplan.report.placement_map import placement_map
from gangplan.report.wording import count

with needed("report"):
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

__all__ = ["confusion", "curves", "placement_map", "roc", "timeline"]

_MAX_BARS = 60
"""Gangs in one timeline; more make it longer than a page."""

_MAX_POINTS = 1000
"""Points of one curve; more make the file larger, not the curve."""

_PHASES: dict[Phase, tuple[str, str]] = {
    "Pending": ("#F0E442", ""),
    "Impossible": ("#D55E00", "///"),
    "Suspended": (OTHER, "..."),
    "Reserved": ("#56B4E9", ""),
    "Binding": ("#CC79A7", ""),
    "Bound": ("#0072B2", ""),
}
_MARKS = {"Succeeded": "✓", "Failed": "✗", "Canceled": "■", "TimedOut": "✗", "NotAdmitted": "■"}


def timeline(records: Sequence[GangRecord], now: float, *, title: str = "What the gangs went through") -> str:
    """Draw a bar for each gang with its phases over time, and how it ended.

    Args:
        records: The gangs; of more than 60 the latest 60 are shown.
        now: Seconds since 1970; where the bars of gangs that did not end stop.
        title: Title of the figure.
    """
    ordered = sorted(
        (record for record in records if record.history), key=lambda r: (r.history[0].at, r.name, r.uid)
    )
    shown = ordered[-_MAX_BARS:]
    origin = min((record.history[0].at for record in shown), default=now)
    end = max([now, *(record.history[-1].at for record in shown)], default=now)
    unit, seconds = next((u for u in (("h", 3600), ("min", 60)) if end - origin >= 2 * u[1]), ("s", 1))
    span = max((end - origin) / seconds, 0.1)

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        seen: set[Phase] = set()
        for row, record in enumerate(shown):
            stops = [*(event.at for event in record.history[1:]), max(now, record.history[-1].at)]
            for event, stop in zip(record.history, stops, strict=True):
                if event.phase == "Finished":
                    continue
                seen.add(event.phase)
                color, hatch = _PHASES[event.phase]
                left, right = (event.at - origin) / seconds, (stop - origin) / seconds
                axes.barh(
                    row,
                    right - left,
                    left=left,
                    height=0.6,
                    color=color,
                    hatch=hatch,
                    edgecolor=PAPER,
                    lw=0.5,
                )
            last = (record.history[-1].at - origin) / seconds
            if record.outcome is not None:
                text, x = f"{_MARKS[record.outcome]} {record.outcome}", last
            else:
                text, x = record.phase, (max(now, record.history[-1].at) - origin) / seconds
            axes.annotate(
                text, (x, row), (4, 0), textcoords="offset points", va="center", fontsize=8, color=SOFT
            )
        axes.set_yticks(range(len(shown)), [short(record.name, 32) for record in shown])
        axes.set_ylim(max(len(shown), 1) - 0.5, -0.5)
        axes.set_xlim(0, span * 1.14)
        axes.set_xlabel(f"time since the first was asked for, {unit}")
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        cut = f" (the latest {len(shown)} of {len(ordered):,})" if len(shown) < len(ordered) else ""
        axes.set_title(short(title, 90) + cut, pad=26 if seen else 8)
        if not shown:
            _say_nothing(axes, "no gang was asked for")
        handles = [
            Patch(facecolor=color, hatch=hatch, edgecolor=PAPER, label=phase)
            for phase, (color, hatch) in _PHASES.items()
            if phase in seen
        ]
        if handles:
            axes.legend(
                handles=handles, loc="lower left", bbox_to_anchor=(-0.01, 1), ncols=6, borderaxespad=0.3
            )

    return draw(
        f"{title}: {count(len(shown), 'gang')} over {span:.4g} {unit}", 9, 1.3 + 0.3 * len(shown), paint
    )


def curves(
    history: Sequence[Mapping[str, float]],
    *,
    test_accuracy: float | None = None,
    title: str = "How training went",
) -> str:
    """Draw loss and accuracy over steps.

    Args:
        history: By step: ``step``, ``loss``, ``accuracy``, ``seconds``; what is missing or no number leaves a gap.
            Of more than 1,000 entries every n-th is drawn, and the last.
        test_accuracy: Accuracy on data that training did not see, from 0 to 1, drawn as a line.
        title: Title of the figure.
    """
    ordered = sorted(history, key=lambda entry: entry["step"])
    stride = math.ceil(len(ordered) / _MAX_POINTS) or 1
    kept = ordered[::stride] + (ordered[-1:] if (len(ordered) - 1) % stride else [])
    steps = [entry["step"] for entry in kept]

    def paint(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        panels: tuple[tuple[Axes, str, str], ...] = (
            (left, "loss", COLORS[0]),
            (right, "accuracy", COLORS[5]),
        )
        for axes, name, color in panels:
            values = [_number(entry.get(name)) for entry in kept]
            axes.plot(steps, values, color=color, marker="o" if len(kept) < 30 else "", markersize=3.5)
            numbers = [value for value in values if math.isfinite(value)]
            axes.set_title(f"{name}, last {numbers[-1]:.4g}" if numbers else name, color=INK)
            axes.set_xlabel("step")
            if not numbers:
                _say_nothing(axes, "nothing was recorded")
        left.set_ylim(bottom=min(0, left.get_ylim()[0]))
        right.set_ylim(min(0, right.get_ylim()[0]), 1.02)
        if test_accuracy is not None:
            right.axhline(test_accuracy, color=COLORS[2], linestyle="--", linewidth=1.4)
            above = test_accuracy < 0.5
            right.annotate(
                f"test {test_accuracy:.4g}",
                (0.98, test_accuracy),
                (0, 4 if above else -4),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                ha="right",
                va="bottom" if above else "top",
                color="#00694d",
            )
        thinned = f" (each {stride}th of {len(ordered):,} points)" if stride > 1 else ""
        figure.suptitle(short(title, 90) + thinned, x=0.01, ha="left", fontweight="bold", fontsize=11)
        for axes in (left, right):
            axes.title.set_fontsize(9.5)

    return draw(f"{title}: loss and accuracy over {count(len(ordered), 'point')}", 9, 3.2, paint)


def _say_nothing(axes: Axes, text: str) -> None:
    """Say that there is nothing to see, rather than draw scales of nothing."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=SOFT)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlabel("")


def _number(value: float | None) -> float:
    return math.nan if value is None or not math.isfinite(value) else value


def confusion(
    matrix: Sequence[Sequence[int]], class_names: Sequence[str], *, title: str = "Confusion matrix"
) -> str:
    """Draw how often each class was taken for each.

    Args:
        matrix: Counts; rows are true classes, columns predicted ones.
        class_names: Names of the classes, in that order. Above 20 classes the counts are not written.
        title: Title of the figure.

    Raises:
        ValueError: The matrix is not square or has another size than the names.
    """
    size = len(class_names)
    if len(matrix) != size or any(len(row) != size for row in matrix):
        raise ValueError(
            f"wanted {size} rows and columns, one for each class name; found {[len(row) for row in matrix]}"
        )
    total, right = sum(map(sum, matrix)), sum(matrix[i][i] for i in range(size))
    names = [short(name, 16) for name in class_names]
    side = min(9.0, 2.0 + 0.42 * size)

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        shares = [[cell / (sum(row) or 1) for cell in row] for row in matrix]
        if size:
            mesh = axes.pcolormesh(shares, cmap="Blues", vmin=0, vmax=1.25, edgecolors=PAPER, linewidth=1)
            for i, row in enumerate(matrix if size <= 20 else ()):
                for j, cell in enumerate(row):
                    shade = mesh.get_cmap()(shares[i][j] / 1.25)
                    color = ink_on("#" + "".join(f"{round(255 * part):02x}" for part in shade[:3]))
                    weight = "bold" if i == j else "normal"
                    if cell:
                        axes.text(
                            j + 0.5,
                            i + 0.5,
                            f"{cell:,}",
                            ha="center",
                            va="center",
                            color=color,
                            weight=weight,
                        )
        every = math.ceil(size / 40) or 1
        ticks = range(0, size, every)
        labels = [names[i] for i in ticks]
        turned = max(map(len, labels), default=0) > 4
        axes.set_xticks([i + 0.5 for i in ticks], labels, rotation=90 if turned else 0)
        axes.set_yticks([i + 0.5 for i in ticks], labels)
        axes.set_ylim(max(size, 1), 0)
        axes.set_aspect("equal")
        axes.grid(visible=False)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_xlabel("predicted")
        axes.set_ylabel("true")
        axes.set_title(short(title, 60))

    return draw(f"{title}: {right:,} of {total:,} are right", side, side, paint)


def roc(points: Sequence[tuple[float, float]], *, title: str = "Hits and false alarms (ROC)") -> str:
    """Draw the share of positives found over the share of negatives taken for positives.

    Args:
        points: False positive rate and true positive rate, each from 0 to 1, in any order; the corners (0, 0) and
            (1, 1) are added.
        title: Title of the figure.
    """
    line = sorted({(0.0, 0.0), (1.0, 1.0), *((float(x), float(y)) for x, y in points)})
    area = sum((right[0] - left[0]) * (left[1] + right[1]) / 2 for left, right in pairwise(line))

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        xs, ys = zip(*line, strict=True)
        axes.plot([0, 1], [0, 1], color=LINE, linestyle="--", linewidth=1)
        axes.fill_between(xs, ys, color=COLORS[0], alpha=0.12, linewidth=0)
        axes.plot(xs, ys, color=COLORS[0])
        axes.text(0.62, 0.5, "guessing", color=SOFT, rotation=45, va="center", ha="center", fontsize=8)
        axes.text(0.96, 0.06, f"area {area:.4f}", ha="right", fontsize=11)
        axes.set_xlim(-0.01, 1.01)
        axes.set_ylim(-0.01, 1.01)
        axes.set_aspect("equal")
        axes.set_xlabel("false positive rate")
        axes.set_ylabel("true positive rate")
        axes.set_title(short(title, 60))

    return draw(f"{title}: area under the curve {area:.4f}", 4.4, 4.4, paint)
