"""Charts of what runs found out: a value for each of a few things, with its spread."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gangplan.extras import needed
from gangplan.report.canvas import INK, OTHER, PAPER, color_of, draw, short

with needed("report"):
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

Spread = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart as data.

    Attributes:
        title: What it shows.
        caption: What to see in it.
        x: Title of the things along the x axis.
        y: What is measured, with its unit.
        ticks: The things, in order.
        series: Name → a value for each thing; None: there is none.
        spread: Name → the least and the largest value of each thing, for those that were measured several times.
        guides: Series that are only there to compare with: drawn thin, without values.
        kind: ``bars`` for things that have no order of their own, ``lines`` for those that grow.
    """

    title: str
    caption: str
    x: str
    y: str
    ticks: tuple[str, ...]
    series: Mapping[str, tuple[float | None, ...]]
    spread: Mapping[str, tuple[Spread | None, ...]] = field(default_factory=dict)
    guides: tuple[str, ...] = ()
    kind: Literal["bars", "lines"] = "bars"


def chart(shown: Chart) -> str:
    """Draw a chart as SVG; equal input gives equal bytes."""

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        looks = color_of(tuple(shown.series))
        for place, name in enumerate(shown.series):
            if shown.kind == "bars":
                _bars(axes, shown, name, place, looks[name])
            else:
                _line(axes, shown, name, looks[name][0])
        axes.set_xticks(range(len(shown.ticks)), [short(tick, 24) for tick in shown.ticks])
        axes.set_xlim(-0.6, max(len(shown.ticks), 1) - 0.4)
        axes.set_ylim(bottom=0)
        if all(value is None or value == int(value) for values in shown.series.values() for value in values):
            axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(visible=False, axis="x")
        axes.set_xlabel(short(shown.x, 60))
        axes.set_ylabel(short(shown.y, 40))
        axes.set_title(short(shown.title, 80), pad=22 if len(shown.series) > 1 else 8)
        if len(shown.series) > 1:
            axes.legend(loc="lower left", bbox_to_anchor=(-0.01, 1), ncols=5, borderaxespad=0.3)

    return draw(f"{shown.title}: {shown.y} by {shown.x}", 7.5, 3.4, paint)


def _bars(axes: Axes, shown: Chart, name: str, place: int, look: tuple[str, str]) -> None:
    width = 0.8 / len(shown.series)
    color, hatch = look
    for tick, value in enumerate(shown.series[name]):
        x = tick + (place - (len(shown.series) - 1) / 2) * width
        label = short(name, 30) if tick == 0 else None
        axes.bar(x, value or 0, width=width, color=color, hatch=hatch, edgecolor=PAPER, lw=0.5, label=label)
        text = "–" if value is None else f"{value:,.4g}"
        axes.annotate(
            text, (x, value or 0), (0, 2), textcoords="offset points", ha="center", fontsize=8, color=INK
        )
        _error_bar(axes, shown, name, tick, x, value)


def _line(axes: Axes, shown: Chart, name: str, color: str) -> None:
    known = [(tick, value) for tick, value in enumerate(shown.series[name]) if value is not None]
    xs, ys = [x for x, _ in known], [y for _, y in known]
    if name in shown.guides:
        axes.plot(xs, ys, linestyle="--", linewidth=1, color=OTHER, label=short(name, 30))
        return
    axes.plot(xs, ys, marker="o", color=color, label=short(name, 30))
    for x, value in known:
        axes.annotate(
            f"{value:,.4g}", (x, value), (0, 6), textcoords="offset points", ha="center", fontsize=8
        )
        _error_bar(axes, shown, name, x, float(x), value)


def _error_bar(axes: Axes, shown: Chart, name: str, tick: int, x: float, value: float | None) -> None:
    found = shown.spread.get(name, ())
    ends = found[tick] if tick < len(found) else None
    if ends is not None and value is not None and ends[0] < ends[1]:
        low, high = value - ends[0], ends[1] - value
        axes.errorbar(x, value, yerr=[[low], [high]], color=OTHER, capsize=4, linewidth=1.2)
