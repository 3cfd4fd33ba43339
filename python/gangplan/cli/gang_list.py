"""gangplan list: the gangs of the local cluster, or of a Kubernetes cluster, once or as they change."""

import time
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from gangplan import moments
from gangplan.cli import exits, render
from gangplan.cli.options import Context, Everywhere, Home, Kubeconfig, Namespace, Output
from gangplan.cli.place import Place
from gangplan.gangs import ON_THIS_MACHINE, Gangs
from gangplan.record import GangRecord

WATCH_S = 1.0
"""Seconds between two looks at gangs that are watched: on a cluster each is two requests."""

GONE = "Gone"
"""The phase that is shown of a gang whose record was removed."""


@exits.guarded
def list_gangs(
    watch: Annotated[
        bool,
        typer.Option("--watch", "-w", help="Go on, and print each gang again that changes, until Ctrl-C."),
    ] = False,
    home: Home = None,
    namespace: Namespace = None,
    everywhere: Everywhere = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """List gangs: where each stands, and why.

    Those of the local cluster; with -n, -A, --kubeconfig or --context, or with the setting cluster = "kubernetes",
    those of a Kubernetes cluster. On a terminal reasons are cut to its width; -o json has them whole.

    Example: gangplan list -n team -o json
    """
    place = Place(
        home=home, kubeconfig=kubeconfig, context=context, namespace=namespace, everywhere=everywhere
    )
    with place.open() as gangs:
        if watch:
            _watch(gangs, output, everywhere=everywhere)
            return
        records = gangs.records()
    if output is not render.Format.TABLE:
        render.emit([summary(record) for record in records], output)
    elif records:
        rows = [_row(record, everywhere=everywhere) for record in records]
        render.table(_header(everywhere=everywhere), rows, cut="reason")
    else:
        render.say("no gangs" if place.is_cluster else f"no gangs {ON_THIS_MACHINE}")


def summary(record: GangRecord) -> dict[str, Any]:
    """A gang as a document."""
    return {
        "name": record.name,
        "queue": record.gang.queue,
        "phase": record.phase,
        "outcome": record.outcome,
        "position": record.position,
        **_moments(record),
        "reason": record.reason,
        "run_id": record.run_id,
        "reservation": record.reservation,
        "rejection": record.rejection,
    }


def _moments(record: GangRecord) -> dict[str, str | None]:
    """When it was asked for, had all its nodes, and ended; the end of a job that nobody has written down is not known."""
    last = record.history[-1] if record.history else None
    ended = last.at if last is not None and last.phase == "Finished" else None
    told = {"created": record.created, "started": record.started, "ended": ended}
    return {name: None if at is None else moments.short(at) for name, at in told.items()}


def _watch(gangs: Gangs, output: render.Format, *, everywhere: bool) -> None:
    """Print all gangs, then those that change, until Ctrl-C."""
    rows = render.Rows(_header(everywhere=everywhere), cut="reason")
    if not gangs.records():
        render.progress("no gangs yet; the first is waited for, until Ctrl-C")
    try:
        for record, is_gone in _changes(gangs):
            if output is render.Format.TABLE:
                rows.add(_row(record, everywhere=everywhere, phase=GONE if is_gone else ""))
            else:
                render.emit_one({**summary(record), **({"phase": GONE} if is_gone else {})}, output)
    except KeyboardInterrupt:
        raise typer.Exit(exits.INTERRUPTED) from None


def _changes(gangs: Gangs) -> Iterator[tuple[GangRecord, bool]]:
    """Each gang as it is, and again whenever it stands elsewhere or is gone."""
    seen: dict[str, GangRecord] = {}
    while True:
        now = {record.name: record for record in gangs.records()}
        for name, record in now.items():
            before = seen.get(name)
            if before is not None and before.uid != record.uid:
                yield before, True
            if before is None or _stands(before) != _stands(record):
                yield record, False
        for name in sorted(seen.keys() - now.keys()):
            yield seen[name], True
        seen = now
        time.sleep(WATCH_S)


def _stands(record: GangRecord) -> tuple[object, ...]:
    return (record.uid, record.phase, record.outcome, record.position, record.reason, record.gang.queue)


def _header(*, everywhere: bool) -> Sequence[str]:
    header = ("gang", "queue", "phase", "position", "age", "reason")
    return ("namespace", *header) if everywhere else header


def _row(record: GangRecord, *, everywhere: bool, phase: str = "") -> tuple[str, ...]:
    where, _, short = record.name.rpartition("/")
    return (
        *((where or "–",) if everywhere else ()),
        short,
        record.gang.queue or "–",
        phase or record.outcome or record.phase,
        "–" if record.position is None else str(record.position),
        render.age(time.time() - record.created) if record.created is not None else "–",
        record.reason.splitlines()[0] if record.reason else "",
    )
