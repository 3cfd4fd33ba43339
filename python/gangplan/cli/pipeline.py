"""gangplan pipeline: pipelines on Kubeflow."""

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from gangplan.cli import completion, exits, pipeline_run, pipeline_smoke, pipeline_upload, render
from gangplan.cli.kubeflow_options import Image
from gangplan.cli.options import Output
from gangplan.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A file that was written, or compared.

    Attributes:
        pipeline: The pipeline.
        file: Where it is.
        version: Name of its version.
        changed: Whether the file was another, or is.
        difference: What differs, where that was asked for, as lines of a unified diff.
    """

    pipeline: str
    file: str
    version: str
    changed: bool
    difference: tuple[str, ...]


app = typer.Typer(no_args_is_help=True, help="Pipelines on Kubeflow: compile, upload, run, follow, stop.")


@app.command(name="compile")
@exits.guarded
def compile_pipelines(
    name: Annotated[
        str | None,
        typer.Argument(help="Name of a pipeline; without it, all.", autocompletion=completion.pipeline),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="The file to write, - for stdout.",
            show_default="where a checkout keeps it; with --image or without a checkout NAME.yaml",
        ),
    ] = None,
    image: Image = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; end with 1 if a file differs, and say how.")
    ] = False,
    output: Output = render.Format.TABLE,
) -> None:
    """Write the YAML that is uploaded to Kubeflow: the same sources give the same bytes.

    In a checkout the pipelines are compiled anew; elsewhere those that the package carries are written.

    Example: gangplan pipeline compile train --image registry.example/gangplan/python:1 --out train.yaml
    """
    from gangplan.kubeflow.package import checkout, compiled

    if out is not None and name is None:
        raise ConfigError("--out is for one pipeline: give its NAME")
    root = checkout()
    if check and root is None and out is None:
        raise ConfigError("--check compares with files: give --out FILE, or call it in a checkout")
    found = []
    for package in compiled((name,) if name else (), image=image):
        if str(out) == "-" and not check:
            render.say(package.text)
            return
        kept = None if root is None or image else root / "pipelines" / "compiled" / f"{package.name}.yaml"
        file = out or kept or Path(f"{package.name}.yaml")
        there = file.read_text(encoding="utf-8") if file.exists() else ""
        differs = there.encode() != package.text.encode()
        if differs and not check:
            file.write_text(package.text, encoding="utf-8")
        lines = difflib.unified_diff(
            there.splitlines(), package.text.splitlines(), str(file), "compiled anew", lineterm="", n=1
        )
        found.append(
            Compiled(
                pipeline=package.name,
                file=str(file),
                version=package.version,
                changed=differs,
                difference=tuple(lines) if check else (),
            )
        )
    if output is not render.Format.TABLE:
        render.emit(found, output)
    else:
        words = {True: "differs" if check else "written", False: "as it was"}
        rows = [(item.pipeline, item.version, words[item.changed], item.file) for item in found]
        render.table(("pipeline", "version", "", "file"), rows)
        for item in found:
            if item.difference:
                render.say("\n".join(item.difference))
    if check and any(item.changed for item in found):
        raise typer.Exit(exits.NO)


app.command(name="upload")(pipeline_upload.upload)
app.command(name="run")(pipeline_run.run)
app.command(name="list")(pipeline_upload.list_all)
app.command(name="status")(pipeline_run.status)
app.command(name="logs")(pipeline_run.logs)
app.command(name="stop")(pipeline_run.stop)
app.command(name="delete")(pipeline_run.delete)
app.command(name="schedule")(pipeline_upload.schedule)
app.command(name="smoke")(pipeline_smoke.smoke)
