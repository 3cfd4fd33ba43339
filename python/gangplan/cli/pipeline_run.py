"""gangplan pipeline run, status, logs, stop, delete: runs on Kubeflow."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from gangplan.cli import exits, render
from gangplan.cli.flag_groups import takes
from gangplan.cli.kubeflow_options import (
    DryRun,
    Experiment,
    Image,
    Parameters,
    Pipeline,
    Quiet,
    RunName,
    ServerFlags,
    ServiceAccount,
    Watch,
    find_run,
    read_arguments,
    read_package,
)
from gangplan.cli.options import Context, Home, Kubeconfig, Output
from gangplan.cli.pipeline_view import Beside, as_data, end, follow_run, show
from gangplan.config import settings
from gangplan.errors import NotFound, Refused


@exits.guarded
@takes(ServerFlags, "at")
def run(
    at: ServerFlags,
    name: Pipeline = "train",
    parameter: Parameters = None,
    watch: Watch = False,
    title: Annotated[
        str | None,
        typer.Option("--name", help="Name of the run.", show_default="that of the pipeline, and when"),
    ] = None,
    experiment: Experiment = "Default",
    service_account: ServiceAccount = "",
    image: Image = None,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    home: Home = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Start a run on Kubeflow; the pipeline is uploaded before it if the server does not have it as it is.

    Arguments are checked first. With --watch the exit code is that of the outcome: 0 succeeded, 1 not admitted, 5 failed,
    6 canceled, 7 timed out. Ctrl-C ends the watching, and the run goes on.

    Example: gangplan pipeline run train -p role_worker_count=4 --watch
    """
    arguments = read_arguments(name, parameter, home)
    package = read_package(name, image)
    wanted = title or f"{package.name}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    if dry_run:
        told = {"run": wanted, "pipeline": package.title, "version": package.version, "arguments": arguments}
        if output is not render.Format.TABLE:
            render.emit(told, output)
        else:
            given = " ".join(f"{key}={value}" for key, value in arguments.items())
            render.say(
                f"{wanted}: would run {package.title}, version {package.version}, with {given or 'defaults'}"
            )
        return
    from gangplan.kubeflow.publish import publish

    beside = Beside(home=home, kubeconfig=kubeconfig, context=context, namespace=at.namespace)
    server = at.connect()
    there = publish(server, package)
    if there.is_new:
        render.progress(f"uploaded {there.pipeline.name}, version {there.version.name}")
    made = server.create_run(
        wanted,
        pipeline=there.pipeline,
        version=there.version,
        arguments=arguments,
        experiment=server.experiment(experiment),
        service_account=service_account,
    )
    page = server.access.page(made.id)
    if watch:
        render.progress(f"run {made.id}\n{page}")
        end(*follow_run(server, made.id, beside, quiet=quiet), page, output)
    if output is not render.Format.TABLE:
        render.emit(as_data(made, None, page), output)
    else:
        render.say(f"run {made.id}\n{page}")


