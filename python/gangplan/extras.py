"""Extras: the parts of gangplan that need packages which ``pip install gangplan`` alone does not bring."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Literal

from gangplan.errors import ConfigError

Extra = Literal["train", "pipelines", "kube", "report"]


_MODULES: dict[Extra, tuple[str, ...]] = {
    "train": ("tensorflow", "keras"),
    "pipelines": ("kfp",),
    "kube": ("kubernetes",),
    "report": ("jinja2", "matplotlib"),
}
"""What an extra cannot do anything without; single functions may need more of it."""


def require(extra: Extra) -> None:
    """See that the packages of an extra are there, without importing them.

    Raises:
        ConfigError: One is not installed.
    """
    with needed(extra):
        for name in _MODULES[extra]:
            if find_spec(name) is None:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@contextmanager
def needed(extra: Extra) -> Iterator[None]:
    """Import packages of an extra inside; where one is missing, the error says what to install.

    Raises:
        ConfigError: A package is not installed.

    Example:
        >>> with needed("report"):
        ...     import no_such_package
        Traceback (most recent call last):
        gangplan.errors.ConfigError: no_such_package is not installed: pip install 'gangplan[report]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing == "gangplan":
            raise
        raise ConfigError(f"{missing} is not installed: pip install 'gangplan[{extra}]'") from error
