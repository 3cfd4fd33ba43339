"""``python -m cluster.demo``: start a cluster, play both stories on it, write a report, end the cluster for certain."""

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cluster.bed.outside import Cluster
from cluster.bed.process import BedError
from cluster.demo import affinity, deadlock
from cluster.demo.stage import Stage, say_title
from cluster.furnishing import PLACE, furnish
from gangplan.documents import write_atomic
from gangplan.report.page import Page, render

NODES, GPUS = 2, 2
INTERRUPTED = 130


def main() -> None:
    """Play, and end with 0 if both problems were solved."""
    parser = argparse.ArgumentParser(
        prog="demo-cluster", description="Deadlock and affinity on a real cluster."
    )
    parser.add_argument("--report", type=Path, required=True, help="where the report goes")
    parser.add_argument("--folder", type=Path, help="where the cluster has its files; removed at the end")
    given = parser.parse_args()
    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, signal.default_int_handler)
    try:
        with tempfile.TemporaryDirectory(prefix="gangplan-demo-", dir=given.folder) as folder:
            solved = run(Path(folder), given.report.absolute())
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except (BedError, subprocess.SubprocessError) as error:
        sys.exit(f"error: {error}")
    sys.exit(0 if solved else 1)


def run(folder: Path, report: Path) -> bool:
    """Start the cluster and play; whether both problems were solved."""
    begun = time.monotonic()
    say_title(f"a Kubernetes cluster of {NODES} nodes with {GPUS} GPUs each (the GPUs are not there)")
    try:
        with Cluster(folder / "c") as cluster:
            stage = Stage(cluster, folder / "home")
            _start(stage)
            first = deadlock.play(stage)
            second = affinity.play(stage)
            page = Page(
                title="gangplan on a Kubernetes cluster",
                subtitle="Whole gangs or nothing, close together, with a reason.",
                facts=(
                    ("deadlock", "solved" if first.solved else "not solved"),
                    ("affinity", _traffic(second)),
                    ("it took", f"{time.monotonic() - begun:.0f} s"),
                ),
                sections=(first.section(), second.section()),
            )
            report.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(report, render(page).encode())
            say_title("the end; the cluster is taken down")
    finally:
        sys.stdout.flush()
    for name, value in (*page.facts, ("report", str(report))):
        sys.stdout.write(f"{name}: {value}\n")
    return first.solved and second.solved


def _start(stage: Stage) -> None:
    cluster = stage.cluster
    with stage.telling("etcd, API server, controllers and the default scheduler start"):
        cluster.start()
    for number in range(NODES):
        with stage.telling(f"node n{number} starts"):
            cluster.add_node(f"n{number}", gpus=GPUS, labels={"rack": f"r{number}", **PLACE})
        stage.tell(f"node n{number} is ready, with a kubelet and a containerd of its own")
    with stage.telling("the training-operator starts"):
        cluster.start_operator()
    with stage.telling("deploy/ is installed"):
        furnish(cluster)
    stage.tell("the training-operator runs, and deploy/ is installed")


def _traffic(told: affinity.Told) -> str:
    before, after = (sum(part.traffic.values()) for part in (told.alone, told.ours))
    return f"traffic {before} → {after}"


if __name__ == "__main__":
    main()
