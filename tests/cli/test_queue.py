"""Queues of a cluster as a user shows and sets them."""

import json

import pytest
from builders import GPU
from cli.clusters import Commands, new_server

from gangplan.errors import Conflict
from gangplan.kube.kinds import GANG_QUEUE


@pytest.fixture
def cluster(monkeypatch) -> Commands:
    """A node with four GPUs; below a queue ``all`` the queue ``research``, where one gang holds three and one waits."""
    commands = Commands(new_server(), monkeypatch)
    commands.add_node("n1")
    commands.add_queue("all", limit={GPU: "4"})
    commands.add_queue("research", parent="all", deserved={GPU: "2"}, weight=3)
    commands.add_gang("holds", 3, queue="research")
    commands.reserve("holds", "n1", "n1", "n1")
    commands.add_gang("waits", 2, queue="research")
    return commands


def spec(cluster, name):
    return cluster.server.get(GANG_QUEUE, name)["spec"]


def test_queues_are_listed_with_their_use_and_their_gangs(cluster):
    found = {use["queue"]["name"]: use for use in json.loads(cluster("queue", "list", "-o", "json").stdout)}
    assert found["all"]["used"] == found["research"]["used"] == {GPU: "3", "pods": "3"}
    assert (found["research"]["waiting"], found["research"]["running"]) == (
        ["default/waits"],
        ["default/holds"],
    )
    table = " ".join(cluster("queue", "list").stdout.split())
    assert f"research all open {GPU}=3 pods=3 {GPU}=2 – 1 1" in table


def test_a_queue_is_shown_by_resource(cluster):
    text = " ".join(cluster("queue", "get", "research").stdout.split())
    assert "research: open, weight 3, priority 0, below all" in text
    assert f"{GPU} 3 2 – –" in text
    assert "waiting: default/waits running: default/holds" in text
    assert (
        "there is no queue nosuch; known: all, research" in cluster("queue", "get", "nosuch", code=1).stderr
    )


def test_a_cluster_without_queues_says_so(monkeypatch):
    assert Commands(new_server(), monkeypatch)("queue", "list").stdout == "no queues\n"


def test_a_queue_is_made_with_what_is_said_and_defaults(cluster):
    words = (
        "--parent",
        "all",
        "--limit",
        f"{GPU}=2",
        "--limit",
        "cpu=4",
        "--guarantee",
        f"{GPU}=1",
        "--closed",
    )
    assert cluster("queue", "set", "new", *words).stdout == "queue new created\n"
    assert spec(cluster, "new") == {
        "parent": "all", "limit": {GPU: "2", "cpu": "4"}, "guarantee": {GPU: "1"}, "open": False,
        "weight": 1, "priority": 0,
    }  # fmt: skip


def test_a_change_leaves_the_rest_as_it_was(cluster):
    cluster.server.patch(GANG_QUEUE, "research", {"spec": {"limit": {GPU: "3", "cpu": "8"}}})
    words = ("--limit", "cpu=", "--limit", "memory=1Gi", "--deserved", f"{GPU}=", "--priority", "-2")
    assert cluster("queue", "set", "research", *words).stdout == "queue research changed\n"
    assert spec(cluster, "research") == {
        "parent": "all", "limit": {GPU: "3", "memory": "1Gi"}, "weight": 3, "priority": -2, "open": True
    }  # fmt: skip
    assert cluster("queue", "set", "research", "--priority", "-2").stdout == "queue research unchanged\n"
    cluster("queue", "set", "research", "--parent", "")
    assert "parent" not in spec(cluster, "research")


