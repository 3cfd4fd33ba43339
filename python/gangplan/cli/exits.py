"""Exit codes, and the one place that turns errors into them.

A value that is wrong ends with :data:`INVALID`, wherever it was given: in an option, a file or a manifest. What is wrong
with the words of a command themselves – an option that is unknown, is missing, or does not go with another – ends with
:data:`USAGE`, and so does a setting.
"""

import functools
import logging
import os
import traceback
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import typer
from typer.core import TyperGroup

from gangplan.cli.render import error
from gangplan.errors import (
    AlreadyExists,
    CheckFailed,
    ClusterError,
    ConfigError,
    GangplanError,
    InvalidInput,
    JobCanceled,
    JobError,
    JobTimedOut,
    NotFound,
    StoreError,
)

P = ParamSpec("P")
R = TypeVar("R")

DONE, NO, USAGE, INVALID, CLUSTER, FAILED, CANCELED, TIMED_OUT, BUG, INTERRUPTED = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    70,
    130,
)

CODES: tuple[tuple[type[BaseException], int], ...] = (
    (CheckFailed, NO),
    (NotFound, NO),
    (AlreadyExists, NO),
    (InvalidInput, INVALID),
    (ConfigError, USAGE),
    (StoreError, CLUSTER),
    (ClusterError, CLUSTER),
    (JobCanceled, CANCELED),
    (JobTimedOut, TIMED_OUT),
    (JobError, FAILED),
    (OSError, INVALID),
)
"""Error → exit code; the first that fits counts. ``docs/commands.md`` has them in words."""


class Commands(TyperGroup):
    """All commands; a value that an option cannot have is as invalid as one that a file has."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that is named."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            # Only the parser names the parameter. That one is missing is a BadParameter too, and no value.
            if error.param is not None and type(error).__name__ != "MissingParameter":
                error.exit_code = INVALID
            raise


def guarded(command: Callable[P, R]) -> Callable[P, R]:
    """Let a command end with a message and an exit code instead of a traceback."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except KeyboardInterrupt as caught:
            error(f"interrupted: {caught}" if str(caught) else "interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # The reader of our output is gone: nothing more can be said.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            raise typer.Exit(DONE) from None
        except (GangplanError, OSError) as caught:
            logging.getLogger(__name__).debug("details", exc_info=caught)
            error(_text(caught))
            raise typer.Exit(_code(caught)) from None
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except Exception as caught:
            error(f"this is a bug of gangplan, please report it with the following lines: {caught}")
            traceback.print_exc()
            raise typer.Exit(BUG) from caught

    return run


def _text(caught: BaseException) -> str:
    if isinstance(caught, OSError) and caught.filename is not None and caught.strerror:
        return f"{caught.filename}: {caught.strerror}"
    return str(caught)


def _code(caught: BaseException) -> int:
    return next((code for kind, code in CODES if isinstance(caught, kind)), BUG)


def code_of_outcome(outcome: str, error_kind: str = "") -> int:
    """Exit code of a run by its outcome."""
    if outcome == "Error":
        return {
            "InvalidInput": INVALID,
            "InvalidQuantity": INVALID,
            "ConfigError": USAGE,
            "StoreError": CLUSTER,
        }.get(error_kind, FAILED)
    known = {
        "Succeeded": DONE,
        "NotAdmitted": NO,
        "Failed": FAILED,
        "Canceled": CANCELED,
        "TimedOut": TIMED_OUT,
    }
    return known.get(outcome, FAILED)
