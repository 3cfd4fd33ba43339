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
        help="Folder of the local cluster; without it that of GANGPLAN_HOME.",
        show_default=".gangplan",
    ),
]
Kubeconfig = Annotated[
    Path | None,
    typer.Option(
        "--kubeconfig",
        help="The kubeconfig; in a pod, without it, its service account counts.",
        show_default="KUBECONFIG, ~/.kube/config",
    ),
]
Context = Annotated[str | None, typer.Option("--context", help="The context in the kubeconfig.")]
Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        "-n",
        help="The namespace on a Kubernetes cluster.",
        show_default="that of the kubeconfig's context",
    ),
]
Everywhere = Annotated[
    bool, typer.Option("--all-namespaces", "-A", help="Those of all namespaces of a Kubernetes cluster.")
]
