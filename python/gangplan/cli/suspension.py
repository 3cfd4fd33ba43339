"""gangplan suspend, resume: gangs that hold no room for a while."""

from typing import Annotated

import typer

from gangplan.cli import completion, exits, render
from gangplan.cli.options import Context, Home, Kubeconfig, Namespace, Output
from gangplan.cli.place import Place
from gangplan.cli.where_it_runs import where_it_runs
from gangplan.gangs import Gangs
from gangplan.signals import interrupting

DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]


@exits.guarded
def suspend(
    name: Annotated[
        str,
        typer.Argument(metavar="GANG", help="Name of the gang.", autocompletion=completion.gang_to_suspend),
    ],
    dry_run: DryRun = False,
    home: Home = None,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Put a gang aside: its room is given back, and it waits for none until it is resumed.

    On a Kubernetes cluster the pods of its job end and its TFJob stays; on this machine only a gang that waits can be
    suspended.

    Example: gangplan suspend mnist -n team
    """
    place = Place(home=home, kubeconfig=kubeconfig, context=context, namespace=namespace, names=(name,))
    with place.open() as gangs, interrupting():
        full = gangs.full_name(name)
        try:
            text = (
                f"{_standing(gangs, name)} would be suspended"
                if dry_run
                else gangs.suspend(name, tell=render.progress)
            )
        except KeyboardInterrupt:
            render.progress(f"pods of {full} may still be ending: gangplan suspend {full} goes on with it")
            raise
        phase = gangs.look(name).record.phase if output is not render.Format.TABLE else ""
    if output is render.Format.TABLE:
        render.say(text)
    else:
        render.emit({"name": full, "phase": phase, "text": text}, output)


@exits.guarded
def resume(
    name: Annotated[
        str,
        typer.Argument(metavar="GANG", help="Name of the gang.", autocompletion=completion.gang_to_resume),
    ],
    wait_s: Annotated[
        int,
        typer.Option("--queue-wait", min=0, help="Seconds to wait for room before it is suspended again."),
    ] = 3600,
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Follow the job to its end, not only until all replicas have a node."),
    ] = False,
    dry_run: DryRun = False,
    home: Home = None,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Let a suspended gang wait for room again, and launch it when it has some.

    Its program begins anew; one that writes checkpoints goes on from its last one. A gang that was suspended before it
    was launched is gone on with by who submitted it.

    Example: gangplan resume mnist -n team --wait
    """
    place = Place(home=home, kubeconfig=kubeconfig, context=context, namespace=namespace, names=(name,))
    with place.open() as gangs, interrupting():
        if dry_run:
            render.say(f"{_standing(gangs, name)} would wait for room again")
            return
        became = gangs.resume(name, wait_s=wait_s, to_the_end=wait, tell=render.progress)
    if output is not render.Format.TABLE:
        render.emit(became, output)
    elif became.outcome == "Bound":
        where, _, short = became.name.partition("/")
        render.say(where_it_runs(where, short, became.placement or {}))
    else:
        words = {"NotAdmitted": "not admitted, and suspended again", "Pending": "waits again"}
        render.say(f"{became.name}: {words.get(became.outcome, became.outcome)}: {became.reason}")
    if became.outcome not in {"Bound", "Pending"} and (code := exits.code_of_outcome(became.outcome)):
        raise typer.Exit(code)


def _standing(gangs: Gangs, name: str) -> str:
    record = gangs.look(name).record
    return f"{record.name} ({record.outcome or record.phase})"
