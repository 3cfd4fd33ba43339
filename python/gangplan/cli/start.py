"""The start of the command line: what it needs takes a moment to load, in which Ctrl-C may come already."""

import sys

INTERRUPTED = 130
"""As in :mod:`gangplan.cli.exits`, which is not loaded yet."""


def main() -> None:
    """Load the command line and run it."""
    try:
        from gangplan.cli import main as commands
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        sys.exit(INTERRUPTED)
    commands.main()
