"""Ends the cluster that ``cluster.up`` has started in a folder."""

import os
import signal
import sys
import time
from pathlib import Path

ENDS_WITHIN_S = 90


def main() -> None:
    """End it and wait until it is gone."""
    folder = Path(sys.argv[1])
    try:
        pid = int((folder / "pid").read_text())
        os.kill(pid, signal.SIGTERM)
    except (FileNotFoundError, ProcessLookupError):
        sys.exit(f"no cluster runs in {folder}")
    deadline = time.monotonic() + ENDS_WITHIN_S
    while (folder / "pid").exists():
        if time.monotonic() > deadline:
            sys.exit(f"the cluster of process {pid} has not ended after {ENDS_WITHIN_S} s")
        time.sleep(0.1)
    sys.stdout.write("the cluster has ended\n")


if __name__ == "__main__":
    main()
