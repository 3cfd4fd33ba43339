"""gangplan pipeline smoke: whether a real Kubeflow does what we rely on."""

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from gangplan.cli import exits, render
from gangplan.cli.flag_groups import takes
from gangplan.cli.kubeflow_options import (
    Image,
    Parameters,
    ServerFlags,
    package_file,
    read_package,
)
from gangplan.cli.options import Context, Home, Kubeconfig, Output
from gangplan.cli.pipeline_view import Beside
from gangplan.cli.run import pairs
from gangplan.config import settings
from gangplan.pipeline import read_arguments
from gangplan.signals import interrupting

if TYPE_CHECKING:
    from gangplan.kubeflow.smoke import Point

SMALL = {
    "job_name": "smoke",
    "role_chief_count": "0",
    "role_ps_count": "0",
    "role_worker_count": "1",
    "train_epochs": "1",
}
"""The least that trains."""


@exits.guarded
@takes(ServerFlags, "at")
def smoke(
    at: ServerFlags,
    parameter: Parameters = None,
    image: Image = None,
    timeout: Annotated[
        int, typer.Option("--timeout", min=1, help="Seconds that each of both runs may take.")
    ] = 1800,
    home: Home = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Try a real Kubeflow: upload `train` by a new name, run it, stop another run of it, and remove all that.

    The run trains with one worker for one epoch; -p sets what else your cluster wants, such as the volume. Ends with 1 if a
    point fails.

    Example: gangplan pipeline smoke --host http://localhost:8080 -p volume_claim=training
    """
    arguments = read_arguments(package_file("train"), SMALL | pairs(parameter or []), local=False)
    package = read_package("train", image)
    beside = Beside(home=home, kubeconfig=kubeconfig, context=context, namespace=at.namespace)
    server = at.connect()
    from gangplan.kubeflow.smoke import Smoke

    points: list[Point] = []

    def report(point: "Point") -> None:
        points.append(point)
        if output is render.Format.TABLE:
            found = f": {point.found}" if point.found else ""
            render.say(f"{'pass' if point.passed else 'FAIL'}  {point.name}{found}", now=True)

    trying = Smoke(
        server,
        package,
        title=f"gangplan-smoke-{datetime.now(UTC):%Y%m%d-%H%M%S}",
        arguments=arguments,
        known=beside.known,
        tell=lambda line: render.progress(f"{time.strftime('%H:%M:%S')} {line}"),
        patience_s=timeout,
        pause_s=4 * settings(home=home).poll_s,
    )
    with interrupting():
        trying.run(report)
    if output is not render.Format.TABLE:
        render.emit(points, output)
    if not all(point.passed for point in points):
        raise typer.Exit(exits.NO)
