"""gangplan get, logs, delete: the gangs of the local cluster, or of a Kubernetes cluster."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from gangplan.cli import completion, exits, render
from gangplan.cli.gang_list import summary
from gangplan.cli.options import Context, Everywhere, Home, Kubeconfig, Namespace, Output
from gangplan.cli.place import Place
from gangplan.gangs import GangView, Removal
from gangplan.signals import interrupting


class LineFormat(StrEnum):
    """How the lines of a log are printed."""

    TEXT = "text"
    JSON = "json"


Name = Annotated[
    str, typer.Argument(metavar="GANG", help="Name of the gang.", autocompletion=completion.gang)
]


@exits.guarded
def get(
    name: Name,
    home: Home = None,
    namespace: Namespace = None,
    everywhere: Everywhere = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Show a gang with its replicas and its history; on a Kubernetes cluster also what the operator and Events say.

    Of the local cluster; with -n, --kubeconfig or --context, as NAMESPACE/GANG, or with the setting
    cluster = "kubernetes", of a Kubernetes cluster.

    Example: gangplan get classifier-1a2b3c4d -o yaml
    """
    place = Place(
        home=home,
        kubeconfig=kubeconfig,
        context=context,
        namespace=namespace,
        everywhere=everywhere,
        names=(name,),
    )
    with place.open() as gangs:
        seen = gangs.look(name)
    if output is not render.Format.TABLE:
        record = seen.record
        found = {"history": record.history, "replicas": seen.replicas}
        if place.is_cluster:
            found |= {
                "troubles": seen.troubles,
                "conditions": seen.conditions,
                "events": seen.events,
            }
        render.emit({**summary(record), **found}, output)
        return
    _show(seen, is_cluster=place.is_cluster)


@exits.guarded
def logs(
    name: Name,
    replica: Annotated[
        str | None,
        typer.Argument(
            metavar="[REPLICA]",
            help="Such as worker-0; without it all, one after the other, or as lines come.",
            autocompletion=completion.replica,
        ),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until they end.")] = False,
    home: Home = None,
    namespace: Namespace = None,
    everywhere: Everywhere = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Annotated[
        LineFormat, typer.Option("--output", "-o", help="Plain text, or a JSON object on each line.")
    ] = LineFormat.TEXT,
) -> None:
    """Print what a gang's replicas say.

    Of the local cluster; with -n, --kubeconfig or --context, as NAMESPACE/GANG, or with the setting
    cluster = "kubernetes", of a Kubernetes cluster: there from the pods, and once they are gone what submit --wait has kept of them here.

    Example: gangplan logs classifier-1a2b3c4d chief-0 --follow
    """
    place = Place(
        home=home,
        kubeconfig=kubeconfig,
        context=context,
        namespace=namespace,
        everywhere=everywhere,
        names=(name,),
    )
    with place.open() as gangs:
        for of, line in gangs.lines(name, replica, follow=follow):
            if output is LineFormat.JSON:
                render.emit_one({"replica": of, "line": line}, render.Format.JSON)
            else:
                render.say(line if replica is not None else f"{of}: {line}", now=follow)


@exits.guarded
def delete(
    names: Annotated[
        list[str], typer.Argument(metavar="GANG...", help="Names of gangs.", autocompletion=completion.gang)
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be deleted.")] = False,
    home: Home = None,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """End gangs with all that runs for them, and forget their records.

    Of the local cluster; with -n, --kubeconfig or --context, as NAMESPACE/GANG, or with the setting
    cluster = "kubernetes", of a Kubernetes cluster: there the TFJob is deleted, and the record once its pods are gone.

    Example: gangplan delete classifier-1a2b3c4d
    """
    place = Place(home=home, kubeconfig=kubeconfig, context=context, namespace=namespace, names=tuple(names))
    gone: list[Removal] = []
    with place.open() as gangs, interrupting(), _told(gone, output, deleted=not dry_run):
        found = {name: gangs.told(name) for name in dict.fromkeys(names)}
        for name, what in found.items():
            if dry_run:
                gone.append(replace(what, text=f"{what.text} would be deleted"))
                continue
            try:
                gone.append(gangs.delete(name, progress=render.progress))
            except KeyboardInterrupt:
                full = gangs.full_name(name)
                render.progress(f"{full} is not deleted to the end: gangplan delete {full} goes on with it")
                raise
            if output is render.Format.TABLE:
                render.say(gone[-1].text, now=True)


@contextmanager
def _told(gone: Sequence[Removal], output: render.Format, *, deleted: bool) -> Iterator[None]:
    """Tell as a document what is gone, also where the rest could not be deleted."""
    try:
        yield
    finally:
        if output is not render.Format.TABLE:
            told = (
                {"name": item.name, "stood": item.stood, "job": item.job, "deleted": deleted} for item in gone
            )
            render.emit(list(told), output)
        elif gone and not deleted:
            render.say("\n".join(item.text for item in gone))


def _show(seen: GangView, *, is_cluster: bool) -> None:
    record = seen.record
    place = "" if record.position is None else f" (position {record.position})"
    held = record.reservation
    until = (
        ""
        if held is None or held.expires_at is None
        else f"; its room is kept until {_clock(held.expires_at)}"
    )
    render.say(f"{record.name}: {record.outcome or record.phase}{place}\n  {record.reason}{until}")
    render.say("")
    last = "restarts" if is_cluster else "pid"
    rows = [
        (
            item.name,
            item.node or "–",
            item.state,
            str(item.restarts) if is_cluster else "–" if item.pid is None else str(item.pid),
            "–" if item.exit_code is None else str(item.exit_code),
        )
        for item in seen.replicas
    ]
    if rows:
        render.table(("replica", "node", "state", last, "exit code"), rows)
        render.say("")
    if seen.troubles:
        render.say("\n".join(seen.troubles))
        render.say("")
    render.table(
        ("time", "phase", "reason"),
        [(_clock(event.at), event.phase, event.reason) for event in record.history],
    )
    said = [
        (_clock(item.at), item.type, "yes" if item.holds else "no", item.message) for item in seen.conditions
    ]
    if said:
        render.table(("time", "condition", "holds", "message"), said, title="\nThe TFJob's conditions")
    noted = [
        (_clock(item.at), item.about, item.reason, str(item.count), item.message.replace("\n", " "))
        for item in seen.events
    ]
    if noted:
        render.table(("time", "about", "reason", "count", "message"), noted, title="\nLast events")


def _clock(at: float | None) -> str:
    return "–" if at is None else time.strftime("%H:%M:%S", time.localtime(at))
