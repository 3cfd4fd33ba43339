"""A job that flags describe, as a user submits it: shown on a modelled server, told by flags where it is wrong."""

import json
import re

import pytest
import yaml
from cli.clusters import Commands, new_server

from gangplan.kube.kinds import GANG

MINIMAL = ("submit", "--name", "mnist", "--image", "trainer:1", "--workers", "2", "--dry-run")


@pytest.fixture
def cluster(monkeypatch, tmp_path) -> Commands:
    """Two nodes with four GPUs and eight cores each."""
    monkeypatch.chdir(tmp_path)
    commands = Commands(new_server(), monkeypatch)
    for node in ("n1", "n2"):
        commands.add_node(node, rack="r1")
    return commands


def shown(cluster: Commands, command: str, *words: str) -> dict:
    return json.loads(cluster(command, "-o", "json", *words).stdout)


def test_a_job_has_what_its_flags_say(cluster):
    cluster.add_queue("research")
    words = "--workers 2 --worker-gpus 1 --worker-cpu 2 --worker-memory 3Gi --worker-image gpu:1 --ps 1 --ps-cpu 500m"
    words += " --queue research --priority 3 --env A=B --env C=$(A)=x --deadline 60 --keep 5 --required node"
    run = ("--", "python", "train.py", "--epochs", "3", "$(HOME)")
    answer = shown(
        cluster, "submit", "--name", "mnist", "--image", "cpu:1", *words.split(), "--dry-run", *run
    )
    manifest = answer["manifest"]
    assert manifest["spec"]["runPolicy"] == {
        "cleanPodPolicy": "Running",
        "ttlSecondsAfterFinished": 5,
        "activeDeadlineSeconds": 60,
        "backoffLimit": 0,
    }
    assert manifest["metadata"]["annotations"] == {
        "gangplan.dev/queue": "research",
        "gangplan.dev/priority": "3",
        "gangplan.dev/required-level": "node",
    }
    specs = manifest["spec"]["tfReplicaSpecs"]
    assert {kind: spec["replicas"] for kind, spec in specs.items()} == {"PS": 1, "Worker": 2}
    (worker,), (ps,) = (specs[kind]["template"]["spec"]["containers"] for kind in ("Worker", "PS"))
    assert (worker["image"], ps["image"]) == ("gpu:1", "cpu:1")
    assert worker["resources"] == {
        "requests": {"cpu": "2", "memory": "3Gi"},
        "limits": {"nvidia.com/gpu": "1"},
    }
    assert ps["resources"]["requests"]["cpu"] == "500m"
    assert worker["command"] == ["python", "train.py", "--epochs", "3", "$$(HOME)"], "taken literally"
    assert worker["env"] == [{"name": "A", "value": "B"}, {"name": "C", "value": "$$(A)=x"}]
    assert {len(nodes) for nodes in answer["placement"].values()} == {1, 2}
    assert len({node for nodes in answer["placement"].values() for node in nodes}) == 1
    assert cluster.server.list(GANG).items == ()


