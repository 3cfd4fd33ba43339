"""What KFP's driver hands to the steps of a run, and what its launcher takes from them.

Whole numbers stay whole, artifacts have numbers for names, and their metadata come back as the metadata store keeps them:
mappings and lists wrapped, truth values as numbers, with keys of its own.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from kfpserver.progress import order

OUTPUT = "output.json"
"""What a step writes for the launcher."""


def stored(value: Any) -> Any:
    """A value of an artifact's metadata after its way through the metadata store."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, dict):
        return {"struct": value}
    return {"list": value} if isinstance(value, list) else value


@dataclass(slots=True, kw_only=True)
class Driver:
    """The driver of one run of a compiled pipeline.

    Attributes:
        package: The compiled pipeline.
        run_id: Id of the run.
        arguments: Its parameters; the others keep their defaults.
        folder: Where the steps see what they write, a folder for each.
    """

    package: Path
    run_id: str
    arguments: Mapping[str, Any]
    folder: str
    _parameters: dict[str, dict[str, Any]] = field(default_factory=dict)
    _artifacts: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)

    def tasks(self) -> list[str]:
        """All steps in an order in which they may run; what runs at the exit is last."""
        return order(self._spec())

    def command(self, task: str, pod: str, *, config: Mapping[str, Any] | None = None) -> Sequence[str]:
        """What the container of a step runs.

        Args:
            task: The step.
            pod: Name of its pod.
            config: What is set on the step, where its component takes a ``TaskConfig``.
        """
        component = self._component(task)
        container = self._spec()["deploymentSpec"]["executors"][component["executorLabel"]]["container"]
        given = json.dumps(self._given(task, component, pod, config))
        return [word.replace("{{$}}", given) for word in (*container["command"], *container["args"])]

    def publish(self, task: str, pod: str, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """Take what a step that ended with 0 has written; its parameters."""
        self._parameters[task] = dict(told.get("parameterValues", {}))
        said = told.get("artifacts", {})
        self._artifacts[task] = {
            key: {
                "uri": f"{self.folder}/{pod}/{key}",
                "metadata": (said.get(key, {}).get("artifacts") or [{}])[0].get("metadata") or {},
            }
            for key in self._component(task).get("outputDefinitions", {}).get("artifacts", {})
        }
        return self._parameters[task]

    def artifacts(self, task: str) -> list[str]:
        """Names of what a step has written."""
        return list(self._artifacts[task])

    def artifact(self, task: str, key: str) -> dict[str, Any]:
        """Where an artifact lies (``uri``), and its ``metadata`` as the step gave them."""
        return self._artifacts[task][key]

    def _spec(self) -> dict[str, Any]:
        return _spec_of(self.package)

    def _task(self, task: str) -> dict[str, Any]:
        spec = self._spec()
        dags = [spec["root"], *spec["components"].values()]
        return next(dag["dag"]["tasks"][task] for dag in dags if task in dag.get("dag", {}).get("tasks", {}))

    def _component(self, task: str) -> dict[str, Any]:
        return self._spec()["components"][self._task(task)["componentRef"]["name"]]

    def _given(
        self, task: str, component: Mapping[str, Any], pod: str, config: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        wanted = component.get("inputDefinitions", {})
        inputs = self._task(task).get("inputs", {})
        parameters = {}
        for key, about in wanted.get("parameters", {}).items():
            if about["parameterType"] == "TASK_CONFIG":
                parameters[key] = dict(config or {})
            elif key in inputs.get("parameters", {}):
                parameters[key] = self._value(inputs["parameters"][key], about["parameterType"])
            elif "defaultValue" in about:
                parameters[key] = _whole(about["defaultValue"], about["parameterType"])
        artifacts = {
            key: self._handed(inputs["artifacts"][key]["taskOutputArtifact"], about["artifactType"], number)
            for number, (key, about) in enumerate(wanted.get("artifacts", {}).items(), start=10)
        }
        outputs = component.get("outputDefinitions", {})
        return {
            "inputs": {"parameterValues": parameters, "artifacts": artifacts},
            "outputs": {
                "parameters": {
                    key: {"outputFile": f"{self.folder}/{pod}/parameter-{key}"}
                    for key in outputs.get("parameters", {})
                },
                "artifacts": {
                    key: _one(key, about["artifactType"], f"{self.folder}/{pod}/{key}", {})
                    for key, about in outputs.get("artifacts", {}).items()
                },
                "outputFile": f"{self.folder}/{pod}/{OUTPUT}",
            },
        }

    def _value(self, source: Mapping[str, Any], kind: str) -> Any:
        if "runtimeValue" in source:
            constant = source["runtimeValue"]["constant"]
            is_text = isinstance(constant, str)
            return constant.replace("{{$.pipeline_job_uuid}}", self.run_id) if is_text else constant
        if "taskOutputParameter" in source:
            told = source["taskOutputParameter"]
            return self._parameters[told["producerTask"]][told["outputParameterKey"]]
        name = source["componentInputParameter"].removeprefix("pipelinechannel--")
        about = self._spec()["root"]["inputDefinitions"]["parameters"][name]
        return _whole(self.arguments.get(name, about.get("defaultValue")), kind)

    def _handed(self, source: Mapping[str, Any], kind: Any, number: int) -> dict[str, Any]:
        found = self.artifact(source["producerTask"], source["outputArtifactKey"])
        metadata = {key: stored(value) for key, value in found["metadata"].items()}
        more = {"display_name": source["outputArtifactKey"], "store_session_info": "{}"}
        return _one(str(number), kind, found["uri"], metadata | more)


@cache
def _spec_of(package: Path) -> dict[str, Any]:
    """A compiled pipeline, which takes long to be read; nobody changes it."""
    return next(yaml.load_all(package.read_text(), Loader=yaml.CSafeLoader))


def _whole(value: Any, kind: str) -> Any:
    """A value as the driver has it: compiled pipelines say 1.0, which comes to a step as 1."""
    if isinstance(value, dict):
        return {key: _whole(item, "STRUCT") for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item, "LIST") for item in value]
    if isinstance(value, float) and kind != "NUMBER_DOUBLE" and value.is_integer():
        return int(value)
    return value


def _one(name: str, kind: Any, uri: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {"artifacts": [{"name": name, "type": kind, "uri": uri, "metadata": metadata}]}
