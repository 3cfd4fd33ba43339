"""What a TFJob becomes when it is submitted, and what is refused before anything is asked for."""

import pytest
from builders import tfjob

import gangplan as gp
from gangplan.kube.enforce import pinned
from gangplan.kube.submission import submission

GATE = {"name": "gangplan.dev/placement"}


def submitted(**changed):
    job = tfjob("j", {"PS": {}, "Worker": {"replicas": 2}})
    for path, value in changed.items():
        *above, last = path.split("__")
        place = job
        for key in above:
            place = place.setdefault(key, {})
        place[last] = value
    return submission(job, namespace="team", run_id="run", now=5.0)


def test_its_gang_and_its_pods_belong_to_its_run():
    made = submitted(metadata__labels={"a": "b"})
    assert (made.gang.name, made.gang.namespace, made.gang.created) == ("team/j", "team", 5)
    assert made.manifest["metadata"]["labels"] == {
        "a": "b",
        "gangplan.dev/run-id": "run",
        "gangplan.dev/gang": "j",
    }
    for spec in made.manifest["spec"]["tfReplicaSpecs"].values():
        template = spec["template"]
        assert template["spec"]["schedulingGates"] == [GATE]
        assert template["metadata"]["labels"] == {
            "gangplan.dev/gang": "j",
            "gangplan.dev/run-id": "run",
            "sidecar.istio.io/inject": "false",
        }
        assert template["metadata"]["annotations"] == {"sidecar.istio.io/inject": "false"}


def test_the_namespace_of_the_file_wins():
    assert submitted(metadata__namespace="own").gang.name == "own/j"


WORKER = "spec__tfReplicaSpecs__Worker__template__"


@pytest.mark.parametrize(
    ("place", "value", "path"),
    [
        ("metadata__namespace", 5, "$.metadata.namespace"),
        (f"{WORKER}metadata", "x", "$.spec.tfReplicaSpecs.Worker.template.metadata"),
        (f"{WORKER}metadata__labels", ["a"], "$.spec.tfReplicaSpecs.Worker.template.metadata.labels"),
        (
            f"{WORKER}spec__schedulingGates",
            ["x"],
            "$.spec.tfReplicaSpecs.Worker.template.spec.schedulingGates",
        ),
        ("spec__runPolicy__suspend", True, "$.spec.runPolicy.suspend"),
        (
            f"{WORKER}spec__schedulerName",
            "volcano",
            "$.spec.tfReplicaSpecs.Worker.template.spec.schedulerName",
        ),
    ],
)
def test_what_cannot_be_submitted_is_named(place, value, path):
    with pytest.raises(gp.InvalidInput) as caught:
        submitted(**{place: value})
    assert [problem.path for problem in caught.value.problems] == [path]


def test_a_pod_keeps_its_own_wishes_beside_its_node():
    own = {"key": "gpu", "operator": "In", "values": ["a100"]}
    terms = [{"matchExpressions": [own]}, {"matchExpressions": []}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    gates = [{"name": "other"}, GATE]
    pod = {
        "metadata": {"uid": "u", "resourceVersion": "7"},
        "spec": {"schedulingGates": gates, "affinity": {"nodeAffinity": required}},
    }
    patch = pinned(pod, "n1")
    there = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    narrowed = [{**term, "matchFields": [there]} for term in terms]
    assert patch["metadata"] == {
        "uid": "u",
        "resourceVersion": "7",
        "annotations": {"gangplan.dev/node": "n1"},
    }
    assert patch["spec"]["schedulingGates"] == [{"name": "other"}]
    (found,) = patch["spec"]["affinity"]["nodeAffinity"].values()
    assert found == {"nodeSelectorTerms": narrowed}
