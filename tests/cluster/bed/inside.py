"""The supervisor of a cluster: process 1 of its namespaces. With its end the system ends all that it started.

It is started by :mod:`cluster.bed.outside`, which tells it what to do, a JSON line each on its standard input, and reads
a JSON line for each on its standard output. When the input ends, it ends the cluster.
"""

import argparse
import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cluster.bed import network
from cluster.bed.control_plane import ControlPlane
from cluster.bed.process import BedError

Deed = Callable[..., object]


class Supervisor:
    """A cluster and what may be asked of it."""

    def __init__(self, folder: Path, users: list[str]) -> None:
        self.plane = ControlPlane(folder, users)
        self.deeds: dict[str, Deed] = {"start": self.plane.start, "kill": self.kill, "stop": self.stop}

    def kill(self, name: str) -> None:
        """End a process as a power failure would."""
        self.plane.processes.pop(name).kill()

    def stop(self, name: str) -> None:
        """End a process in good order."""
        self.plane.processes.pop(name).stop()

    def serve(self) -> None:
        """Do what is asked until nobody can ask any more."""
        for line in sys.stdin:
            asked: dict[str, Any] = json.loads(line)
            try:
                answer = {"done": self.deeds[asked.pop("do")](**asked)}
            except (BedError, OSError, subprocess.CalledProcessError) as error:
                answer = {"error": str(error)}
            print(json.dumps(answer), flush=True)

    def end(self) -> None:
        """End all processes, the youngest first."""
        for process in reversed(self.plane.processes.values()):
            process.stop()


def prepare_mounts() -> None:
    """Folders that must not be those of the machine: the containers' network namespaces, the operator's certificates."""
    subprocess.run(["mount", "--make-rshared", "/"], check=True)
    for folder in ("/run/netns", "/tmp/k8s-webhook-server"):  # noqa: S108 - where the operator's code has it
        Path(folder).mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)
    subprocess.run(["mount", "--make-shared", "/run/netns"], check=True)


def main() -> None:
    """Set the namespaces up and serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--door", type=int, required=True, help="file descriptor of a listening socket")
    parser.add_argument("--user", action="append", default=[])
    given = parser.parse_args()
    prepare_mounts()
    network.set_up()
    network.Forwarder(socket.socket(fileno=given.door), ("127.0.0.1", network.API_PORT))
    supervisor = Supervisor(given.folder, given.user)
    try:
        supervisor.serve()
    finally:
        supervisor.end()


if __name__ == "__main__":
    main()
