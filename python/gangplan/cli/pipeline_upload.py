"""gangplan pipeline upload, list, schedule: what Kubeflow has, and when it starts it."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from gangplan.cli import exits, render
from gangplan.cli.flag_groups import takes
from gangplan.cli.kubeflow_options import (
    DryRun,
    Experiment,
    Image,
    Parameters,
    Pipeline,
    ServerFlags,
    ServiceAccount,
    read_arguments,
    read_package,
)
from gangplan.cli.options import Output
from gangplan.cli.tidy import seconds
from gangplan.errors import ConfigError
from gangplan.kubeflow.cron import read_cron


class Listed(StrEnum):
    """What the server has lists of."""

    RUNS = "runs"
    PIPELINES = "pipelines"
    SCHEDULES = "schedules"


@exits.guarded
@takes(ServerFlags, "at")
def upload(
    at: ServerFlags,
    name: Pipeline = "train",
    title: Annotated[
        str | None, typer.Option("--name", help="Name of the pipeline there; without it the one in the file.")
    ] = None,
    image: Image = None,
    dry_run: DryRun = False,
    output: Output = render.Format.TABLE,
) -> None:
    """Upload a pipeline, or a new version of it; nothing if the server has these bytes already.

    Example: gangplan pipeline upload train --image registry.example/gangplan/python:1
    """
    package = read_package(name, image)
    told: dict[str, Any] = {"pipeline": title or package.title, "version": package.version}
    if not dry_run:
        from gangplan.kubeflow.publish import publish

        server = at.connect()
        done = publish(server, package, name=title)
        told |= {"pipeline_id": done.pipeline.id, "version_id": done.version.id, "uploaded": done.is_new}
    if output is not render.Format.TABLE:
        render.emit(told, output)
        return
    words = "would be uploaded, unless it is there already" if dry_run else "uploaded"
    words = words if dry_run or told["uploaded"] else "is there already, nothing was uploaded"
    render.say(f"{told['pipeline']}, version {told['version']}: {words}")


@exits.guarded
@takes(ServerFlags, "at")
def list_all(
    at: ServerFlags,
    what: Annotated[Listed, typer.Argument(help="What to list.")] = Listed.RUNS,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many runs, the newest first.")] = 20,
    output: Output = render.Format.TABLE,
) -> None:
    """List the runs on Kubeflow, or its pipelines or schedules.

    Example: gangplan pipeline list runs --limit 5
    """
    server = at.connect()
    if what is Listed.RUNS:
        runs = server.runs(limit=limit)
        if output is not render.Format.TABLE:
            told = [
                {
                    "id": run.id,
                    "name": run.name,
                    "state": run.state,
                    "created": run.created,
                    "finished": run.finished,
                }
                for run in runs
            ]
            render.emit(told, output)
        else:
            rows = [
                (run.name, run.state.lower(), f"{run.created:%F %T}" if run.created else "–", run.id)
                for run in runs
            ]
            render.table(("run", "state", "created", "id"), rows)
        return
    found = server.pipelines() if what is Listed.PIPELINES else server.schedules()
    if output is not render.Format.TABLE:
        render.emit(found, output)
        return
    when = ("when",) if what is Listed.SCHEDULES else ()
    table = [
        (
            item.name,
            *([item.about] if when else []),
            f"{item.created:%F %T}" if item.created else "–",
            item.id,
        )
        for item in found
    ]
    render.table((what.value.removesuffix("s"), *when, "created", "id"), table)


@exits.guarded
@takes(ServerFlags, "at")
def schedule(
    at: ServerFlags,
    name: Pipeline,
    cron: Annotated[
        str | None,
        typer.Option(
            "--cron", help='When, in UTC, as "MINUTE HOUR DAY MONTH WEEKDAY" or with seconds before it.'
        ),
    ] = None,
    every: Annotated[
        str | None, typer.Option("--every", metavar="SPAN", help="How long from start to start, such as 6h.")
    ] = None,
    parameter: Parameters = None,
    title: Annotated[str | None, typer.Option("--name", help="Name of the schedule.")] = None,
    experiment: Experiment = "Default",
    service_account: ServiceAccount = "",
    image: Image = None,
    dry_run: DryRun = False,
    output: Output = render.Format.TABLE,
) -> None:
    """Start runs of a pipeline again and again; never two at once, and none for times that were missed.

    Example: gangplan pipeline schedule train --cron "30 2 * * *" -p train_epochs=20
    """
    trigger = _trigger(cron, every)
    arguments = read_arguments(name, parameter)
    package = read_package(name, image)
    wanted = title or f"{package.name}: {cron or f'every {every}'}"
    told: dict[str, Any] = {"schedule": wanted, "trigger": trigger, "arguments": arguments}
    if not dry_run:
        from gangplan.kubeflow.publish import publish

        server = at.connect()
        there = publish(server, package)
        made = server.create_schedule(
            wanted,
            pipeline=there.pipeline,
            version=there.version,
            arguments=arguments,
            experiment=server.experiment(experiment),
            service_account=service_account,
            trigger=trigger,
        )
        told["id"] = made.id
    if output is not render.Format.TABLE:
        render.emit(told, output)
    else:
        render.say(f"{wanted}: " + ("would be scheduled" if dry_run else f"scheduled, id {told['id']}"))


def _trigger(cron: str | None, every: str | None) -> dict[str, Any]:
    if (cron is None) == (every is None):
        raise ConfigError("give either --cron or --every")
    if every is not None:
        return {"periodic_schedule": {"interval_second": str(int(seconds(every, option="--every")))}}
    return {"cron_schedule": {"cron": read_cron(cron or "")}}
