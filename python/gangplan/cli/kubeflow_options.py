"""How commands reach Kubeflow Pipelines, and what they are about there."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from gangplan.cli import completion
from gangplan.cli.flag_groups import flag
from gangplan.cli.run import pairs, tell_what_is_not_looked_at
from gangplan.config import settings
from gangplan.errors import NotFound
from gangplan.kubeflow.access import access
from gangplan.kubeflow.package import Package, with_image
from gangplan.pipeline import packaged, parameters

if TYPE_CHECKING:
    from gangplan.kubeflow.run import Run
    from gangplan.kubeflow.server import Server

Pipeline = Annotated[
    str,
    typer.Argument(
        help="Name of a packaged pipeline, or a compiled YAML file.", autocompletion=completion.pipeline
    ),
]
RunName = Annotated[
    str, typer.Argument(metavar="RUN", help="Id of the run, or its name: the newest of that name.")
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter",
        "-p",
        metavar="NAME=VALUE",
        help="A pipeline parameter.",
        autocompletion=completion.parameter,
    ),
]


Image = Annotated[
    str | None,
    typer.Option("--image", envvar="GANGPLAN_IMAGE", help="The image that steps and replicas run in."),
]
Experiment = Annotated[str, typer.Option("--experiment", help="The experiment of the runs.")]
ServiceAccount = Annotated[
    str,
    typer.Option("--service-account", help="The account of the pods.", show_default="that of the server"),
]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Follow the run to its end.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Do not print what the steps print.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check all, say what would be done, and do nothing.")]

_PANEL = "Kubeflow Pipelines"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFlags:
    """Which server is meant and who asks it; None: the flag was not given."""

    host: str | None = flag(
        "--host",
        "Address of Kubeflow Pipelines.",
        _PANEL,
        show_default="pipelines_host, KF_PIPELINES_ENDPOINT, in a pod that of its cluster",
    )
    namespace: str | None = flag(
        "--namespace", "Namespace of the profile, where each has pipelines of its own.", _PANEL, short="-n"
    )
    token_file: Path | None = flag(  # noqa: RUF009 - it makes a field, as field() does
        "--token-file",
        "File with a bearer token.",
        _PANEL,
        show_default="KF_PIPELINES_SA_TOKEN_PATH, in a Kubeflow notebook its own",
    )
    cookie_file: Path | None = flag(  # noqa: RUF009 - the same
        "--cookie-file", "File with the cookies of a browser that is logged in, as NAME=VALUE; …", _PANEL
    )
    ca_file: Path | None = flag(  # noqa: RUF009 - the same
        "--ca-file", "File with the certificates that the server's is checked by.", _PANEL
    )

    def connect(self) -> "Server":
        """Connect to the server that flags, settings and environment name."""
        found = access(
            environment=os.environ,
            host=self.host or settings().pipelines_host,
            namespace=self.namespace,
            token=self.token_file,
            cookies=self.cookie_file,
            ca=self.ca_file,
        )
        from gangplan.kubeflow.server import Server

        return Server(found)


def package_file(name: str) -> Path:
    """The file of a pipeline that is named, or given as a file; it is a compiled pipeline."""
    path = Path(name) if name.endswith((".yaml", ".yml")) else packaged(name)
    parameters(path)
    return path


def read_arguments(name: str, words: list[str] | None, home: Path | None = None) -> dict[str, Any]:
    """Read the arguments of a run on Kubeflow, as NAME=VALUE; they are judged as its steps will judge them.

    Raises:
        InvalidInput: Some are wrong; all of them are named.
    """
    from gangplan.steps import arguments

    path, chosen = package_file(name), settings(home=home)
    values = arguments.read_sound(
        path,
        pairs(words or []),
        local=False,
        judge=lambda values: arguments.see_that_they_are_sound_on_kubeflow(values, chosen=chosen),
    )
    tell_what_is_not_looked_at(values, values)
    return values


def read_package(name: str, image: str | None) -> Package:
    """Read a pipeline that is named, or given as a file."""
    path = package_file(name)
    package = Package(name=path.stem, text=path.read_text(encoding="utf-8"))
    return with_image(package, image) if image else package


def find_run(server: "Server", word: str) -> "Run":
    """Find a run by its id, or the newest of a name.

    Raises:
        NotFound: There is none.
    """
    try:
        UUID(word)
    except ValueError:
        for run in server.runs(limit=1, name=word):
            return run
        message = f"there is no run of the name {word}: gangplan pipeline list shows those that there are"
        raise NotFound(message, verb="get", kind="run", name=word) from None
    return server.run(word)
