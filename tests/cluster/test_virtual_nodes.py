"""A serverless job on a virtual node: a real server and scheduler, and a node behind which nobody is."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from cluster.bed.kwok import fake_node
from cluster.bed.outside import Cluster
from cluster.objects import pods_of
from cluster.submissions import Submitter, gangs_of, install
from gangplan.cli.main import app

EXAMPLE = Path(__file__).parents[2] / "examples" / "serverless-mnist-tfjob.yaml"
CLOUD = "cloud"


@pytest.fixture
def cluster(wide: Cluster) -> Iterator[Cluster]:
    """A hundred machines, and a virtual node for the time of the test."""
    install(wide)
    node = fake_node(CLOUD, gpus=1000, cpu="10000", memory="40Ti", labels={"type": "virtual-kubelet"})
    taint = {"key": "virtual-kubelet.io/provider", "value": "alibabacloud", "effect": "NoSchedule"}
    wide.add_fake_nodes([node | {"spec": {"taints": [taint]}}])
    yield wide
    wide.kubectl("delete", "node", CLOUD)


def test_a_serverless_job_lies_whole_in_the_cloud_with_its_words_on_the_right_pods(
    cluster: Cluster, new_namespace: Callable[[Cluster], str]
) -> None:
    """The machines have room, too. What its pods are told goes through the server and the operator as it was written."""
    namespace = new_namespace(cluster)
    whose = ("-n", namespace, "--kubeconfig", str(cluster.kubeconfig()))
    volume = ("storage", "nfs", "training-data", "--server", "files", "--path", "/training", "--apply")
    made = CliRunner().invoke(app, [*volume, *whose])
    assert made.exit_code == 0, made.output
    with Submitter(cluster.kubeconfig()) as submit:
        run = submit(namespace, yaml.safe_load(EXAMPLE.read_text()))
        _, err = run.communicate(timeout=90)
    assert run.returncode == 0, err
    pods = pods_of(cluster, namespace)
    assert {pod["spec"]["nodeName"] for pod in pods.values()} == {CLOUD}
    specs = {
        name.removeprefix("serverless-mnist-"): pod["metadata"]["annotations"]["k8s.aliyun.com/eci-use-specs"]
        for name, pod in pods.items()
    }
    gpu = "ecs.gn7i-c8g1.2xlarge"
    assert specs == {"ps-0": "2-4Gi", "chief-0": gpu, "worker-0": gpu, "worker-1": gpu}
    assert gangs_of(cluster, namespace)["serverless-mnist"]["phase"] == "Bound"
    cluster.kubectl("delete", "tfjob", "serverless-mnist", "-n", namespace, "--wait=false")
    cluster.kubectl("delete", "gang", "serverless-mnist", "-n", namespace, "--wait=false")
