"""gangplan explain."""

from typing import Annotated

import typer

from gangplan.cli import exits, render
from gangplan.cli.options import Home, Output
from gangplan.cli.solve import read_snapshot
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
    home: Home = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Say why a gang waits, and which tried changes would let it start.

    Without a file it looks at the local cluster.

    Example: gangplan explain big -f examples/two-racks.yaml
    """
    from gangplan.report.explanation import explain as words

    snapshot, plan = _from_file(file) if file is not None else _from_store(home)
    names = (
        [gang]
        if gang is not None
        else sorted(plan.rejections, key=lambda name: plan.rejections[name].position)
    )
    told = [words(name, snapshot, plan) for name in names]
    if output is not render.Format.TABLE:
        data = {name: plan.rejections.get(name) or {"placement": plan.placements.get(name)} for name in names}
        render.emit(data, output)
    elif told:
        render.say("\n\n".join(item.as_text() for item in told))
    else:
        render.say("no gang waits")


def _from_file(file: str) -> tuple[Snapshot, Plan]:
    from gangplan.solver import solve

    snapshot = read_snapshot(file)
    return snapshot, solve(snapshot)


def _from_store(home: Home) -> tuple[Snapshot, Plan]:
    """The local cluster as it stands; deciding anew writes nothing."""
    from gangplan.admission import combine
    from gangplan.cli.gang import open_store
    from gangplan.local.cluster import LocalCluster
    from gangplan.solver import solve

    store = open_store(home)
    snapshot = combine(LocalCluster(store).snapshot(), store.records())
    return snapshot, solve(snapshot)
