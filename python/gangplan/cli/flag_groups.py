"""Groups of flags: a command gets many flags together, as one argument."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import field, fields
from typing import Annotated, Any, get_type_hints

import typer


def flag(name: str, text: str, panel: str, *, short: str = "", **more: Any) -> Any:
    """A flag that may be left out; its field is None then."""
    names = (name, short) if short else (name,)
    return field(
        default=None, metadata={"option": typer.Option(*names, help=text, rich_help_panel=panel, **more)}
    )


def takes(group: type[Any], name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the flags of a group.

    Args:
        group: A dataclass whose fields are made by :func:`flag`.
        name: The argument in which the command gets them.
    """
    hints = get_type_hints(group)
    flags = [
        inspect.Parameter(
            item.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[hints[item.name], item.metadata["option"]],
        )
        for item in fields(group)
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        others = [item for known, item in signature.parameters.items() if known != name]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            together = group(**{item.name: given.pop(item.name) for item in flags})
            command(**{name: together}, **given)

        run.__signature__ = signature.replace(parameters=[*others, *flags])  # type: ignore[attr-defined]
        return run

    return decorate
