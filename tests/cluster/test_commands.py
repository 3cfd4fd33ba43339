"""Commands that read and set a real cluster, with the kubeconfig of a person."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cluster.bed.outside import Cluster
from cluster.manifests import pod
from cluster.objects import create
from gangplan.cli.main import app
from gangplan.solver import load, solve

DEPLOY = Path(__file__).parents[2] / "deploy"
GPU = "nvidia.com/gpu"


@pytest.fixture
def gangplan(wide: Cluster) -> Iterator[Callable[..., str]]:
    """Runs a command on a cluster of a hundred nodes that has all of ``deploy/``; gives its stdout."""
    wide.kubectl("apply", "-k", str(DEPLOY))
    wide.kubectl("wait", "--for=condition=Established", "crd", "-l", "app.kubernetes.io/name=gangplan")
    file = str(wide.kubeconfig())

    def run(*words: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, [*words, "--kubeconfig", file])
        assert done.exit_code == code, done.output
        return done.stdout

    yield run
    wide.kubectl("delete", "gangqueues,gangtopologies", "--all")


def test_a_cluster_is_taken_redacted_and_decided_alike(
    wide: Cluster,
    gangplan: Callable[..., str],
    new_namespace: Callable[[Cluster], str],
    tmp_path: Path,
) -> None:
    namespace = new_namespace(wide)
    levels = {"apiVersion": "gangplan.dev/v1alpha1", "kind": "GangTopology"}
    wide.kubectl(
        "apply", "-f", "-", document={**levels, "metadata": {"name": "net"}, "spec": {"levels": ["rack"]}}
    )
    gangplan("queue", "set", "research", "--limit", f"{GPU}=32", "--deserved", f"{GPU}=16")
    create(wide, namespace, pod("sits", gpus=3, nodeName="f0"))
    roles = [{"name": "worker", "replicas": 16, "requests": {GPU: "1"}}]
    spec = {"queue": "research", "roles": roles, "topology": {"required": "rack"}}
    for name, more in (("fits", {}), ("huge", {"roles": [{**roles[0], "replicas": 40}]})):
        metadata = {"name": name, "namespace": namespace}
        body = {"apiVersion": "gangplan.dev/v1alpha1", "kind": "Gang", "metadata": metadata}
        wide.kubectl("create", "-f", "-", document={**body, "spec": spec | more})

    gangplan("snapshot", "take", "--out", str(tmp_path / "plain.json"))
    gangplan("snapshot", "take", "--out", str(tmp_path / "redacted.json"), "--redact")
    text = (tmp_path / "redacted.json").read_text()
    assert [
        word for word in (namespace, "research", "fits", "huge", "rack", "kwok", '"f0"') if word in text
    ] == []
    plain, redacted = load(tmp_path / "plain.json"), load(tmp_path / "redacted.json")
    assert len(plain.nodes) == 100
    assert any(holder.name == f"{namespace}/sits" for holder in plain.running)
    new_name = dict(
        zip(
            sorted(node.name for node in plain.nodes),
            sorted(node.name for node in redacted.nodes),
            strict=True,
        )
    )
    placed = solve(plain).placements[f"{namespace}/fits"]["worker"]
    (places,) = solve(redacted).placements.values()
    assert places["worker"] == tuple(new_name[name] for name in placed)
    assert CliRunner().invoke(app, ["snapshot", "show", str(tmp_path / "redacted.json")]).exit_code == 0

    queue = json.loads(gangplan("queue", "get", "research", "-o", "json"))
    assert sorted(queue["waiting"]) == [f"{namespace}/fits", f"{namespace}/huge"]
    assert queue["queue"]["deserved"] == {GPU: "16"}
    wide.kubectl("delete", "gangs", "--all", "--namespace", namespace)


def test_a_queue_is_set_on_a_real_server(wide: Cluster, gangplan: Callable[..., str]) -> None:
    assert gangplan("queue", "set", "new", "--limit", f"{GPU}=4", "--closed") == "queue new created\n"
    assert gangplan("queue", "set", "new", "--open", "--limit", "cpu=2") == "queue new changed\n"
    assert gangplan("queue", "set", "new", "--open") == "queue new unchanged\n"
    spec = json.loads(wide.kubectl("get", "gangqueue", "new", "-o", "json"))["spec"]
    assert (spec["limit"], spec["open"], spec["weight"]) == ({GPU: "4", "cpu": "2"}, True, 1)
    gangplan("queue", "set", "Not_A_Name", code=3)
    gangplan("queue", "set", "new", "--parent", "new", code=3)
