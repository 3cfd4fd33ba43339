"""How commands reach Kubeflow Pipelines, and what they are about there."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from gangplan.cli import completion
from gangplan.config import settings
from gangplan.errors import NotFound
from gangplan.kubeflow.access import access
from gangplan.kubeflow.package import Package, with_image
from gangplan.pipeline import packaged, parameters

if TYPE_CHECKING:
    from gangplan.kubeflow.run import Run
    from gangplan.kubeflow.server import Server

Host = Annotated[
    str | None,
    typer.Option(
        "--host",
        help="Address of Kubeflow Pipelines.",
        show_default="pipelines_host, KF_PIPELINES_ENDPOINT, in a pod that of its cluster",
    ),
]
UserNamespace = Annotated[
    str | None,
    typer.Option("--namespace", "-n", help="Namespace of the profile, where each has pipelines of its own."),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        help="File with a bearer token.",
        show_default="KF_PIPELINES_SA_TOKEN_PATH, in a Kubeflow notebook its own",
    ),
]
CookieFile = Annotated[
    Path | None,
    typer.Option(
        "--cookie-file", help="File with the cookies of a browser that is logged in, as NAME=VALUE; …"
    ),
]
CaFile = Annotated[
    Path | None, typer.Option("--ca-file", help="File with the certificates that the server's is checked by.")
]
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


def connect(
    host: str | None,
    namespace: str | None,
    token_file: Path | None,
    cookie_file: Path | None,
    ca_file: Path | None,
) -> "Server":
    """Connect to the server that flags, settings and environment name."""
    found = access(
        environment=os.environ,
        host=host or settings().pipelines_host,
        namespace=namespace,
        token=token_file,
        cookies=cookie_file,
        ca=ca_file,
    )
    from gangplan.kubeflow.server import Server

    return Server(found)


def package_file(name: str) -> Path:
    """The file of a pipeline that is named, or given as a file; it is a compiled pipeline."""
    path = Path(name) if name.endswith((".yaml", ".yml")) else packaged(name)
    parameters(path)
    return path


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
