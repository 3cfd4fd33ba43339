"""Volumes of a cluster that many nodes may mount: a folder of this machine behind a claim."""

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from cluster.bed.outside import Cluster
from gangplan.cli.main import app


def share(cluster: Cluster, namespace: str, name: str, folder: Path) -> None:
    """Make a claim that is ReadWriteMany and bound to a folder, as a user does.

    Args:
        cluster: The cluster; its nodes are all this machine.
        namespace: Where the claim is.
        name: Name of the claim.
        folder: What those who mount it see; it is made.
    """
    folder.mkdir()
    made = _storage(cluster, namespace, "hostpath", name, "--path", str(folder), "--apply")
    assert made.exit_code == 0, made.output
    cluster.wait_until(
        "a job of several nodes can use the volume",
        lambda: _storage(cluster, namespace, "check", name).exit_code == 0,
    )


def users(cluster: Cluster, namespace: str, name: str) -> dict[str, str]:
    """Pods that mount a claim, and their nodes."""
    (claim,) = json.loads(_storage(cluster, namespace, "list", "-o", "json").stdout)
    assert claim["name"] == name
    return {item["pod"]: item["node"] for item in claim["mounted_by"]}


def _storage(cluster: Cluster, namespace: str, *words: str) -> Result:
    whose = ("-n", namespace, "--kubeconfig", str(cluster.kubeconfig()))
    return CliRunner().invoke(app, ["storage", *words, *whose])
