"""Commands as a user types them: results on stdout, errors on stderr, exit codes as documented."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from builders import gang, node, racks, role, snapshot, tfjob
from runs import GANGPLAN, environment, gangplan, job, python, train
from typer.testing import CliRunner

import gangplan as gp
from gangplan.cli.main import app
from gangplan.kube.tfjob import write

COMMANDS = (
    "run", "submit", "solve", "explain", "check", "list", "get", "logs", "delete", "demo", "demo deadlock", "demo affinity",
    "demo all", "version", "snapshot", "snapshot take", "snapshot show", "snapshot diff", "queue", "queue list", "queue get", "queue set",
    "suspend", "resume", "prune", "reap", "top", "top nodes", "top jobs", "top queues",
)  # fmt: skip


@pytest.fixture
def cluster(tmp_path) -> Path:
    """Two racks of 4 GPUs: one gang fits, one never can, one must wait for the first."""
    fits = gang("fits", role(replicas=4, gpus=1), required="rack", created=1)
    huge = gang("huge", role(replicas=9, gpus=1), created=2)
    waits = gang("waits", role("ps"), role(replicas=5, gpus=1), created=3)
    path = tmp_path / "cluster.yaml"
    gp.dump(snapshot(fits, huge, waits, nodes=racks(2, 2, gpus=2)), path)
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_complete_and_has_an_example(tmp_path, command):
    done = gangplan(tmp_path, *command.split(), "--help")
    assert done.returncode == 0
    assert "Usage:" in done.stdout
    if command not in {"demo", "snapshot", "queue", "top"}:
        assert f"Example: gangplan {command}" in re.sub(r"\s+", " ", done.stdout)


def test_solve_places_and_refuses(tmp_path, cluster):
    done = gangplan(tmp_path, "solve", str(cluster), "-o", "json")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert set(plan["placements"]) == {"fits"}
    assert set(plan["rejections"]) == {"huge", "waits"}
    assert gangplan(tmp_path, "solve", str(cluster), "--require-all").returncode == 1


def test_stdin_may_be_yaml(tmp_path, cluster):
    text = cluster.read_text()
    told = gangplan(tmp_path, "solve", "-", "-o", "json", stdin=text)
    assert told.returncode == 0, told.stderr
    assert told.stdout == gangplan(tmp_path, "solve", str(cluster), "-o", "json").stdout
    wrong = gangplan(tmp_path, "solve", "-", stdin="nodes: [}")
    assert (wrong.returncode, "stdin: 1 problem" in wrong.stderr) == (3, True), wrong.stderr


def test_explain_decides_by_the_same_options_as_solve(tmp_path):
    waits = {"created": 1, "preemptible": False}
    role = {"name": "w", "requests": {"gpu": "1"}}
    snapshot = {
        "nodes": [{"name": "n", "allocatable": {"gpu": "4"}}],
        "running": [{"name": "other", "node": "n", "requests": {"gpu": "2"}, "ends_s": 50}],
        "gangs": [
            {"name": "head", "roles": [role | {"replicas": 4}]},
            {"name": "small", "roles": [role | {"replicas": 2}]} | waits,
        ],
    }
    file, options = tmp_path / "snapshot.json", tmp_path / "options.yaml"
    file.write_text(json.dumps(snapshot))
    options.write_text("bypass: earmark\n")
    table = gangplan(tmp_path, "solve", str(file), "--options", str(options)).stdout
    assert "ROOM_KEPT" in table
    assert "room is kept for it on n, where it starts in 50 s" in " ".join(table.split())
    told = gangplan(tmp_path, "explain", "small", "-f", str(file), "--options", str(options)).stdout
    assert "fits only into room that is kept for head" in told
    assert "may start" in gangplan(tmp_path, "explain", "small", "-f", str(file)).stdout
    assert gangplan(tmp_path, "explain", "--options", str(options)).returncode == 2


def test_solve_reads_stdin_and_writes_a_plan_that_check_accepts(tmp_path, cluster):
    plan = tmp_path / "plan.yaml"
    done = gangplan(
        tmp_path, "solve", "-", "--out", str(plan), stdin=json.dumps(yaml.safe_load(cluster.read_text()))
    )
    assert done.returncode == 0, done.stderr
    assert "fits" in done.stdout
    checked = gangplan(tmp_path, "check", str(cluster), str(plan))
    assert (checked.returncode, checked.stdout) == (0, "the plan keeps every rule\n")


@pytest.mark.parametrize("command", ["solve", "run", "delete", "bench", "suspend", "resume", "prune", "reap"])
def test_every_command_that_writes_has_a_dry_run(tmp_path, command):
    assert "--dry-run" in gangplan(tmp_path, command, "--help").stdout


def test_a_dry_run_of_solve_shows_the_plan_and_leaves_the_file_as_it_was(tmp_path, cluster):
    plan = tmp_path / "plan.json"
    plan.write_text("old")
    words = ["solve", str(cluster), "--out", str(plan), "--dry-run", "-o", "json"]
    done = gangplan(tmp_path, *words)
    assert (done.returncode, done.stderr) == (0, f"the plan would be written to {plan}\n")
    assert set(json.loads(done.stdout)["placements"]) == {"fits"}
    assert plan.read_text() == "old"


def test_a_dry_run_of_bench_names_the_files_and_writes_none(tmp_path):
    words = ["bench", "--write", str(tmp_path / "workloads"), "--only", "W1-1250"]
    told = gangplan(tmp_path, *words, "--dry-run").stdout
    assert told == f"{tmp_path}/workloads/W1-1250.json would be written\n"
    assert not (tmp_path / "workloads").exists()
    assert gangplan(tmp_path, *words).stdout == told.replace(" would be written", "")


@pytest.mark.parametrize("words", [("solve", "FILE"), ("explain", "-f", "FILE", "g"), ("bench", "FILE")])
def test_a_file_that_is_not_there_is_named(tmp_path, words):
    file = str(tmp_path / "nowhere.yaml")
    done = gangplan(tmp_path, *(file if word == "FILE" else word for word in words))
    assert (done.returncode, done.stderr) == (3, f"error: {file}: No such file or directory\n")


def test_a_plan_for_a_folder_that_is_not_there_names_the_plan(tmp_path, cluster):
    file = str(tmp_path / "nowhere" / "plan.json")
    done = gangplan(tmp_path, "solve", str(cluster), "--out", file)
    assert (done.returncode, done.stderr) == (3, f"error: {file}: No such file or directory\n")


def test_check_names_every_broken_rule(tmp_path, cluster):
    plan = gp.Plan(placements={"fits": {"worker": ("r0-n0", "r0-n0", "r0-n0", "r1-n0")}})
    gp.dump(plan, tmp_path / "plan.json")
    done = gangplan(tmp_path, "check", str(cluster), str(tmp_path / "plan.json"), "-o", "json")
    assert done.returncode == 1
    rules = {violation["rule"] for violation in json.loads(done.stdout)["violations"]}
    assert {"CAPACITY_INSUFFICIENT", "TOPOLOGY_SPLIT", "GANG_UNANSWERED"} <= rules


def test_explain_says_why_and_what_would_help(tmp_path, cluster):
    done = gangplan(tmp_path, "explain", "huge", "-f", str(cluster))
    assert done.returncode == 0
    assert "9" in done.stdout
    assert "nvidia.com/gpu" in done.stdout or "GPU" in done.stdout
    everything = gangplan(tmp_path, "explain", "-f", str(cluster))
    assert "huge" in everything.stdout
    assert "waits" in everything.stdout
    data = json.loads(gangplan(tmp_path, "explain", "-f", str(cluster), "-o", "json").stdout)
    assert data["waits"]["changes"]


def test_a_wrong_document_is_told_with_all_paths(tmp_path):
    (tmp_path / "bad.json").write_text('{"nodes": [{"nam": "a"}], "gang": []}')
    for command in (["solve", str(tmp_path / "bad.json")], ["explain", "-f", str(tmp_path / "bad.json")]):
        done = gangplan(tmp_path, *command)
        assert done.returncode == 3
        assert done.stdout == ""
        assert all(path in done.stderr for path in ("$.nodes[0].nam", "$.nodes[0].name", "$.gang:"))


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["solve"], 2),
        (["nosuch"], 2),
        (["solve", "x", "-o", "xml"], 3),
        (["solve", "/nosuch/file"], 3),
        (["get", "nosuch"], 1),
        (["logs", "nosuch"], 1),
        (["delete", "nosuch"], 1),
        (["explain", "nosuch"], 1),
        (["run"], 2),
        (["run", "nosuch", "--local"], 3),
        (["demo", "deadlock", "--gpus", "3"], 3),
        (["demo", "deadlock", "--stuck-seconds", "-1"], 3),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_exit_codes(tmp_path, words, code):
    done = gangplan(tmp_path / "home", *words)
    assert done.returncode == code, done.stderr
    assert done.stderr
    assert "Traceback" not in done.stderr


WRONG_VALUES = (
    ("get", "x", "-o", "xml"), ("tensorboard", "x", "--port", "a"), ("top", "nodes", "--resource", "nosuch"),
    ("prune", "--older-than", "7"), ("pipeline", "schedule", "train", "--every", "7"),
    ("pipeline", "schedule", "train", "--cron", "often"), ("pipeline", "list", "nosuch"),
    ("pipeline", "list", "--limit", "0"), ("pipeline", "upload", "nosuch"), ("run", "nosuch", "--local"),
    ("submit", "x.yaml", "--profile", "nosuch"), ("submit", "x.yaml", "--profile", "./nosuch.toml"),
    ("submit", "x.yaml", "--queue-wait", "-1"), ("submit", "x.yaml", "--volume", "nosuch"),
    ("submit", "nosuch.yaml"), ("submit", "x.yaml", "--run-id", "not one"), ("submit", "--name", "j", "--workers", "a"),
    ("submit", "--name", "j", "--image", "i", "--workers", "1", "--worker-cpu", "a"),
    ("queue", "set", "q", "--weight", "a"), ("bench", "--write", ".", "--only", "W9"),
)  # fmt: skip
WRONG_WORDS = (
    ("nosuch",), ("list", "--nosuch"), ("get",), ("submit",), ("bench",), ("pipeline", "schedule", "train"),
    ("pipeline", "delete"), ("pipeline", "compile", "--out", "x.yaml"), ("storage", "nfs", "x", "--server", "s"),
    ("storage", "hostpath", "x", "--dry-run"), ("reap", "--yes", "--dry-run"), ("tensorboard", "x", "--detach", "--delete"),
    ("explain", "-f", "x.yaml", "-A"), ("top", "nodes", "-f", "x.yaml", "-A"), ("submit", "x.yaml", "--queue", "q"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("words", "code"),
    [*((words, 3) for words in WRONG_VALUES), *((words, 2) for words in WRONG_WORDS)],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else str(given),
)
def test_a_wrong_value_ends_with_3_and_wrong_words_with_2(tmp_path, monkeypatch, words, code):
    """Whoever found it: the parser of the command line, or what reads the value."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GANGPLAN_HOME", str(tmp_path / "home"))
    Path("x.yaml").write_text(write(tfjob("j")))
    done = CliRunner().invoke(app, words)
    assert (done.exit_code, done.stdout) == (code, ""), done.output
    assert done.stderr


