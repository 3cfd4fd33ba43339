"""Where profiles are found: by the name of one of ours or of the user's own, or by the path of a file."""

import os
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from gangplan.errors import InvalidInput, Problem

SUFFIX = ".toml"


def folders() -> Iterator[Path | Traversable]:
    """Where profiles are looked for by their names; the first that has it counts."""
    yield Path("profiles")
    yield Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "gangplan" / "profiles"
    yield resources.files("gangplan") / "profiles"


def profile_text(given: str) -> tuple[str, str]:
    """The text of a profile, and where it is.

    Args:
        given: A name, or the path of a file: with a slash, or ending with ``.toml``.

    Raises:
        InvalidInput: There is none of that name; those that there are are named.
        OSError: The file cannot be read.
    """
    if "/" in given or given.endswith(SUFFIX):
        return Path(given).read_bytes().decode("utf-8", "replace"), given
    for folder in folders():
        file = folder / f"{given}{SUFFIX}"
        if file.is_file():
            return file.read_bytes().decode("utf-8", "replace"), str(file)
    where = ", ".join(str(folder) for folder in folders())
    known = ", ".join(names())
    message = f"there is no {given} in {where}; known: {known}; a path names a file"
    raise InvalidInput([Problem("--profile", "UNKNOWN_NAME", message)], "profiles")


def names() -> tuple[str, ...]:
    """Names of all profiles that there are."""
    return tuple(sorted({name for folder in folders() for name in _names(folder)}))


def _names(folder: Path | Traversable) -> Iterator[str]:
    if folder.is_dir():
        yield from (item.name.removesuffix(SUFFIX) for item in folder.iterdir() if item.name.endswith(SUFFIX))
