"""TensorBoard of a job on a cluster: a pod that mounts what the job mounts, read only, and shows what it wrote.

One pod and nothing else. It is refused at once or there as a whole, goes with its job (its owner is the TFJob), and
needs no right but those on pods. Nobody but the port that is forwarded to a person's machine is to reach it, so it
has no service; where its node is drained, the same command makes it anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from gangplan.errors import InvalidInput, Problem
from gangplan.kube.api import Object
from gangplan.kube.enforce import NO_ISTIO
from gangplan.kube.kinds import POD, TFJOB
from gangplan.kube.names import GROUP, ROLES, TENSORFLOW_CONTAINER
from gangplan.kube.outcome import PULL_FAILURES
from gangplan.kube.volumes import Mount
from gangplan.tensorboard import PORT

LABEL: Final = f"{GROUP}/tensorboard"
"""Label of the pod: the job whose events it shows."""

CONTAINER: Final = "tensorboard"

FOLDER_FLAGS: Final = (
    *("--logdir", "--log_dir", "--log-dir", "--out", "--output", "--output_dir", "--output-dir"),
    *("--model_dir", "--model-dir", "--train_dir", "--train-dir"),
)
"""Flags by which programs are told where they write; the first that names a folder on a volume counts."""

_LEADERS = ("chief", "worker", "evaluator", "ps")
_CRASHES = 2
"""So many crashes of a program that reads files and listens at a port are not chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """A TensorBoard as it is to be.

    Attributes:
        job: Name of the job.
        namespace: Its namespace.
        image: Image with TensorBoard.
        folder: Where it looks for events; in the container, as in those of the job.
        volumes: Volumes of the pod.
        mounts: Where they are mounted.
        owners: The TFJob; empty: it is gone.
    """

    job: str
    namespace: str
    image: str
    folder: str
    volumes: tuple[Mapping[str, Any], ...]
    mounts: tuple[Mapping[str, Any], ...]
    owners: tuple[Mapping[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """Name of the pod."""
        return pod_name(self.job)

    @property
    def claims(self) -> tuple[str, ...]:
        """The claims that it mounts."""
        return tuple(volume["persistentVolumeClaim"]["claimName"] for volume in self.volumes)

    def pod(self) -> Object:
        """The pod. It starts within half a minute where its image is there; behind a slow registry kubelets wait anyway."""
        probe = {"httpGet": {"path": "/", "port": PORT}, "timeoutSeconds": 5}
        container = {
            "name": CONTAINER,
            "image": self.image,
            # As a module: images that have it need not have it in their PATH.
            "command": ["python", "-m", "tensorboard.main"],
            "args": ["--logdir", self.folder, "--host", "0.0.0.0", "--port", str(PORT)],  # noqa: S104 - for probes
            "ports": [{"name": "http", "containerPort": PORT}],
            "startupProbe": {**probe, "periodSeconds": 1, "failureThreshold": 180},
            "readinessProbe": {**probe, "periodSeconds": 10},
            "livenessProbe": {**probe, "periodSeconds": 20, "failureThreshold": 6},
            "resources": {
                "requests": {"cpu": "100m", "memory": "512Mi"},
                "limits": {"memory": "2Gi"},
            },
            "volumeMounts": [{**mount, "readOnly": True} for mount in self.mounts],
        }
        return {
            "apiVersion": POD.api_version,
            "kind": POD.name,
            "metadata": {
                "name": self.name,
                "namespace": self.namespace,
                "labels": {
                    LABEL: self.job,
                    "app.kubernetes.io/name": "tensorboard",
                    "app.kubernetes.io/managed-by": "gangplan",
                    NO_ISTIO: "false",
                },
                **({"ownerReferences": list(self.owners)} if self.owners else {}),
            },
            "spec": {
                "containers": [container],
                "volumes": list(self.volumes),
                "automountServiceAccountToken": False,
                "enableServiceLinks": False,
                "terminationGracePeriodSeconds": 5,  # it has nothing to write down
            },
        }

    def differences(self, pod: Object) -> list[str]:
        """In what a pod that is there is not this one."""
        (found,) = (item for item in pod["spec"]["containers"] if item["name"] == CONTAINER)
        there, wanted = (found["image"], _folder_of(found)), (self.image, self.folder)
        names = ("image", "folder")
        return [
            f"its {name} is {a}, not {b}" for name, a, b in zip(names, there, wanted, strict=True) if a != b
        ]


def pod_name(job: str) -> str:
    """Name of the pod that shows a job."""
    return f"{job}-tensorboard"


def board_of(job: Object, *, image: str, folder: str = "") -> Board:
    """The TensorBoard of a TFJob: with the claims of its leading replica, at the same paths.

    Args:
        job: The TFJob.
        image: Image with TensorBoard.
        folder: Where it is to look; empty: where the job's command says that it writes, else the whole volume.

    Raises:
        InvalidInput: The job mounts no claim, or the folder is on none.
    """
    metadata = job["metadata"]
    for pod, container in _leading(job):
        claims = {
            volume["name"]: volume for volume in pod.get("volumes") or () if "persistentVolumeClaim" in volume
        }
        mounts = [item for item in container.get("volumeMounts") or () if item.get("name") in claims]
        if mounts:
            break
    else:
        message = (
            f"{metadata['namespace']}/{metadata['name']} mounts no claim, so what it wrote went with its pods; "
            "submit it with --volume CLAIM:PATH, or name the claim that has its events with --volume here"
        )
        raise InvalidInput([Problem("JOB", "MISSING_FIELD", message)], "tensorboard")
    paths = [mount["mountPath"] for mount in mounts]
    used = {mount["name"] for mount in mounts}
    return Board(
        job=metadata["name"],
        namespace=metadata["namespace"],
        image=image,
        folder=_folder(folder or _written_to(container, paths), paths),
        volumes=tuple(volume for name, volume in claims.items() if name in used),
        mounts=tuple(mounts),
        owners=_owned_by(job),
    )


def board_on(
    mounts: Sequence[Mount], *, job: str, namespace: str, image: str, folder: str = "", owner: Object | None
) -> Board:
    """A TensorBoard on claims that were named, for a job that is gone or mounts others.

    Args:
        mounts: The claims and their paths.
        job: Name of the job.
        namespace: Its namespace.
        image: Image with TensorBoard.
        folder: Where it is to look; empty: the whole volume.
        owner: The TFJob, if it is there.

    Raises:
        InvalidInput: The folder is on none of them.
    """
    named = {mount.claim: f"volume-{place}" for place, mount in enumerate(mounts)}
    return Board(
        job=job,
        namespace=namespace,
        image=image,
        folder=_folder(folder, [mount.path for mount in mounts]),
        volumes=tuple(
            {"name": name, "persistentVolumeClaim": {"claimName": claim}} for claim, name in named.items()
        ),
        mounts=tuple({"name": named[mount.claim], "mountPath": mount.path} for mount in mounts),
        owners=() if owner is None else _owned_by(owner),
    )


def _owned_by(job: Object) -> tuple[Mapping[str, Any], ...]:
    names = {key: job["metadata"][key] for key in ("name", "uid")}
    return ({"apiVersion": TFJOB.api_version, "kind": TFJOB.name, **names},)


def _leading(job: Object) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Pod and container of each role, the role that writes first."""
    specs = job["spec"]["tfReplicaSpecs"]
    order = sorted(specs, key=lambda kind: _LEADERS.index(ROLES[kind.lower()]))
    pods = [specs[kind]["template"]["spec"] for kind in order]
    return [
        (pod, item) for pod in pods for item in pod["containers"] if item.get("name") == TENSORFLOW_CONTAINER
    ]


def _written_to(container: Mapping[str, Any], paths: Sequence[str]) -> str:
    """The folder on a volume that a command names as the one it writes to; empty if it names none."""
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    for place, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag in FOLDER_FLAGS:
            value = value if equals else next(iter(words[place + 1 :]), "")
            if _is_on(value, paths):
                return value
    return ""


def _folder(folder: str, paths: Sequence[str]) -> str:
    if not folder:
        if len(paths) == 1:
            return paths[0]
        message = f"must say where the events are: the job mounts {', '.join(paths)}"
        raise InvalidInput([Problem("--logdir", "MISSING_FIELD", message)], "tensorboard")
    if not _is_on(folder, paths):
        message = f"must be on a volume ({', '.join(paths)}), not {folder}"
        raise InvalidInput([Problem("--logdir", "BAD_VALUE", message)], "tensorboard")
    return folder


def _is_on(folder: str, paths: Sequence[str]) -> bool:
    return any(folder == path or folder.startswith(path.rstrip("/") + "/") for path in paths)


def _folder_of(container: Mapping[str, Any]) -> str:
    words = container.get("args") or ()
    return next((after for word, after in pairwise(words) if word == "--logdir"), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where the pod of a TensorBoard stands.

    Attributes:
        is_ready: It answers.
        is_over: It has ended, or is being deleted.
        is_hopeless: Waiting is no use.
        text: In words, what is waited for or why it is no use.
    """

    is_ready: bool = False
    is_over: bool = False
    is_hopeless: bool = False
    text: str = ""


def standing(pod: Object) -> Standing:
    """Find out where a pod stands."""
    status = pod.get("status") or {}
    if pod["metadata"].get("deletionTimestamp"):
        return Standing(is_over=True, text="it is being deleted")
    if status.get("phase") in {"Failed", "Succeeded"}:
        why = status.get("message") or status.get("reason") or status["phase"]
        return Standing(is_over=True, text=f"it has ended: {why}")
    conditions = {item["type"]: item for item in status.get("conditions") or ()}
    if conditions.get("Ready", {}).get("status") == "True":
        return Standing(is_ready=True, text="it answers")
    told: Mapping[str, Any] = next(iter(status.get("containerStatuses") or ()), {})
    waiting = (told.get("state") or {}).get("waiting") or {}
    reason, message = waiting.get("reason") or "", waiting.get("message") or ""
    if reason in PULL_FAILURES:
        hopeless = reason == "InvalidImageName"
        return Standing(is_hopeless=hopeless, text=f"its image cannot be pulled: {message or reason}")
    ended = (told.get("state") or {}).get("terminated") or (told.get("lastState") or {}).get("terminated")
    if ended:
        crashed = f"it ended with exit code {ended.get('exitCode')}"
        return Standing(is_hopeless=(told.get("restartCount") or 0) >= _CRASHES, text=crashed)
    scheduled = conditions.get("PodScheduled", {})
    if scheduled.get("status") == "False":
        return Standing(text=f"it has no node: {scheduled.get('message') or scheduled.get('reason') or ''}")
    if (told.get("state") or {}).get("running"):
        return Standing(text="it reads the events")
    if reason and reason != "ContainerCreating":
        return Standing(text=f"its container cannot be made: {message or reason}")
    node = pod["spec"].get("nodeName")
    return Standing(
        text=f"its image is pulled and its volume mounted on {node}" if node else "it has no node yet"
    )
