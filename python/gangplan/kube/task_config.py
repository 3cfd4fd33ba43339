"""TaskConfig: what is set on a step the way of Kubeflow Pipelines, given to the replicas of its TFJob.

``set_cpu_limit``, ``kubernetes.use_secret_as_env`` and their like are about the pod of a step. A component that takes a
``dsl.TaskConfig`` is handed them instead, as the parts of a pod that they would have become.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from gangplan.errors import InvalidInput, Problem
from gangplan.kube.names import ROLES, TENSORFLOW_CONTAINER
from gangplan.kube.paths import below


class TaskConfig(Protocol):
    """What ``kfp.dsl.TaskConfig`` has: parts of a pod as Kubernetes writes them, each None where nothing was set.

    Attributes:
        resources: Requests and limits.
        env: Variables, each with its value or its source.
        volumes: Volumes.
        volume_mounts: Where they are mounted.
        node_selector: Labels of nodes.
        tolerations: Taints that are tolerated.
        affinity: Affinity.
    """

    resources: Mapping[str, Any] | None
    env: Sequence[Mapping[str, Any]] | None
    volumes: Sequence[Mapping[str, Any]] | None
    volume_mounts: Sequence[Mapping[str, Any]] | None
    node_selector: Mapping[str, str] | None
    tolerations: Sequence[Mapping[str, Any]] | None
    affinity: Mapping[str, Any] | None


def configured(manifest: Mapping[str, Any], config: TaskConfig | None) -> dict[str, Any]:
    """A TFJob whose replicas have what was set on the step.

    Requests and limits are those of the workers, or of the chief where there are none: the other roles have sizes of
    their own. All else is for every replica.

    Args:
        manifest: A manifest that :func:`gangplan.kube.tfjob.read` accepted; it stays as it is.
        config: What was set; None: nothing.

    Raises:
        InvalidInput: The manifest says otherwise of the same; every problem is named.
    """
    made = copy.deepcopy(dict(manifest))
    if config is None:
        return made
    specs = made["spec"]["tfReplicaSpecs"]
    roles = {kind: ROLES[kind.lower()] for kind in specs}
    sized = "worker" if "worker" in roles.values() else "chief"
    problems: list[Problem] = []
    for kind, spec in specs.items():
        pod = spec["template"]["spec"]
        (container,) = (item for item in pod["containers"] if item["name"] == TENSORFLOW_CONTAINER)
        merge = _Merge(f"{below('$.spec.tfReplicaSpecs', kind)}.template.spec", problems)
        volumes, mounts = _further(config, pod, container)
        merge.named(container, "env", config.env)
        merge.named(pod, "volumes", volumes)
        merge.named(container, "volumeMounts", mounts, key="mountPath")
        merge.mapping(pod, "nodeSelector", config.node_selector)
        if config.tolerations:
            has = list(pod.get("tolerations") or ())
            pod["tolerations"] = has + [dict(item) for item in config.tolerations if item not in has]
        if config.affinity:
            merge.mapping(pod, "affinity", config.affinity)
        if config.resources and roles[kind] == sized:
            own = container.get("resources") or {}
            container["resources"] = _sized(own, config.resources)
    if problems:
        raise InvalidInput(problems, "what is set on the step, and its TFJob")
    return made


def see_that_it_keeps_the_place(config: TaskConfig | None) -> None:
    """See that what is set on a step that launches an admitted gang cannot change where it fits.

    Raises:
        InvalidInput: It can; every part is named.
    """
    if config is None:
        return
    parts = {
        "resources": config.resources,
        "node selector": config.node_selector,
        "tolerations": config.tolerations,
        "affinity": config.affinity,
    }
    problems = [
        Problem(part, "CONTRADICTION", "decides where the gang has room: set it on the step admit")
        for part, value in parts.items()
        if value
    ]
    if problems:
        raise InvalidInput(problems, "what is set on the step launch_tfjob")


def _further(
    config: TaskConfig, pod: Mapping[str, Any], container: Mapping[str, Any]
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Volumes and mounts without those of a claim that is mounted at the same path already, by whatever name."""
    wanted = {volume["name"]: volume for volume in config.volumes or ()}
    there = {volume["name"]: volume for volume in pod.get("volumes") or ()}
    mounted = {
        mount["mountPath"]: _claim(there.get(mount["name"])) for mount in container.get("volumeMounts") or ()
    }
    mounts = [
        mount
        for mount in config.volume_mounts or ()
        if (claim := _claim(wanted.get(mount["name"]))) is None or mounted.get(mount["mountPath"]) != claim
    ]
    kept = {mount["name"] for mount in mounts}
    passed_over = {mount["name"] for mount in config.volume_mounts or ()} - kept
    return [volume for name, volume in wanted.items() if name not in passed_over], mounts


def _claim(volume: Mapping[str, Any] | None) -> str | None:
    return ((volume or {}).get("persistentVolumeClaim") or {}).get("claimName")


def _sized(own: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Requests and limits where some are replaced; a limit without a request is one, as for Kubernetes."""
    limits, requests = wanted.get("limits") or {}, wanted.get("requests") or {}
    return {
        "requests": {**(own.get("requests") or {}), **limits, **requests},
        "limits": {**(own.get("limits") or {}), **limits},
    }


class _Merge:
    """Puts parts of a pod beside those that it has; what it says otherwise is a problem."""

    def __init__(self, path: str, problems: list[Problem]) -> None:
        self._path, self._problems = path, problems

    def named(
        self,
        owner: dict[str, Any],
        part: str,
        items: Sequence[Mapping[str, Any]] | None,
        *,
        key: str = "name",
    ) -> None:
        """Add the items of a list that are known by a key."""
        there = {item[key]: item for item in owner.get(part) or ()}
        for item in items or ():
            found = there.setdefault(item[key], dict(item))
            if found != item:
                self._contradiction(f"{part}: {item[key]}")
        if there:
            owner[part] = list(there.values())

    def mapping(self, owner: dict[str, Any], part: str, items: Mapping[str, Any] | None) -> None:
        """Add the keys of a mapping."""
        there = dict(owner.get(part) or {})
        for key, value in (items or {}).items():
            if there.setdefault(key, value) != value:
                self._contradiction(f"{part}: {key}")
        if there:
            owner[part] = there

    def _contradiction(self, what: str) -> None:
        message = f"{what} is set on the step, and the manifest has another: leave one out"
        self._problems.append(Problem(self._path, "CONTRADICTION", message))
