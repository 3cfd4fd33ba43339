"""What a TFJob asks for and a run on one machine leaves out."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gangplan.kube.names import ROLES, TENSORFLOW_CONTAINER

_NOT_APPLIED = (
    "workingDir",
    "securityContext",
    "lifecycle",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
)
"""Fields of a container that processes of this machine do not get."""


def not_done_here(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Say what a run on this machine leaves out of a sound TFJob: one short sentence each, roles as written.

    Args:
        manifest: A manifest that :func:`gangplan.kube.tfjob.read` accepted.

    Returns:
        The sentences in the order of roles; empty where the run does all that the manifest asks for.
    """
    specs = manifest["spec"]["tfReplicaSpecs"]
    policy = (manifest["spec"].get("runPolicy") or {}).get("schedulingPolicy") or {}
    named = policy.get("priorityClass")
    told = (f"priorityClass {named} is not looked up: the priority is 0",) if named else ()
    order = list(ROLES)
    return told + tuple(
        f"{written}: {sentence}"
        for written in sorted(specs, key=lambda written: order.index(written.lower()))
        for sentence in _of_pod(specs[written]["template"]["spec"])
    )


def _of_pod(pod: Mapping[str, Any]) -> Iterator[str]:
    if begun := pod.get("initContainers"):
        yield f"init containers are not run ({_names(begun)})"
    trains = next(item for item in pod["containers"] if item.get("name") == TENSORFLOW_CONTAINER)
    if others := [item for item in pod["containers"] if item is not trains]:
        yield f"containers other than {TENSORFLOW_CONTAINER} are not run ({_names(others)})"
    if volumes := pod.get("volumes") or trains.get("volumeMounts"):
        yield f"volumes are not mounted ({_names(volumes)})"
    if elsewhere := [item for item in trains.get("env") or () if item.get("valueFrom")]:
        yield f"env valueFrom is not resolved ({_names(elsewhere)})"
    if trains.get("envFrom"):
        yield "envFrom is not resolved"
    for field in _NOT_APPLIED:
        if trains.get(field) or (field == "securityContext" and pod.get(field)):
            yield f"{field} is not applied"


def _names(items: Any) -> str:
    """Names of parts of a manifest; those whose shape nobody judged may be anything."""
    parts = items if isinstance(items, Sequence) and not isinstance(items, str) else [items]
    return ", ".join(
        str(part.get("name") or "unnamed") if isinstance(part, Mapping) else "unnamed" for part in parts
    )
