"""gangplan solve."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from gangplan.cli import exits, render
from gangplan.cli.options import Output
from gangplan.plan import Earmark, Plan
from gangplan.snapshot import Snapshot


def read_snapshot(source: str) -> Snapshot:
    """Read a snapshot from a file, or from stdin for ``-``."""
    from gangplan.documents import yaml_to_json
    from gangplan.solver import load

    if source != "-":
        return load(source)
    data = sys.stdin.buffer.read()
    is_json = data.lstrip()[:1] in {b"{", b""}
    return load(data if is_json else yaml_to_json(data.decode("utf-8", "replace"), "stdin"))


@exits.guarded
def solve(
    snapshot: Annotated[str, typer.Argument(metavar="FILE", help="Snapshot in JSON or YAML; - is stdin.")],
    options: Annotated[Path | None, typer.Option("--options", help="SolveOptions in JSON or YAML.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Also write the plan to this file.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --out: say what would be written, and write nothing.")
    ] = False,
    require_all: Annotated[bool, typer.Option("--require-all", help="Exit 1 if a gang is refused.")] = False,
    output: Output = render.Format.TABLE,
) -> None:
    """Decide which waiting gangs may start, where their replicas go, and why the others must wait.

    Example: gangplan solve examples/two-racks.yaml -o json
    """
    from gangplan.documents import dump
    from gangplan.options import SolveOptions
    from gangplan.solver import load
    from gangplan.solver import solve as decide

    seen = read_snapshot(snapshot)
    plan = decide(seen, load(options, SolveOptions) if options else None)
    if out is not None and dry_run:
        render.progress(f"the plan would be written to {out}")
    elif out is not None:
        dump(plan, out)
    if output is render.Format.TABLE:
        _table(plan)
    else:
        render.emit(plan, output)
    if require_all and plan.rejections:
        raise typer.Exit(exits.NO)


def _table(plan: Plan) -> None:
    rows = [
        (gang, "placed", f"traffic {plan.traffic.get(gang, 0)}", _places(roles))
        for gang, roles in plan.placements.items()
    ]
    order = sorted(plan.rejections.items(), key=lambda item: item[1].position)
    rows += [
        (gang, "refused", rejection.rule, rejection.message + _kept(plan.earmarks.get(gang)))
        for gang, rejection in order
    ]
    if not rows:
        render.say("no gang waits")
        return
    render.table(("gang", "answer", "", "where, or why not"), rows)


def _kept(earmark: Earmark | None) -> str:
    if earmark is None:
        return ""
    when = "" if earmark.starts_in_s is None else f", where it starts in {earmark.starts_in_s} s"
    return f"; {earmark.text}{when}"


def _places(roles: "dict[str, tuple[str, ...]] | object") -> str:
    assert hasattr(roles, "items")
    return "  ".join(
        f"{role}: " + ", ".join(f"{node} ×{nodes.count(node)}" for node in dict.fromkeys(nodes))
        for role, nodes in roles.items()
    )
