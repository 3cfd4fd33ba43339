"""gangplan run --local: a pipeline on this machine."""

from pathlib import Path
from typing import Annotated, Any

import typer

from gangplan import moments
from gangplan.cli import completion, exits, render
from gangplan.cli.options import Home, Output
from gangplan.config import Settings, settings
from gangplan.documents import convert
from gangplan.errors import ConfigError, InvalidInput, Problem
from gangplan.runtime import ReplicaStatus
from gangplan.snapshot import Snapshot


@exits.guarded
def run(
    pipeline: Annotated[
        str,
        typer.Argument(
            help="Name of a packaged pipeline, or a compiled YAML file.", autocompletion=completion.pipeline
        ),
    ] = "train",
    local: Annotated[bool, typer.Option("--local", help="Run on this machine, without a cluster.")] = False,
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            "-p",
            metavar="NAME=VALUE",
            help="A pipeline parameter.",
            autocompletion=completion.parameter,
        ),
    ] = None,
    data: Annotated[str | None, typer.Option("--data", help="Short for -p data_source=…")] = None,
    tfjob: Annotated[
        Path | None, typer.Option("--tfjob", help="A TFJob manifest to run; short for -p tfjob_yaml=…")
    ] = None,
    cluster: Annotated[
        Path | None, typer.Option("--cluster", help="Virtual nodes, topology, queues as a snapshot file.")
    ] = None,
    parameters: Annotated[
        bool, typer.Option("--parameters", help="List the pipeline's parameters and end.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check all, and say what would be admitted.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not print what the steps print.")] = False,
    home: Home = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Run a pipeline: train (prepare data, admit the gang, launch it, evaluate, report), or one that compares gangs.

    Example: gangplan run --local -p role_worker_count=3 -p train_epochs=5
    """
    from gangplan import pipeline as pipelines

    package = Path(pipeline) if pipeline.endswith((".yaml", ".yml")) else pipelines.packaged(pipeline)
    if parameters:
        _list_parameters(package, output)
        return
    from gangplan.kube.tfjob import read as read_tfjob
    from gangplan.local.cluster import read_cluster
    from gangplan.steps.arguments import judged, see_that_they_are_sound
    from gangplan.steps.training import PARAMETERS

    if not local:
        raise ConfigError("--local runs it on this machine; on Kubeflow: gangplan pipeline run")
    given = pairs(parameter or [])
    if data is not None:
        given["data_source"] = str(Path(data).absolute()) if Path(data).exists() else data
    if tfjob is not None:
        given["tfjob_yaml"] = tfjob.read_text(encoding="utf-8")
        given.setdefault("job_name", read_tfjob(given["tfjob_yaml"], str(tfjob))["metadata"]["name"])
    known = pipelines.parameters(package)
    if tfjob is not None and "study_trainer" in known:
        given.setdefault("study_trainer", "tfjob")
    arguments = pipelines.read_arguments(package, given, judged_later=judged(known))
    chosen = settings(home=home)
    nodes = read_cluster(cluster) if cluster is not None else None
    if dry_run and judged(known) == set(PARAMETERS):
        _dry_run(package, arguments, chosen, nodes, output)
        return
    if dry_run and not judged(known):
        raise ConfigError("--dry-run knows the pipelines that come with gangplan")
    values = {name: item.default for name, item in known.items()} | arguments
    see_that_they_are_sound(values, chosen=chosen, cluster=nodes)  # before anything starts
    if dry_run:
        _tell_arguments(values, output)
        return
    _run(package, arguments, chosen, nodes, quiet=quiet, output=output)


def _run(
    package: Path,
    arguments: dict[str, Any],
    chosen: Settings,
    nodes: Snapshot | None,
    *,
    quiet: bool,
    output: render.Format,
) -> None:
    from gangplan.steps.local_run import run_pipeline

    tell = (lambda _: None) if quiet else render.pipeline_line
    result = run_pipeline(package, arguments, chosen=chosen, cluster=nodes, tell=tell)
    if output is not render.Format.TABLE:
        replicas = [convert(item, ReplicaStatus) for item in result.replicas]
        render.emit({**moments.told(result), "replicas": replicas}, output)
    else:
        if result.found is not None:
            render.table(result.found.header, result.found.rows)
        own = "gang" if result.found is None else "run"
        lines = [("outcome", result.outcome), (own, result.gang), ("reason", result.reason)]
        if result.accuracy is not None and result.accuracy >= 0:
            lines.append(("accuracy", f"{result.accuracy:.4f}"))
        lines += [(name, str(getattr(result, name) or "–")) for name in ("model", "events", "report")]
        render.table(("", ""), lines)
    raise typer.Exit(exits.code_of_outcome(result.outcome, result.error))


def _dry_run(
    package: Path, arguments: dict[str, Any], chosen: Settings, nodes: Snapshot | None, output: render.Format
) -> None:
    from gangplan.pipeline import parameters
    from gangplan.steps.preview import preview

    values = {name: item.default for name, item in parameters(package).items()} | arguments
    told, plan = preview(values, chosen=chosen, cluster=nodes)
    if output is render.Format.TABLE:
        render.say(told.as_text())
    else:
        render.emit({"arguments": values, "plan": plan}, output)
    if told.gang in plan.rejections:
        raise typer.Exit(exits.NO)


def _tell_arguments(values: dict[str, Any], output: render.Format) -> None:
    if output is render.Format.TABLE:
        render.say(
            "all arguments are sound; this pipeline runs several gangs, or none: what_if says of one where it would go"
        )
    else:
        render.emit({"arguments": values}, output)


def _list_parameters(package: Path, output: render.Format) -> None:
    from gangplan.pipeline import parameters

    found = parameters(package).values()
    if output is render.Format.TABLE:
        rows = [(item.name, item.kind.__name__, str(item.default), item.text) for item in found]
        render.table(("parameter", "type", "default", "meaning"), rows)
    else:
        data = [
            {"name": item.name, "type": item.kind.__name__, "default": item.default, "text": item.text}
            for item in found
        ]
        render.emit(data, output)


def pairs(words: list[str]) -> dict[str, str]:
    """Read NAME=VALUE; all that are wrong are told at once."""
    problems = [Problem(word, "BAD_VALUE", "must be NAME=VALUE") for word in words if "=" not in word]
    names = [word.split("=", 1)[0] for word in words]
    twice = sorted({name for name in names if names.count(name) > 1})
    problems += [Problem(name, "DUPLICATE_NAME", "is given twice") for name in twice]
    if problems:
        raise InvalidInput(problems, "arguments")
    return dict(word.split("=", 1) for word in words)
