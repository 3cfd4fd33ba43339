"""What is held of nodes and queues, by whom and for how long: on a modelled server, on this machine, in a snapshot."""

import json
import time

import pytest
import yaml
from apimodel.server import ApiServer
from cli.clusters import ALLOCATABLE, Commands, new_server

from gangplan import moments
from gangplan.kube.kinds import NODE, TFJOB

GPU = "nvidia.com/gpu"


def moment(seconds_ago: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - seconds_ago))


@pytest.fixture
def cluster(monkeypatch, tmp_path) -> Commands:
    """Of two nodes with four GPUs each, ``runs`` has three of one, ``starts`` two of the other; ``waits`` wants nine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GANGPLAN_HOME", str(tmp_path / "home"))
    commands = Commands(new_server("team"), monkeypatch)
    for node in ("n1", "n2"):
        commands.add_node(node)
    commands.add_queue("all", limit={GPU: "8"})
    commands.add_queue("research", parent="all", deserved={GPU: "4"}, guarantee={GPU: "1"})
    commands.add_queue("empty")
    commands.add_gang("runs", 3, queue="research", runId="r1")
    commands.add_gang("starts", 2, queue="research", runId="r2")
    commands.add_gang("waits", 9, queue="research")
    commands.reserve("starts", "n2", "n2")
    history = [
        {"at": moment(9000), "phase": "Pending", "reason": ""},
        {"at": moment(7300), "phase": "Reserved", "reason": ""},
        {"at": moment(7200), "phase": "Bound", "reason": ""},
    ]
    placement = {"placement": {"worker": ["n1", "n1", "n1"]}}
    commands.set_status("runs", phase="Bound", reservation=placement, history=history)
    commands.add_job("runs", "r1")
    return commands


def words(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_nodes_are_shown_with_what_runs_what_is_reserved_and_what_is_free(cluster):
    told = words(cluster("top", "nodes", "-A").stdout)
    assert told[0] == "NODE KIND STATE RESOURCE CAPACITY USED RESERVED FREE"
    assert told[1] == "n1 real ready cpu 8 0 0 8"
    assert f"{GPU} 4 3 0 1" in told
    assert f"{GPU} 4 0 2 2" in told
    assert told[-1] == f"{GPU} 8 3 2 3", "of all that are ready"
    assert not any("pods" in line for line in told)
    only = words(cluster("top", "nodes", "-A", "--resource", "pods").stdout)
    assert only[1:] == [
        "n1 real ready pods 110 3 0 107",
        "n2 real ready pods 110 0 2 108",
        "all ready real pods 220 3 2 215",
    ]
    found = json.loads(cluster("top", "nodes", "-A", "-o", "json").stdout)
    share = {"resource": GPU, "capacity": "4", "used": "3", "reserved": "0", "free": "1"}
    assert share in found["nodes"][0]["shares"]
    told = {
        share["resource"] for node in [found, *found["nodes"]] for share in node.get("shares", found["ready"])
    }
    assert told == {"cpu", "memory", GPU}, "programs are told what the table shows"
    found = json.loads(cluster("top", "nodes", "-A", "--resource", "pods", "-o", "json").stdout)
    assert [share["resource"] for share in found["ready"]] == ["pods"]


def test_jobs_are_shown_by_the_gpus_that_they_hold_and_for_how_long(cluster):
    told = words(cluster("top", "jobs", "-A").stdout)
    assert told[0] == "JOB QUEUE STATE REPLICAS GPUS CPU MEMORY FOR"
    assert told[1] == "default/runs research runs 3 3 – – 2h"
    assert told[2].startswith("default/starts research reserved 2 2 – –")
    assert len(told) == 3, "who waits holds nothing"
    (first, second) = json.loads(cluster("top", "jobs", "-n", "default", "-o", "json").stdout)
    assert (first["name"], first["gpus"], first["held"]) == ("default/runs", 3, {GPU: "3"})
    assert moments.seconds(first["since"]) == pytest.approx(time.time() - 7300, abs=60), (
        "since it had room, not since it ran"
    )
    assert second["state"] == "reserved"
    assert cluster("top", "jobs", "-n", "team").stdout == "nothing holds room\n"


def test_pods_of_no_gang_are_shown_together_and_last(cluster):
    cluster.add_job("foreign")
    cluster.add_worker("foreign", 0, "n1")
    cluster.add_worker("foreign", 1, "n2")
    assert words(cluster("top", "jobs", "-A").stdout)[-1].startswith("pods of no gang – runs 2 0")


def test_queues_are_shown_with_what_they_use_deserve_and_may_use(cluster):
    told = words(cluster("top", "queues", "-A").stdout)
    assert told[0] == "QUEUE WAITING RUNNING RESOURCE USED GUARANTEE DESERVED LIMIT"
    assert told[1:] == [
        f"all open 0 0 {GPU} 5 – – 8",
        "empty open 0 0 – – – – –",
        f"research open 1 2 {GPU} 5 1 4 –",
    ]
    found = json.loads(cluster("top", "queues", "-A", "-o", "json").stdout)
    assert [(queue["name"], queue["waiting"], queue["running"]) for queue in found] == [
        ("all", 0, 0), ("empty", 0, 0), ("research", 1, 2)
    ]  # fmt: skip


def test_a_snapshot_is_looked_at_without_its_cluster(cluster, tmp_path):
    file = tmp_path / "s.json"
    cluster("snapshot", "take", "--out", str(file))
    for command in ("nodes", "queues"):
        assert cluster("top", command, "-f", str(file)).stdout == cluster("top", command, "-A").stdout
    assert words(cluster("top", "jobs", "-f", str(file)).stdout)[1] == "default/runs research runs 3 3 – – –"
    assert "give one of both" in cluster("top", "nodes", "-f", str(file), "-A", code=2).stderr
    assert "nosuch" in cluster("top", "jobs", "-f", "nosuch.json", code=3).stderr


def test_a_cordoned_node_and_one_that_is_not_ready_count_for_nothing_together(cluster, tmp_path):
    nodes = [
        {"name": "a", "allocatable": {GPU: "4"}},
        {"name": "b", "allocatable": {GPU: "4"}, "unschedulable": True},
        {"name": "c", "allocatable": {GPU: "4"}, "ready": False},
    ]
    (tmp_path / "s.yaml").write_text(yaml.safe_dump({"nodes": nodes}))
    assert words(cluster("top", "nodes", "-f", "s.yaml").stdout)[1:] == [
        f"a real ready {GPU} 4 0 0 4",
        f"b real cordoned {GPU} 4 0 0 4",
        f"c real not ready {GPU} 4 0 0 4",
        f"all ready real {GPU} 4 0 0 4",
    ]
    assert cluster("top", "jobs", "-f", "s.yaml").stdout == "nothing holds room\n"
    assert cluster("top", "queues", "-f", "s.yaml").stdout == "no queues\n"


def test_virtual_nodes_are_marked_and_summed_by_themselves(cluster):
    """What a cloud promises is no capacity of the cluster's own."""
    cluster.add_virtual_node("cloud")
    told = words(cluster("top", "nodes", "-A", "--resource", GPU).stdout)
    assert told[1] == f"cloud virtual ready {GPU} 1000 0 0 1000"
    assert told[-2:] == [f"all ready real {GPU} 8 3 2 3", f"all ready virtual {GPU} 1000 0 0 1000"]
    found = json.loads(cluster("top", "nodes", "-A", "--resource", GPU, "-o", "json").stdout)
    assert [node["kind"] for node in found["nodes"]] == ["virtual", "real", "real"]
    assert (found["ready"][0]["free"], found["ready_virtual"][0]["free"]) == ("3", "1000")


