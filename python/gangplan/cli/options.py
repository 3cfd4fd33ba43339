"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from gangplan.cli.render import Format

Output = Annotated[Format, typer.Option("--output", "-o", help="How to print the result.")]
Home = Annotated[
    Path | None,
    typer.Option(
        "--home",
        help="Folder of the local cluster. [env: GANGPLAN_HOME] [default: .gangplan]",
        show_default=False,
    ),
]
