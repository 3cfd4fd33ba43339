"""gangplan explain."""

from pathlib import Path
from typing import Annotated

import typer

from gangplan.cli import completion, exits, render
from gangplan.cli.options import Context, Everywhere, Home, Kubeconfig, Namespace, Output
from gangplan.cli.place import Place
from gangplan.cli.solve import read_snapshot
from gangplan.errors import NotFound
from gangplan.gangs import ON_THIS_MACHINE
from gangplan.options import SolveOptions
from gangplan.plan import Plan
from gangplan.snapshot import Snapshot


@exits.guarded
def explain(
    gang: Annotated[
        str | None,
        typer.Argument(
            metavar="[GANG]",
            help="The gang; without it all that wait.",
            autocompletion=completion.gang_to_explain,
        ),
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", metavar="FILE", help="Snapshot; - is stdin.")
    ] = None,
    options: Annotated[
        Path | None, typer.Option("--options", help="With --file: SolveOptions in JSON or YAML.")
    ] = None,
    home: Home = None,
    namespace: Namespace = None,
    everywhere: Everywhere = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Say why a gang waits, and which tried changes would let it start; or where it has its room.

    Without a file it looks at the local cluster; with -n, -A, --kubeconfig or --context, at NAMESPACE/GANG, or with
    the setting cluster = "kubernetes", at a Kubernetes cluster.

    Example: gangplan explain big -f examples/two-racks.yaml
    """
    from gangplan.report.explanation import explain as words

    if options is not None and file is None:
        raise typer.BadParameter(
            "goes with --file: a cluster decides by its settings", param_hint="--options"
        )
    place = Place(
        home=home,
        kubeconfig=kubeconfig,
        context=context,
        namespace=namespace,
        everywhere=everywhere,
        names=() if gang is None else (gang,),
    )
    if file is None:
        gang, (snapshot, plan, unsound), ours = _decided(place, gang)
    elif (namespace, kubeconfig, context, everywhere) != (None, None, None, False):
        raise typer.BadParameter("does not go with a cluster: give one of both", param_hint="--file")
    else:
        (snapshot, plan, unsound), ours = _from_file(file, options), None
    waiting = sorted(plan.rejections, key=lambda name: plan.rejections[name].position)
    names = [name for name in [*waiting, *sorted(unsound)] if ours is None or name in ours]
    if gang is not None:
        names = [gang]
    if gang is not None and gang not in {*unsound, *(item.name for item in snapshot.gangs)}:
        known = ", ".join(sorted(item.name for item in snapshot.gangs)) or "none"
        where = "" if file is not None or place.is_cluster else f" {ON_THIS_MACHINE}"
        message = f"there is no gang {gang}{where}; known: {known}"
        raise NotFound(message, verb="get", kind="Gang", name=gang)
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


def _decided(
    place: Place, gang: str | None
) -> tuple[str | None, tuple[Snapshot, Plan, dict[str, str]], frozenset[str]]:
    """The full name of the gang, what would be decided now about the cluster, and the gangs that are looked at."""
    with place.open() as gangs:
        gang = None if gang is None else gangs.full_name(gang)
        records = {record.name: record for record in gangs.records()}
        if gang in records and records[gang].phase in {"Finished", "Suspended"}:
            record = records[gang]
            stands = f"{gang} waits for nothing any more: {record.standing}"
            if record.phase == "Suspended":
                stands = (
                    f"{gang} waits for nothing: {record.reason}; gangplan resume {gang} lets it wait again"
                )
            raise NotFound(
                stands,
                verb="explain",
                kind="Gang",
                name=gang,
            )
        return gang, gangs.decide(), frozenset(records)