def test_settings_that_are_wrong_are_told_with_their_origin(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gangplan.toml").write_text("poll_s = -1\nunknown = 2\n")
    done = gangplan(tmp_path / "home", "list")
    assert done.returncode == 2
    assert "poll_s" in done.stderr
    assert "unknown" in done.stderr


def test_gangs_can_be_listed_shown_read_and_deleted(tmp_path):
    home = tmp_path / "home"
    assert gangplan(home, "list").stdout.startswith("no gangs on this machine")
    both = job(Worker=(python("print('hello from a worker')"), 2)).replace(
        "spec:\n", "spec:\n  successPolicy: AllWorkers\n", 1
    )
    code, result, _ = train(home, "-p", f"tfjob_yaml={both}")
    assert code == 0
    name = result["gang"]
    (listed,) = json.loads(gangplan(home, "list", "-o", "json").stdout)
    assert (listed["name"], listed["outcome"]) == (name, "Succeeded")
    assert name in gangplan(home, "list").stdout
    shown = yaml.safe_load(gangplan(home, "get", name, "-o", "yaml").stdout)
    assert [item["role"] for item in shown["replicas"]] == ["worker", "worker"]
    assert [event["phase"] for event in shown["history"]][-1] == "Finished"
    assert "worker-1" in gangplan(home, "get", name).stdout
    assert gangplan(home, "logs", name, "worker-1").stdout == "hello from a worker\n"
    assert gangplan(home, "logs", name).stdout.count("hello from a worker") == 2
    assert gangplan(home, "logs", name, "worker-9").returncode == 1
    assert gangplan(home, "delete", name, "nosuch").returncode == 1
    assert len(json.loads(gangplan(home, "list", "-o", "json").stdout)) == 1, "all or nothing"
    assert gangplan(home, "delete", name).returncode == 0
    assert gangplan(home, "list").stdout.startswith("no gangs on this machine")


def test_version_tells_all_parts(tmp_path):
    found = json.loads(gangplan(tmp_path, "version", "-o", "json").stdout)
    assert found["gangplan"] == gp.__version__
    assert {"solver", "python", "tensorflow", "kfp", "kubernetes"} <= set(found)


def test_output_to_a_closed_pipe_is_no_error(tmp_path, cluster):
    process = subprocess.Popen(
        [*GANGPLAN, "solve", str(cluster), "-o", "json"],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    assert process.wait(timeout=30) == 0
    assert process.stderr.read() == ""
    process.stderr.close()


def test_parameters_of_the_pipeline_can_be_listed(tmp_path):
    listed = json.loads(gangplan(tmp_path, "run", "--parameters", "-o", "json").stdout)
    assert "train_epochs" in {item["name"] for item in listed}
    assert "role_worker_count" in gangplan(tmp_path, "run", "--parameters").stdout


def test_nodes_of_the_local_cluster_come_from_a_file(tmp_path):
    gp.dump(snapshot(nodes=(node("only", cpu="2"),)), tmp_path / "c.json")
    words = ["run", "--local", "--dry-run", "--cluster", str(tmp_path / "c.json"), "-o", "json"]
    plan = json.loads(gangplan(tmp_path / "home", *words).stdout)["plan"]
    (roles,) = plan["placements"].values()
    assert {name for nodes in roles.values() for name in nodes} == {"only"}
