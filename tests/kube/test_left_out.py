"""What a run on one machine leaves out of a TFJob is said."""

from pathlib import Path
from typing import Any

import pytest
from builders import tfjob

from gangplan.kube.left_out import not_done_here
from gangplan.kube.manifest import GangRequest, RoleSize, training_job
from gangplan.kube.tfjob import read, write

SAMPLE = Path(__file__).parents[2] / "examples" / "mnist-tfjob.yaml"


def test_the_sample_says_which_role_misses_what():
    assert not_done_here(read(SAMPLE.read_text())) == (
        "Chief: volumes are not mounted (volume)",
        "PS: volumes are not mounted (volume)",
        "Worker: init containers are not run (wait-for-data, metrics)",
        "Worker: volumes are not mounted (volume)",
    )


def test_of_a_plain_job_nothing_is_left_out():
    assert not_done_here(read(write(tfjob(roles={"Worker": {"replicas": 2}, "PS": {}})))) == ()


def test_of_the_job_that_we_write_nothing_is_left_out():
    written = training_job(
        name="mnist",
        run_id="r",
        image="image",
        command=("python",),
        roles={"chief": RoleSize(replicas=1), "worker": RoleSize(replicas=2, gpus=1)},
        request=GangRequest(queue="q"),
        deadline_s=60,
        keep_s=60,
    )
    assert not_done_here(read(write(written))) == ()


def left_out(pod: dict[str, Any], container: dict[str, Any]) -> tuple[str, ...]:
    manifest = tfjob()
    spec = manifest["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    spec["containers"][0].update(container)
    spec["containers"] += pod.pop("others", [])
    spec.update(pod)
    return not_done_here(read(write(manifest)))


@pytest.mark.parametrize(
    ("pod", "container", "sentence"),
    [
        ({"others": [{"name": "logger"}]}, {}, "containers other than tensorflow are not run (logger)"),
        ({"initContainers": [{}]}, {}, "init containers are not run (unnamed)"),
        ({"volumes": [{"name": "v"}]}, {}, "volumes are not mounted (v)"),
        ({}, {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}, "volumes are not mounted (v)"),
        (
            {},
            {"env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {}}}]},
            "env valueFrom is not resolved (B)",
        ),
        ({}, {"envFrom": [{"secretRef": {"name": "s"}}]}, "envFrom is not resolved"),
        ({}, {"workingDir": "/code"}, "workingDir is not applied"),
        ({}, {"securityContext": {"runAsUser": 1}}, "securityContext is not applied"),
        ({"securityContext": {"runAsUser": 1}}, {}, "securityContext is not applied"),
        ({}, {"livenessProbe": {"exec": {}}}, "livenessProbe is not applied"),
    ],
)
def test_each_thing_that_is_left_out_is_said(pod, container, sentence):
    assert left_out(dict(pod), container) == (f"Worker: {sentence}",)


def test_empty_fields_ask_for_nothing():
    empty = {"volumeMounts": [], "env": [], "envFrom": [], "workingDir": "", "securityContext": {}}
    assert left_out({"initContainers": [], "volumes": None, "securityContext": {}}, empty) == ()
