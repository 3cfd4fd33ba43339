"""A run of a compiled pipeline on a cluster, its steps started one by one as pods: what KFP's driver and Argo do of it.

The steps get what the real driver makes, ``KFP_POD_NAME`` is set, and the Workflow owns the pods. What they write lies on
the shared volume.
"""

import itertools
import json
import os
import re
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kfpserver.driver import OUTPUT, Driver

from cluster.bed.image import PROJECT
from cluster.bed.outside import Cluster
from cluster.manifests import pod
from cluster.objects import create, wait_for_phase
from pipelines.steps import MOUNT

COMPILED = Path(__file__).parents[2] / "pipelines" / "compiled"


EMISSARY = """
import os, signal, subprocess, sys
child = subprocess.Popen(sys.argv[1:], start_new_session=True)
signal.signal(signal.SIGTERM, lambda *_: os.killpg(child.pid, signal.SIGTERM))
code = child.wait()
sys.exit(code if code >= 0 else 128 - code)
"""
"""Hands SIGTERM on to the whole step, as Argo's emissary does; without it process 1, a shell, would not hear of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step that has ended.

    Attributes:
        succeeded: Whether it is green.
        outputs: Its output parameters.
        log: What it said.
    """

    succeeded: bool
    outputs: Mapping[str, Any]
    log: str


@dataclass(slots=True)
class Run:
    """One run.

    Attributes:
        cluster: The cluster.
        namespace: Where its pods are.
        account: The service account that they have.
        claim: The claim that they mount.
        folder: Where this machine has what is on it.
        run_id: Its id.
        arguments: Its parameters; the others keep their defaults.
        pipeline: Name of the pipeline.
    """

    cluster: Cluster
    namespace: str
    account: str
    claim: str
    folder: Path
    run_id: str
    arguments: Mapping[str, Any]
    pipeline: str = "train"
    _driver: Driver = field(init=False)

    def __post_init__(self) -> None:
        """Have a driver."""
        self._driver = Driver(
            package=COMPILED / f"{self.pipeline}.yaml",
            run_id=self.run_id,
            arguments=self.arguments,
            folder=f"{MOUNT}/outputs",
        )

    def begin(self) -> None:
        """Create the Workflow."""
        workflow = {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Workflow",
            "metadata": {"name": self.run_id},
        }
        create(self.cluster, self.namespace, workflow)

    def delete(self) -> None:
        """Delete the Workflow, as Kubeflow does with a run."""
        self.cluster.kubectl("delete", "workflow", self.run_id, "-n", self.namespace, "--wait=false")

    def run(self, task: str) -> Step:
        """Run a step to its end."""
        return self.finish(task, self.start(task))

    def start(self, task: str) -> str:
        """Start a step; the name of its pod."""
        name = f"{self.run_id}-{task}-{next(_numbers)}"
        command = self._driver.command(task, name)
        made = pod(
            name,
            ["python3", "-c", EMISSARY, *command],
            image=PROJECT,
            serviceAccountName=self.account,
            volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": self.claim}}],
        )
        (container,) = made["spec"]["containers"]
        container["volumeMounts"] = [{"name": "v", "mountPath": MOUNT}]
        container["env"] = [{"name": "KFP_POD_NAME", "value": name}]
        made["metadata"]["ownerReferences"] = [self._owner()]
        (self.folder / "outputs" / name).mkdir(parents=True)
        create(self.cluster, self.namespace, made)
        return name

    def finish(self, task: str, name: str) -> Step:
        """Wait until a step has ended, and take its outputs if it is green, as KFP does."""
        ended = wait_for_phase(self.cluster, self.namespace, name, "Succeeded", "Failed")
        log = self.cluster.admin.log(self.namespace, name)
        if ended["status"]["phase"] == "Failed":
            return Step(succeeded=False, outputs={}, log=log)
        told = json.loads((self.folder / "outputs" / name / OUTPUT).read_text())
        return Step(succeeded=True, outputs=self._driver.publish(task, name, told), log=log)

    def artifact(self, task: str, kind: str) -> str:
        """What a step wrote."""
        path = Path(self._driver.artifact(task, kind)["uri"]).relative_to(MOUNT)
        return (self.folder / path).read_text()

    def metadata(self, task: str, kind: str) -> Mapping[str, Any]:
        """What a step said of what it wrote."""
        return self._driver.artifact(task, kind)["metadata"]

    def wait_for(self, name: str, words: str) -> None:
        """Wait until a step has said something."""
        admin = self.cluster.admin
        self.cluster.wait_until(f"{name} says {words}", lambda: words in admin.log(self.namespace, name))

    def end(self, name: str) -> None:
        """Tell a step to end, as a drain or Terminate does: SIGTERM, and SIGKILL after a second."""
        self.cluster.kubectl("delete", "pod", name, "-n", self.namespace, "--grace-period=1")

    def kill(self, name: str) -> None:
        """End a step so that nothing in it hears of it."""
        for process in step_processes(name):
            with suppress(ProcessLookupError):  # the death of one may end another
                os.kill(process, signal.SIGKILL)
        wait_for_phase(self.cluster, self.namespace, name, "Failed")

    def _owner(self) -> dict[str, Any]:
        path = f"/apis/argoproj.io/v1alpha1/namespaces/{self.namespace}/workflows/{self.run_id}"
        uid = self.cluster.admin.get(path)["metadata"]["uid"]
        owner = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": self.run_id, "uid": uid}
        return owner | {"controller": True, "blockOwnerDeletion": True}


def step_processes(name: str) -> list[int]:
    """Processes of this machine that are those of a step, which has its pod's name in its environment."""
    wanted, found = f"KFP_POD_NAME={name}".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def reason_of(step: Step) -> str:
    """The last line of what a red step said: KFP shows it as its error."""
    return re.sub(r"\s+", " ", step.log.strip().splitlines()[-1])


_numbers = itertools.count()
