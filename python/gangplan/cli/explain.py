"""gangplan explain."""

import time
from pathlib import Path
from typing import Annotated

import typer

from gangplan.cli import exits, render
from gangplan.cli.options import Home, Output
from gangplan.cli.solve import read_snapshot
from gangplan.errors import NotFound
from gangplan.options import SolveOptions
from gangplan.plan import Plan
from gangplan.snapshot import Snapshot


@exits.guarded
def explain(
    gang: Annotated[
        str | None, typer.Argument(metavar="[GANG]", help="The gang; without it all that wait.")
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", metavar="FILE", help="Snapshot; - is stdin.")
    ] = None,
    options: Annotated[
        Path | None, typer.Option("--options", help="With --file: SolveOptions in JSON or YAML.")
    ] = None,
    home: Home = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Say why a gang waits, and which tried changes would let it start.

    Without a file it looks at the local cluster.

    Example: gangplan explain big -f examples/two-racks.yaml
    """
    from gangplan.report.explanation import explain as words

    if options is not None and file is None:
        raise typer.BadParameter(
            "goes with --file: the local cluster decides by its settings", param_hint="--options"
        )
    snapshot, plan, unsound = _from_file(file, options) if file is not None else _from_store(home)
    waiting = sorted(plan.rejections, key=lambda name: plan.rejections[name].position)
    names = [gang] if gang is not None else [*waiting, *sorted(unsound)]
    if gang is not None and gang not in {*unsound, *(item.name for item in snapshot.gangs)}:
        known = ", ".join(sorted(item.name for item in snapshot.gangs)) or "none"
        raise NotFound(f"there is no gang {gang}; known: {known}", verb="get", kind="Gang", name=gang)
    told = {name: words(name, snapshot, plan) for name in names if name not in unsound}
    if output is not render.Format.TABLE:
        placed = {name: {"placement": plan.placements.get(name)} for name in told}
        wrong = {name: {"problem": unsound[name]} for name in names if name in unsound}
        render.emit(
            {**placed, **wrong, **{name: plan.rejections[name] for name in waiting if name in told}}, output
        )
    elif names:
        texts = [told[name].as_text() if name in told else f"{name} waits: {unsound[name]}" for name in names]
        render.say("\n\n".join(texts))
    else:
        render.say("no gang waits")


def _from_file(file: str, options: Path | None) -> tuple[Snapshot, Plan, dict[str, str]]:
    from gangplan.solver import load, solve

    snapshot = read_snapshot(file)
    return snapshot, solve(snapshot, load(options, SolveOptions) if options else None), {}


def _from_store(home: Home) -> tuple[Snapshot, Plan, dict[str, str]]:
    """The local cluster as it stands, and gangs that it cannot consider; deciding anew writes nothing."""
    from gangplan.admission import decide
    from gangplan.cli.gang import open_store
    from gangplan.config import settings
    from gangplan.local.cluster import LocalCluster

    store = open_store(home)
    terms = settings(home=home).terms
    return decide(LocalCluster(store).snapshot(), store.records(), now=time.time(), terms=terms)
