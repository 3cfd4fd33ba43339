"""A cluster for a person: stays until it is asked to go.

``python -m cluster.up`` starts one and returns when it is ready; ``python -m cluster.down`` ends it.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from cluster.bed import programs
from cluster.bed.image import PROJECT
from cluster.bed.kwok import fake_node
from cluster.bed.outside import Cluster
from cluster.bed.process import BedError
from cluster.furnishing import PLACE, furnish

READY = "end it with: Ctrl-C"


def main() -> None:
    """Start a cluster as the arguments say."""
    parser = argparse.ArgumentParser(
        prog="cluster-up", description="Start a Kubernetes cluster on this machine."
    )
    parser.add_argument("folder", type=Path, help="where its logs, keys and kubeconfigs go")
    parser.add_argument("--nodes", type=int, default=2, help="real nodes, with containers")
    parser.add_argument("--fake-nodes", type=int, default=0, help="nodes that are only objects")
    parser.add_argument(
        "--gpus", type=int, default=2, help="GPUs that each real node offers (they are not there)"
    )
    parser.add_argument("--gang-scheduler", default="", help="the training-operator's flag of that name")
    parser.add_argument("--foreground", action="store_true", help="end with Ctrl-C instead of cluster-down")
    given = parser.parse_args()
    pid_file = given.folder / "pid"
    if pid_file.exists() and Path(f"/proc/{pid_file.read_text()}").exists():
        sys.exit(f"a cluster runs already in {given.folder}; end it with: make cluster-down")
    if given.foreground:
        run(given, pid_file)
    else:
        start_in_background(given.folder)


def start_in_background(folder: Path) -> None:
    """Run this program again, apart from the terminal, and pass on what it says until the cluster is ready."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "cluster.up", *sys.argv[1:], "--foreground"]
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert child.stdout is not None
    for line in child.stdout:
        if line.strip() == READY:
            say("end it with: make cluster-down")
            return
        sys.stdout.write(line)
    sys.exit(child.wait())


def run(given: argparse.Namespace, pid_file: Path) -> None:
    """Start it, tell how to use it, and wait until a signal ends it."""
    shutil.rmtree(given.folder, ignore_errors=True)
    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, signal.default_int_handler)
    try:
        with Cluster(given.folder) as cluster:
            pid_file.write_text(str(os.getpid()))
            start(cluster, given)
            describe(cluster, given)
            say(READY)
            signal.pause()
    except KeyboardInterrupt:
        pass
    except BedError as error:
        sys.exit(str(error))
    finally:
        pid_file.unlink(missing_ok=True)


def start(cluster: Cluster, given: argparse.Namespace) -> None:
    """Start all parts."""
    say("starting the control plane …")
    cluster.start()
    for number in range(given.nodes):
        say(f"starting node n{number} …")
        cluster.add_node(f"n{number}", gpus=given.gpus, labels={"rack": f"r{number}", **PLACE})
    if given.fake_nodes:
        say(f"adding {given.fake_nodes} fake nodes …")
        fakes = (fake_node(f"f{i}", labels={"rack": f"r{i // 16}", **PLACE}) for i in range(given.fake_nodes))
        cluster.add_fake_nodes(fakes)
    say("starting the training-operator …")
    cluster.start_operator(given.gang_scheduler)
    say("installing deploy/, a queue, levels and a volume …")
    furnish(cluster)


def describe(cluster: Cluster, given: argparse.Namespace) -> None:
    """Say what there is and how to talk to it."""
    kubectl = cluster.folder / "kubectl"
    kubectl.write_text(f'#!/bin/sh\nexec {programs.KUBE.path()} kubectl "$@"\n')
    kubectl.chmod(0o755)
    say(f"the cluster runs; its logs are in {cluster.folder / 'log'}")
    say(f"  export KUBECONFIG={cluster.kubeconfig()}")
    say("  export GANGPLAN_CLUSTER=kubernetes")
    say(f"  {kubectl} get nodes")
    if given.nodes:
        say(f"  export GANGPLAN_TENSORBOARD_IMAGE={PROJECT}")
        say("  gangplan doctor")
        say("  gangplan snapshot take --out s.json")
        say("  gangplan storage hostpath demo --apply")
        say("  gangplan submit examples/mnist-tfjob.yaml --volume demo:/training --wait")
        say("  gangplan tensorboard mnist")
        say(f"  {kubectl} get gangs")


def say(text: str) -> None:
    """Print a line now."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