def test_what_is_left_out_has_its_default(cluster):
    manifest = shown(cluster, *MINIMAL)["manifest"]
    assert manifest["spec"]["runPolicy"]["ttlSecondsAfterFinished"] == 86_400
    assert "activeDeadlineSeconds" not in manifest["spec"]["runPolicy"]
    (container,) = manifest["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    assert container["resources"]["requests"] == {"cpu": "250m", "memory": "512Mi"}
    assert {"command", "env"}.isdisjoint(container), "the image says what is run"


def test_the_names_of_roles_are_flags(cluster):
    words = ("--chief", "1", "--chief-gpus", "1", "--evaluator", "1", "--evaluator-image", "e")
    specs = shown(cluster, *MINIMAL, *words)["manifest"]["spec"]["tfReplicaSpecs"]
    assert set(specs) == {"Chief", "Worker", "Evaluator"}
    (evaluator,) = specs["Evaluator"]["template"]["spec"]["containers"]
    assert evaluator["image"] == "e"


def problems(told: str) -> dict[str, str]:
    """Flag → what is wrong with it."""
    return dict(re.findall(r"^  (\S+): (.*)$", told, re.MULTILINE))


def test_everything_that_is_wrong_is_told_at_once_with_its_flag(cluster):
    words = (
        "submit", "--name", "Mnist_1", "--workers", "2", "--worker-cpu", "many", "--chief", "2", "--ps-cpu", "1",
        "--env", "novalue", "--worker-memory", "-1", "--priority", "12345678901", "--dry-run",
        "--volume", "data",
    )  # fmt: skip
    told = cluster(*words, code=3).stderr
    assert "the job from flags: " in told
    found = problems(told)
    assert set(found) == {
        "--name", "--image", "--worker-cpu", "--worker-memory", "--chief", "--ps-cpu", "--env", "--priority",
        "--volume",
    }  # fmt: skip
    assert found["--image"] == "must be given"
    assert "at most one chief, not 2" in found["--chief"]
    assert found["--ps-cpu"] == "goes with --ps, of which there is none: give --ps"
    assert "Mnist_1" in found["--name"]
    assert "$." not in told


def test_a_job_of_nobody_is_refused(cluster):
    found = problems(cluster("submit", "--image", "i", "--workers", "0", "--dry-run", code=3).stderr)
    assert set(found) == {"--name", "--workers"}
    assert "give --workers, --ps, --chief, --evaluator" in found["--workers"]


def test_a_name_that_is_too_long_with_its_suffix_is_told(cluster):
    words = ("submit", "--name", "a" * 55, "--image", "i", "--workers", "2", "--dry-run")
    found = problems(cluster(*words, code=3).stderr)
    assert found["--name"].endswith("would be longer than 63 characters: shorten the job's name")


def test_volumes_are_mounted_by_every_replica(cluster):
    cluster.add_claim("data")
    specs = shown(cluster, *MINIMAL, "--ps", "1", "--volume", "data:/data")["manifest"]["spec"]
    for spec in specs["tfReplicaSpecs"].values():
        (container,) = spec["template"]["spec"]["containers"]
        assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/data"]
    found = problems(cluster(*MINIMAL, "--volume", "nosuch:/data", code=3).stderr)
    assert "there is no claim nosuch in namespace default" in found["--volume"]
    cluster.add_claim("late", phase="Pending")
    found = problems(cluster(*MINIMAL, "--volume", "late:/data", code=3).stderr)
    assert found["--volume"].startswith("the claim late is not bound")
    assert "--volume: must be the name of a claim" in cluster(*MINIMAL, "--volume", "data", code=3).stderr


def test_a_file_and_flags_do_not_go_together(cluster):
    told = cluster("submit", "job.yaml", "--queue", "research", code=2).stderr
    assert "does not go with --queue" in " ".join(told.split())
    assert "needs a file" in cluster("submit", code=2).stderr
    assert "needs a file" in cluster("submit", "a.yaml", "b.yaml", code=2).stderr


def test_a_file_that_is_no_text_is_told(cluster, tmp_path):
    (tmp_path / "job.yaml").write_bytes(b"\xff\xfe: [")
    assert "job.yaml: 1 problem" in cluster("submit", "job.yaml", code=3).stderr
    assert "nosuch.yaml: No such file" in cluster("submit", "nosuch.yaml", code=3).stderr


def test_a_file_may_come_from_stdin(cluster):
    manifest = yaml.safe_dump(shown(cluster, *MINIMAL)["manifest"])
    done = cluster.run("submit", "-", "--dry-run", stdin=manifest)
    assert done.exit_code == 0, done.output
    assert "default/mnist may start" in done.stdout
    done = cluster.run("submit", "-", "--dry-run", stdin=f"{manifest}---\n{manifest}")
    assert done.exit_code == 3
    assert "stdin: 1 problem" in done.stderr
    assert "document" in done.stderr
