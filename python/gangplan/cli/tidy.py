"""gangplan prune, reap: what is old goes, and what nobody looks after any more."""

import re
import sys
import time
from collections.abc import Sequence
from typing import Annotated

import typer

from gangplan.cli import exits, render
from gangplan.cli.options import Context, Everywhere, Home, Kubeconfig, Namespace, Output
from gangplan.cli.place import Place
from gangplan.errors import InvalidInput, Problem
from gangplan.gangs import Orphan, Pruned
from gangplan.moments import told
from gangplan.signals import interrupting

UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def seconds(text: str, *, option: str) -> float:
    """Read a span of time such as ``7d``.

    Args:
        text: What was given.
        option: Where.

    Raises:
        InvalidInput: It is none.
    """
    found = re.fullmatch(r"(\d{1,9})([smhd])", text)
    if found is None:
        message = f"wants a number and one of s, m, h, d, such as 7d, not {text!r}"
        raise InvalidInput([Problem(option, "BAD_VALUE", message)], "arguments")
    return float(found[1]) * UNITS[found[2]]


@exits.guarded
def prune(
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="AGE", help="What is older goes, such as 12h or 7d.")
    ] = "7d",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be removed.")] = False,
    home: Home = None,
    namespace: Namespace = None,
    everywhere: Everywhere = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Remove what is over and old; never what still runs or waits.

    On this machine records of finished gangs and the files of their jobs; with -n, -A, --kubeconfig or --context, or with
    the setting cluster = "kubernetes", finished gangs of a Kubernetes cluster with their TFJobs, and the logs of jobs
    there that were kept here. Data and models stay.

    Example: gangplan prune --older-than 30d --dry-run
    """
    before = time.time() - seconds(older_than, option="--older-than")
    place = Place(
        home=home, kubeconfig=kubeconfig, context=context, namespace=namespace, everywhere=everywhere
    )
    gone: list[Pruned] = []
    try:
        with place.open() as gangs, interrupting():
            for item in gangs.prune(before=before, dry_run=dry_run, tell=render.progress):
                gone.append(item)
                if output is render.Format.TABLE:
                    where = "" if item.path is None else f" in {item.path}"
                    verb = "would be removed" if dry_run else "removed"
                    job = " with its TFJob and its pods" if item.job else ""
                    render.say(
                        f"{item.kind} {item.name}{job}{where} {verb}, {render.age(time.time() - item.at)} old",
                        now=True,
                    )
    finally:
        if output is not render.Format.TABLE:
            render.emit([{**told(item), "removed": not dry_run} for item in gone], output)
    if output is render.Format.TABLE and not gone:
        render.say(f"nothing that is over is older than {older_than}")


@exits.guarded
def reap(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="End what is found, without asking.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be ended.")] = False,
    home: Home = None,
    namespace: Namespace = None,
    everywhere: Everywhere = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """List what nobody looks after any more, and why; end it if it is told to, or says yes when it asks.

    On a Kubernetes cluster (-n, -A, --kubeconfig or --context, or the setting cluster = "kubernetes") gangs whose
    submission or launcher was killed, those whose job ended while nobody looked, and TFJobs of gangplan without a gang;
    on this machine processes that a run left behind. Where nobody can be asked it only lists.

    Example: gangplan reap -A --dry-run
    """
    if yes and dry_run:
        raise typer.BadParameter("does not go with --dry-run: give one of both", param_hint="--yes")
    place = Place(
        home=home, kubeconfig=kubeconfig, context=context, namespace=namespace, everywhere=everywhere
    )
    ended: dict[Orphan, str] = {}
    with place.open() as gangs, interrupting():
        found = gangs.orphans()
        if output is render.Format.TABLE:
            _list(found)
        if found and not dry_run and (yes or (output is render.Format.TABLE and _says_yes(len(found)))):
            for orphan in found:
                ended[orphan] = gangs.reap(orphan, progress=render.progress)
                if output is render.Format.TABLE:
                    render.say(ended[orphan], now=True)
    if output is not render.Format.TABLE:
        render.emit([{**told(orphan), "ended": ended.get(orphan)} for orphan in found], output)


def _list(found: Sequence[Orphan]) -> None:
    if not found:
        render.say("no orphans")
        return
    rows = [(orphan.name, orphan.kind, "yes" if orphan.job else "no", orphan.reason) for orphan in found]
    render.table(("name", "what", "still runs", "reason"), rows, cut="reason")


def is_asked() -> bool:
    """Whether somebody sits there who can be asked."""
    return sys.stdin.isatty()


def _says_yes(count: int) -> bool:
    """Ask whoever sits there; where nobody does, nothing is ended."""
    if not is_asked():
        render.progress("nothing is ended: --yes ends them")
        return False
    return typer.confirm("end it?" if count == 1 else f"end all {count}?", err=True)
