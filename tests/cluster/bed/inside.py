"""What runs inside the namespaces of a cluster: an init process, and the supervisor that it watches over.

Started by :mod:`cluster.bed.outside`. When the supervisor ends, for whatever reason, the init process ends all that is
left in the namespaces and removes the control groups; with its own end the system takes mounts and interfaces away.
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from cluster.bed import containers, network
from cluster.bed.supervisor import Supervisor


def prepare_mounts() -> None:
    """Folders that must not be those of the machine: the containers' network namespaces, the operator's certificates."""
    subprocess.run(["mount", "--make-rshared", "/"], check=True)
    for folder in ("/run/netns", "/tmp/k8s-webhook-server"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)
    subprocess.run(["mount", "--make-shared", "/run/netns"], check=True)


def wait_for_the_end_of(supervisor: int) -> int:
    """Take over orphans (each container leaves one) until the supervisor ends; its exit code."""
    while True:
        pid, status = os.wait()
        if pid == supervisor:
            return os.waitstatus_to_exitcode(status)


def end_everything(folder: Path) -> None:
    """Kill all processes of the namespace but this one, and remove the control groups of the containers."""
    try:
        os.kill(-1, signal.SIGKILL)
        while True:
            os.wait()
    except (ChildProcessError, ProcessLookupError):
        containers.remove_groups(folder)


def main() -> None:
    """Set the namespaces up, start the supervisor, and clean up after it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--door", type=int, required=True, help="file descriptor of a listening socket")
    given = parser.parse_args()
    pid = os.fork()
    if pid:
        code = wait_for_the_end_of(pid)
        end_everything(given.folder)
        sys.exit(code)
    prepare_mounts()
    network.set_up()
    network.Forwarder(socket.socket(fileno=given.door), (network.NODE_ADDRESS, network.API_PORT))
    Supervisor(given.folder).serve()


if __name__ == "__main__":
    main()
