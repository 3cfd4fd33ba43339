"""gangplan snapshot take, show, diff: a cluster at one moment, as a document."""

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from gangplan import moments
from gangplan.cli import exits, render
from gangplan.cli.options import Context, Kubeconfig, Output
from gangplan.cli.solve import read_snapshot
from gangplan.difference import Difference
from gangplan.inventory import Inventory

app = typer.Typer(help="Take, show and compare snapshots of clusters.", no_args_is_help=True)
File = Annotated[str, typer.Argument(metavar="FILE", help="Snapshot in JSON or YAML; - is stdin.")]

KINDS = frozenset({".json", ".yaml", ".yml"})
"""Ends of names that say what is in a file."""


@app.command()
@exits.guarded
def take(
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FILE", help="Where it goes: YAML if the name ends so, else JSON."),
    ],
    redact: Annotated[
        bool,
        typer.Option(
            "--redact", help="Replace all names by such as node-00017; the solver decides on it as before."
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read the cluster, and write nothing.")] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Write down a cluster as it is now: nodes, what runs, queues, levels, quotas, and all gangs.

    Redacted it can go into a bug report.

    Example: gangplan snapshot take --out cluster.json --redact
    """
    from gangplan.documents import dump
    from gangplan.kube.client import connect
    from gangplan.kube.taking import take as read
    from gangplan.redaction import redact as without_names

    with connect(kubeconfig=kubeconfig, context=context) as connection:
        taken = read(connection, now=time.time())
    for name, problem in sorted(taken.left_out.items()):
        render.progress(f"{name} is left out: {problem}")
    snapshot = without_names(taken.snapshot).snapshot if redact else taken.snapshot
    if out.suffix not in KINDS:
        render.progress(f"{out.name} is JSON; a name that ends in .yaml or .yml is written as YAML")
    if not dry_run:
        dump(snapshot, out)
    counts = {
        "nodes": len(snapshot.nodes),
        "gangs": len(snapshot.gangs),
        "running": len(snapshot.running),
        "queues": len(snapshot.queues),
        "left_out": len(taken.left_out),
    }
    if output is not render.Format.TABLE:
        render.emit({"file": str(out), "written": not dry_run, "redacted": redact, **counts}, output)
        return
    what = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in counts.items())
    render.say(f"{out} {'would be written' if dry_run else 'written'}: {what}")


@app.command()
@exits.guarded
def show(
    file: File,
    nodes: Annotated[bool, typer.Option("--nodes", help="Also list each node.")] = False,
    output: Output = render.Format.TABLE,
) -> None:
    """Show what a snapshot holds: capacity and use, levels, queues, gangs, and what runs.

    Example: gangplan snapshot show examples/two-racks.yaml --nodes
    """
    from gangplan.inventory import take_stock

    stock = take_stock(read_snapshot(file))
    if output is not render.Format.TABLE:
        render.emit(stock, output)
        return
    _overview(stock)
    render.table(
        ("resource", "allocatable", "used"),
        [(item.name, item.allocatable, item.used) for item in stock.resources],
        title="\nResources",
    )
    if nodes:
        rows = [
            (node.name, node.state, amounts(node.allocatable), amounts(node.used)) for node in stock.nodes
        ]
        render.table(("node", "state", "allocatable", "used"), rows, title="\nNodes")
    if stock.levels:
        levels = [(level.name, str(level.domains), str(level.outside)) for level in stock.levels]
        render.table(("level", "domains", "nodes outside"), levels, title="\nTopology, from coarse to fine")
    if stock.queues:
        queues = [
            (
                item.queue.name,
                item.queue.parent or "–",
                amounts(item.used),
                amounts(item.queue.deserved or {}),
                amounts(item.queue.limit),
                str(len(item.waiting)),
                str(len(item.running)),
            )
            for item in stock.queues
        ]
        header = ("queue", "parent", "used", "deserved", "limit", "waiting", "running")
        render.table(header, queues, title="\nQueues")
    if stock.gangs:
        gangs = [
            (
                gang.name,
                gang.queue or "–",
                "waits" if gang.waits else "reserved" if gang.reserved else "runs",
                "  ".join(
                    f"{role}: {gang.running.get(role, 0)}/{count}" for role, count in gang.asked.items()
                ),
            )
            for gang in stock.gangs
        ]
        render.table(("gang", "queue", "state", "replicas with a place"), gangs, title="\nGangs")


@app.command()
@exits.guarded
def diff(
    before: Annotated[str, typer.Argument(metavar="BEFORE", help="Snapshot in JSON or YAML.")],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="Snapshot in JSON or YAML.")],
    output: Output = render.Format.TABLE,
) -> None:
    """Say what came, what went and what changed between two snapshots; exit 1 if anything did.

    The moments at which they were taken do not count.

    Example: gangplan snapshot diff monday.json tuesday.json
    """
    from gangplan.difference import differences

    found = differences(read_snapshot(before), read_snapshot(after))
    if output is not render.Format.TABLE:
        render.emit({"differences": found}, output)
    elif found:
        render.table(("part", "name", "", "what"), [_row(item) for item in found])
    else:
        render.say("no difference")
    if found:
        raise typer.Exit(exits.NO)


def amounts(quantities: Any) -> str:
    """Quantities by resource, as text for a table."""
    return "  ".join(f"{name}={text}" for name, text in sorted(quantities.items())) or "–"


def _overview(stock: Inventory) -> None:
    states = [node.state for node in stock.nodes]
    told = ", ".join(
        f"{states.count(state)} {state}" for state in ("ready", "cordoned", "not ready") if state in states
    )
    replicas = sum(sum(gang.running.values()) for gang in stock.gangs)
    reserved = sum(gang.reserved for gang in stock.gangs)
    waiting = sum(gang.waits for gang in stock.gangs)
    render.say(
        f"nodes    {len(stock.nodes)}" + (f" ({told})" if told else "") + "\n"
        f"gangs    {len(stock.gangs)} ({waiting} waiting)\n"
        f"running  {replicas} replicas ({reserved} reserved), {stock.others} other pods,"
        f" {stock.terminating} leaving"
    )
    if stock.now is not None:
        render.say(f"moment   {moments.short(stock.now)}")


def _row(item: Difference) -> tuple[str, str, str, str]:
    changes = "; ".join(f"{path}: {_text(was)} → {_text(now)}" for path, (was, now) in item.fields.items())
    return item.part, item.name, item.how, changes


def _text(value: Any) -> str:
    return (
        "none"
        if value is None
        else value
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False)
    )
