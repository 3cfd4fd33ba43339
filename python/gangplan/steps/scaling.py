"""What more workers bring: images a second read from logs, their medians, speed-up and efficiency."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from gangplan.report.charts import Chart
from gangplan.report.page import Table
from gangplan.runtime import JobStatus, ReplicaStatus
from gangplan.steps.outcome import SUCCEEDED, Outcome
from gangplan.steps.scaling_request import EACH_WORKER

LONGEST_LINE = 10_000
"""Characters of a line that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One gang that was measured.

    Attributes:
        workers: How many workers it had.
        repeat: Which of the gangs with so many, from 1.
        outcome: How it ended, as of :class:`gangplan.steps.outcome.Outcome`.
        reason: Why; empty after a success.
        images_per_s: Images a second of the whole gang; None: not known.
    """

    workers: int
    repeat: int
    outcome: str
    reason: str = ""
    images_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """All gangs of one size.

    Attributes:
        workers: How many workers they had.
        found: Images a second of each that succeeded, ascending.
        asked: How many there were to be.
        trouble: What became of the first that did not succeed; empty: all did.
    """

    workers: int
    found: tuple[float, ...]
    asked: int
    trouble: str

    @property
    def middle(self) -> float | None:
        """The median; None: none succeeded."""
        return median(self.found) if self.found else None


def throughput(status: JobStatus, pattern: re.Pattern[str], told_of: str) -> float | None:
    """Read the images a second of a gang from the logs of its replicas; the last figure of a log counts.

    Args:
        status: The job that has ended.
        pattern: Its one group is the figure.
        told_of: One of :data:`gangplan.steps.scaling_request.TOLD_OF`.

    Returns:
        Images a second of the whole gang; None if it is not told.
    """
    workers = [item for item in status.replicas if item.role == "worker"]
    if told_of == EACH_WORKER:
        each = [_last(item, pattern) for item in workers]
        known = [value for value in each if value is not None]
        return sum(known) if known and len(known) == len(each) else None
    leaders = [item for item in status.replicas if item.role == "chief"] + workers
    return next((value for item in leaders if (value := _last(item, pattern)) is not None), None)


def _last(replica: ReplicaStatus, pattern: re.Pattern[str]) -> float | None:
    if replica.log is None:
        return None
    found = None
    with Path(replica.log).open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            match = pattern.search(line[:LONGEST_LINE])
            if match is not None and (value := _figure(match[1])) is not None:
                found = value
    return found


def _figure(text: str | None) -> float | None:
    try:
        value = float((text or "").replace(",", ""))
    except ValueError:
        return None
    return value if 0 < value < float("inf") else None


def points(measured: Iterable[Measured], counts: Sequence[int], repeats: int) -> tuple[Point, ...]:
    """Bring the gangs of each size together, in the order of the sizes."""
    known = tuple(measured)
    return tuple(
        Point(
            workers=count,
            found=tuple(
                sorted(
                    item.images_per_s
                    for item in known
                    if item.workers == count and item.images_per_s is not None
                )
            ),
            asked=repeats,
            trouble=next((_told(item) for item in known if item.workers == count and item.reason), ""),
        )
        for count in counts
    )


def _told(item: Measured) -> str:
    return f"repeat {item.repeat}: {item.outcome}: {item.reason}"


def outcome(measured: Iterable[Measured]) -> Outcome:
    """The outcome of the whole: that of the first gang that did not succeed."""
    for item in measured:
        if item.outcome != SUCCEEDED:
            return Outcome(item.outcome, f"{_workers(item.workers)}, {_told(item)}")
    return Outcome(SUCCEEDED, "")


def _workers(count: int) -> str:
    return "1 worker" if count == 1 else f"{count} workers"


def speed_up(point: Point, base: Point) -> float | None:
    """How many times as fast as the smallest gang; None if either is not known."""
    return point.middle / base.middle if point.middle and base.middle else None


def efficiency(point: Point, base: Point) -> float | None:
    """The speed-up, as a part of that with which each worker were as fast as in the smallest gang."""
    gain = speed_up(point, base)
    return None if gain is None else gain * base.workers / point.workers


def table(found: Sequence[Point]) -> Table:
    """A row for each size."""
    base = found[0]
    rows = tuple(
        (
            str(point.workers),
            _text(point.middle, ",.1f"),
            f"{point.found[0]:,.1f} – {point.found[-1]:,.1f}" if point.found else "–",
            _text(speed_up(point, base), ".2f"),
            _text(efficiency(point, base), ".0%"),
            f"{len(point.found)} of {point.asked}",
            point.trouble,
        )
        for point in found
    )
    return Table(
        caption=f"Speed-up and efficiency are relative to {_workers(base.workers)}; images/s is the median of the repeats.",
        header=("workers", "images/s", "least – most", "speed-up", "efficiency", "measured", "reason"),
        rows=rows,
    )


def _text(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def metrics(found: Sequence[Point]) -> dict[str, float]:
    """The figures of each size, by names that end with it."""
    base = found[0]
    named = {
        f"{name}_{point.workers}": value
        for point in found
        for name, value in (
            ("images_per_s", point.middle),
            ("speed_up", speed_up(point, base)),
            ("efficiency", efficiency(point, base)),
        )
    }
    return {name: round(value, 4) for name, value in named.items() if value is not None}


def charts(found: Sequence[Point]) -> tuple[Chart, ...]:
    """Images a second, beside what they were if each worker were as fast as in the smallest gang; and the efficiency."""
    base = found[0]
    ticks = tuple(str(point.workers) for point in found)
    ideal = tuple(
        base.middle * point.workers / base.workers
        if base.middle is not None and point.middle is not None
        else None
        for point in found
    )
    ends = tuple((point.found[0], point.found[-1]) if point.found else None for point in found)
    return (
        Chart(
            title="Images a second",
            caption="Measured, with the least and the most of the repeats; and what perfect scaling would give.",
            x="workers",
            y="images/s",
            ticks=ticks,
            series={"measured": tuple(point.middle for point in found), "perfect": ideal},
            spread={"measured": ends},
            guides=("perfect",),
            kind="lines",
        ),
        Chart(
            title="Efficiency",
            caption="Of each worker, relative to the smallest gang: 1 is perfect.",
            x="workers",
            y="efficiency",
            ticks=ticks,
            series={"efficiency": tuple(efficiency(point, base) for point in found)},
        ),
    )
