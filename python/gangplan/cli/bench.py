"""gangplan bench."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from gangplan.cli import exits, render
from gangplan.errors import InvalidInput, Problem


@exits.guarded
def bench(
    workloads: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE...", help="Workload files to measure.")
    ] = None,
    runs: Annotated[int, typer.Option("--runs", min=1, help="How often each is decided.")] = 5,
    write: Annotated[
        Path | None, typer.Option("--write", help="Write the workloads as files into this folder.")
    ] = None,
    only: Annotated[str, typer.Option("--only", help="With --write: names of workloads, by comma.")] = "",
    seed: Annotated[int, typer.Option("--seed", help="With --write: equal seeds give equal files.")] = 7,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --write: say what would be written, and write nothing.")
    ] = False,
    output: Annotated[
        render.Format, typer.Option("--output", "-o", help="json prints a line for each workload.")
    ] = render.Format.JSON,
) -> None:
    """Measure decisions on workload files, or write such files.

    Example: gangplan bench --write workloads && gangplan bench workloads/W1-1250.json --runs 5
    """
    from gangplan.bench import shapes, workload

    if write is not None:
        names = only.split(",") if only else list(shapes.RECIPES)
        if unknown := sorted(set(names) - set(shapes.RECIPES)):
            message = f"no workload is called {', '.join(unknown)}"
            raise InvalidInput([Problem("--only", "UNKNOWN_NAME", message)], "arguments")
        for name in names:
            made = shapes.make(name, seed)
            if dry_run:
                render.say(f"{workload.path_in(write, made)} would be written")
            else:
                render.say(str(workload.write(made, write)))
    elif not workloads:
        raise typer.BadParameter("name a workload file, or --write a folder of them", param_hint="FILE")
    for path in workloads or ():
        _measure(path, runs, output)


def _measure(path: Path, runs: int, output: render.Format) -> None:
    from gangplan.bench.column_door import Sessions
    from gangplan.bench.measure import measure
    from gangplan.bench.workload import read

    figures = measure(read(path), Sessions(), runs)
    if output is render.Format.JSON:
        render.say(json.dumps(asdict(figures)))
    elif output is render.Format.YAML:
        render.emit(figures, output)
    else:
        render.table(("figure", "value"), [(name, str(value)) for name, value in asdict(figures).items()])
