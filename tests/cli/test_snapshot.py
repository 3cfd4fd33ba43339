"""Snapshots of clusters: what is taken is what a cycle sees; what is shown and compared is what is in them."""

import json

import pytest
from builders import GPU, gang, node, racks, role, snapshot
from cli.clusters import Commands, new_server

import gangplan as gp
from gangplan.errors import Forbidden
from gangplan.solver import load, solve


@pytest.fixture
def cluster(monkeypatch) -> Commands:
    """Two nodes in racks, a queue, a gang that holds room on one node and one that waits for more than is left."""
    commands = Commands(new_server(), monkeypatch)
    for number in (1, 2):
        commands.add_node(f"machine-{number}", **{"acme/rack": f"row-{number}"})
    commands.add_queue("research", limit={GPU: "8"})
    commands.add_gang("holds", 3, queue="research")
    commands.reserve("holds", "machine-1", "machine-1", "machine-1")
    commands.add_gang("waits", 6, queue="research")
    return commands


def test_what_is_taken_has_nodes_queues_and_all_gangs(cluster, tmp_path):
    file = tmp_path / "s.json"
    told = json.loads(cluster("snapshot", "take", "--out", str(file), "-o", "json").stdout)
    assert told == {
        "file": str(file), "written": True, "redacted": False,
        "nodes": 2, "gangs": 2, "running": 3, "queues": 1, "left_out": 0,
    }  # fmt: skip
    taken = load(file)
    assert {item.name for item in taken.gangs} == {"default/holds", "default/waits"}
    assert [(item.gang, item.node, item.reserved) for item in taken.running] == [
        ("default/holds", "machine-1", True)
    ] * 3
    assert taken.now > 0
    assert solve(taken).rejections["default/waits"].rule == "QUEUE_LIMIT_EXCEEDED"


def test_a_redacted_snapshot_is_decided_alike_and_tells_no_names(cluster, tmp_path):
    file, plain = tmp_path / "s.yaml", tmp_path / "plain.json"
    cluster("snapshot", "take", "--out", str(file), "--redact")
    cluster("snapshot", "take", "--out", str(plain))
    text = file.read_text()
    for secret in ("machine", "acme", "row-", "research", "holds", "waits", "default"):
        assert secret not in text
    (refused,) = solve(load(file)).rejections.values()
    (expected,) = solve(load(plain)).rejections.values()
    assert (refused.rule, refused.needs, refused.has) == (expected.rule, expected.needs, expected.has)


def test_a_dry_run_writes_nothing(cluster, tmp_path):
    file = tmp_path / "s.json"
    done = cluster("snapshot", "take", "--out", str(file), "--dry-run")
    assert f"{file} would be written: nodes 2, gangs 2" in done.stdout
    assert not file.exists()


def test_a_gang_that_names_what_is_not_there_is_told_and_left_out(cluster, tmp_path):
    cluster.add_gang("lost", 1, queue="nowhere")
    file = tmp_path / "s.json"
    done = cluster("snapshot", "take", "--out", str(file))
    assert "default/lost is left out: queue: " in done.stderr
    assert "nowhere" in done.stderr
    assert len(solve(load(file)).rejections) == 1


def test_a_cluster_that_may_not_be_read_leaves_an_older_file_as_it_was(cluster, tmp_path):
    from apimodel.server import Fault

    file = tmp_path / "s.json"
    file.write_text("older")
    cluster.server.faults = lambda about: Fault(error=Forbidden) if about.kind == "Pod" else None
    assert "list Pod" in cluster("snapshot", "take", "--out", str(file), code=4).stderr
    assert file.read_text() == "older"


# ---- show and diff


@pytest.fixture
def shown() -> gp.Snapshot:
    """Four nodes in two racks; a gang that runs, one that waits, a pod of none and one that is leaving."""
    runs = gang("runs", role(replicas=2, gpus=1), queue="low")
    waits = gang("waits", role("ps"), role(replicas=5, gpus=1), queue="low")
    running = tuple(
        gp.Running(name=f"p{i}", node="r0-n0", gang="runs", role="worker", index=i, reserved=i == 1)
        for i in range(2)
    )
    others = (
        gp.Running(name="other", node="r1-n0", requests={"cpu": "500m"}, queue="top"),
        gp.Running(name="leaves", node="r1-n0", requests={"cpu": "2"}, terminating=True),
    )
    queues = (gp.Queue(name="top", limit={GPU: "8"}), gp.Queue(name="low", parent="top"))
    return snapshot(
        runs, waits, nodes=(*racks(2, 2, gpus=2), node("far", rack="r1", ready=False)), queues=queues,
        running=running + others,
    )  # fmt: skip


