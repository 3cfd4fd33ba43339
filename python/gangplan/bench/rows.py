"""The rows of ``make bench``: what each is, what it must be at worst, and what it aims at."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True, slots=True)
class Row:
    """One figure that is measured.

    Attributes:
        what: In words.
        must: The worst that is accepted; None where the row's own runner knows.
        aim: What is wanted.
        unit: ``ms``, ``ns``, ``MB`` or ``x``, a ratio.
    """

    what: str
    must: float | None = None
    aim: float | None = None
    unit: str = "ms"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A measured row, as a JSON line of ``make bench`` has it.

    Attributes:
        id: Name of the row.
        value: What was measured.
        unit: Its unit.
        better: Which way is better.
        must: The worst that is accepted.
        aim: What is wanted.
        ratio: The value over the time of one scan of the free capacity of a cluster, measured in the same run;
            it compares machines. None where there is no such time.
        ok: Whether it is no worse than it must be.
    """

    id: str
    value: float
    unit: str
    better: Literal["lower", "higher"]
    must: float
    aim: float
    ratio: float | None
    ok: bool


ROWS: Mapping[str, Row] = MappingProxyType(
    {
        "T1.10k": Row("a snapshot of 10,000 nodes from columns"),
        "T2.100k": Row("a snapshot of 100,000 nodes and a million replicas from columns"),
        "T3.easy": Row("1,000 gangs, 10,000 replicas, 10,000 nodes, empty"),
        "T3.hard": Row("the same, fragmented, 64 shapes, required levels"),
        "T4.easy": Row("10,000 gangs, 100,000 replicas, 10,000 nodes, empty"),
        "T4.hard": Row("10,000 gangs, 10,000 nodes, fragmented"),
        "T5.easy": Row("100,000 gangs, a million replicas, 100,000 nodes, empty"),
        "T5.hard": Row("100,000 gangs, 100,000 nodes, fragmented"),
        "T6.warm": Row("512 workers and 64 PS, 10,000 nodes under churn, 99th percentile, known shapes"),
        "T6.cold": Row("the same, new shapes"),
        "T7.warm": Row("the same as T6.warm on 100,000 nodes"),
        "T7.cold": Row("the same as T6.cold on 100,000 nodes"),
        "T8.raw": Row("one change of a node", unit="ns"),
        "T8.shapes": Row("one change of a node with 64 known shapes", unit="ns"),
        "T10": Row("the refusal of a gang with changes that were tried, 10,000 nodes"),
        "T13.arrays": Row("100,000 placements handed to Python as arrays", 5, 1),
        "T13.json": Row("a snapshot document of 10,000 nodes with 20 labels each, read and checked", 60, 30),
        "T14.10k": Row("exact answer for 1 + 64 + 512 at the knife edge, 10,000 nodes"),
        "T14.640": Row("the same, 640 nodes"),
        "Q4": Row("traffic of one gang over the best known, 14 instances", 1.02, 1.0, "x"),
        "W1.1250": Row("CPU a gang: 1,000 gangs of 10 one-GPU replicas, 1,250 nodes", 0.06, 0.01),
        "W1.10000": Row("the same, 10,000 nodes", 0.06, 0.01),
        "W1t.1250": Row(
            "CPU a gang: the same in one block and, if it can be, one rack, 1,250 nodes", 0.06, 0.01
        ),
        "W1t.10000": Row("the same, 10,000 nodes", 0.06, 0.01),
        "W2.10000": Row("CPU: 512 workers and 64 PS, 30% in use, 10,000 nodes", 2, 0.5),
        "W3.1250": Row("CPU a refusal: full cluster, 1,250 nodes", 0.1, 0.02),
        "W3t.1250": Row("CPU a refusal: the same in one block", 0.1, 0.02),
        "W5.10000": Row("CPU: 10,000 nodes with ten replicas each taken in", 6, 3),
        "memory.100k": Row("memory at 100,000 nodes and a million replicas", unit="MB"),
    }
)
"""Id → row, in the order of the table."""


def line(name: str, value: float, scan_ms: float | None) -> Line:
    """Judge a value that was measured here.

    Args:
        name: A row that has its bounds here.
        value: What was measured.
        scan_ms: Time of one scan of free capacity; None if it is not known.
    """
    row = ROWS[name]
    assert row.must is not None
    assert row.aim is not None
    ratio = value / scan_ms if scan_ms and row.unit == "ms" else None
    return Line(
        id=name,
        value=round(value, 4),
        unit=row.unit,
        better="lower",
        must=row.must,
        aim=row.aim,
        ratio=None if ratio is None else round(ratio, 1),
        ok=value <= row.must,
    )


def table(lines: Iterable[Line]) -> str:
    """The lines as a Markdown table, in the order of the rows."""
    found = {item.id: item for item in lines}
    head = "| row | what | value | must | aim | scans | |\n|---|---|---|---|---|---|---|\n"
    return head + "".join(
        f"| {name} | {row.what} | {_with_unit(item.value, item.unit)} | {item.must:g} | {item.aim:g} "
        f"| {'–' if item.ratio is None else f'{item.ratio:g}'} | {_verdict(item)} |\n"
        for name, row in ROWS.items()
        if (item := found.get(name)) is not None
    )


def _with_unit(value: float, unit: str) -> str:
    return f"{value:.4g}" if unit == "x" else f"{value:.4g} {unit}"


def _verdict(item: Line) -> str:
    if not item.ok:
        return "**missed**"
    reached = item.value <= item.aim if item.better == "lower" else item.value >= item.aim
    return "aim" if reached else "must"


def as_json(item: Line) -> dict[str, object]:
    """The line as an object of ``make bench``."""
    return asdict(item)
