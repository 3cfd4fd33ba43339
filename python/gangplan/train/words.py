"""What a training program says in its log."""

import sys
from pathlib import Path


def say(line: str, *, error: bool = False) -> None:
    """Write a line that can be read at once: to stdout, errors to stderr."""
    print(line, file=sys.stderr if error else sys.stdout, flush=True)


def cause(message: str, path: Path) -> str:
    """Give the line of TensorFlow's that names a file or folder, out of the many that tell where a graph was made."""
    lines = [line.strip() for line in message.splitlines()]
    named = (line for line in lines if str(path) in line and not line.startswith("File "))
    return next(named, lines[-1])
