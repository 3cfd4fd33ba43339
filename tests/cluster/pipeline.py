"""A run of a compiled pipeline on a cluster, its steps started one by one as pods: what KFP's driver and Argo do of it.

The steps get what the real driver makes: whole numbers stay whole, artifacts have numbers for names, ``KFP_POD_NAME`` is
set, and the Workflow owns the pods. What they write lies on the shared volume.
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

import yaml

from cluster.bed.image import PROJECT
from cluster.bed.outside import Cluster
from cluster.manifests import pod
from cluster.objects import create, wait_for_phase

MOUNT = "/training"
"""Where every step and every replica sees the shared volume."""

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
    _outputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    _artifacts: dict[str, dict[str, str]] = field(default_factory=dict)

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
        component = self._component(task)
        executor = self._ir()["deploymentSpec"]["executors"][component["executorLabel"]]["container"]
        given = json.dumps(self._input(task, component, name))
        command = [word.replace("{{$}}", given) for word in (*executor["command"], *executor["args"])]
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
        told = json.loads((self.folder / "outputs" / name / "output.json").read_text())
        self._outputs[task] = told.get("parameterValues", {})
        kinds = self._component(task).get("outputDefinitions", {}).get("artifacts", {})
        self._artifacts[task] = {kind: self._path(name, kind) for kind in kinds}
        return Step(succeeded=True, outputs=self._outputs[task], log=log)

    def artifact(self, task: str, kind: str) -> str:
        """What a step wrote."""
        path = Path(self._artifacts[task][kind]).relative_to(MOUNT)
        return (self.folder / path).read_text()

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
            os.kill(process, signal.SIGKILL)
        wait_for_phase(self.cluster, self.namespace, name, "Failed")

    def _ir(self) -> Any:
        return yaml.safe_load((COMPILED / f"{self.pipeline}.yaml").read_text())

    def _task(self, task: str) -> Any:
        ir = self._ir()
        inner = ir["components"]["comp-exit-handler-1"]["dag"]["tasks"]
        return (inner | ir["root"]["dag"]["tasks"])[task]

    def _component(self, task: str) -> Any:
        return self._ir()["components"][self._task(task)["componentRef"]["name"]]

    def _input(self, task: str, component: Any, name: str) -> dict[str, Any]:
        wanted = component.get("inputDefinitions", {})
        inputs = self._task(task).get("inputs", {})
        parameters = {
            key: self._value(inputs["parameters"][key], about["parameterType"])
            for key, about in wanted.get("parameters", {}).items()
        }
        artifacts = {
            key: self._given(inputs["artifacts"][key]["taskOutputArtifact"], about["artifactType"], number)
            for number, (key, about) in enumerate(wanted.get("artifacts", {}).items(), start=10)
        }
        outputs = component.get("outputDefinitions", {})
        return {
            "inputs": {"parameterValues": parameters, "artifacts": artifacts},
            "outputs": {
                "parameters": {
                    key: {"outputFile": self._path(name, f"parameter-{key}")}
                    for key in outputs.get("parameters", {})
                },
                "artifacts": {
                    key: {
                        "artifacts": [
                            {
                                "name": key,
                                "type": about["artifactType"],
                                "uri": self._path(name, key),
                                "metadata": {},
                            }
                        ]
                    }
                    for key, about in outputs.get("artifacts", {}).items()
                },
                "outputFile": self._path(name, "output.json"),
            },
        }

    def _value(self, source: Mapping[str, Any], kind: str) -> Any:
        if "runtimeValue" in source:
            return source["runtimeValue"]["constant"].replace("{{$.pipeline_job_uuid}}", self.run_id)
        if "taskOutputParameter" in source:
            told = source["taskOutputParameter"]
            return self._outputs[told["producerTask"]][told["outputParameterKey"]]
        name = source["componentInputParameter"].removeprefix("pipelinechannel--")
        about = self._ir()["root"]["inputDefinitions"]["parameters"][name]
        value = self.arguments.get(name, about.get("defaultValue"))
        return int(value) if kind == "NUMBER_INTEGER" else value

    def _given(self, source: Mapping[str, Any], kind: Any, number: int) -> dict[str, Any]:
        uri = self._artifacts[source["producerTask"]][source["outputArtifactKey"]]
        return {"artifacts": [{"name": str(number), "type": kind, "uri": uri, "metadata": {}}]}

    def _path(self, name: str, what: str) -> str:
        return f"{MOUNT}/outputs/{name}/{what}"

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