@pytest.mark.parametrize("what", ["nodes", "queues"])
def test_a_namespace_means_a_cluster_and_that_it_has_no_nodes_and_queues_of_its_own_is_told(cluster, what):
    done = cluster("top", what, "-n", "team")
    assert done.stdout == cluster("top", what, "-A").stdout
    assert done.stderr == f"note: {what} belong to no namespace: all are shown\n"
    assert "give one of both" in cluster("top", what, "-n", "team", "-f", "s.json", code=2).stderr


def test_this_machine_is_shown_too(cluster):
    told = words(cluster("top", "nodes").stdout)
    assert [line.split()[0] for line in told if "cpu" in line] == ["node-0", "node-1", "all"]
    assert cluster("top", "jobs").stdout == "nothing holds room\n"
    assert cluster("top", "queues").stdout == "no queues\n"


def test_a_resource_that_no_node_has_is_named_with_those_that_there_are(cluster):
    told = " ".join(
        cluster("top", "nodes", "-A", "--resource", "foo", "--resource", "cpu", code=3).stderr.split()
    )
    assert "--resource: foo: no node has it; known: cpu, memory, nvidia.com/gpu, pods" in told


def test_what_is_shown_of_this_machine_says_so(cluster):
    assert "of the nodes of this machine; for a Kubernetes cluster add -A" in cluster("top", "nodes").stderr
    assert cluster("top", "nodes", "-A").stderr == ""


def test_memory_is_shown_in_units_that_can_be_read(cluster):
    """As kubelets tell it; documents have it whole."""
    held = {"status": {"allocatable": {**ALLOCATABLE, "memory": "24683652Ki"}}}
    cluster.server.patch(NODE, "n1", held, subresource="status")
    told = words(cluster("top", "nodes", "-A", "--resource", "memory").stdout)
    assert told[1:3] == ["n1 real ready memory 23.5Gi 0 0 23.5Gi", "n2 real ready memory 16Gi 0 0 16Gi"]
    assert "24683652Ki" in cluster("top", "nodes", "-A", "-o", "json").stdout


def test_where_nothing_of_ours_is_installed_nobody_says_that_there_is_nothing(monkeypatch, tmp_path):
    """A job of ours may run all the same; nodes can be looked at."""
    monkeypatch.chdir(tmp_path)
    bare = Commands(ApiServer(kinds=[TFJOB]), monkeypatch)
    bare.add_node("n1")
    told = bare("list", "-A", code=4).stderr
    assert "list Gang" in told
    for words in (("top", "jobs", "-A"), ("top", "queues", "-A"), ("queue", "list"), ("queue", "get", "q")):
        done = bare(*words, code=4)
        assert (done.stderr, done.stdout) == (told, ""), words
    assert "n1" in bare("top", "nodes", "-A").stdout
