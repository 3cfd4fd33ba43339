"""Ends the cluster that ``cluster.up`` has started in a folder."""

import os
import select
import signal
import sys
from pathlib import Path

ENDS_WITHIN_S = 90


def main() -> None:
    """End it and wait until it is gone."""
    folder = Path(sys.argv[1])
    try:
        process = os.pidfd_open(int((folder / "pid").read_text()))
    except (FileNotFoundError, ProcessLookupError):
        sys.exit(f"no cluster runs in {folder}")
    signal.pidfd_send_signal(process, signal.SIGTERM)
    ended, _, _ = select.select([process], [], [], ENDS_WITHIN_S)
    if not ended:
        sys.exit(f"the cluster has not ended after {ENDS_WITHIN_S} s; its logs are in {folder / 'log'}")
    sys.stdout.write("the cluster has ended\n")


if __name__ == "__main__":
    main()
