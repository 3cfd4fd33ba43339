"""`gangplan submit` as a person runs it: a process beside the test, with the kubeconfig of the cluster."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import yaml

from cluster.bed.outside import Cluster

DEPLOY = Path(__file__).parents[2] / "deploy"


def install(cluster: Cluster) -> None:
    """Install what ``deploy/`` has, and wait until it is known."""
    cluster.kubectl("apply", "-k", str(DEPLOY))
    cluster.kubectl("wait", "--for=condition=Established", "crd", "-l", "app.kubernetes.io/name=gangplan")


class Submitter:
    """Starts submissions; none outlives the context."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig
        self._ends = ExitStack()

    def __enter__(self) -> Self:
        self.folder = Path(self._ends.enter_context(tempfile.TemporaryDirectory()))
        return self

    def __exit__(self, *error: object) -> None:
        self._ends.close()

    def __call__(
        self,
        namespace: str,
        job: Mapping[str, Any],
        *words: str,
        kubeconfig: Path | None = None,
        **environment: str,
    ) -> "subprocess.Popen[str]":
        """Start one; its output is read through pipes.

        Args:
            namespace: Where the job goes.
            job: The TFJob.
            words: Further words of the command.
            kubeconfig: Another one than that of all.
            environment: Further variables.
        """
        file = self.folder / f"{namespace}-{job['metadata']['name']}.yaml"
        file.write_text(yaml.safe_dump(dict(job)))
        command = [sys.executable, "-m", "gangplan.cli.main", "submit", str(file), "-n", namespace]
        command += ["--kubeconfig", str(kubeconfig or self._kubeconfig), *words]
        home = {"GANGPLAN_HOME": str(self.folder / "home")}
        run = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | home | environment,
        )
        self._ends.callback(_end, run)
        return run


def _end(run: "subprocess.Popen[str]") -> None:
    run.kill()
    run.communicate()


def gangs_of(cluster: Cluster, namespace: str) -> dict[str, dict[str, Any]]:
    """Status of each Gang of a namespace, by name."""
    found = cluster.admin.get(f"/apis/gangplan.dev/v1alpha1/namespaces/{namespace}/gangs")
    return {item["metadata"]["name"]: item.get("status", {}) for item in (found or {"items": []})["items"]}


def tfjobs_of(cluster: Cluster, namespace: str) -> dict[str, dict[str, Any]]:
    """TFJobs of a namespace, by name."""
    found = cluster.admin.get(f"/apis/kubeflow.org/v1/namespaces/{namespace}/tfjobs")
    return {item["metadata"]["name"]: item for item in (found or {"items": []})["items"]}


def moments_of(status: Mapping[str, Any]) -> dict[str, str]:
    """Phase → when a gang entered it last, as text that orders like time."""
    return {entry["phase"]: entry["at"] for entry in status["history"]}
