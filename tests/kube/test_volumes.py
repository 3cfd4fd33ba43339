"""Volumes of a TFJob: mounted in every replica, refused where not all can have them, and deciding where replicas may lie."""

from typing import Any

import pytest
from apimodel.server import ApiServer, Fault
from builders import tfjob

import gangplan as gp
from gangplan.errors import Forbidden
from gangplan.kube.kinds import CLAIM, EVENT, STORAGE_CLASS, VOLUME
from gangplan.kube.submission import Submission, submission
from gangplan.kube.volumes import Mount, mounted, parse_mounts, with_claims

TRAINING = Mount(claim="training", path="/training")
ROLES = {"PS": {}, "Worker": {"replicas": 2}}


def test_mounts_are_read_as_people_write_them():
    assert parse_mounts(["training:/training/", "my.data:/data"]) == (
        TRAINING,
        Mount(claim="my.data", path="/data"),
    )


@pytest.mark.parametrize(
    "texts",
    [["training"], [":/a"], ["Bad_Name:/a"], ["a:relative"], ["a:/"], ["a:/x:ro"], ["a:/x", "b:/x/"]],
    ids=" ".join,
)
def test_what_is_no_mount_is_named(texts):
    with pytest.raises(gp.InvalidInput) as caught:
        parse_mounts(texts)
    (problem,) = caught.value.problems
    assert (problem.path, texts[-1] in problem.message) == ("--volume", True)


def containers(manifest: dict[str, Any]) -> dict[str, tuple[list, list]]:
    pods = {kind: spec["template"]["spec"] for kind, spec in manifest["spec"]["tfReplicaSpecs"].items()}
    return {kind: (pod["volumes"], pod["containers"][0]["volumeMounts"]) for kind, pod in pods.items()}


def test_every_replica_has_the_volume_and_the_given_manifest_stays():
    job = tfjob("j", ROLES)
    made = mounted(job, [TRAINING])
    assert containers(made) == {
        kind: (
            [{"name": "gangplan-0", "persistentVolumeClaim": {"claimName": "training"}}],
            [{"name": "gangplan-0", "mountPath": "/training"}],
        )
        for kind in ROLES
    }
    assert job == tfjob("j", ROLES)
    assert mounted(made, [TRAINING]) == made


def with_volume(job: dict[str, Any], name: str, claim: str, path: str) -> dict[str, Any]:
    for spec in job["spec"]["tfReplicaSpecs"].values():
        pod = spec["template"]["spec"]
        pod["volumes"] = [{"name": name, "persistentVolumeClaim": {"claimName": claim}}]
        pod["containers"][0]["volumeMounts"] = [{"name": name, "mountPath": path}]
    return job


def test_a_claim_that_the_manifest_has_already_is_not_given_a_second_volume():
    job = with_volume(tfjob("j", {"Worker": {}}), "mine", "training", "/elsewhere")
    ((volumes, places),) = containers(mounted(job, [TRAINING])).values()
    assert volumes == [{"name": "mine", "persistentVolumeClaim": {"claimName": "training"}}]
    assert {item["mountPath"]: item["name"] for item in places} == {
        "/elsewhere": "mine",
        "/training": "mine",
    }


def test_a_path_that_is_taken_is_refused():
    job = with_volume(tfjob("j", {"Worker": {}}), "other", "other", "/training")
    with pytest.raises(gp.InvalidInput, match="Worker has other at that path already"):
        mounted(job, [TRAINING])


def server(*modes: str, phase: str = "Bound", affinity: list | None = None) -> ApiServer:
    made = ApiServer()
    about = {"name": "training", "namespace": "default"}
    made.create(CLAIM, {"metadata": about, "spec": {"accessModes": list(modes), "volumeName": "v"}})
    made.patch(CLAIM, "training", {"status": {"phase": phase}}, namespace="default", subresource="status")
    terms = {} if affinity is None else {"nodeAffinity": {"required": {"nodeSelectorTerms": affinity}}}
    made.create(VOLUME, {"metadata": {"name": "v"}, "spec": terms})
    return made


def asked(roles: dict[str, dict] = ROLES, *, required: str = "") -> Submission:
    job = mounted(tfjob("j", roles), [TRAINING])
    if required:
        job["metadata"]["annotations"] = {"gangplan.dev/required-level": required}
    return submission(job, namespace="default", run_id="run", now=0.0)


@pytest.mark.parametrize("mode", ["ReadWriteMany", "ReadOnlyMany"])
def test_what_many_nodes_may_mount_is_taken(mode):
    assert with_claims(server(mode), asked()) == asked()


@pytest.mark.parametrize(
    ("mode", "roles", "required"),
    [
        ("ReadWriteOnce", {"Worker": {}}, ""),
        ("ReadWriteOncePod", {"Worker": {}}, ""),
        ("ReadWriteOnce", ROLES, "node"),
    ],
)
def test_what_one_node_may_mount_is_taken_where_one_node_is_enough(mode, roles, required):
    wanted = asked(roles, required=required)
    assert with_claims(server(mode), wanted) == wanted


