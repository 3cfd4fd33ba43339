"""Commands on a modelled API server: the connection is replaced, everything on this side of it is real."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from apimodel.server import ApiServer
from typer.testing import CliRunner, Result

import gangplan.kube.client
from gangplan.cli.main import app
from gangplan.kube.kinds import GANG, GANG_QUEUE, NODE, Kind

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
ALLOCATABLE = {"cpu": "8", "memory": "16Gi", "pods": "110", "nvidia.com/gpu": "4"}


def new_server() -> ApiServer:
    """A server that knows our resources."""
    return ApiServer(crds=[yaml.safe_load(file.read_text()) for file in sorted(CRDS.glob("*.yaml"))])


class Commands:
    """The command line in front of a server."""

    def __init__(self, server: ApiServer, patch: Any) -> None:
        self.server = server

        @contextmanager
        def connect(**_: object) -> Iterator[ApiServer]:
            yield server

        patch.setattr(gangplan.kube.client, "connect", connect)

    def __call__(self, *words: str, code: int = 0) -> Result:
        """Run a command, which ends with a code."""
        done = CliRunner().invoke(app, words)
        assert done.exit_code == code, done.output
        return done

    def add_node(self, name: str, **labels: str) -> None:
        """Add a ready node with 8 cores and 4 GPUs."""
        status = {"allocatable": ALLOCATABLE, "conditions": [{"type": "Ready", "status": "True"}]}
        self._create(NODE, {"metadata": {"name": name, "labels": labels}, "spec": {}})
        self.server.patch(NODE, name, {"status": status}, subresource="status")

    def add_gang(self, name: str, workers: int, **spec: object) -> None:
        """Add a gang of workers with a GPU each, which waits."""
        roles = [{"name": "worker", "replicas": workers, "requests": {"nvidia.com/gpu": "1"}}]
        metadata = {"name": name, "namespace": "default"}
        self._create(GANG, {"metadata": metadata, "spec": {"roles": roles, **spec}})

    def reserve(self, name: str, *nodes: str) -> None:
        """Let a gang hold places for its workers."""
        placement = {"placement": {"worker": list(nodes)}}
        status = {"phase": "Reserved", "reservation": placement}
        self.server.patch(GANG, name, {"status": status}, namespace="default", subresource="status")

    def add_queue(self, name: str, **spec: object) -> None:
        """Add a queue."""
        self._create(GANG_QUEUE, {"metadata": {"name": name}, "spec": spec})

    def _create(self, kind: Kind, body: dict[str, Any]) -> None:
        self.server.create(kind, {"apiVersion": kind.api_version, "kind": kind.name, **body})
