"""Claims: who mounts what of the volumes of a namespace, and whether a job of several nodes could mount one."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from gangplan.errors import Forbidden, NotFound
from gangplan.kube.api import Api, Object
from gangplan.kube.kinds import CLAIM, EVENT, POD, STORAGE_CLASS, VOLUME
from gangplan.kube.names import GANG_LABEL

LATE = "WaitForFirstConsumer"
"""Binding mode of a storage class: a claim gets its volume where its first pod is placed."""

ENDED = frozenset({"Succeeded", "Failed"})
"""Phases of pods that mount nothing any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounting:
    """A pod that mounts a claim, or will.

    Attributes:
        pod: Its name.
        gang: The gang that it is of; empty: of none.
        node: Where it is; empty: nowhere yet.
    """

    pod: str
    gang: str = ""
    node: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimUse:
    """A claim and who uses it.

    Attributes:
        namespace: Its namespace.
        name: Its name.
        phase: ``Bound``, ``Pending`` or ``Lost``.
        modes: How it may be mounted.
        size: What it has, or asks for.
        storage_class: Its class; empty: none.
        volume: Name of its volume; empty: none yet.
        mounted_by: Who mounts it.
    """

    namespace: str
    name: str
    phase: str
    modes: tuple[str, ...]
    size: str
    storage_class: str
    volume: str
    mounted_by: tuple[Mounting, ...]

    @property
    def users(self) -> tuple[str, ...]:
        """Gangs, and pods of none, that mount it."""
        gangs = sorted({f"gang {item.gang}" for item in self.mounted_by if item.gang})
        return (*gangs, *sorted(f"pod {item.pod}" for item in self.mounted_by if not item.gang))


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """Something that a job of several nodes should know about a claim.

    Attributes:
        is_obstacle: Whether such a job cannot use it.
        text: What was found.
        cure: What helps; empty: nothing has to be done.
    """

    is_obstacle: bool
    text: str
    cure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A claim and what was found about it.

    Attributes:
        claim: The claim.
        findings: What was found; those that are obstacles first.
    """

    claim: ClaimUse
    findings: tuple[Remark, ...]

    @property
    def is_usable(self) -> bool:
        """Whether a job of several nodes can use it."""
        return not any(finding.is_obstacle for finding in self.findings)


def list_claims(api: Api, *, namespace: str = "") -> tuple[ClaimUse, ...]:
    """Read the claims of a namespace; without one those of all.

    Raises:
        ClusterError: The server does not answer or does not allow it.
    """
    pods = api.list(POD, namespace=namespace).items
    return tuple(claim_use(claim, pods) for claim in api.list(CLAIM, namespace=namespace).items)


def check_claim(api: Api, name: str, *, namespace: str) -> Checked:
    """Find out whether a job of several nodes could use a claim.

    Raises:
        NotFound: There is no such claim.
        ClusterError: The server does not answer or does not allow it.
    """
    try:
        claim = api.get(CLAIM, name, namespace=namespace)
    except NotFound as error:
        known = [item["metadata"]["name"] for item in api.list(CLAIM, namespace=namespace).items]
        message = f"there is no claim {name} in {namespace}; known: {', '.join(known) or 'none'}"
        raise NotFound(message, verb="get", kind=CLAIM.name, name=name, namespace=namespace) from error
    use = claim_use(claim, api.list(POD, namespace=namespace).items)
    unbound = why_unbound(api, claim)
    found = [*findings(claim, use, volume=_volume(api, use.volume)), *([unbound] if unbound else [])]
    return Checked(claim=use, findings=tuple(sorted(found, key=lambda finding: not finding.is_obstacle)))


def claim_use(claim: Object, pods: Sequence[Object]) -> ClaimUse:
    """Put together what there is about a claim."""
    metadata, spec, status = claim["metadata"], claim["spec"], claim.get("status") or {}
    asked = (spec.get("resources") or {}).get("requests") or {}
    return ClaimUse(
        namespace=metadata["namespace"],
        name=metadata["name"],
        phase=status.get("phase") or "Pending",
        modes=tuple(sorted({*(spec.get("accessModes") or ()), *(status.get("accessModes") or ())})),
        size=str((status.get("capacity") or {}).get("storage") or asked.get("storage") or ""),
        storage_class=spec.get("storageClassName") or "",
        volume=spec.get("volumeName") or "",
        mounted_by=tuple(_mountings(metadata, pods)),
    )


def _mountings(claim: Mapping[str, str], pods: Sequence[Object]) -> Iterator[Mounting]:
    for pod in pods:
        metadata, spec = pod["metadata"], pod["spec"]
        if metadata["namespace"] != claim["namespace"] or (pod.get("status") or {}).get("phase") in ENDED:
            continue
        names = {
            (volume.get("persistentVolumeClaim") or {}).get("claimName")
            for volume in spec.get("volumes") or ()
        }
        if claim["name"] in names:
            gang = (metadata.get("labels") or {}).get(GANG_LABEL) or ""
            yield Mounting(pod=metadata["name"], gang=gang, node=spec.get("nodeName") or "")


def findings(claim: Object, use: ClaimUse, *, volume: Object | None) -> Iterator[Remark]:
    """What a job of several nodes should know, beside whether it is bound.

    Args:
        claim: The claim.
        use: The same, as people look at it.
        volume: Its volume; None: it has none, or we may not read it.
    """
    if "deletionTimestamp" in claim["metadata"]:
        yield Remark(
            is_obstacle=True, text="is being deleted", cure="wait until it is gone, and make it anew"
        )
    if use.phase == "Lost":
        cure = "bring the volume back, or delete the claim and make it anew"
        yield Remark(is_obstacle=True, text=f"has lost its volume {use.volume}", cure=cure)
    if "ReadWriteMany" not in use.modes and "ReadOnlyMany" in use.modes:
        text = "is ReadOnlyMany: all nodes can read it, and nobody can write checkpoints or a model there"
        yield Remark(is_obstacle=False, text=text)
    elif "ReadWriteMany" not in use.modes:
        said = ", ".join(use.modes) or "no access mode"
        text = f"is {said}, and replicas on several nodes could not all mount it"
        cure = "make one that is ReadWriteMany: gangplan storage nas|nfs, or a class whose driver can"
        yield Remark(is_obstacle=True, text=text, cure=cure)
    spec = {} if volume is None else volume["spec"]
    if "hostPath" in spec:
        path = spec["hostPath"].get("path")
        text = f"is {path} of each node by itself: the same files only where all nodes are one machine"
        yield Remark(is_obstacle=False, text=text)
    required = (spec.get("nodeAffinity") or {}).get("required")
    if required:
        text = "its volume can be mounted on some nodes only, and jobs that mount it are placed on those"
        yield Remark(is_obstacle=False, text=text)


def why_unbound(api: Api, claim: Object) -> Remark | None:
    """Why a claim has no volume; None if it has one. What may not be read is not told.

    A claim whose class waits for the first pod is in nobody's way; where we may not read the class, that is assumed unless
    the server warns of something.

    Raises:
        Unreachable: The server does not answer.
    """
    if (claim.get("status") or {}).get("phase") != "Pending":
        return None
    spec, name, namespace = claim["spec"], claim["metadata"]["name"], claim["metadata"]["namespace"]
    class_name, storage_class, events = spec.get("storageClassName") or "", None, []
    with suppress(Forbidden):
        events = [event for event in api.list(EVENT, namespace=namespace).items if _is_about(event, claim)]
    said = max(events, key=_moment, default=None)
    told = f": {said.get('reason')}: {said.get('message')}" if said else ""
    is_known = True
    try:
        storage_class = api.get(STORAGE_CLASS, class_name) if class_name else None
    except Forbidden:
        is_known = False
    except NotFound:
        text = f"is not bound: the cluster has no storage class {class_name}{told}"
        cure = "kubectl get storageclass lists those that there are; gangplan storage makes a claim that needs none"
        return Remark(is_obstacle=True, text=text, cure=cure)
    if (storage_class or {}).get("volumeBindingMode") == LATE:
        return Remark(is_obstacle=False, text=f"is bound when the first pod mounts it{told}")
    wanted = (spec.get("selector") or {}).get("matchLabels")
    if not told and wanted:
        labels = ",".join(f"{key}={value}" for key, value in sorted(wanted.items()))
        told = f": no volume with {labels} was given to it yet"
    warned = any(event.get("type") == "Warning" for event in events)
    cure = f"kubectl describe pvc {name} -n {namespace} has more"
    return Remark(is_obstacle=is_known or warned, text=f"is not bound{told}", cure=cure)


def _moment(event: Object) -> str:
    """When it was last seen, as text that orders like time."""
    series = event.get("series") or {}
    return str(series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime") or "")


def _is_about(event: Object, claim: Object) -> bool:
    about, metadata = event.get("involvedObject") or {}, claim["metadata"]
    is_named = (about.get("kind"), about.get("name")) == (CLAIM.name, metadata["name"])
    return is_named and about.get("uid") in (None, "", metadata["uid"])


def _volume(api: Api, name: str) -> Object | None:
    try:
        return api.get(VOLUME, name) if name else None
    except (Forbidden, NotFound):
        return None
