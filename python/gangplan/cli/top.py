"""gangplan top nodes, jobs, queues: what is held now, by whom, and what is left."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, TypeVar

import typer

from gangplan.cli import completion, exits, render
from gangplan.cli.options import Context, Everywhere, Home, Kubeconfig, Namespace, Output
from gangplan.cli.place import Place
from gangplan.cli.solve import read_snapshot
from gangplan.errors import InvalidInput, Problem
from gangplan.gangs import Shown
from gangplan.holdings import NodesLoad, QueueShare, Share, is_gpu, of_jobs, of_nodes, of_queues
from gangplan.record import GangRecord
from gangplan.report.wording import rounded
from gangplan.snapshot import Snapshot

S = TypeVar("S", Share, QueueShare)

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
    namespace: Namespace = None,
    everywhere: Everywhere = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Show each node: what it has, what runs on it, what is reserved, what is free; virtual ones are summed apart.

    Of the local cluster; with -n or -A (all nodes either way), --kubeconfig or --context, or with the setting
    cluster = "kubernetes", of a Kubernetes cluster.

    Example: gangplan top nodes -f examples/two-racks.yaml
    """
    place = Place(
        home=home, kubeconfig=kubeconfig, context=context, namespace=namespace, everywhere=everywhere
    )
    snapshot, _ = _read(file, place, "nodes")
    if namespace is not None:
        render.progress("note: nodes belong to no namespace: all are shown")
    found = of_nodes(snapshot)
    _see_that_there_is(resource, found)
    found = NodesLoad(
        ready=_shown(found.ready, resource),
        ready_virtual=_shown(found.ready_virtual, resource),
        nodes=tuple(replace(node, shares=_shown(node.shares, resource)) for node in found.nodes),
    )
    if output is not render.Format.TABLE:
        render.emit(found, output)
        return
    rows = [
        (*head, share.resource, *map(rounded, (share.capacity, share.used, share.reserved, share.free)))
        for *head, shares in (
            *((node.name, node.kind, node.state, node.shares) for node in found.nodes),
            ("all ready", "real", "", found.ready),
            ("all ready", "virtual", "", found.ready_virtual),
        )
        for share in shares
    ]
    header = ("node", "kind", "state", "resource", "capacity", "used", "reserved", "free")
    render.table(header, _once(rows, columns=3))


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
    snapshot, records = _read(file, place, "jobs")
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
    namespace: Namespace = None,
    everywhere: Everywhere = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Show each queue: what it and those below it use, against what it deserves and may use at most.

    Of the local cluster; with -n or -A (all queues either way), --kubeconfig or --context, or with the setting
    cluster = "kubernetes", of a Kubernetes cluster.

    Example: gangplan top queues -o json -A
    """
    place = Place(
        home=home, kubeconfig=kubeconfig, context=context, namespace=namespace, everywhere=everywhere
    )
    snapshot, _ = _read(file, place, "queues")
    if namespace is not None:
        render.progress("note: queues belong to no namespace: all are shown")
    found = tuple(replace(queue, shares=_shown(queue.shares, resource)) for queue in of_queues(snapshot))
    if output is not render.Format.TABLE:
        render.emit(found, output)
        return
    if not found:
        render.say("no queues")
        return
    rows = []
    for queue in found:
        head = (queue.name, "open" if queue.open else "closed", str(queue.waiting), str(queue.running))
        rows += [
            (
                *head,
                share.resource,
                rounded(share.used),
                *(rounded(text or "–") for text in (share.guarantee, share.deserved, share.limit)),
            )
            for share in queue.shares
        ] or [(*head, *["–"] * 5)]
    header = ("queue", "", "waiting", "running", "resource", "used", "guarantee", "deserved", "limit")
    render.table(header, _once(rows, columns=4))


def _read(file: str | None, place: Place, of: Shown) -> tuple[Snapshot, tuple[GangRecord, ...]]:
    """The cluster with its gangs, and their records, which a snapshot has none of."""
    if file is None:
        if not place.is_cluster:
            render.progress("of the nodes of this machine; for a Kubernetes cluster add -A")
        with place.open() as gangs:
            return gangs.survey(of)
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


def _shown(shares: Sequence[S], wanted: Sequence[str] | None) -> tuple[S, ...]:
    """Those of the resources that are asked for, or of the usual ones."""
    return tuple(
        share
        for share in shares
        if share.resource in (wanted or ("cpu", "memory")) or (not wanted and is_gpu(share.resource))
    )


def _once(rows: Sequence[Sequence[str]], *, columns: int) -> list[tuple[str, ...]]:
    """Rows of which the first columns are left empty where they are as in the row before."""
    found: list[tuple[str, ...]] = []
    for at, row in enumerate(rows):
        is_same = at > 0 and tuple(rows[at - 1][:columns]) == tuple(row[:columns])
        found.append((*[""] * columns, *row[columns:]) if is_same else tuple(row))
    return found
