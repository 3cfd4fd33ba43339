"""A stand-in for Volcano's scheduler, which cannot be built here: what the project relies on of it, and no more.

It gives PodGroups their turn (phase ``Inqueue``) if their queue is open and the cluster has the GPUs in sum. Pods are bound
by a profile of kube-scheduler that has Volcano's name: Volcano filters nodes by the same plugins. The profile fills nodes
up as far as node affinity and topology spread let it, so that a plan which only hopes for a distribution fails.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cluster.bed.kwok import GPU
from cluster.bed.outside import Cluster

API = "/apis/scheduling.volcano.sh/v1beta1"
Item = dict[str, Any]


@contextmanager
def volcano(cluster: Cluster) -> Iterator[None]:
    """Let it work on a cluster while the context lasts."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.2):
            _cycle(cluster)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield
    finally:
        over.set()
        worker.join()


def _cycle(cluster: Cluster) -> None:
    free = _free_gpus(cluster)
    closed = {
        queue["metadata"]["name"]
        for queue in _items(cluster, f"{API}/queues")
        if queue.get("status", {}).get("state") in {"Closed", "Closing"}
    }
    for group in _items(cluster, f"{API}/podgroups"):
        if (group.get("status", {}).get("phase") or "Pending") != "Pending":
            continue
        queue, wanted = group["spec"].get("queue"), int(group["spec"].get("minResources", {}).get(GPU, 0))
        if queue in closed:
            _say(cluster, group, "Pending", f"queue {queue} is closed")
        elif wanted > free:
            _say(cluster, group, "Pending", f"{wanted} {GPU} asked for, {free} free")
        else:
            _say(cluster, group, "Inqueue")


def _items(cluster: Cluster, path: str) -> list[Item]:
    items: list[Item] = (cluster.admin.get(path) or {"items": []})["items"]
    return items


def _free_gpus(cluster: Cluster) -> int:
    nodes, pods = _items(cluster, "/api/v1/nodes"), _items(cluster, "/api/v1/pods")
    there = sum(int(node["status"].get("allocatable", {}).get(GPU, 0)) for node in nodes)
    return there - sum(
        int(container.get("resources", {}).get("limits", {}).get(GPU, 0))
        for pod in pods
        if pod["spec"].get("nodeName") and pod["status"].get("phase") not in {"Succeeded", "Failed"}
        for container in pod["spec"]["containers"]
    )


def _say(cluster: Cluster, group: Item, phase: str, why: str = "") -> None:
    condition = {"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources", "message": why}
    status = {"phase": phase, "conditions": [condition] if why else []}
    if group.get("status") != status:
        name, namespace = group["metadata"]["name"], group["metadata"]["namespace"]
        patch = ("--type=merge", "-p", json.dumps({"status": status}), "--namespace", namespace)
        cluster.kubectl("patch", "podgroups.scheduling.volcano.sh", name, *patch)
