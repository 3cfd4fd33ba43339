"""gangplan run --local: a pipeline on this machine."""

from collections.abc import Iterable, Mapping
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
        Path | None,
        typer.Option(
            "--cluster",
            help="Snapshot file: the virtual nodes from now on; of what launches nothing, what is asked.",
        ),
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
    from gangplan.steps.arguments import judged, read_sound, see_that_they_are_sound

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
    nodes = None
    if cluster is not None and "cluster_source" in known:
        _ask_about(cluster, given)
    elif cluster is not None:
        nodes = read_cluster(cluster)
    if dry_run and not judged(known):
        raise ConfigError("--dry-run knows the pipelines that come with gangplan")
    chosen = settings(home=home)
    arguments = read_sound(
        package,
        given,
        judge=lambda values: see_that_they_are_sound(values, chosen=chosen, cluster=nodes),
    )
    values = {name: item.default for name, item in known.items()} | arguments
    tell_what_is_not_looked_at(given, values)
    if dry_run:
        _dry_run(values, chosen, nodes, output)
        return
    if not quiet and values.get("cluster_source", "live") == "live":
        render.progress(_which_nodes(chosen, nodes, cluster))
    _run(package, arguments, chosen, nodes, quiet=quiet, output=output)


def _ask_about(cluster: Path, given: dict[str, str]) -> None:
    """Let a file be the cluster of a pipeline that launches nothing; that of this machine stays as it is."""
    for name, same in (("cluster_source", "snapshot"), ("cluster_snapshot", None)):
        if given.get(name, same) != same:
            raise ConfigError(
                f"--cluster {cluster} says which cluster is asked, and so does -p {name}={given[name]:.60}: give one"
            )
    text = cluster.read_text(encoding="utf-8")
    is_short = len(text) < 50_000  # a longer one is too much for an argument of the step
    given |= {
        "cluster_source": "snapshot",
        "cluster_snapshot": text if is_short else str(cluster.absolute()),
    }


def _which_nodes(chosen: Settings, nodes: Snapshot | None, cluster: Path | None) -> str:
    """Which nodes count: those of the local cluster, and whether they have just been told."""
    from gangplan.local.cluster import divide_machine
    from gangplan.local.store import LocalStore

    there = nodes or (LocalStore(chosen.store).cluster() if chosen.store.exists() else None)
    names = [node.name for node in (there or divide_machine()).nodes]
    some = ", ".join(names[:4]) + (f", … ({len(names)})" if len(names) > 4 else "")
    whence = f", which has those of {cluster} from now on" if cluster is not None else ""
    return f"nodes: {some}; of the local cluster in {chosen.home}{whence}"


def tell_what_is_not_looked_at(given: Iterable[str], values: Mapping[str, Any]) -> None:
    """Say which parameters were given in vain."""
    from gangplan.steps.arguments import not_looked_at

    if names := not_looked_at(given, values):
        render.progress(f"not looked at, since a TFJob is given that says it: {', '.join(names)}")


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
        lines = [("outcome", result.outcome), (own, result.gang), ("reason", result.reason or "–")]
        if result.accuracy is not None and result.accuracy >= 0:
            lines.append(("accuracy", f"{result.accuracy:.4f}"))
        lines += [(name, str(getattr(result, name) or "–")) for name in ("model", "events", "report")]
        render.table(("", ""), lines)
    raise typer.Exit(exits.code_of_outcome(result.outcome, result.error))


def _dry_run(values: dict[str, Any], chosen: Settings, nodes: Snapshot | None, output: render.Format) -> None:
    from gangplan.steps.dry_run import answers

    found = answers(values, chosen=chosen, cluster=nodes)
    if output is not render.Format.TABLE:
        if len(found) == 1 and not found[0].about:
            render.emit({"arguments": values, "plan": found[0].plan}, output)
        else:
            gangs = [{"about": each.about, "plan": each.plan} for each in found]
            render.emit({"arguments": values, "gangs": gangs}, output)
    elif not found:
        render.say("all arguments are sound; it launches nothing: run it without --dry-run")
    else:
        parts = [
            f"{each.about}: {each.told.as_text()}" if each.about else each.told.as_text() for each in found
        ]
        render.say("\n\n".join(parts))
    if any(each.told.gang in each.plan.rejections for each in found):
        raise typer.Exit(exits.NO)


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
