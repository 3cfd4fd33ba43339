"""gangplan list, get, logs, delete: the gangs of the local cluster."""

import time
from typing import Annotated, Any

import typer

from gangplan.cli import exits, render
from gangplan.cli.options import Home, Output
from gangplan.config import settings
from gangplan.errors import NotFound
from gangplan.local.store import LocalStore
from gangplan.record import GangRecord


def open_store(home: Home) -> LocalStore:
    """Open the store of the local cluster, after letting time pass: void reservations and dead owners end."""
    from gangplan.admission import run_settle
    from gangplan.local.cluster import LocalCluster

    chosen = settings(home=home)
    store = LocalStore(chosen.store)
    with store.leadership():
        run_settle(store, LocalCluster(store).gone, now=time.time(), terms=chosen.terms)
    return store


def _find(store: LocalStore, name: str) -> GangRecord:
    record = store.get(name)
    if record is None:
        known = ", ".join(item.name for item in store.records()) or "none"
        raise NotFound(f"there is no gang {name}; known: {known}", verb="get", kind="Gang", name=name)
    return record


def complete_gang(incomplete: str) -> list[str]:
    """Complete names of gangs on the command line."""
    try:
        return [item.name for item in open_store(None).records() if item.name.startswith(incomplete)]
    except Exception:  # noqa: BLE001 - completion must never print an error
        return []


Name = Annotated[str, typer.Argument(metavar="GANG", help="Name of the gang.", autocompletion=complete_gang)]


@exits.guarded
def list_gangs(home: Home = None, output: Output = render.Format.TABLE) -> None:
    """List the gangs of the local cluster.

    Example: gangplan list -o json
    """
    records = open_store(home).records()
    if output is not render.Format.TABLE:
        render.emit([_summary(record) for record in records], output)
        return
    if not records:
        render.say("no gangs")
        return
    rows = [
        (
            record.name,
            record.gang.queue or "–",
            record.outcome or record.phase,
            "–" if record.position is None else str(record.position),
            _age(time.time() - record.history[0].at) if record.history else "–",
            record.reason.splitlines()[0] if record.reason else "",
        )
        for record in records
    ]
    render.table(("gang", "queue", "phase", "position", "age", "reason"), rows)


@exits.guarded
def get(name: Name, home: Home = None, output: Output = render.Format.TABLE) -> None:
    """Show a gang with its replicas and its history.

    Example: gangplan get classifier-1a2b3c4d -o yaml
    """
    record = _find(open_store(home), name)
    replicas = _replicas(name, home)
    if output is not render.Format.TABLE:
        render.emit({**_summary(record), "history": record.history, "replicas": replicas}, output)
        return
    place = "" if record.position is None else f" (position {record.position})"
    render.say(f"{record.name}: {record.outcome or record.phase}{place}\n  {record.reason}\n")
    rows = [
        (
            f"{item['role']}-{item['index']}",
            item["node"] or "–",
            item["state"],
            *("–" if item[key] is None else str(item[key]) for key in ("pid", "exit_code")),
        )
        for item in replicas
    ]
    if rows:
        render.table(("replica", "node", "state", "pid", "exit code"), rows)
        render.say("")
    times = [
        (time.strftime("%H:%M:%S", time.localtime(event.at)), event.phase, event.reason)
        for event in record.history
    ]
    render.table(("time", "phase", "reason"), times)


@exits.guarded
def logs(
    name: Name,
    replica: Annotated[
        str | None,
        typer.Argument(metavar="[REPLICA]", help="Such as worker-0; without it all, one after the other."),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the replica ends.")] = False,
    home: Home = None,
) -> None:
    """Print the log of a gang's replicas.

    Example: gangplan logs classifier-1a2b3c4d chief-0 --follow
    """
    from gangplan.local.runtime import LocalRuntime

    runtime = LocalRuntime(settings(home=home).jobs)
    names = [replica] if replica is not None else [item.name for item in runtime.status(name).replicas]
    if follow and replica is None and len(names) > 1:
        raise typer.BadParameter("name one replica to follow: " + ", ".join(names))
    for item in names:
        for line in runtime.logs(name, item, follow=follow):
            render.say(line if replica is not None else f"{item}: {line}")


@exits.guarded
def delete(
    names: Annotated[
        list[str], typer.Argument(metavar="GANG...", help="Names of gangs.", autocompletion=complete_gang)
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be deleted.")] = False,
    home: Home = None,
) -> None:
    """End gangs with all their processes, and forget their records.

    Example: gangplan delete classifier-1a2b3c4d
    """
    from gangplan import admission
    from gangplan.local.runtime import LocalRuntime
    from gangplan.local.survivors import end_survivors

    store = open_store(home)
    found = [_find(store, name) for name in names]
    for record in found:
        if dry_run:
            render.say(f"{record.name} ({record.outcome or record.phase}) would be deleted")
            continue
        LocalRuntime(settings(home=home).jobs).delete(record.name)
        end_survivors(record.run_id, record.name)
        ended = admission.finish(
            store,
            record.name,
            run_id=record.run_id,
            outcome="Canceled",
            reason="deleted by the user",
            now=time.time(),
        )
        if ended is not None:
            store.remove(ended)
        render.say(f"{record.name} deleted")


def _summary(record: GangRecord) -> dict[str, Any]:
    return {
        "name": record.name,
        "queue": record.gang.queue,
        "phase": record.phase,
        "outcome": record.outcome,
        "position": record.position,
        "reason": record.reason,
        "run_id": record.run_id,
        "reservation": record.reservation,
        "rejection": record.rejection,
    }


def _replicas(name: str, home: Home) -> list[dict[str, Any]]:
    from gangplan.documents import to_builtins
    from gangplan.local.runtime import LocalRuntime

    try:
        status = LocalRuntime(settings(home=home).jobs).status(name)
    except NotFound:
        return []
    return [to_builtins(replica) for replica in status.replicas]


def _age(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{int(seconds)}s"