def test_a_dry_run_says_what_would_be_and_writes_nothing(cluster):
    before = cluster.server.get(GANG_QUEUE, "all")
    done = cluster("queue", "set", "all", "--limit", f"{GPU}=9", "--dry-run", "-o", "json")
    told = json.loads(done.stdout)
    assert (told["how"], told["written"]) == ("changed", False)
    assert (told["before"]["limit"], told["after"]["limit"]) == ({GPU: "4"}, {GPU: "9"})
    assert cluster("queue", "set", "new", "--dry-run").stdout == "queue new would be created\n"
    assert cluster.server.get(GANG_QUEUE, "all") == before
    assert len(cluster.server.list(GANG_QUEUE).items) == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("all", "--parent", "research"), "all.parent"),
        (("new", "--parent", "nowhere"), "nowhere"),
        (
            ("new", "--deserved", f"{GPU}=4", "--guarantee", f"{GPU}=8"),
            "must be at most the deserved, 4, not 8",
        ),
        (("new", "--deserved", f"{GPU}=4", "--limit", f"{GPU}=2"), "must be at most the limit, 2, not 4"),
        (
            ("new", "--guarantee", "memory=2Gi", "--limit", "memory=2000Mi"),
            "new.guarantee.memory: must be at",
        ),
        (("all", "--guarantee", f"{GPU}=5"), "must be at most the limit, 4, not 5"),
        (("new", "--limit", "cpu=many", "--deserved", "cpu=-1"), "new.limit.cpu"),
    ],
)
def test_a_tree_that_contradicts_itself_is_not_written(cluster, words, told):
    before = cluster.server.list(GANG_QUEUE)
    done = cluster("queue", "set", *words, code=3)
    assert f"queue {words[0]}: " in done.stderr
    assert told in done.stderr
    assert cluster.server.list(GANG_QUEUE).items == before.items


def test_a_queue_that_cannot_have_its_name_is_told_in_words(cluster):
    told = " ".join(cluster("queue", "set", "Bad_Name", code=3).stderr.split())
    assert "queue: must be lower-case letters, digits, '-' and '.'" in told
    assert "not 'Bad_Name'" in told


def test_a_problem_that_was_there_does_not_stop_who_repairs_another_queue(cluster):
    cluster.add_queue("orphan", parent="gone")
    cluster("queue", "set", "research", "--weight", "5")
    cluster("queue", "set", "research", "--limit", "cpu=1", "--deserved", "cpu=2", code=3)
    cluster("queue", "set", "orphan", "--parent", "all")
    assert (spec(cluster, "research")["weight"], spec(cluster, "orphan")["parent"]) == (5, "all")


@pytest.mark.parametrize(
    "words", [("--limit", "cpu"), ("--limit", "cpu=1", "--limit", "cpu=2"), ("--guarantee", "=4")]
)
def test_an_amount_that_is_none_is_told_by_its_flag(cluster, words):
    before = spec(cluster, "research")
    assert f"{words[0]}: " in cluster("queue", "set", "research", *words, code=3).stderr
    assert spec(cluster, "research") == before


def test_a_weight_below_zero_is_a_wrong_use(cluster):
    cluster("queue", "set", "research", "--weight", "-1", code=3)


def test_all_that_is_wrong_with_a_queue_is_told_at_once(cluster):
    """Its name, flags that cannot be read, amounts that are none, those that contradict each other, and the tree."""
    words = ("--limit", "cpu", "--limit", "cpu=1", "--limit", "cpu=2", "--guarantee", "memory=4Gi")
    more = ("--deserved", "memory=2Gi", "--deserved", f"{GPU}=many", "--parent", "nowhere")
    told = " ".join(cluster("queue", "set", "Bad_Name", *words, *more, code=3).stderr.split())
    assert "queue Bad_Name: 6 problems" in told
    assert "--limit: wants RESOURCE=AMOUNT, such as nvidia.com/gpu=8, not 'cpu'" in told
    assert "--limit: gives cpu twice" in told
    assert "queue: must be lower-case letters" in told
    assert "Bad_Name.parent" in told
    assert f'Bad_Name.deserved["{GPU}"]' in told
    assert "Bad_Name.guarantee.memory: must be at most the deserved, 2Gi, not 4Gi" in told


def test_what_another_changes_meanwhile_is_kept(cluster):
    """The write is compared with what was read, and begins again."""
    replace, conflicts = cluster.server.replace, []

    def late(kind, body, **more):
        if not conflicts:
            cluster.server.patch(GANG_QUEUE, "research", {"spec": {"weight": 7}})
        try:
            return replace(kind, body, **more)
        except Conflict as error:
            conflicts.append(error)
            raise

    cluster.server.replace = late
    cluster("queue", "set", "research", "--priority", "1")
    assert len(conflicts) == 1
    assert (spec(cluster, "research")["weight"], spec(cluster, "research")["priority"]) == (7, 1)
