"""gangplan check."""

from pathlib import Path
from typing import Annotated

import typer

from gangplan.cli import exits, render
from gangplan.cli.options import Output
from gangplan.cli.solve import read_snapshot


@exits.guarded
def check(
    snapshot: Annotated[
        str, typer.Argument(metavar="SNAPSHOT", help="Snapshot in JSON or YAML; - is stdin.")
    ],
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="Plan in JSON or YAML.")],
    output: Output = render.Format.TABLE,
) -> None:
    """Judge a plan against its snapshot with code that shares nothing with the search; exit 1 if it breaks rules.

    Example: gangplan check examples/two-racks.yaml plan.json
    """
    from gangplan.errors import CheckFailed
    from gangplan.plan import Plan
    from gangplan.solver import check as judge
    from gangplan.solver import load

    violations: tuple[object, ...] = ()
    try:
        judge(read_snapshot(snapshot), load(plan, Plan))
    except CheckFailed as failed:
        violations = failed.violations
        if output is render.Format.TABLE:
            render.table(("rule", "where", "what"), [(v.rule, v.path, v.message) for v in failed.violations])
    if output is not render.Format.TABLE:
        render.emit({"violations": list(violations)}, output)
    elif not violations:
        render.say("the plan keeps every rule")
    if violations:
        raise typer.Exit(exits.NO)
