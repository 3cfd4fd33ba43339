"""gangplan demo: the two problems, made visible."""

from typing import Annotated, Any

import typer

from gangplan.cli import exits, render
from gangplan.cli.options import Home, Output
from gangplan.config import Settings, settings

app = typer.Typer(
    help="Show the two problems that gangplan ends, with real TensorFlow processes.", no_args_is_help=True
)
Stuck = Annotated[
    float, typer.Option("--stuck-seconds", min=1.0, max=600.0, help="Seconds to watch the stuck jobs.")
]


@app.command()
@exits.guarded
def deadlock(
    gpus: Annotated[int, typer.Option("--gpus", help="Virtual GPUs: a multiple of 2, at least 4.")] = 4,
    stuck_seconds: Stuck = 8.0,
    home: Home = None,
    output: Output = render.Format.TABLE,
) -> None:
    """Two jobs of 4 workers share 4 GPUs: pod by pod both wait for ever, as gangs both finish.

    Example: gangplan demo deadlock --gpus 8
    """
    from gangplan.demo import deadlock as play

    result = play.run(_settings(home), gpus=gpus, stuck_s=stuck_seconds, tell=render.progress)
    if output is render.Format.TABLE:
        _show_deadlock(result)
    else:
        render.emit(result.as_data(), output)
    raise typer.Exit(exits.DONE if result.solved else exits.FAILED)


@app.command()
@exits.guarded
def affinity(home: Home = None, output: Output = render.Format.TABLE) -> None:
    """Two jobs of 1 parameter server and 2 workers: scattered pod by pod, together as gangs.

    Example: gangplan demo affinity -o json
    """
    from gangplan.demo import affinity as play

    result = play.run(_settings(home), tell=render.progress)
    if output is render.Format.TABLE:
        _show_affinity(result)
    else:
        render.emit(result.as_data(), output)
    raise typer.Exit(exits.DONE if result.solved else exits.FAILED)


@app.command(name="all")
@exits.guarded
def everything(stuck_seconds: Stuck = 8.0, home: Home = None, output: Output = render.Format.TABLE) -> None:
    """Run the training pipeline and both demos; ends with a summary and the path of one report.

    Example: gangplan demo all
    """
    from gangplan.demo import tour

    result = tour.run(
        _settings(home), stuck_s=stuck_seconds, tell=render.progress, tell_pipeline=render.pipeline_line
    )
    if output is not render.Format.TABLE:
        render.emit(result.as_data(), output)
    else:
        render.say("")
        if result.deadlock is not None:
            _show_deadlock(result.deadlock)
            render.say("")
        if result.affinity is not None:
            _show_affinity(result.affinity)
            render.say("")
        render.table(("", ""), result.facts())
    code = exits.code_of_outcome(result.training.outcome, result.training.error)
    raise typer.Exit(code or (exits.DONE if result.solved else exits.FAILED))


def _settings(home: Home) -> Settings:
    from gangplan.steps.local_run import prepare_home

    chosen = settings(home=home)
    prepare_home(chosen, None)
    return chosen


def _show_deadlock(result: Any) -> None:
    shown = result.table()
    render.table(shown.header, shown.rows, title=shown.caption)
    if (refused := result.ours.rejection) is not None:
        render.say(f"\n{refused.gang} had to wait: {refused.message}")
        for number, change in enumerate(refused.changes, 1):
            render.say(f"  {number}. {change}")


def _show_affinity(result: Any) -> None:
    shown = result.table()
    render.table(shown.header, shown.rows, title=shown.caption)
    render.say("\n" + result.picture())
