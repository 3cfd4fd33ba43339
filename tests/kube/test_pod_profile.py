"""Profiles: what pods are told for a kind of cluster, on the right role only; what is wrong with one is told at once."""

import copy
from importlib import resources

import pytest
from builders import tfjob

import gangplan as gp
from gangplan.kube.pod_profile import Profile, read_profile, told
from gangplan.kube.serverless import cloud_words

JOB = {"PS": {}, "Worker": {"replicas": 2}}
SHIPPED = ("ask-eci", "cce-cci", "virtual-kubelet")
TOLERATION = {"key": "virtual-kubelet.io/provider", "operator": "Exists"}
SPECS, CACHE = "k8s.aliyun.com/eci-use-specs", "k8s.aliyun.com/eci-image-cache"
BURST = "bursting.cci.io/burst-to-cci"


def shipped(name: str) -> Profile:
    return read_profile((resources.files("gangplan") / "profiles" / f"{name}.toml").read_text(), name)


def templates(manifest: dict) -> dict[str, dict]:
    return {kind: spec["template"] for kind, spec in manifest["spec"]["tfReplicaSpecs"].items()}


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_profile_lets_all_roles_on_virtual_nodes(name):
    job = tfjob("j", JOB)
    before = copy.deepcopy(job)
    for template in templates(told(job, shipped(name))).values():
        assert TOLERATION in template["spec"]["tolerations"]
    assert job == before, "the given manifest stays as it is"


def test_all_shipped_profiles_are_looked_at():
    files = (resources.files("gangplan") / "profiles").iterdir()
    assert sorted(file.name for file in files) == [f"{name}.toml" for name in SHIPPED]


def test_serverless_clusters_have_virtual_nodes_only_and_bursting_ones_both():
    only = templates(told(tfjob("j", JOB), shipped("ask-eci")))["PS"]["spec"]
    assert only["nodeSelector"] == {"type": "virtual-kubelet"}
    both = templates(told(tfjob("j", JOB), shipped("cce-cci")))["PS"]
    assert "nodeSelector" not in both["spec"]
    assert both["metadata"]["labels"] == {BURST: "auto"}


def test_words_of_a_role_are_on_the_pods_of_that_role_only():
    words = cloud_words(("ps", "worker"), eci_specs=["worker=ecs.gn7i-c8g1.2xlarge,4-8Gi"], bursts=["ps=off"])
    found = templates(told(tfjob("j", JOB), words))
    assert found["Worker"]["metadata"] == {"annotations": {SPECS: "ecs.gn7i-c8g1.2xlarge,4-8Gi"}}
    assert found["PS"]["metadata"] == {"labels": {BURST: "off"}}


def test_words_of_no_role_are_on_the_pods_of_all():
    words = cloud_words(("ps", "worker"), image_cache=True, bursts=["enforce", "worker=auto"])
    found = {kind: each["metadata"] for kind, each in templates(told(tfjob("j", JOB), words)).items()}
    assert {kind: each["annotations"] for kind, each in found.items()} == {
        kind: {CACHE: "true"} for kind in JOB
    }
    assert {kind: each["labels"][BURST] for kind, each in found.items()} == {
        "PS": "enforce",
        "Worker": "auto",
    }


def test_what_a_role_is_told_counts_more_than_what_all_are():
    text = '[all.labels]\nteam = "a"\nsize = "s"\n[worker.labels]\nteam = "b"\n'
    found = templates(told(tfjob("j", JOB), read_profile(text, "mine")))
    labels = {kind: each["metadata"]["labels"] for kind, each in found.items()}
    assert labels == {"PS": {"team": "a", "size": "s"}, "Worker": {"team": "b", "size": "s"}}


def test_flags_count_more_than_a_profile():
    text = f'[worker.annotations]\n"{SPECS}" = "2-4Gi"\nkept = "yes"\n'
    words = cloud_words(("ps", "worker"), eci_specs=["Worker=4-8Gi"]).over(read_profile(text, "mine"))
    (worker,) = (templates(told(tfjob("j", {"Worker": {}}), words)))["Worker"]["metadata"].values()
    assert worker == {SPECS: "4-8Gi", "kept": "yes"}


def test_a_manifest_that_says_something_else_is_not_overruled():
    job = tfjob("j", JOB)
    job["spec"]["tfReplicaSpecs"]["PS"]["template"]["spec"]["nodeSelector"] = {"type": "machine"}
    with pytest.raises(gp.InvalidInput, match="PS has type=machine in its nodeSelector already"):
        told(job, shipped("ask-eci"))


def test_what_a_manifest_has_already_is_not_written_twice():
    once = told(tfjob("j", JOB), shipped("ask-eci"))
    assert told(once, shipped("ask-eci")) == once


WRONG = """
description = 1
flavour = "x"
worker = "all"
[ps]
selector = {}
labels = { team = 1, "gangplan.dev/gang" = "mine", ok = "not a value!" }
annotations = "none"
tolerations = [{ key = "a", operator = "In" }, { operator = "Equal", values = "x" }, { operator = "Exists", value = "x" }]
[chief]
tolerations = { key = "a" }
[evaluator]
annotations = { "bad key !" = "any value !" }
node_selector = { zone = "a b", "x.org/y" = "" }
"""


def test_all_that_is_wrong_with_a_profile_is_told_at_its_path():
    with pytest.raises(gp.InvalidInput) as caught:
        read_profile(WRONG, "mine.toml")
    assert [problem.path for problem in caught.value.problems] == [
        "$.chief.tolerations",
        "$.description",
        '$.evaluator.annotations["bad key !"]',
        "$.evaluator.node_selector.zone",
        "$.flavour",
        "$.ps.annotations",
        "$.ps.labels.ok",
        "$.ps.labels.team",
        '$.ps.labels["gangplan.dev/gang"]',
        "$.ps.selector",
        "$.ps.tolerations[0].operator",
        "$.ps.tolerations[1].key",
        "$.ps.tolerations[1].values",
        "$.ps.tolerations[2].value",
        "$.worker",
    ]  # fmt: skip
    with pytest.raises(gp.InvalidInput, match="must be TOML"):
        read_profile("[", "mine.toml")


def test_flags_about_a_role_that_the_job_does_not_have_are_refused():
    with pytest.raises(gp.InvalidInput) as caught:
        cloud_words(
            ("ps", "worker"),
            eci_specs=["chief=2-4Gi", "gpu=2-4Gi", "worker", "worker=a", "worker=b"],
            bursts=["evaluator=auto", "always", "ps=sometimes", "auto", "off"],
        )
    told_of = [(problem.path, problem.message) for problem in caught.value.problems]
    assert [path for path, _ in told_of] == ["--cci-burst"] * 4 + ["--eci-spec"] * 4
    messages = " ".join(message for _, message in told_of)
    for text in (
        "'chief=2-4Gi' is about a role that the job does not have; it has ps, worker",
        "'gpu=2-4Gi' begins",
    ):
        assert text in messages
    assert messages.count("is given twice") == 2
