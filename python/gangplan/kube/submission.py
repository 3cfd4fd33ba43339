"""Submission: a TFJob as a gang of a cluster: what is asked for, and what is created once it is admitted."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gangplan.config import Enforcement
from gangplan.errors import ConfigError, InvalidInput, Problem
from gangplan.kube import volcano
from gangplan.kube.api import Owners
from gangplan.kube.enforce import gated, labelled
from gangplan.kube.gang_object import full_name
from gangplan.kube.names import GANG_LABEL, RUN_ID, VOLCANO
from gangplan.kube.peers import without_kueue
from gangplan.kube.serverless import both_kinds, bursting, unheard
from gangplan.kube.tfjob import gang
from gangplan.snapshot import Gang


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A TFJob that is to run.

    Attributes:
        gang: What it asks for, under its name among those of all namespaces.
        manifest: The TFJob as it is created: labelled, and with pods that wait for their nodes, or for Volcano, which is
            told the nodes of each role besides.
        run_id: The run that both belong to.
        enforcement: Who binds its pods.
        notes: What who asked for it should know: words of the TFJob that nobody will hear.
    """

    gang: Gang
    manifest: Mapping[str, Any]
    run_id: str
    enforcement: Enforcement = "default"
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the TFJob."""
        return str(self.manifest["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """Namespace of the TFJob."""
        return str(self.manifest["metadata"]["namespace"])


def submission(
    manifest: Mapping[str, Any],
    *,
    namespace: str,
    run_id: str,
    now: float,
    enforcement: Enforcement = "default",
    owners: Owners = (),
) -> Submission:
    """Prepare a sound TFJob for submission.

    Args:
        manifest: A manifest that :func:`gangplan.kube.tfjob.read` accepted.
        namespace: Where it goes, unless it says so itself.
        run_id: The run that it belongs to.
        now: Seconds since 1970.
        owners: Owner references of the TFJob.
        enforcement: Who binds its pods.

    Raises:
        ConfigError: Nobody binds pods in that way.
        InvalidInput: The job is suspended, or belongs to another scheduler.
    """
    if enforcement == "gangplan":
        raise ConfigError(
            "enforcement gangplan: no scheduler of ours is running; take default, where the scheduler that the cluster has "
            "binds the pods, or volcano"
        )
    problems = [*_shapes(manifest), *_contradictions(manifest, enforcement)]
    problems = problems or list(both_kinds(manifest))
    if problems:
        raise InvalidInput(problems, "TFJob")
    metadata = dict(manifest["metadata"])
    where = metadata.get("namespace") or namespace
    labels = {**(metadata.get("labels") or {}), RUN_ID: run_id, GANG_LABEL: metadata["name"]}
    about = {**metadata, "namespace": where, "labels": labels}
    if owners:
        about["ownerReferences"] = list(owners)
    placed = {**manifest, "metadata": about}
    asked = gang(manifest, created=int(now), name=full_name(where, metadata["name"]))
    asked = replace(bursting(asked, manifest), namespace=where)
    placed = labelled(without_kueue(placed))
    placed = gated(placed) if enforcement == "default" else volcano.prepared(placed, asked)
    notes = tuple(unheard(asked, manifest))
    return Submission(gang=asked, manifest=placed, run_id=run_id, enforcement=enforcement, notes=notes)


def _shapes(manifest: Mapping[str, Any]) -> list[Problem]:
    """What has another shape than what is written into it."""
    problems = []
    where = manifest["metadata"].get("namespace")
    if where is not None and not isinstance(where, str):
        problems.append(Problem("$.metadata.namespace", "WRONG_TYPE", f"must be a text, not {where!r}"))
    for kind, spec in manifest["spec"]["tfReplicaSpecs"].items():
        path = f"$.spec.tfReplicaSpecs.{kind}.template"
        metadata, gates = spec["template"].get("metadata"), spec["template"]["spec"].get("schedulingGates")
        if metadata is not None and not isinstance(metadata, Mapping):
            problems.append(Problem(f"{path}.metadata", "WRONG_TYPE", "must be a map"))
            continue
        for name in ("labels", "annotations"):
            found = (metadata or {}).get(name)
            if found is not None and not isinstance(found, Mapping):
                problems.append(Problem(f"{path}.metadata.{name}", "WRONG_TYPE", "must be a map"))
        if gates is not None and not (
            isinstance(gates, list) and all(isinstance(gate, Mapping) for gate in gates)
        ):
            problems.append(Problem(f"{path}.spec.schedulingGates", "WRONG_TYPE", "must be a list of maps"))
    return problems


def _contradictions(manifest: Mapping[str, Any], enforcement: Enforcement) -> list[Problem]:
    problems = []
    if (manifest["spec"].get("runPolicy") or {}).get("suspend"):
        message = "must not be true: a suspended job has no pods; gangplan lets it wait by itself"
        problems.append(Problem("$.spec.runPolicy.suspend", "CONTRADICTION", message))
    policy = (manifest["spec"].get("runPolicy") or {}).get("schedulingPolicy") or {}
    counts = [spec.get("replicas") for spec in manifest["spec"]["tfReplicaSpecs"].values()]
    total, least = sum(1 if count is None else count for count in counts), policy.get("minAvailable")
    if enforcement == "volcano" and least is not None and least != total:
        message = f"must be left out, or all {total}: Volcano is told to start the replicas that have room, which are all"
        path = "$.spec.runPolicy.schedulingPolicy.minAvailable"
        problems.append(Problem(path, "UNSUPPORTED", message))
    for kind, spec in manifest["spec"]["tfReplicaSpecs"].items():
        scheduler = spec["template"]["spec"].get("schedulerName")
        known = {"default": "default-scheduler", "volcano": VOLCANO}.get(enforcement)
        if scheduler not in (None, "", known):
            message = f"must be left out: pods that {scheduler} binds are not ours to place"
            if scheduler == VOLCANO:
                message += "; Volcano binds them as the plan has it with --enforcement volcano"
            path = f"$.spec.tfReplicaSpecs.{kind}.template.spec.schedulerName"
            problems.append(Problem(path, "CONTRADICTION", message))
    return problems
