"""Measure every row of ``make bench``: print a JSON line each, and write the table into docs/performance.md."""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

from gangplan.bench import rows, shapes, traffic
from gangplan.bench.column_door import Sessions
from gangplan.bench.door import Documents
from gangplan.bench.measure import Figures, measure
from gangplan.bench.rows import Line
from gangplan.documents import encode, write_atomic
from gangplan.solver import validate

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- figures: written by make bench -->", "<!-- end of figures -->"

OF_WORKLOADS = {
    "W1.1250": 1000,
    "W1.10000": 1000,
    "W1t.1250": 1000,
    "W1t.10000": 1000,
    "W2.10000": 1,
    "W3.1250": 1000,
    "W3t.1250": 1000,
    "W5.10000": 1,
}
"""Row → what its CPU time is divided by; the workload has a hyphen for the dot."""


def of_the_core(only: list[str], runs: int) -> Iterator[Line]:
    """Rows that the benches of the core measure; none if it has none."""
    if not (ROOT / "core" / "bench").is_dir():
        return
    asked = ["--only", ",".join(only)] if only else []
    command = ["cargo", "run", "--release", "--quiet", "--locked", "-p", "gangplan-bench", "--"]
    done = subprocess.Popen(
        [*command, "--runs", str(runs), *asked], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert done.stdout is not None
    for text in done.stdout:
        yield Line(**json.loads(text))
    if done.wait():
        sys.exit("the benches of the core failed")


def of_workloads(only: list[str], runs: int) -> Iterator[tuple[str, float, Figures]]:
    """Rows of workloads: the row, its value, and all figures behind it."""
    for name, share in OF_WORKLOADS.items():
        if not only or name in only:
            figures = measure(shapes.make(name.replace(".", "-")), Sessions(), runs)
            yield name, figures.cpu_ms / share, figures


def reading(runs: int) -> float:
    """Milliseconds to read and check a document of 10,000 nodes with 20 labels each."""
    snapshot = Documents().open(shapes.make("W1-10000"))
    more = {f"example.com/label-{number}": f"value-{number}" for number in range(18)}
    nodes = tuple(replace(node, labels={**node.labels, **more}) for node in snapshot.nodes)
    data = encode(replace(snapshot, nodes=nodes))
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        assert validate("snapshot", data) == []
        times.append(time.perf_counter() - begin)
    return median(times) * 1000


def handing_over(runs: int) -> float:
    """Milliseconds to hand 100,000 placements over as arrays, after they were decided."""
    door = Sessions()
    session = door.open(door.read(shapes.crowd(10_000)))
    times = []
    for _ in range(runs):
        decisions = session.solve()
        begin = time.perf_counter()
        arrays = decisions.gangs, decisions.roles, decisions.indexes, decisions.nodes
        times.append(time.perf_counter() - begin)
        assert all(len(array) == 100_000 for array in arrays)
    return median(times) * 1000


def main() -> int:
    """Measure; 1 if a row is worse than it must be."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--only", default="", help="ids of rows, by comma; the page is left as it is")
    asked.add_argument("--runs", type=int, default=5)
    given = asked.parse_args()
    only = [name for name in given.only.split(",") if name]
    if unknown := sorted(set(only) - set(rows.ROWS)):
        sys.exit(f"no row is called {', '.join(unknown)}")
    here = {*OF_WORKLOADS, "T13.arrays", "T13.json", "Q4"}
    lines: list[Line] = []
    quality: list[Figures] = []

    def tell(line: Line) -> None:
        lines.append(line)
        print(json.dumps(rows.as_json(line)), flush=True)

    if not only or set(only) - here:
        for line in of_the_core([name for name in only if name not in here], given.runs):
            if line.id not in here:
                tell(line)
    scan = next((line.value / line.ratio for line in lines if line.id == "T3.easy" and line.ratio), None)
    if not only or "T13.arrays" in only:
        tell(rows.line("T13.arrays", handing_over(given.runs), scan))
    if not only or "T13.json" in only:
        tell(rows.line("T13.json", reading(given.runs), scan))
    if not only or "Q4" in only:
        tell(rows.line("Q4", traffic.over_best_known(), scan))
    for name, value, figures in of_workloads(only, given.runs):
        tell(rows.line(name, value, scan))
        quality.append(figures)
    if not only:
        write(page(lines, quality))
    return 0 if all(line.ok for line in lines) else 1


def page(lines: list[Line], quality: list[Figures]) -> str:
    """Write the tables in Markdown."""
    measured = {line.id for line in lines}
    missing = [name for name in rows.ROWS if name not in measured]
    places = "".join(
        f"| {item.workload} | {item.gangs_placed} | {item.pods_placed} | {item.racks_per_gang:g} "
        f"| {item.ps_racks_without_workers} |\n"
        for item in quality
    )
    return (
        f"Measured on {_processor()}, {os.cpu_count()} cores, Python {platform.python_version()}.\n\n"
        + rows.table(lines)
        + (f"\nNot measured yet: {', '.join(missing)}.\n" if missing else "")
        + "\n| workload | gangs placed | replicas placed | racks a gang | PS racks without workers |\n"
        + "|---|---|---|---|---|\n"
        + places
    )


def _processor() -> str:
    text = Path("/proc/cpuinfo").read_text()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()


def write(figures: str) -> None:
    """Put the tables between their marks on the page."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    write_atomic(PAGE, f"{before}{BEGIN}\n\n{figures}\n{END}{after}".encode())


if __name__ == "__main__":
    sys.exit(main())
