"""The test cluster is a Kubernetes cluster: its parts do what tests rely on."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.bed.administrator import is_ready
from cluster.bed.image import PROJECT
from cluster.bed.kwok import EXIT_CODE, RUNS_FOR, fake_node
from cluster.bed.outside import Cluster
from cluster.bed.process import BedError
from cluster.manifests import pod, tfjob
from cluster.objects import conditions, create, pods_of, wait_for_phase

NewNamespace = Callable[[Cluster], str]
ROUNDS = 3


def test_quota_refuses_what_is_too_much(control_plane: Cluster, new_namespace: NewNamespace) -> None:
    namespace = new_namespace(control_plane)
    control_plane.kubectl(
        "create", "quota", "few", "--hard=requests.nvidia.com/gpu=2", "--namespace", namespace
    )
    path = f"/api/v1/namespaces/{namespace}/resourcequotas/few"
    control_plane.wait_until("the quota counts", lambda: control_plane.admin.get(path)["status"].get("hard"))
    create(control_plane, namespace, pod("first", gpus=2))
    with pytest.raises(BedError, match=r"exceeded quota: few, requested: requests.nvidia.com/gpu=1, used"):
        create(control_plane, namespace, pod("second", gpus=1))


def test_account_may_do_what_it_was_granted_and_nothing_else(
    control_plane: Cluster, new_namespace: NewNamespace
) -> None:
    namespace = new_namespace(control_plane)
    scope = ("--namespace", namespace)
    control_plane.kubectl("create", "serviceaccount", "reader", *scope)
    control_plane.kubectl("create", "role", "read", "--verb=list", "--resource=pods", *scope)
    control_plane.kubectl(
        "create", "rolebinding", "read", "--role=read", f"--serviceaccount={namespace}:reader", *scope
    )
    reader = f"system:serviceaccount:{namespace}:reader"
    control_plane.kubectl("get", "pods", *scope, user=reader)
    with pytest.raises(BedError, match='cannot list resource "secrets"'):
        control_plane.kubectl("get", "secrets", *scope, user=reader)


def test_container_runs_and_can_be_looked_into(real: Cluster, new_namespace: NewNamespace) -> None:
    namespace = new_namespace(real)
    create(real, namespace, pod("shell", ["sh", "-c", "echo said; exec sleep 1000"]))
    wait_for_phase(real, namespace, "shell", "Running")
    scope = ("shell", "--namespace", namespace)
    assert real.kubectl("exec", *scope, "--", "hostname") == "shell\n"
    assert real.kubectl("logs", *scope) == "said\n"


def test_container_that_needs_more_than_its_limit_is_killed(
    real: Cluster, new_namespace: NewNamespace
) -> None:
    namespace = new_namespace(real)
    greedy = pod("greedy", ["sh", "-c", "tail /dev/zero"])
    greedy["spec"]["containers"][0]["resources"] = {"limits": {"memory": "32Mi", "cpu": "100m"}}
    create(real, namespace, greedy)
    ended = wait_for_phase(real, namespace, "greedy", "Failed", "Succeeded")
    (status,) = ended["status"]["containerStatuses"]
    assert (status["state"]["terminated"]["reason"], status["state"]["terminated"]["exitCode"]) == (
        "OOMKilled",
        137,
    )


def test_names_of_services_and_of_their_pods_are_found(real: Cluster, new_namespace: NewNamespace) -> None:
    namespace = new_namespace(real)
    create(real, namespace, pod("server", labels={"app": "web"}, hostname="first", subdomain="web"))
    real.kubectl("create", "service", "clusterip", "web", "--clusterip=None", "--namespace", namespace)
    address = wait_for_phase(real, namespace, "server", "Running")["status"]["podIP"]
    path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    real.wait_until("the service has an address", lambda: address in json.dumps(real.admin.get(path)))
    names = [f"{host}web.{namespace}.svc.cluster.local" for host in ("", "first.")]
    for name in names:
        found = real.kubectl("exec", "server", "--namespace", namespace, "--", "nslookup", name)
        assert f"Address: {address}\n" in found
    other = f"second.{names[0]}"
    with pytest.raises(BedError, match="NXDOMAIN"):
        real.kubectl("exec", "server", "--namespace", namespace, "--", "nslookup", other)


IN_CLUSTER = """
from kubernetes import client, config
import gangplan, sys
config.load_incluster_config()
try:
    client.CoreV1Api().list_node()
except client.ApiException as refused:
    print(refused.status)
print([pod.metadata.name for pod in client.CoreV1Api().list_namespaced_pod(sys.argv[1]).items])
"""


def test_project_talks_to_the_api_server_from_inside_a_pod(
    real: Cluster, new_namespace: NewNamespace
) -> None:
    """With the token that the kubelet put there, and the rights of the pod's account."""
    namespace = new_namespace(real)
    scope = ("--namespace", namespace)
    real.kubectl("create", "role", "read", "--verb=list", "--resource=pods", *scope)
    real.kubectl(
        "create", "rolebinding", "read", "--role=read", f"--serviceaccount={namespace}:default", *scope
    )
    create(real, namespace, pod("inside", ["python", "-c", IN_CLUSTER, namespace], image=PROJECT))
    wait_for_phase(real, namespace, "inside", "Succeeded", "Failed")
    assert real.kubectl("logs", "inside", *scope) == "403\n['inside']\n"


