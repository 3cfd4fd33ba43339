"""The app: registers the commands and sets up the log; does no work itself."""

import logging
import sys
from typing import Annotated

import typer

from gangplan.cli import (
    bench,
    check,
    demo,
    doctor,
    exits,
    explain,
    gang,
    gang_list,
    pipeline,
    queue,
    run,
    snapshot,
    solve,
    storage,
    submit,
    suspension,
    tensorboard,
    tidy,
    top,
    version,
)
from gangplan.cli.repeats import Repeats

app = typer.Typer(
    name="gangplan",
    cls=exits.Commands,
    help="Place whole gangs of training processes, close together, and say why the others wait.",
    epilog="Exit codes: 0 done, 1 a correct no, 2 usage, 3 invalid input, 4 cluster or store, 5 job failed, "
    "6 canceled, 7 timed out, 70 bug, 130 Ctrl-C.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def configure(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what is done, to stderr.")] = False,
) -> None:
    """Place whole gangs of training processes, close together, and say why the others wait."""
    level = logging.DEBUG if verbose else logging.WARNING
    logging.basicConfig(stream=sys.stderr, level=level, format="%(levelname)s %(name)s: %(message)s")
    if not verbose:
        logging.getLogger("kfp").setLevel(logging.ERROR)
        for handler in logging.getLogger().handlers:
            handler.addFilter(Repeats())


app.command(name="run")(run.run)
app.command(name="solve")(solve.solve)
app.command(name="explain")(explain.explain)
app.command(name="check")(check.check)
app.command(name="bench")(bench.bench)
app.command(name="submit")(submit.submit)
app.command(name="list")(gang_list.list_gangs)
app.command(name="get")(gang.get)
app.command(name="logs")(gang.logs)
app.command(name="delete")(gang.delete)
app.command(name="tensorboard")(tensorboard.tensorboard)
app.command(name="suspend")(suspension.suspend)
app.command(name="resume")(suspension.resume)
app.command(name="prune")(tidy.prune)
app.command(name="reap")(tidy.reap)
app.add_typer(pipeline.app, name="pipeline")
app.add_typer(queue.app, name="queue")
app.add_typer(storage.app, name="storage")
app.add_typer(snapshot.app, name="snapshot")
app.add_typer(top.app, name="top")
app.add_typer(demo.app, name="demo")
app.command(name="doctor")(doctor.doctor)
app.command(name="version")(version.show)


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
