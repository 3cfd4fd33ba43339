"""gangplan top nodes, jobs, queues: what is held now, by whom, and what is left."""

import time
from collections.abc import Sequence
from typing import Annotated

import typer

from gangplan.cli import completion, exits, render
from gangplan.cli.options import Context, Everywhere, Home, Kubeconfig, Namespace, Output
from gangplan.cli.place import Place
from gangplan.cli.solve import read_snapshot
from gangplan.errors import InvalidInput, Problem
from gangplan.holdings import NodesLoad, is_gpu, of_jobs, of_nodes, of_queues
from gangplan.record import GangRecord
from gangplan.report.wording import rounded
from gangplan.snapshot import Snapshot

app = typer.Typer(
    help="Show what is held of nodes and queues, by whom, and what is left.", no_args_is_help=True
)
File = Annotated[
    str | None, typer.Option("--file", "-f", metavar="FILE", help="A snapshot instead; - is stdin.")
]
Resource = Annotated[
    list[str] | None,
    typer.Option(
        "--resource",
        help="Only these. Repeatable.",
        show_default="cpu, memory and GPUs",
        autocompletion=completion.resource,
    ),
]


@app.command()
@exits.guarded
def nodes(
    file: File = None,
    resource: Resource = None,
    home: Home = None,
    everywhere: Everywhere = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Show each node: what it has, what runs on it, what is reserved, what is free.

    Of the local cluster; with -A, --kubeconfig or --context, or with the setting cluster = "kubernetes", of a
    Kubernetes cluster.

    Example: gangplan top nodes -f examples/two-racks.yaml
    """
    snapshot, _ = _read(file, Place(home=home, kubeconfig=kubeconfig, context=context, everywhere=everywhere))
    found = of_nodes(snapshot)
    if output is not render.Format.TABLE:
        render.emit(found, output)
        return
    _see_that_there_is(resource, found)
    rows = [
        (name, state, share.resource, *map(rounded, (share.capacity, share.used, share.reserved, share.free)))
        for name, state, shares in (
            *((node.name, node.state, node.shares) for node in found.nodes),
            ("all ready", "", found.ready),
        )
        for share in shares
        if _is_shown(share.resource, resource)
    ]
    render.table(
        ("node", "state", "resource", "capacity", "used", "reserved", "free"), _once(rows, columns=2)
    )


@app.command()
@exits.guarded
def jobs(
    file: File = None,
    home: Home = None,
    namespace: Namespace = None,
    everywhere: Everywhere = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Show who holds room: those with most GPUs first, then those that hold them longest.

    Of the local cluster; with -n (only those of a namespace), -A, --kubeconfig or --context, or with the setting
    cluster = "kubernetes", of a Kubernetes cluster.

    Example: gangplan top jobs -A
    """
    place = Place(
        home=home, kubeconfig=kubeconfig, context=context, namespace=namespace, everywhere=everywhere
    )
    snapshot, records = _read(file, place)
    found = of_jobs(snapshot, records)
    if namespace is not None:
        found = tuple(job for job in found if (job.name or "").startswith(f"{namespace}/"))
    if output is not render.Format.TABLE:
        render.emit(found, output)
        return
    if not found:
        render.say("nothing holds room")
        return
    rows = [
        (
            job.name or "pods of no gang",
            job.queue or "–",
            job.state,
            str(job.replicas),
            str(job.gpus),
            job.held.get("cpu", "–"),
            rounded(job.held.get("memory", "–")),
            "–" if job.since is None else render.age(time.time() - job.since),
        )
        for job in found
    ]
    render.table(("job", "queue", "state", "replicas", "gpus", "cpu", "memory", "for"), rows)


@app.command()
@exits.guarded
def queues(
    file: File = None,
    resource: Resource = None,
    home: Home = None,
    everywhere: Everywhere = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Show each queue: what it and those below it use, against what it deserves and may use at most.

    Of the local cluster; with -A, --kubeconfig or --context, or with the setting cluster = "kubernetes", of a
    Kubernetes cluster.

    Example: gangplan top queues -o json -A
    """
    snapshot, _ = _read(file, Place(home=home, kubeconfig=kubeconfig, context=context, everywhere=everywhere))
    found = of_queues(snapshot)
    if output is not render.Format.TABLE:
        render.emit(found, output)
        return
    if not found:
        render.say("no queues")
        return
    rows = []
    for queue in found:
        head = (queue.name, "open" if queue.open else "closed", str(queue.waiting), str(queue.running))
        shown = [share for share in queue.shares if _is_shown(share.resource, resource)]
        rows += [
            (
                *head,
                share.resource,
                rounded(share.used),
                *(rounded(text or "–") for text in (share.guarantee, share.deserved, share.limit)),
            )
            for share in shown
        ] or [(*head, *["–"] * 5)]
    header = ("queue", "", "waiting", "running", "resource", "used", "guarantee", "deserved", "limit")
    render.table(header, _once(rows, columns=4))


def _read(file: str | None, place: Place) -> tuple[Snapshot, tuple[GangRecord, ...]]:
    """The cluster with its gangs, and their records, which a snapshot has none of."""
    if file is None:
        if not place.is_cluster:
            render.progress("of the nodes of this machine; for a Kubernetes cluster add -A")
        with place.open() as gangs:
            return gangs.survey()
    given = (place.kubeconfig, place.context, place.namespace)
    if place.everywhere or any(value is not None for value in given):
        raise typer.BadParameter("does not go with a cluster: give one of both", param_hint="--file")
    return read_snapshot(file), ()


def _see_that_there_is(wanted: Sequence[str] | None, found: NodesLoad) -> None:
    """See that some node has the resources that are to be shown.

    Raises:
        InvalidInput: None has; those that there are are named.
    """
    known = {share.resource for node in found.nodes for share in node.shares}
    message = f"no node has it; known: {', '.join(sorted(known)) or 'none'}"
    problems = [
        Problem("--resource", "UNKNOWN_NAME", f"{each}: {message}")
        for each in wanted or ()
        if each not in known
    ]
    if problems:
        raise InvalidInput(problems, "top nodes")


def _is_shown(resource: str, wanted: Sequence[str] | None) -> bool:
    return resource in (wanted or ("cpu", "memory")) or (not wanted and is_gpu(resource))


def _once(rows: Sequence[Sequence[str]], *, columns: int) -> list[tuple[str, ...]]:
    """Rows of which the first columns are left empty where they are as in the row before."""
    found: list[tuple[str, ...]] = []
    for at, row in enumerate(rows):
        is_same = at > 0 and tuple(rows[at - 1][:columns]) == tuple(row[:columns])
        found.append((*[""] * columns, *row[columns:]) if is_same else tuple(row))
    return found
