"""gangplan queue list, get, set: the queues of a Kubernetes cluster."""

import time
from pathlib import Path
from typing import Annotated

import typer

from gangplan.cli import completion, exits, render
from gangplan.cli.options import Context, Kubeconfig, Output
from gangplan.cli.snapshot import amounts
from gangplan.errors import NotFound, Problem
from gangplan.inventory import QueueUse

app = typer.Typer(help="Show and set the queues of a Kubernetes cluster.", no_args_is_help=True)
Name = Annotated[
    str, typer.Argument(metavar="QUEUE", help="Name of the queue.", autocompletion=completion.queue)
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and write nothing.")]


def _amounts_option(name: str, what: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        name, metavar="RESOURCE=AMOUNT", help=f"{what} Repeatable; an empty amount takes the resource out."
    )
    return option


@app.command(name="list")
@exits.guarded
def list_queues(
    kubeconfig: Kubeconfig = None, context: Context = None, output: Output = render.Format.TABLE
) -> None:
    """List the queues: what they use, deserve and may use at most, and how many gangs wait and run in them.

    Example: gangplan queue list -o json
    """
    found = _read(kubeconfig, context)
    if output is not render.Format.TABLE:
        render.emit(found, output)
        return
    if not found:
        render.say("no queues")
        return
    rows = [
        (
            use.queue.name,
            use.queue.parent or "–",
            "open" if use.queue.open else "closed",
            amounts(use.used),
            amounts(use.queue.deserved or {}),
            amounts(use.queue.limit),
            str(len(use.waiting)),
            str(len(use.running)),
        )
        for use in found
    ]
    header = ("queue", "parent", "", "used", "deserved", "limit", "waiting", "running")
    render.table(header, rows)


@app.command()
@exits.guarded
def get(
    name: Name, kubeconfig: Kubeconfig = None, context: Context = None, output: Output = render.Format.TABLE
) -> None:
    """Show a queue, resource by resource, with its gangs.

    Example: gangplan queue get research
    """
    found = _read(kubeconfig, context)
    use = next((use for use in found if use.queue.name == name), None)
    if use is None:
        known = ", ".join(item.queue.name for item in found) or "none"
        raise NotFound(f"there is no queue {name}; known: {known}", verb="get", kind="GangQueue", name=name)
    if output is not render.Format.TABLE:
        render.emit(use, output)
        return
    queue = use.queue
    render.say(
        f"{name}: {'open' if queue.open else 'closed'}, weight {queue.weight}, priority {queue.priority}"
        + (f", below {queue.parent}" if queue.parent else "")
    )
    columns = (use.used, queue.deserved or {}, queue.guarantee, queue.limit)
    resources = sorted({resource for column in columns for resource in column})
    rows = [(resource, *(column.get(resource, "–") for column in columns)) for resource in resources]
    if rows:
        render.table(("resource", "used", "deserved", "guarantee", "limit"), rows)
    for state, gangs in (("waiting", use.waiting), ("running", use.running)):
        render.say(f"{state}: {', '.join(gangs) or 'none'}")


@app.command(name="set")
@exits.guarded
def set_queue(
    name: Name,
    parent: Annotated[
        str | None,
        typer.Option(
            "--parent", metavar="QUEUE", help='The queue above; "" for none.', autocompletion=completion.queue
        ),
    ] = None,
    limit: Annotated[list[str] | None, _amounts_option("--limit", "Never passed.")] = None,
    deserved: Annotated[list[str] | None, _amounts_option("--deserved", "What it gets first.")] = None,
    guarantee: Annotated[
        list[str] | None, _amounts_option("--guarantee", "What is kept free for it.")
    ] = None,
    weight: Annotated[
        int | None, typer.Option("--weight", min=0, help="Its part of what is left over. A new one has 1.")
    ] = None,
    priority: Annotated[
        int | None, typer.Option("--priority", help="Higher comes first. A new one has 0.")
    ] = None,
    is_open: Annotated[
        bool | None,
        typer.Option("--open/--closed", help="A closed queue admits nothing new. A new one is open."),
    ] = None,
    dry_run: DryRun = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Make a queue, or change one; what is not named stays as it is.

    Example: gangplan queue set research --limit nvidia.com/gpu=16 --deserved nvidia.com/gpu=8 --weight 2
    """
    from gangplan.kube.client import connect
    from gangplan.kube.queues import QueueChange
    from gangplan.kube.queues import set_queue as make

    wrong: list[Problem] = []
    change = QueueChange(
        parent=parent,
        limit=_parsed("--limit", limit, wrong),
        deserved=_parsed("--deserved", deserved, wrong),
        guarantee=_parsed("--guarantee", guarantee, wrong),
        weight=weight,
        priority=priority,
        open=is_open,
    )
    with connect(kubeconfig=kubeconfig, context=context) as connection:
        setting = make(connection, name, change, dry_run=dry_run, before=wrong)
    if output is not render.Format.TABLE:
        told = {"name": name, "how": setting.how, "written": not dry_run and setting.how != "unchanged"}
        render.emit({**told, "before": setting.before, "after": setting.after}, output)
        return
    would = " would be" if dry_run and setting.how != "unchanged" else ""
    render.say(f"queue {name}{would} {setting.how}")


def _read(kubeconfig: Path | None, context: str | None) -> tuple[QueueUse, ...]:
    from gangplan.inventory import take_stock
    from gangplan.kube.client import connect
    from gangplan.kube.kinds import GANG, GANG_QUEUE
    from gangplan.kube.taking import take

    with connect(kubeconfig=kubeconfig, context=context) as connection:
        taken = take(connection, now=time.time(), needs=(GANG, GANG_QUEUE))
    for name, problem in sorted(taken.left_out.items()):
        if name.startswith("queue "):
            render.progress(f"{name} is left out: {problem}")
    return take_stock(taken.snapshot).queues


def _parsed(option: str, given: list[str] | None, wrong: list[Problem]) -> dict[str, str]:
    """Amounts by resource, as ``RESOURCE=AMOUNT`` gives them; what is none is added to what is wrong."""
    found: dict[str, str] = {}
    for text in given or ():
        resource, equals, amount = text.partition("=")
        if not resource or not equals:
            message = f"wants RESOURCE=AMOUNT, such as nvidia.com/gpu=8, not {text!r}"
            wrong.append(Problem(option, "MALFORMED", message))
        elif resource in found:
            wrong.append(Problem(option, "DUPLICATE", f"gives {resource} twice: give it once"))
        else:
            found[resource] = amount.strip()
    return found