def test_tfjob_trains_on_real_nodes(real: Cluster, new_namespace: NewNamespace, tmp_path: Path) -> None:
    """The operator's own TF_CONFIG, names from the cluster's DNS, TensorFlow's own connections between the pods."""
    namespace = new_namespace(real)
    command = [
        "python",
        "-m",
        "gangplan.train.classifier",
        "--data",
        "digits",
        "--out",
        "/volume",
        "--strategy",
        "ps",
    ]
    job = tfjob("train", [*command, "--epochs", "1"])
    for replicas in job["spec"]["tfReplicaSpecs"].values():
        spec = replicas["template"]["spec"]
        spec["volumes"] = [{"name": "volume", "hostPath": {"path": str(tmp_path)}}]
        spec["containers"][0]["volumeMounts"] = [{"name": "volume", "mountPath": "/volume"}]
    create(real, namespace, job)
    path = f"/apis/kubeflow.org/v1/namespaces/{namespace}/tfjobs/train"
    ends = {"Succeeded", "Failed"}
    real.wait_until(
        "the TFJob has ended", lambda: ends & conditions(real.admin.get(path)).keys(), seconds=200
    )
    assert conditions(real.admin.get(path)).get("Succeeded") == "True", real.kubectl(
        "logs", "train-chief-0", "--namespace", namespace
    )
    there = pods_of(real, namespace)
    assert len(there) == 4
    assert {item["spec"]["nodeName"] for item in there.values()} == {"n0", "n1"}
    assert (tmp_path / "model" / "saved_model.pb").exists()


def test_death_of_a_node_is_seen(real: Cluster, new_namespace: NewNamespace) -> None:
    namespace = new_namespace(real)
    real.add_node("mortal")
    create(real, namespace, pod("on-it", nodeName="mortal"))
    wait_for_phase(real, namespace, "on-it", "Running")
    real.kill_node("mortal")
    real.wait_until("the node is seen dead", lambda: not is_ready(real.admin.get("/api/v1/nodes/mortal")))
    lost = pods_of(real, namespace)["on-it"]
    assert conditions(lost)["Ready"] == "False"
    real.kubectl("delete", "node", "mortal")


@pytest.mark.parametrize("code", ["0", "3"])
def test_pods_of_fake_nodes_end_as_they_are_told(
    wide: Cluster, new_namespace: NewNamespace, code: str
) -> None:
    namespace = new_namespace(wide)
    create(wide, namespace, pod("played", annotations={EXIT_CODE: code, RUNS_FOR: "100ms"}))
    ended = wait_for_phase(wide, namespace, "played", "Failed", "Succeeded")
    (status,) = ended["status"]["containerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == int(code)
    assert ended["status"]["phase"] == ("Succeeded" if code == "0" else "Failed")


def test_default_scheduler_lets_two_gangs_block_each_other(
    wide: Cluster, new_namespace: NewNamespace
) -> None:
    """Two gangs of four on four GPUs, their pods created by turns: each gets a part, and neither ever starts."""
    wide.add_fake_nodes(fake_node(f"small-{i}", gpus=2, labels={"pool": "small"}) for i in range(2))
    deadlocks = 0
    for _ in range(ROUNDS):
        namespace = new_namespace(wide)
        names = [f"{gang}-{worker}" for worker in range(4) for gang in "ab"]
        for name in names:
            create(wide, namespace, pod(name, gpus=1, nodeSelector={"pool": "small"}))

        def all_are_decided(namespace: str = namespace) -> bool:
            return all("PodScheduled" in conditions(item) for item in pods_of(wide, namespace).values())

        wide.wait_until("each pod has a node or is told that there is none", all_are_decided)
        there = pods_of(wide, namespace)
        placed = {gang: sum("nodeName" in there[f"{gang}-{i}"]["spec"] for i in range(4)) for gang in "ab"}
        assert sum(placed.values()) == 4
        deadlocks += all(0 < count < 4 for count in placed.values())
        wide.kubectl("delete", "pods", "--all", "--namespace", namespace)
    wide.kubectl("delete", "nodes", "--selector", "pool=small")
    assert deadlocks >= 1


@pytest.mark.parametrize(
    ("gang_scheduler", "group", "pods"),
    [("gangplan", "podgroups.scheduling.x-k8s.io", 4), ("volcano", "podgroups.scheduling.volcano.sh", 0)],
)
def test_operator_makes_pod_groups_for_a_gang_scheduler(
    wide: Cluster, new_namespace: NewNamespace, gang_scheduler: str, group: str, pods: int
) -> None:
    """Volcano lets the pods come only when the group's turn has come; the other kind has them at once."""
    namespace = new_namespace(wide)
    wide.start_operator(gang_scheduler)
    create(wide, namespace, tfjob("job", ["sleep", "infinity"]))
    kind, _, domain = group.partition(".")
    version = {"gangplan": "v1alpha1", "volcano": "v1beta1"}[gang_scheduler]
    path = f"/apis/{domain}/{version}/namespaces/{namespace}/{kind}/job"
    wide.wait_until("the PodGroup is there", lambda: wide.admin.get(path))
    assert wide.admin.get(path)["spec"]["minMember"] == 4

    def all_pods_are_there() -> bool:
        if len(pods_of(wide, namespace)) == pods:
            return True
        # The operator looks for the group that it has made in a cache that may not have it yet; then it does nothing
        # until the job changes.
        wide.kubectl(
            "annotate", "tfjob", "job", f"looked-at={time.time()}", "--overwrite", "--namespace", namespace
        )
        return False

    wide.wait_until("the pods are there", all_pods_are_there)
    assert {item["spec"]["schedulerName"] for item in pods_of(wide, namespace).values()} <= {gang_scheduler}
    wide.start_operator()
