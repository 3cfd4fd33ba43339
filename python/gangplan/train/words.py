"""What a training program says in its log."""

import sys


def say(line: str, *, error: bool = False) -> None:
    """Write a line that can be read at once: to stdout, errors to stderr."""
    print(line, file=sys.stderr if error else sys.stdout, flush=True)
