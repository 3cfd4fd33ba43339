"""Does what is asked of a cluster: a JSON line in for each deed, a JSON line out with how it went."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests

from cluster.bed.control_plane import ControlPlane
from cluster.bed.kwok import start_kwok
from cluster.bed.name_server import NameServer, publish
from cluster.bed.network import NODE_ADDRESS
from cluster.bed.node import Node
from cluster.bed.process import BedError
from cluster.bed.training_operator import start_operator

Deed = Callable[..., object]


class Supervisor:
    """A cluster and what may be asked of it; each deed's documentation is at the method of ``Cluster`` that asks it."""

    def __init__(self, folder: Path) -> None:
        self._plane = ControlPlane(folder)
        self._nodes: dict[str, Node] = {}
        self._nodes_so_far = 0
        processes = self._plane.processes
        self._deeds: dict[str, Deed] = {
            "start": self._start,
            "check": processes.check,
            "processes": processes.names,
            "kill": lambda name: processes.end(name, signal.SIGKILL),
            "stop": lambda name: processes.end(name, signal.SIGTERM),
            "start_again": processes.start_again,
            "add_node": self._add_node,
            "kill_node": self._kill_node,
            "start_operator": lambda **given: start_operator(self._plane, **given),
            "start_kwok": lambda **given: start_kwok(self._plane, **given),
        }

    def serve(self) -> None:
        """Do what is asked until nobody can ask any more; then end at once, whatever is under way."""
        asked: queue.Queue[str] = queue.Queue()
        threading.Thread(target=_read, args=(asked,), daemon=True).start()
        while True:
            wanted: dict[str, Any] = json.loads(asked.get())
            try:
                answer = {"done": self._deeds[wanted.pop("do")](**wanted)}
            except subprocess.CalledProcessError as error:
                said = (error.stderr or "").strip()
                answer = {"error": f"{error}\n    {said}"}
            except (BedError, OSError, requests.RequestException) as error:
                answer = {"error": str(error)}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()

    def _start(self, node_grace_s: int) -> None:
        self._plane.start(node_grace_s)
        NameServer(NODE_ADDRESS, self._plane.admin.get)
        system = "/api/v1/namespaces/kube-system"
        self._plane.processes.wait_until(
            "kube-system is there", lambda: self._plane.admin.get(system) is not None, of="apiserver"
        )
        publish(NODE_ADDRESS, self._plane.admin.create)

    def _add_node(self, name: str, labels: dict[str, str], images: list[str], mounts: dict[str, str]) -> None:
        node = Node(self._plane, name, number=self._nodes_so_far)
        self._nodes_so_far += 1
        self._nodes[name] = node
        node.start(labels, images, mounts)

    def _kill_node(self, name: str) -> None:
        if name not in self._nodes:
            raise BedError(f"no real node {name!r}; there are: {', '.join(self._nodes) or 'none'}")
        self._nodes.pop(name).kill()


def _read(asked: queue.Queue[str]) -> None:
    for line in sys.stdin:
        asked.put(line)
    os._exit(0)