@pytest.mark.parametrize(
    ("mode", "required"), [("ReadWriteOnce", ""), ("ReadWriteOncePod", ""), ("ReadWriteOncePod", "node")]
)
def test_what_not_all_replicas_can_mount_is_refused(mode, required):
    with pytest.raises(gp.InvalidInput) as caught:
        with_claims(server(mode), asked(required=required))
    (problem,) = caught.value.problems
    assert problem.path == "$.spec.tfReplicaSpecs.PS.template.spec.volumes[0]"
    assert f"the claim training is {mode}, and 3 replicas mount it" in problem.message
    assert "use a claim that is ReadWriteMany" in problem.message


def test_a_claim_that_is_not_there_or_lost_its_volume_is_refused():
    with pytest.raises(gp.InvalidInput, match="there is no claim training in namespace default"):
        with_claims(ApiServer(), asked())
    with pytest.raises(gp.InvalidInput, match=r"the claim training has lost its volume \(v\)"):
        with_claims(server("ReadWriteMany", phase="Lost"), asked())


def test_a_claim_without_a_volume_is_refused_unless_it_gets_one_with_its_first_pod():
    pending = server("ReadWriteMany", phase="Pending")
    with pytest.raises(
        gp.InvalidInput, match="the claim training is not bound; kubectl describe pvc training"
    ):
        with_claims(pending, asked())
    pending.patch(CLAIM, "training", {"spec": {"storageClassName": "late"}}, namespace="default")
    with pytest.raises(gp.InvalidInput, match="the cluster has no storage class late"):
        with_claims(pending, asked())
    pending.create(STORAGE_CLASS, {"metadata": {"name": "late"}, "volumeBindingMode": "WaitForFirstConsumer"})
    assert with_claims(pending, asked()) == asked()


def test_who_may_not_read_classes_is_not_kept_from_a_claim_that_may_be_bound_later():
    """Unless the server warns of it: then it is not."""
    pending = server("ReadWriteMany", phase="Pending")
    pending.patch(CLAIM, "training", {"spec": {"storageClassName": "nas"}}, namespace="default")
    pending.faults = lambda about: Fault(error=Forbidden) if about.kind == "StorageClass" else None
    assert with_claims(pending, asked()) == asked()
    about = {"kind": "PersistentVolumeClaim", "name": "training"}
    event = {"type": "Warning", "reason": "ProvisioningFailed", "message": "no more", "involvedObject": about}
    pending.create(EVENT, {"metadata": {"name": "e", "namespace": "default"}, **event})
    with pytest.raises(gp.InvalidInput, match="is not bound: ProvisioningFailed: no more"):
        with_claims(pending, asked())


def test_replicas_lie_where_their_volume_is():
    """On n2 there is room, too, but the volume is on n1."""
    here = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["a"]}]}
    wanted = with_claims(server("ReadWriteMany", affinity=[here]), asked())
    nodes = tuple(
        gp.Node(name=f"n{number}", labels={"disk": disk}, allocatable={"cpu": "4", "pods": "10"})
        for number, disk in ((1, "a"), (2, "b"))
    )
    plan = gp.solve(gp.Snapshot(nodes=nodes, gangs=(wanted.gang,)))
    assert plan.placements["default/j"] == {"ps": ("n1",), "worker": ("n1", "n1")}
    without = gp.solve(gp.Snapshot(nodes=nodes[1:], gangs=(wanted.gang,)))
    assert without.rejections["default/j"].impossible


ON_N1 = {"key": "metadata.name", "operator": "In", "values": ["n1"]}


def test_a_volume_that_tells_its_node_by_name_is_left_to_the_scheduler():
    """A snapshot knows nodes by their labels; a term of names alone is none that never holds."""
    labels = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["a"]}]}
    names = {"matchFields": [ON_N1]}
    for affinity in ([names], [labels, names]):
        assert with_claims(server("ReadWriteMany", affinity=affinity), asked()) == asked()
    both, first = (
        with_claims(server("ReadWriteMany", affinity=[term]), asked()) for term in (labels | names, labels)
    )
    assert both == first != asked()


def test_a_role_keeps_its_own_affinity_beside_that_of_its_volume():
    own = {"key": "gpu", "operator": "Exists"}
    terms = [
        {"matchExpressions": [{"key": "disk", "operator": "In", "values": [value]}]} for value in ("a", "b")
    ]
    job = mounted(tfjob("j", {"Worker": {}}), [TRAINING])
    required = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [own]}]}
    }
    job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["affinity"] = {"nodeAffinity": required}
    wanted = submission(job, namespace="default", run_id="run", now=0.0)
    (role,) = with_claims(server("ReadWriteMany", affinity=terms), wanted).gang.roles
    found = [[(item.key, item.values) for item in term.expressions] for term in role.node_affinity]
    assert found == [[("gpu", ()), ("disk", ("a",))], [("gpu", ()), ("disk", ("b",))]]
