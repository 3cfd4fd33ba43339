"""The TFJob manifest of a training gang, from a few numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gangplan.kube.names import (
    PREFERRED_LEVEL,
    PRIORITY,
    QUEUE,
    REPLICA_TYPES,
    REQUIRED_LEVEL,
    RUN_ID,
    TENSORFLOW_CONTAINER,
    TFJOB_API,
    TFJOB_KIND,
)
from gangplan.kube.references import literal


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleSize:
    """How many replicas a role has, and what each requests.

    Attributes:
        replicas: Count; a role with 0 is left out.
        cpu: Cores of each replica, a quantity such as ``"500m"``.
        memory: Memory of each replica, a quantity such as ``"1Gi"``.
        gpus: Whole GPUs of each replica.
        image: Its container image, where it is not that of the job: parameter servers need no GPU libraries.
    """

    replicas: int
    cpu: str = "250m"
    memory: str = "512Mi"
    gpus: int = 0
    image: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GangRequest:
    """How a gang waits and where it may lie.

    Attributes:
        queue: Its queue; empty: none.
        priority: Higher comes first in its queue.
        required: Topology level that it must not cross; empty: none.
        preferred: Topology level that it should not cross; empty: none.
    """

    queue: str = ""
    priority: int = 0
    required: str = ""
    preferred: str = ""


def training_job(
    *,
    name: str,
    run_id: str,
    image: str,
    command: tuple[str, ...],
    roles: Mapping[str, RoleSize],
    request: GangRequest,
    deadline_s: int | None,
    keep_s: int,
    env: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Write the manifest of a job whose replicas all run the same program.

    Args:
        name: Name of the job, a DNS-1035 label.
        run_id: The run that it belongs to.
        image: Container image of the roles that have none of their own.
        command: Program and arguments; each replica learns its part from ``TF_CONFIG``.
            Taken literally: ``$(NAME)`` is no reference. Empty: the image says what is run.
        roles: Role (``chief``, ``ps``, ``worker``, ``evaluator``) → its size.
        request: Queue, priority, levels.
        deadline_s: Seconds from start after which the job is ended; None: never.
        keep_s: Seconds that the ended job is kept for its logs.
        env: Environment of every replica, taken literally too.
    """
    asked = {
        QUEUE: request.queue,
        PRIORITY: str(request.priority) if request.priority else "",
        REQUIRED_LEVEL: request.required,
        PREFERRED_LEVEL: request.preferred,
    }
    notes = {key: value for key, value in asked.items() if value}
    return {
        "apiVersion": TFJOB_API,
        "kind": TFJOB_KIND,
        "metadata": {
            "name": name,
            "labels": {RUN_ID: run_id},
            **({"annotations": notes} if notes else {}),
        },
        "spec": {
            "runPolicy": {
                "cleanPodPolicy": "Running",
                "ttlSecondsAfterFinished": keep_s,
                **({} if deadline_s is None else {"activeDeadlineSeconds": deadline_s}),
                "backoffLimit": 0,
            },
            "tfReplicaSpecs": {
                REPLICA_TYPES[role]: _replica_spec(size, size.image or image, command, env or {})
                for role, size in roles.items()
                if size.replicas
            },
        },
    }


def _replica_spec(
    size: RoleSize, image: str, command: tuple[str, ...], env: Mapping[str, str]
) -> dict[str, Any]:
    requests = {"cpu": size.cpu, "memory": size.memory}
    limits = {"nvidia.com/gpu": str(size.gpus)} if size.gpus else {}
    container: dict[str, Any] = {"name": TENSORFLOW_CONTAINER, "image": image}
    if command:
        container["command"] = [literal(word) for word in command]
    if env:
        container["env"] = [{"name": name, "value": literal(value)} for name, value in env.items()]
    container["resources"] = {"requests": requests, "limits": limits}
    return {
        "replicas": size.replicas,
        "restartPolicy": "Never",
        "template": {"spec": {"containers": [container]}},
    }
