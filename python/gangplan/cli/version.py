"""gangplan version."""

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated

import typer

from gangplan.cli import exits, render
from gangplan.cli.options import Output

EXTRAS = ("tensorflow", "keras", "kfp", "kubernetes", "matplotlib")


@exits.guarded
def show(
    server: Annotated[bool, typer.Option("--server", help="Also ask the cluster's API server.")] = False,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            "--kubeconfig", help="With --server: the kubeconfig. [default: KUBECONFIG, ~/.kube/config]"
        ),
    ] = None,
    context: Annotated[
        str | None, typer.Option("--context", help="With --server: the context in the kubeconfig.")
    ] = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Print the versions of gangplan, of its solver, and of the extras that are installed.

    Example: gangplan version -o json
    """
    from gangplan import __version__
    from gangplan.solver import core_version

    found: dict[str, str | None] = {
        "gangplan": __version__,
        "solver": core_version(),
        "python": platform.python_version(),
    }
    for name in EXTRAS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    if server:
        from gangplan.kube.client import connect

        with connect(kubeconfig=kubeconfig, context=context) as connection:
            found["server"] = connection.server_version()
    if output is render.Format.TABLE:
        render.table(
            ("component", "version"), [(name, number or "not installed") for name, number in found.items()]
        )
    else:
        render.emit(found, output)