@exits.guarded
@takes(ServerFlags, "at")
def status(
    at: ServerFlags,
    name: RunName,
    watch: Watch = False,
    quiet: Quiet = False,
    home: Home = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Say where a run stands: its steps, and when it has ended its outcome with the reason.

    With --watch as `run --watch`, with its exit codes.

    Example: gangplan pipeline status 6f2c0bd4-5a52-4d2c-8df2-3c3f0e1f1f0e
    """
    from gangplan.kubeflow.follow import look

    beside = Beside(home=home, kubeconfig=kubeconfig, context=context, namespace=at.namespace)
    server = at.connect()
    found = find_run(server, name)
    page = server.access.page(found.id)
    if watch:
        end(*follow_run(server, found.id, beside, quiet=quiet), page, output)
    show(*look(server, found.id, beside.known), page, output)


@exits.guarded
@takes(ServerFlags, "at")
def logs(
    at: ServerFlags,
    name: RunName,
    step: Annotated[str | None, typer.Argument(help="A step; without it, all.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run has ended.")] = False,
    output: Output = render.Format.TABLE,
) -> None:
    """Print what the steps of a run have printed; with -f what they print, until the run or that step has ended.

    With -f and -o json each line is an object by itself.

    Example: gangplan pipeline logs 6f2c0bd4-5a52-4d2c-8df2-3c3f0e1f1f0e launch-tfjob -f
    """
    from gangplan.kubeflow.follow import follow_lines, no_log, read_log

    server = at.connect()
    found = find_run(server, name)
    wanted = None if step is None else step.replace("_", "-")
    if follow:
        pause_s = 4 * settings().poll_s
        for each, line in follow_lines(server, found.id, wanted, tell=render.progress, pause_s=pause_s):
            if output is not render.Format.TABLE:
                render.emit_one({"step": each, "line": line}, output)
            else:
                render.say(line if step is not None else f"{each} | {line}", now=True)
    found = server.run(found.id)
    chosen = [item for item in found.steps if wanted in {None, item.name}]
    if step is not None and not chosen:
        begun = ", ".join(item.name for item in found.steps) or "none has"
        raise NotFound(
            f"step {step} of {found.name} has not begun; begun: {begun}", verb="get", kind="step", name=step
        )
    if follow:
        return
    read = {item.name: read_log(server, found, item) for item in chosen}
    for lost in (each for each, text in read.items() if text is None):
        render.progress(no_log(found, lost))
    if output is not render.Format.TABLE:
        render.emit([{"step": each, "log": text} for each, text in read.items()], output)
        return
    for each, text in read.items():
        for line in (text or "").splitlines():
            render.say(line if step is not None else f"{each} | {line}")


@exits.guarded
@takes(ServerFlags, "at")
def stop(
    at: ServerFlags,
    name: RunName,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it has ended.")] = True,
    dry_run: DryRun = False,
    home: Home = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Stop a run, and see that it ends and gives back what it held.

    The server says of such a run that it failed; the home folder remembers that it was stopped.

    Example: gangplan pipeline stop 6f2c0bd4-5a52-4d2c-8df2-3c3f0e1f1f0e
    """
    from gangplan.kubeflow.follow import look

    beside = Beside(home=home, kubeconfig=kubeconfig, context=context, namespace=at.namespace)
    server = at.connect()
    found, ended = look(server, find_run(server, name).id, beside.known)
    page = server.access.page(found.id)
    if ended is None and dry_run:
        render.say(f"{found.name} ({found.state.lower()}) would be stopped")
        return
    if ended is None:
        stops = beside.stops
        known = found.id in stops
        stops.remember(found.id)
        try:
            server.terminate(found.id)
        except Refused:
            # It was asked before, or has ended just now: then it was not us who ended it.
            found = server.run(found.id)
            if found.has_ended and not known:
                stops.forget(found.id)
    else:
        render.progress(f"{found.name} had ended before: nothing was stopped")
    if ended is None and wait:
        found, ended = follow_run(server, found.id, beside, quiet=True)
    show(found, ended, page, output)
    held = [record.name for record in beside.records(found.id) if record.phase != "Finished"] if ended else []
    if held:
        render.progress(
            f"still holds or waits for room: {', '.join(held)}; gangplan reap -A ends what nobody looks after"
        )
    release = next((step for step in found.steps if step.name == "release"), None)
    if (
        ended is not None
        and ended.outcome == "Canceled"
        and (release is None or release.state != "SUCCEEDED")
    ):
        render.progress(
            "its step release has not said that it gave back what the run held: gangplan reap -A shows what is left"
        )


@exits.guarded
@takes(ServerFlags, "at")
def delete(
    at: ServerFlags,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="RUN…", help="Ids or names of runs that have ended.")
    ] = None,
    pipeline: Annotated[
        str | None, typer.Option("--pipeline", help="A pipeline with all its versions; its runs stay.")
    ] = None,
    schedule: Annotated[
        str | None, typer.Option("--schedule", metavar="ID", help="A schedule; its runs stay.")
    ] = None,
    dry_run: DryRun = False,
    home: Home = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Delete runs that have ended, a pipeline or a schedule; what still runs is stopped first by `stop`.

    Example: gangplan pipeline delete 6f2c0bd4-5a52-4d2c-8df2-3c3f0e1f1f0e
    """
    if not (names or pipeline or schedule):
        raise typer.BadParameter("name a run, or give --pipeline or --schedule")
    beside = Beside(home=home)
    server = at.connect()
    gone: list[dict[str, str]] = []
    found = [find_run(server, name) for name in names or ()]
    entry = server.pipeline(pipeline) if pipeline else None
    if pipeline and entry is None:
        raise NotFound(f"there is no pipeline {pipeline}", verb="delete", kind="pipeline", name=pipeline)
    every = server.schedules() if entry is not None else []
    starting = [item for item in every if entry and item.pipeline == entry.id and item.id != schedule]
    if starting:
        listed = ", ".join(f"{item.name} ({item.id})" for item in starting)
        render.error(
            f"schedules start runs of {pipeline}: {listed}; delete them first "
            "(gangplan pipeline delete --schedule ID); nothing was deleted"
        )
        raise typer.Exit(exits.NO)
    busy = [item.name for item in found if not item.has_ended]
    if busy:
        verb = "run" if len(busy) > 1 else "runs"
        render.error(
            f"{', '.join(busy)} still {verb}: stop first (gangplan pipeline stop); nothing was deleted"
        )
        raise typer.Exit(exits.NO)
    for item in found:
        if not dry_run:
            server.delete_run(item.id)
            beside.stops.forget(item.id)
        gone.append({"kind": "run", "name": item.name, "id": item.id})
    if schedule:
        if not dry_run:
            server.delete_schedule(schedule)
        gone.append({"kind": "schedule", "name": schedule, "id": schedule})
    if entry is not None:
        if not dry_run:
            server.delete_pipeline(entry)
        gone.append({"kind": "pipeline", "name": entry.name, "id": entry.id})
    if output is not render.Format.TABLE:
        render.emit(gone, output)
        return
    for told in gone:
        render.say(f"{told['kind']} {told['name']} " + ("would be deleted" if dry_run else "deleted"))
