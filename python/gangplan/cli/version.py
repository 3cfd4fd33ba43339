"""gangplan version."""

import platform
from importlib.metadata import PackageNotFoundError, version

from gangplan.cli import exits, render
from gangplan.cli.options import Output

EXTRAS = ("tensorflow", "keras", "kfp", "kubernetes", "matplotlib")


@exits.guarded
def show(output: Output = render.Format.TABLE) -> None:
    """Print the versions of gangplan, of its solver, and of the extras that are installed.

    Example: gangplan version -o json
    """
    from gangplan.solver import core_version

    found: dict[str, str | None] = {
        "gangplan": version("gangplan"),
        "solver": core_version(),
        "python": platform.python_version(),
    }
    for name in EXTRAS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    if output is render.Format.TABLE:
        render.table(
            ("component", "version"), [(name, number or "not installed") for name, number in found.items()]
        )
    else:
        render.emit(found, output)
