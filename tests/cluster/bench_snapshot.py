"""``python -m cluster.bench_snapshot``: how long a big cluster takes to be read, beside the same lists read and thrown away.

A JSON line for each row, as `make bench` has them; ``snapshot.cpu`` is what a read computes beyond its raw GETs. Nodes and pods are only objects of a real API server, on which nothing
else works.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from cluster.bed.kwok import GPU
from cluster.bed.outside import Cluster
from cluster.submissions import install
from gangplan.kube.api import Object
from gangplan.kube.client import Connection, connect
from gangplan.kube.kinds import GANG, GANG_QUEUE, GANG_TOPOLOGY, NODE, POD, QUOTA
from gangplan.kube.snapshot import SnapshotReader

KINDS = (POD, NODE, QUOTA, GANG_QUEUE, GANG_TOPOLOGY, GANG)
AT_ONCE = 12
T = TypeVar("T")
MOST_RATIO, MOST_CPU_S = 1.3, 1.5
OFFER = {"cpu": "96", "memory": "768Gi", "pods": "110", GPU: "8", "ephemeral-storage": "1Ti"}


def main() -> None:
    """Fill a cluster and read it; ends with 1 if it is slower than it must be."""
    parser = argparse.ArgumentParser(prog="bench-snapshot")
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="gangplan-") as folder,
        Cluster(Path(folder) / "c") as cluster,
    ):
        cluster.start()
        install(cluster)
        for part in ("controller-manager", "scheduler"):
            cluster.stop(part)
        with connect(kubeconfig=cluster.kubeconfig()) as connection:
            _fill(connection, given.nodes, given.pods)
            figures = [_measured(connection, given.nodes, given.pods) for _ in range(given.runs)]
    # The best of some runs each: others use the machine too.
    raw_s, raw_cpu_s, read_s, read_cpu_s, size = (min(column) for column in zip(*figures, strict=True))
    rows = [
        ("snapshot.ratio", read_s / raw_s, "x", MOST_RATIO),
        ("snapshot.cpu", read_cpu_s - raw_cpu_s, "s", MOST_CPU_S),
        ("snapshot.time", read_s, "s", None),
        ("snapshot.size", size, "MB", None),
    ]
    for name, value, unit, must in rows:
        ok = must is None or value <= must
        line = {"id": name, "value": round(value, 3), "unit": unit, "better": "lower", "must": must, "ok": ok}
        sys.stdout.write(json.dumps(line) + "\n")
    sys.exit(any(must is not None and value > must for _, value, _, must in rows))


def _measured(connection: Connection, nodes: int, pods: int) -> tuple[float, float, float, float, float]:
    """Time and CPU of the raw GETs of a read, time and CPU of the read, and how many MB they are."""
    version = connection.moment()

    def raw() -> int:
        with ThreadPoolExecutor(4) as hands:  # as many as the reader has
            pages = hands.map(
                lambda kind: sum(len(page) for page in connection.pages(kind, version=version)), KINDS
            )
            return sum(pages)

    size, raw_s, raw_cpu_s = _timed(raw)
    seen, read_s, read_cpu_s = _timed(SnapshotReader(connection).read)
    assert (len(seen.snapshot.nodes), len(seen.snapshot.running)) == (nodes, pods)
    return raw_s, raw_cpu_s, read_s, read_cpu_s, size / 1e6


def _timed(act: Callable[[], T]) -> tuple[T, float, float]:
    begun, begun_cpu = time.perf_counter(), time.process_time()
    found = act()
    return found, time.perf_counter() - begun, time.process_time() - begun_cpu


def _fill(connection: Connection, nodes: int, pods: int) -> None:
    _tell(f"creating {nodes} nodes and {pods} pods …")
    with ThreadPoolExecutor(AT_ONCE) as hands:
        for kind, made in (
            (NODE, (_node(number) for number in range(nodes))),
            (POD, (_pod(number, nodes) for number in range(pods))),
        ):
            for count, _ in enumerate(
                hands.map(lambda item, kind=kind: connection.create(kind, item), made), 1
            ):
                if count % 10_000 == 0:
                    _tell(f"  {count} of kind {kind.name}")


def _node(number: int) -> Object:
    labels = {f"example.com/label-{place}": f"value-{number % 97}" for place in range(15)}
    return {
        "metadata": {"name": f"n{number:05}", "labels": labels | {"rack": f"r{number // 16}"}},
        "status": {
            "allocatable": OFFER,
            "capacity": OFFER,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _pod(number: int, nodes: int) -> Object:
    container = {
        "name": "tensorflow",
        "image": "registry.example/train:1",
        "command": ["python", "-m", "train"],
        "resources": {"requests": {"cpu": "4", "memory": "16Gi"}, "limits": {GPU: "1"}},
        "env": [{"name": f"VARIABLE_{place}", "value": "x" * 20} for place in range(10)],
    }
    labels = {"app": "training", "job": f"j{number // 8}"}
    return {
        "metadata": {"name": f"p{number:06}", "namespace": "default", "labels": labels},
        "spec": {"nodeName": f"n{number % nodes:05}", "containers": [container]},
    }


def _tell(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
