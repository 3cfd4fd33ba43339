"""What a shell offers when Tab is pressed, on a modelled server and on this machine."""

import sys
import threading

import pytest
import yaml
from apimodel.server import Fault
from builders import gang, role
from cli.clusters import Commands, new_server
from typer.testing import CliRunner

import gangplan.kube.client
from gangplan.cli import completion
from gangplan.cli.main import app
from gangplan.errors import Unreachable
from gangplan.kube.doctor.checks import MATTERS, checks
from gangplan.local.store import LocalStore
from gangplan.pipeline import all_packaged, packaged, parameters
from gangplan.record import Reservation, enter, new

N = ("-n", "default")


@pytest.fixture
def cluster(monkeypatch, tmp_path) -> Commands:
    """A gang in each phase, in two namespaces; two queues; claims; a node with GPUs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GANGPLAN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    commands = Commands(new_server("team"), monkeypatch)
    commands.add_node("n1")
    commands.add_queue("research")
    commands.add_queue("teaching")
    commands.add_claim("training")
    bound = {"at": "2026-01-01T00:00:01Z", "phase": "Bound", "reason": ""}
    for name, workers in (("runs", 2), ("waits", 4), ("aside", 1), ("over", 1)):
        commands.add_gang(name, workers)
    placement = {"placement": {"worker": ["n1", "n1"]}}
    commands.set_status("runs", phase="Bound", reservation=placement, history=[bound])
    commands.set_status("aside", phase="Suspended", history=[bound])
    commands.set_status("over", phase="Finished", outcome="Failed", history=[bound])
    commands.add_gang("waits", 1, namespace="team")
    return commands


def complete(*line: str) -> list[str]:
    """What a shell is told when Tab is pressed at the end of a line; nothing else is said."""
    words = {"COMP_WORDS": "\n".join(["gangplan", *line]), "COMP_CWORD": str(len(line))}
    asked = {**words, "_GANGPLAN_COMPLETE": "complete_bash"}
    done = CliRunner().invoke(app, [], prog_name="gangplan", env=asked)
    assert done.stderr == ""
    return done.stdout.split()


def test_gangs_are_those_of_the_cluster_that_is_meant(cluster, monkeypatch, tmp_path):
    assert complete("get", "ru") == [], "this machine has none"
    assert not (tmp_path / "home").exists(), "who only presses Tab leaves nothing behind"
    assert complete("get", *N, "") == ["aside", "over", "runs", "waits"]
    assert complete("get", "-n", "team", "w") == ["waits"]
    monkeypatch.setenv("GANGPLAN_CLUSTER", "kubernetes")
    assert complete("logs", "ru") == ["runs"]
    assert complete("delete", "default/w") == ["default/waits"]


def test_gangs_are_those_that_the_command_can_be_meant_for(cluster):
    assert complete("suspend", *N, "") == ["runs", "waits"]
    assert complete("resume", *N, "") == ["aside"]
    assert complete("explain", *N, "") == ["aside", "runs", "waits"]
    assert complete("tensorboard", *N, "") == ["aside", "over", "runs"]
    assert complete("delete", *N, "runs", "") == ["aside", "over", "waits"], "runs was typed already"


def test_gangs_of_this_machine_can_be_suspended_while_they_wait(cluster, tmp_path):
    store = LocalStore(tmp_path / "home" / "store.sqlite")
    waits = store.create(new(gang("waits", role(replicas=2)), uid="1", run_id="r", now=1.0))
    held = {"worker": ("n", "n")}
    runs = store.create(new(gang("runs", role(replicas=2)), uid="2", run_id="s", now=1.0))
    reserved = Reservation(placement=held, expires_at=None)
    store.update(enter(runs, "Reserved", now=2.0, reason="", reservation=reserved))
    assert complete("suspend", "") == [waits.name]
    assert complete("get", "") == ["runs", "waits"]
    assert complete("logs", "runs", "") == ["worker-0", "worker-1"]


def test_replicas_are_those_of_the_gang_that_was_typed(cluster):
    assert complete("logs", *N, "runs", "") == ["worker-0", "worker-1"]
    assert complete("logs", "team/waits", "") == ["worker-0"]
    assert complete("logs", *N, "nosuch", "") == []


@pytest.mark.parametrize(
    "line",
    [
        ("queue", "get"),
        ("queue", "set"),
        ("queue", "set", "mine", "--parent"),
        ("submit", "--queue"),
        ("doctor", "--queue"),
    ],
    ids=" ".join,
)
def test_queues_are_offered(cluster, line):
    assert complete(*line, "") == ["research", "teaching"]
    assert complete(*line, "t") == ["teaching"]


def test_claims_are_offered_where_one_is_mounted_with_the_beginning_of_a_path(cluster):
    assert complete("storage", "check", "") == complete("doctor", "--volume", "tr") == ["training"]
    assert complete("storage", "check", "-n", "team", "") == []
    assert complete("submit", "--volume", "") == ["training:/"]
    assert complete("tensorboard", "mnist", "--volume", "t") == ["training:/"]


def test_profiles_are_those_that_come_with_gangplan_and_those_of_the_user(cluster, tmp_path):
    for folder in (tmp_path / "profiles", tmp_path / "config" / "gangplan" / "profiles"):
        folder.mkdir(parents=True)
    (tmp_path / "profiles" / "ours.toml").touch()
    (tmp_path / "config" / "gangplan" / "profiles" / "mine.toml").touch()
    assert complete("submit", "--profile", "") == ["ask-eci", "cce-cci", "mine", "ours", "virtual-kubelet"]


def test_checks_of_doctor_are_offered_with_what_they_tell_of(cluster):
    assert complete("doctor", "--skip", "") == sorted([*checks(""), *MATTERS])


def test_resources_are_those_that_nodes_have(cluster, tmp_path):
    assert complete("top", "nodes", "-A", "--resource", "") == ["cpu", "memory", "nvidia.com/gpu", "pods"]
    assert complete("top", "queues", "--resource", "c") == ["cpu"], "of this machine"
    (tmp_path / "s.yaml").write_text(yaml.safe_dump({"nodes": [{"name": "a", "allocatable": {"tpu": "4"}}]}))
    assert complete("top", "nodes", "-f", "s.yaml", "--resource", "") == ["tpu"]


@pytest.mark.parametrize(
    "line",
    [
        ("run",),
        ("pipeline", "run"),
        ("pipeline", "upload"),
        ("pipeline", "schedule"),
        ("pipeline", "compile"),
    ],
    ids=" ".join,
)
def test_pipelines_are_those_that_the_package_carries(cluster, line):
    assert complete(*line, "") == [file.stem for file in all_packaged()]
    assert complete(*line, "tr") == ["train"]


@pytest.mark.parametrize(
    "line",
    [("run", "--local"), ("pipeline", "run"), ("pipeline", "run", "train"), ("pipeline", "smoke")],
    ids=" ".join,
)
def test_parameters_are_those_of_the_pipeline_with_the_values_of_a_choice(cluster, line):
    known = [f"{name}=" for name in parameters(packaged("train")) if name.startswith("role_worker")]
    assert complete(*line, "-p", "role_worker") == sorted(known)
    assert "train_strategy=mirrored" in complete(*line, "-p", "train_strategy=")
    assert complete(*line, "-p", "train_strategy=m") == ["train_strategy=mirrored"]
    assert complete(*line, "-p", "nosuch=") == []


@pytest.mark.parametrize("line", [("run", "--local", "sweep"), ("pipeline", "run", "sweep")], ids=" ".join)
def test_parameters_are_those_of_the_pipeline_that_was_named(cluster, line):
    assert complete(*line, "-p", "sweep_m") == ["sweep_metric="]
    assert complete(*line, "-p", "sweep_metric=l") == ["sweep_metric=loss"]


ON_A_CLUSTER = [
    ("get", *N),
    ("logs", *N, "runs"),
    ("queue", "get"),
    ("storage", "check"),
    ("submit", "--volume"),
    ("top", "nodes", "-A", "--resource"),
]


@pytest.mark.parametrize("line", ON_A_CLUSTER, ids=" ".join)
def test_nothing_is_offered_or_said_where_the_cluster_cannot_be_reached(cluster, line):
    cluster.server.faults = lambda _: Fault(error=Unreachable)
    assert complete(*line, "") == []


@pytest.mark.parametrize("line", ON_A_CLUSTER, ids=" ".join)
def test_nothing_is_offered_or_said_where_the_cluster_takes_too_long(cluster, monkeypatch, line):
    monkeypatch.setattr(completion, "LONGEST_S", 0.05)
    stuck = threading.Event()

    def connect(**_: object) -> None:
        sys.stderr.write("Retrying\n")
        stuck.wait()

    monkeypatch.setattr(gangplan.kube.client, "connect", connect)
    assert complete(*line, "") == []
    stuck.set()
