"""TF_CONFIG as the operator writes it and as TensorFlow 2 can use it: laws over all replicas of random jobs."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.errors import InvalidInput
from gangplan.tf_config import TfConfig, operator_config, parse, rewrite, with_addresses

SIZES = st.fixed_dictionaries(
    {},
    optional={
        "chief": st.integers(0, 1),
        "ps": st.integers(0, 3),
        "worker": st.integers(0, 5),
        "evaluator": st.integers(0, 2),
    },
).filter(lambda sizes: sum(sizes.values()) > 1)


@st.composite
def gangs(draw):
    """The configurations of all replicas of a job, by role and index; the chief may be called master."""
    sizes = dict(draw(SIZES))
    if draw(st.booleans()) and "chief" in sizes:
        sizes["master"] = sizes.pop("chief")
    addresses = {
        role: tuple(f"{role}-{i}.example:{2222 + i}" for i in range(size))
        for role, size in sizes.items()
        if size
    }
    return {
        (role, i): with_addresses(operator_config("mnist", "research", sizes, role, i), addresses)
        for role, size in sizes.items()
        for i in range(size)
    }


@given(gangs())
def test_all_replicas_come_to_the_same_cluster(gang):
    clusters = [rewrite(config).cluster for config in gang.values()]
    assert all(cluster == clusters[0] for cluster in clusters)


@given(gangs())
def test_each_task_is_in_the_cluster_or_an_evaluator(gang):
    for config in map(rewrite, gang.values()):
        if config.role == "evaluator":
            assert "evaluator" not in config.cluster
        else:
            assert 0 <= config.index < len(config.cluster[config.role])


@given(gangs())
def test_each_replica_keeps_its_own_address(gang):
    """Its role may change, not the place where it is reached."""
    for (role, index), config in gang.items():
        if role != "evaluator":
            after = rewrite(config)
            assert after.cluster[after.role][after.index] == config.cluster[role][index]


@given(gangs())
def test_no_address_is_lost_or_doubled(gang):
    for config in gang.values():
        before = [host for role, hosts in config.cluster.items() if role != "evaluator" for host in hosts]
        after = [host for hosts in rewrite(config).cluster.values() for host in hosts]
        assert sorted(after) == sorted(before)


@given(gangs())
def test_rewriting_twice_is_rewriting_once(gang):
    for config in gang.values():
        assert rewrite(rewrite(config)) == rewrite(config)


@given(gangs())
def test_tensorflow_can_use_what_comes_out(gang):
    """No master, no evaluator, at most one chief, and a chief wherever servers and somebody to lead them are."""
    for config in map(rewrite, gang.values()):
        roles = set(config.cluster)
        assert roles <= {"chief", "ps", "worker"}
        assert len(config.cluster.get("chief", ())) <= 1
        if roles >= {"ps", "worker"}:
            assert "chief" in roles


@given(gangs())
def test_writing_and_reading_is_the_identity(gang):
    for config in gang.values():
        assert parse(config.to_json()) == config


def test_it_is_what_the_operator_writes():
    config = operator_config("mnist", "research", {"PS": 1, "Worker": 2, "Evaluator": 1}, "Worker", 1)
    assert config.to_json() == (
        '{"cluster":{"evaluator":["mnist-evaluator-0.research.svc:2222"],'
        '"ps":["mnist-ps-0.research.svc:2222"],'
        '"worker":["mnist-worker-0.research.svc:2222","mnist-worker-1.research.svc:2222"]},'
        '"task":{"type":"worker","index":1},"environment":"cloud"}'
    )


def test_port_and_domain_are_the_operators():
    counts = {"chief": 1, "worker": 1}
    config = operator_config("mnist", "research", counts, "chief", 0, port=3333, domain="cluster.local")
    assert config.cluster["chief"] == ("mnist-chief-0.research.svc.cluster.local:3333",)


@pytest.mark.parametrize("counts", [{"worker": 1}, {"chief": 1, "worker": 0}])
def test_a_lone_replica_gets_none(counts):
    assert operator_config("mnist", "research", counts, next(iter(counts)), 0) is None


def test_worker_0_becomes_the_chief_of_servers_without_one():
    config = TfConfig(cluster={"ps": ("p:1",), "worker": ("a:1", "b:1", "c:1")}, role="worker", index=2)
    assert rewrite(config) == TfConfig(
        cluster={"ps": ("p:1",), "chief": ("a:1",), "worker": ("b:1", "c:1")}, role="worker", index=1
    )


def test_workers_alone_stay_workers():
    config = TfConfig(cluster={"worker": ("a:1", "b:1")}, role="worker", index=0)
    assert rewrite(config) == config


TASK = {"type": "worker", "index": 0}


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ("", [("$", "MALFORMED_JSON")]),
        ("[]", [("$", "WRONG_TYPE")]),
        ({}, [("$.cluster", "MISSING_FIELD"), ("$.task", "MISSING_FIELD")]),
        ({"cluster": [], "task": []}, [("$.cluster", "WRONG_TYPE"), ("$.task", "WRONG_TYPE")]),
        ({"sparseCluster": {}, "task": TASK}, [("$.cluster", "MISSING_FIELD")]),
        (
            {"cluster": {"worker": ["a:1"], "Worker": ["b:1"], "boss": [], "ps": "p:1"}, "task": TASK},
            [
                ("$.cluster.Worker", "DUPLICATE_NAME"),
                ("$.cluster.boss", "UNKNOWN_NAME"),
                ("$.cluster.ps", "WRONG_TYPE"),
            ],
        ),
        (
            {"cluster": {"worker": ["a:1"]}, "task": {"type": 1, "index": True}},
            [("$.task.index", "WRONG_TYPE"), ("$.task.type", "WRONG_TYPE")],
        ),
        (
            {"cluster": {"worker": ["a:1", "a:1", "b", "c:99999"]}, "task": {"type": "worker", "index": 4}},
            [
                ("$.cluster.worker[1]", "DUPLICATE_NAME"),
                ("$.cluster.worker[2]", "BAD_VALUE"),
                ("$.cluster.worker[3]", "BAD_VALUE"),
                ("$.task.index", "OUT_OF_RANGE"),
            ],
        ),
        (
            {"cluster": {"worker": ["a:1"]}, "task": {"type": "ps", "index": 0}},
            [("$.task.type", "CONTRADICTION")],
        ),
        (
            {"cluster": {"worker": ["a:1"]}, "task": {"type": "boss", "index": 0}},
            [("$.task.type", "UNKNOWN_NAME")],
        ),
        (
            {"cluster": {"chief": ["a:1"], "master": ["b:1"]}, "task": {"type": "chief", "index": 0}},
            [("$.cluster", "CONTRADICTION")],
        ),
    ],
)
def test_every_defect_is_named_with_its_path(document, found):
    text = document if isinstance(document, str) else json.dumps(document)
    with pytest.raises(InvalidInput) as caught:
        rewrite(parse(text))
    assert [(problem.path, problem.code) for problem in caught.value.problems] == found


def test_addresses_must_match_the_cluster():
    config = operator_config("mnist", "research", {"ps": 1, "worker": 1}, "ps", 0)
    with pytest.raises(InvalidInput, match="addresses are needed for"):
        with_addresses(config, {"ps": ["a:1"]})


def test_unknown_roles_and_negative_counts_are_refused_together():
    with pytest.raises(InvalidInput) as caught:
        operator_config("mnist", "research", {"Boss": 1, "ps": -1, "PS": 1, "worker": 1}, "worker", 0)
    assert len(caught.value.problems) == 2
