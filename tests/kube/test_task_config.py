"""What is set on a step, put into the manifest of its replicas; what the pages of Kubeflow are told of TensorBoard."""

from pathlib import PurePosixPath
from types import SimpleNamespace

import pytest
import yaml
from runs import job, python

from gangplan.errors import InvalidInput
from gangplan.kube.task_config import configured, see_that_it_keeps_the_place
from gangplan.kube.tensorboard_metadata import viewer_metadata
from gangplan.kube.tfjob import read
from gangplan.kube.volumes import mounted, parse_mounts

PARTS = ("resources", "env", "volumes", "volume_mounts", "node_selector", "tolerations", "affinity")


def config(**parts):
    return SimpleNamespace(**dict.fromkeys(PARTS) | parts)


def manifest(**roles):
    return read(job(**roles))


def pods(made):
    return {kind: spec["template"]["spec"] for kind, spec in made["spec"]["tfReplicaSpecs"].items()}


THREE = {"Chief": python("pass"), "PS": python("pass"), "Worker": (python("pass"), 4)}


@pytest.mark.parametrize("nothing", [None, config()])
def test_nothing_set_changes_nothing(nothing):
    given = manifest(**THREE)
    assert configured(given, nothing) == given


def test_sizes_are_for_the_workers_and_all_else_for_every_replica():
    secret = {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}}
    found = pods(
        configured(
            manifest(**THREE),
            config(
                resources={"limits": {"nvidia.com/gpu": "2", "cpu": "4"}, "requests": {"cpu": "3"}},
                env=[secret],
                volumes=[{"name": "cache", "emptyDir": {}}],
                volume_mounts=[{"name": "cache", "mountPath": "/cache"}],
                node_selector={"pool": "a100"},
                tolerations=[{"key": "gpu", "operator": "Exists"}],
                affinity={"podAffinity": {}},
            ),
        )
    )
    for pod in found.values():
        (container,) = pod["containers"]
        assert container["env"] == [secret]
        assert container["volumeMounts"] == [{"name": "cache", "mountPath": "/cache"}]
        assert pod["volumes"] == [{"name": "cache", "emptyDir": {}}]
        assert pod["nodeSelector"] == {"pool": "a100"}
        assert pod["tolerations"] == [{"key": "gpu", "operator": "Exists"}]
        assert pod["affinity"] == {"podAffinity": {}}
    sizes = {kind: pod["containers"][0]["resources"] for kind, pod in found.items()}
    assert sizes["Worker"]["requests"] == {"cpu": "3", "nvidia.com/gpu": "2"}
    assert sizes["Worker"]["limits"] == {"cpu": "4", "nvidia.com/gpu": "2"}
    assert sizes["PS"] == sizes["Chief"] == {"requests": {"cpu": "100m"}}


def test_without_workers_the_chief_has_the_sizes():
    found = pods(configured(manifest(Chief=python("pass")), config(resources={"limits": {"memory": "8Gi"}})))
    assert found["Chief"]["containers"][0]["resources"]["requests"]["memory"] == "8Gi"


def test_what_is_said_twice_alike_is_no_contradiction_and_otherwise_every_one_is_told():
    own = yaml.safe_load(job(Worker=python("pass")))
    pod = own["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    pod |= {"nodeSelector": {"zone": "a"}, "tolerations": [{"key": "gpu"}]}
    pod["containers"][0]["env"] = [{"name": "MODE", "value": "fast"}]
    given = read(yaml.safe_dump(own))
    same = config(
        node_selector={"zone": "a"}, env=[{"name": "MODE", "value": "fast"}], tolerations=[{"key": "gpu"}]
    )
    assert configured(given, same) == given
    other = config(node_selector={"zone": "b"}, env=[{"name": "MODE", "value": "slow"}])
    with pytest.raises(InvalidInput) as caught:
        configured(given, other)
    assert [problem.path for problem in caught.value.problems] == [
        "$.spec.tfReplicaSpecs.Worker.template.spec"
    ] * 2
    assert {problem.message.partition(" is set")[0] for problem in caught.value.problems} == {
        "env: MODE",
        "nodeSelector: zone",
    }


def test_a_volume_of_the_step_and_the_shared_one_may_be_the_same_claim():
    """The step mounts the shared volume too, and hands that on."""
    step = config(
        volumes=[{"name": "training", "persistentVolumeClaim": {"claimName": "training"}}],
        volume_mounts=[{"name": "training", "mountPath": "/training"}],
    )
    made = mounted(configured(manifest(Worker=python("pass")), step), parse_mounts(["training:/training"]))
    assert pods(made)["Worker"]["volumes"] == step.volumes


def test_a_claim_that_is_there_by_another_name_is_not_mounted_twice():
    """So it comes to launch_tfjob, whose manifest has the shared volume already."""
    has = mounted(manifest(Worker=python("pass")), parse_mounts(["training:/training"]))
    step = config(
        volumes=[
            {"name": "training", "persistentVolumeClaim": {"claimName": "training"}},
            {"name": "keys", "secret": {"secretName": "keys"}},
        ],
        volume_mounts=[
            {"name": "training", "mountPath": "/training"},
            {"name": "keys", "mountPath": "/keys"},
        ],
    )
    before, after = pods(has)["Worker"], pods(configured(has, step))["Worker"]
    assert after["volumes"] == [*before["volumes"], {"name": "keys", "secret": {"secretName": "keys"}}]
    (container,) = after["containers"]
    assert [item["mountPath"] for item in container["volumeMounts"]] == ["/training", "/keys"]


def test_what_decides_where_a_gang_has_room_is_refused_after_it_was_admitted():
    see_that_it_keeps_the_place(None)
    see_that_it_keeps_the_place(config(env=[{"name": "A", "value": "b"}]))
    with pytest.raises(InvalidInput) as caught:
        see_that_it_keeps_the_place(
            config(resources={"limits": {"cpu": "4"}}, node_selector={"pool": "a"}, tolerations=[])
        )
    assert [problem.path for problem in caught.value.problems] == ["resources", "node selector"]
    assert "on the step admit" in str(caught.value)


def test_tensorboard_gets_the_volume_that_the_events_are_on():
    job_of_two = mounted(
        manifest(Worker=python("pass")), parse_mounts(["all:/training", "mine:/training/mine"])
    )
    (told,) = viewer_metadata(job_of_two, PurePosixPath("/training/mine/j/events"))["outputs"]
    (volume,) = told["pod_template_spec"]["spec"]["volumes"]
    assert volume["persistentVolumeClaim"] == {"claimName": "mine"}
    assert told["source"] == f"volume://{volume['name']}/j/events"
    (container,) = told["pod_template_spec"]["spec"]["containers"]
    assert container["volumeMounts"] == [{"name": volume["name"], "mountPath": "/training/mine"}]


def test_tensorboard_is_told_a_path_where_there_is_no_volume():
    (told,) = viewer_metadata(manifest(Worker=python("pass")), PurePosixPath("/somewhere/events"))["outputs"]
    assert told == {"type": "tensorboard", "source": "/somewhere/events"}