@pytest.fixture
def commands(monkeypatch) -> Commands:
    return Commands(new_server(), monkeypatch)


def test_what_is_shown_adds_up(commands, shown, tmp_path):
    gp.dump(shown, tmp_path / "s.json")
    told = json.loads(commands("snapshot", "show", str(tmp_path / "s.json"), "-o", "json").stdout)
    resources = {item["name"]: (item["allocatable"], item["used"]) for item in told["resources"]}
    assert resources == {
        "cpu": ("80", "2500m"), "memory": ("320Gi", "0"), GPU: ("8", "2"), "pods": ("550", "3")
    }  # fmt: skip
    queues = {item["queue"]["name"]: item for item in told["queues"]}
    assert queues["top"]["used"] == {"cpu": "2500m", GPU: "2", "pods": "3"}
    assert queues["low"]["used"] == {"cpu": "2", GPU: "2", "pods": "2"}
    assert (queues["low"]["waiting"], queues["low"]["running"]) == (["waits"], ["runs"])
    assert told["levels"] == [{"name": "rack", "domains": 2, "outside": 0}]
    assert (told["others"], told["terminating"]) == (1, 1)
    assert {item["name"]: item["state"] for item in told["nodes"]}["far"] == "not ready"


def test_the_table_has_all_parts(commands, shown, tmp_path):
    gp.dump(shown, tmp_path / "s.json")
    text = commands("snapshot", "show", str(tmp_path / "s.json"), "--nodes").stdout
    for line in (
        "nodes 5 (4 ready, 1 not ready)",
        "running 2 replicas (1 reserved), 1 other pods, 1 leaving",
        "cpu 80 2500m",
        "r1-n0 ready",
        "rack 2 0",
        "waits low waits ps: 0/1 worker: 0/5",
        "runs low reserved worker: 2/2",
    ):
        assert line in " ".join(text.split())


def test_equal_snapshots_have_no_difference_whatever_their_moment_and_order(commands, shown, tmp_path):
    later = gp.Snapshot(
        now=99, topology=shown.topology, nodes=shown.nodes[::-1], queues=shown.queues[::-1],
        gangs=shown.gangs[::-1], running=shown.running,
    )  # fmt: skip
    gp.dump(shown, tmp_path / "a.json")
    gp.dump(later, tmp_path / "b.yaml")
    done = commands("snapshot", "diff", str(tmp_path / "a.json"), str(tmp_path / "b.yaml"))
    assert done.stdout == "no difference\n"


def test_what_came_went_and_changed_is_told(commands, tmp_path):
    before = snapshot(gang("a"), nodes=(node("n1", gpus=4), node("n2")))
    after = snapshot(
        gang("b"), nodes=(node("n1", gpus=3, unschedulable=True), node("n2")), topology=("rack",)
    )
    gp.dump(before, tmp_path / "a.json")
    gp.dump(after, tmp_path / "b.json")
    files = (str(tmp_path / "a.json"), str(tmp_path / "b.json"))
    told = json.loads(commands("snapshot", "diff", *files, "-o", "json", code=1).stdout)["differences"]
    assert [(item["part"], item["name"], item["how"], item["fields"]) for item in told] == [
        ("topology", "topology", "changed", {"levels": [[], ["rack"]]}),
        ("nodes", "n1", "changed", {f"allocatable.{GPU}": ["4", "3"], "unschedulable": [False, True]}),
        ("gangs", "a", "went", {}),
        ("gangs", "b", "came", {}),
    ]
    table = commands("snapshot", "diff", *files, code=1).stdout
    assert f"allocatable.{GPU}: 4 → 3; unschedulable: false → true" in table


def test_a_name_that_does_not_say_its_kind_is_written_as_json_and_that_is_told(cluster, tmp_path):
    done = cluster("snapshot", "take", "--out", str(tmp_path / "s.txt"))
    assert done.stderr == "s.txt is JSON; a name that ends in .yaml or .yml is written as YAML\n"
    assert json.loads((tmp_path / "s.txt").read_text())["nodes"]
    assert cluster("snapshot", "take", "--out", str(tmp_path / "s.yml")).stderr == ""
