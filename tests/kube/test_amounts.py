"""Amounts that Kubernetes refuses: fractions of devices, and requests that their limits do not allow."""

from typing import Any

import pytest
from builders import tfjob

import gangplan as gp
from gangplan.kube.tfjob import read, write

POD = "$.spec.tfReplicaSpecs.Worker.template.spec"
GPU = "nvidia.com/gpu"


def problems(field: str = "containers", **resources: Any) -> dict[str, str]:
    """Path inside the resources of a container → code, for a job whose container has these resources."""
    manifest = tfjob()
    pod = manifest["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    pod.setdefault(field, [{"name": "first"}])[0]["resources"] = resources
    try:
        read(write(manifest))
    except gp.InvalidInput as error:
        return {item.path.removeprefix(f"{POD}.{field}[0].resources."): item.code for item in error.problems}
    return {}


@pytest.mark.parametrize("field", ["containers", "initContainers"])
@pytest.mark.parametrize("amount", [1.5, "1500m", "0.1", "1u"])
def test_a_fraction_of_a_device_is_refused(field, amount):
    for kind in ("requests", "limits"):
        assert problems(field, **{kind: {GPU: amount}}) == {f'{kind}["{GPU}"]': "BAD_QUANTITY"}


@pytest.mark.parametrize("amount", [0, 2, 2.0, "2000m", "1k"])
def test_whole_devices_are_accepted_however_they_are_written(amount):
    assert problems(requests={GPU: amount}, limits={GPU: amount}) == {}
    assert problems(limits={GPU: amount}) == {}


def test_a_fraction_of_a_device_is_refused_as_overhead_too():
    manifest = tfjob()
    manifest["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["overhead"] = {GPU: "0.5", "cpu": "0.5"}
    with pytest.raises(gp.InvalidInput) as caught:
        read(write(manifest))
    assert [item.path for item in caught.value.problems] == [f'{POD}.overhead["{GPU}"]']


@pytest.mark.parametrize("field", ["containers", "initContainers"])
@pytest.mark.parametrize(
    ("resource", "request_", "limit", "refused"),
    [
        ("cpu", "2", "1", True),
        ("cpu", "1001m", 1, True),
        ("cpu", "1000m", 1, False),
        ("cpu", "1", "2", False),
        ("memory", "1Gi", "1G", True),
        ("memory", "1G", "1Gi", False),
        (GPU, 2, 1, True),
        (GPU, 1, 2, True),
        (GPU, "1", 1, False),
        ("hugepages-2Mi", "2Mi", "4Mi", True),
        ("hugepages-2Mi", "4Mi", "4096Ki", False),
    ],
)
def test_a_request_is_at_most_its_limit_and_equal_where_nothing_is_overcommitted(
    field, resource, request_, limit, refused
):
    place = f'requests["{resource}"]' if "/" in resource else f"requests.{resource}"
    found = problems(field, requests={resource: request_}, limits={resource: limit})
    assert found == ({place: "CONTRADICTION"} if refused else {})


def test_an_amount_that_cannot_be_read_is_named_once():
    assert problems(requests={GPU: "x"}, limits={GPU: 1}) == {f'requests["{GPU}"]': "BAD_QUANTITY"}
    assert problems(requests={"cpu": "2"}, limits={"cpu": None}) == {"limits.cpu": "WRONG_TYPE"}
