"""Pipelines that launch nothing: compare_placements and what_if on this machine."""

import json
from pathlib import Path

import pytest
from runs import gangplan, records, train

import gangplan as gp

ROOT = Path(__file__).parents[2]
RACKS = ROOT / "examples" / "two-racks.yaml"
BENCHMARK = ROOT / "examples" / "resnet50-benchmark-tfjob.yaml"


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Three gangs of four workers on eight GPUs, as the run form offers it."""
    home = tmp_path_factory.mktemp("compared")
    code, result, told = train(home, "compare_placements")
    assert code == 0, told
    return home, result, told


def test_gangs_that_are_deadlocked_pod_by_pod_all_run_as_gangs(compared):
    home, result, told = compared
    rows = {row[0]: row for row in result["found"]["rows"]}
    assert rows["pod by pod"][1:5] == ["0", "0", "3", "0"]
    assert rows["pod by pod"][5] == "11 cpu, 11Gi memory, 8 nvidia.com/gpu"
    assert set(rows) == {"pod by pod", "packed", "spread", "in order"}
    for name in ("packed", "spread", "in order"):
        assert rows[name][1:5] == ["2", "1", "0", "0"]
    metrics = result["found"]["metrics"]
    assert (metrics["deadlocked_pod_by_pod"], metrics["deadlocked_packed"]) == (3, 0)
    assert metrics["crossing_packed"] == 0
    assert "each would start alone, and waits for what another one holds" in told
    assert records(home) == (), "nothing was asked for"


def test_the_comparison_has_charts_maps_and_its_snapshot(compared):
    home, result, _ = compared
    assert Path(result["report"]).read_text().count("<svg") == 4
    (snapshot,) = home.glob("outputs/*/compare-placements/snapshot")
    assert len(gp.load(snapshot.read_bytes()).gangs) == 3


def test_gangs_of_a_users_own_are_compared_on_a_cluster_of_his_own(tmp_path):
    code, result, told = train(
        tmp_path / "h",
        "compare_placements",
        "--tfjob",
        str(BENCHMARK),
        *("-p", "cluster_source=snapshot", "-p", f"cluster_snapshot={ROOT / 'examples' / 'gpu-nodes.yaml'}"),
        *("-p", "gang_copies=2"),
    )
    assert code == 0, told
    assert len(result["found"]["rows"]) == 4


def test_gangs_that_wait_in_a_snapshot_are_compared_without_others(tmp_path):
    text = RACKS.read_text()
    code, result, told = train(
        tmp_path / "h",
        "compare_placements",
        *("-p", "cluster_source=snapshot", "-p", f"cluster_snapshot={text}", "-p", "gang_copies=0"),
    )
    assert code == 0, told
    waiting = len(gp.load(RACKS).gangs)
    assert all(sum(map(int, row[1:5])) <= waiting for row in result["found"]["rows"])


def test_gangs_that_no_node_can_take_are_deadlocked_by_nobody_and_the_reason_is_told(tmp_path):
    node = "{name: n, allocatable: {cpu: '8', memory: 8Gi, nvidia.com/gpu: '8'}, taints: [{key: gpu, effect: NoSchedule}]}"
    plain = "{name: m, allocatable: {cpu: '8', memory: 8Gi}}"
    text = f"nodes:\n- {node}\n- {plain}\n"
    code, result, told = train(
        tmp_path / "h",
        "compare_placements",
        *("-p", "cluster_source=snapshot", "-p", f"cluster_snapshot={text}", "-p", "gang_copies=2"),
    )
    assert code == 0, told
    for row in result["found"]["rows"]:
        assert row[1:5] == ["0", "0", "0", "2"]
    assert "would not start even alone" in result["reason"]
    assert "a taint that it does not tolerate" in result["reason"]


def test_a_gang_that_would_start_is_told_where(tmp_path):
    home = tmp_path / "h"
    code, result, _ = train(home, "what_if", "-p", "role_worker_count=1")
    assert code == 0
    assert "may start" in result["reason"]
    assert set(result["plan"]["placements"][result["gang"]]) == {"ps", "worker"}
    assert records(home) == (), "nothing was asked for"
    (text,) = home.glob("outputs/*/place-only/explanation")
    assert text.read_text().startswith(f"**{result['gang']} may start")


def test_a_gang_that_would_not_start_is_a_correct_no_with_the_smallest_changes(tmp_path):
    home = tmp_path / "h"
    given = ("-p", "cluster_source=made_up", "-p", "role_worker_count=9", "-p", "role_worker_gpus=1")
    code, result, told = train(home, "what_if", *given)
    assert code == 1
    assert "Pipeline 'gangplan-what-if' finished with status SUCCESS" in told, (
        "on Kubeflow an answer is green"
    )
    assert result["outcome"] == "NotAdmitted"
    changes = result["plan"]["rejections"][result["gang"]]["changes"]
    assert "8 workers instead of 9" in changes[0]["text"]
    (text,) = home.glob("outputs/*/place-only/explanation")
    assert "8 workers instead of 9" in text.read_text()


def test_a_tfjob_is_tried_beside_what_a_snapshot_holds(tmp_path):
    own = BENCHMARK.read_text()
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"nodes": [{"name": "n", "allocatable": {"cpu": "64", "memory": "64Gi"}}]}))
    given = ("-p", f"tfjob_yaml={own}", "-p", "cluster_source=snapshot", "-p", f"cluster_snapshot={file}")
    code, result, _ = train(tmp_path / "h", "what_if", *given)
    assert code == 1
    assert "nvidia.com/gpu" in result["reason"]


@pytest.mark.parametrize("pipeline", ["compare_placements", "what_if"])
def test_all_that_is_wrong_is_named_before_anything_starts(pipeline, tmp_path):
    given = {
        "cluster_source": "mine",
        "cluster_racks": "0",
        "cluster_node_cpu": "many",
        "cluster_snapshot": "nowhere.yaml",
        "role_ps_count": "-1",
        "role_worker_memory": "much",
        "gang_priority": "9999999999",
    }
    if pipeline == "compare_placements":
        given["gang_copies"] = "65"
    flags = [word for name, value in given.items() for word in ("-p", f"{name}={value}")]
    done = gangplan(tmp_path / "h", "run", "--local", pipeline, *flags)
    assert done.returncode == 3
    assert not (tmp_path / "h").exists()
    for name in given:
        assert f"  {name}: " in done.stderr, name


@pytest.mark.parametrize("text", ["nowhere.yaml", "nodes: [{}]\n", "nodes: [\n"])
def test_a_snapshot_that_cannot_be_read_is_told(text, tmp_path):
    given = ("-p", "cluster_source=snapshot", "-p", f"cluster_snapshot={text}", "-p", "role_ps_count=-1")
    done = gangplan(tmp_path / "h", "run", "--local", "what_if", *given)
    assert done.returncode == 3
    assert "role_ps_count" in done.stderr
    assert "  cluster_snapshot: " in done.stderr


def test_no_gang_to_compare_is_told(tmp_path):
    done = gangplan(tmp_path / "h", "run", "--local", "compare_placements", "-p", "gang_copies=0")
    assert done.returncode == 3
    assert "no gang waits in this cluster" in done.stderr


def dry(home: Path, pipeline: str, *words: str) -> tuple[int, dict]:
    done = gangplan(home, "run", "--local", pipeline, "--dry-run", "-o", "json", *words)
    return done.returncode, json.loads(done.stdout or "{}")


def test_a_dry_run_of_what_launches_nothing_judges_the_arguments_alone(tmp_path):
    home = tmp_path / "h"
    done = gangplan(home, "run", "--local", "compare_placements", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "all arguments are sound" in done.stdout
    assert not home.exists()


@pytest.mark.parametrize("pipeline", ["what_if", "compare_placements"])
def test_servers_that_nobody_trains_with_are_no_gang(pipeline, tmp_path):
    done = gangplan(tmp_path / "home", "run", "--local", pipeline, "-p", "role_worker_count=0")
    assert done.returncode == 3
    assert "role_worker_count: somebody must train" in done.stderr


def test_a_dry_run_of_what_if_is_its_answer_and_writes_nothing(tmp_path):
    home = tmp_path / "h"
    code, found = dry(home, "what_if", "-p", "role_worker_count=1")
    assert (code, len(found["plan"]["placements"])) == (0, 1)
    code, found = dry(
        home,
        "what_if",
        "-p",
        "cluster_source=made_up",
        "-p",
        "role_worker_count=9",
        "-p",
        "role_worker_gpus=1",
    )
    (refused,) = found["plan"]["rejections"].values()
    assert code == 1
    assert "8 workers instead of 9" in refused["changes"][0]["text"]
    assert not home.exists()


def test_a_dry_run_of_a_study_answers_for_each_gang_that_is_unlike_the_others(tmp_path):
    home = tmp_path / "h"
    code, found = dry(home, "scaling_study", "-p", "study_worker_counts=[1,400]", "-p", "study_repeats=2")
    assert code == 1
    fits = {each["about"]: bool(each["plan"]["placements"]) for each in found["gangs"]}
    assert fits == {"worker=1": True, "worker=400": False}
    code, found = dry(
        home, "sweep", "-p", 'sweep_trials=[{"role_worker_count": 1}, {"role_worker_count": 2}]'
    )
    assert code == 0
    assert [each["about"] for each in found["gangs"]] == [
        "trial 0, trial 1, trial 2",
        "trial 3, trial 4, trial 5",
    ]
    assert not home.exists()


def test_a_file_is_the_cluster_that_is_asked_and_that_of_this_machine_stays(tmp_path):
    home, file = tmp_path / "h", tmp_path / "c.yaml"
    file.write_text("nodes: [{name: theirs, allocatable: {cpu: '64', memory: 64Gi}}]\n")
    code, result, told = train(home, "what_if", "--cluster", str(file))
    assert code == 0, told
    (placed,) = result["plan"]["placements"].values()
    assert {node for nodes in placed.values() for node in nodes} == {"theirs"}
    done = gangplan(home, "run", "--local", "what_if", "--dry-run")
    assert "node-0" in done.stdout
    assert "theirs" not in done.stdout


@pytest.mark.parametrize(
    "contradiction", ["cluster_source=made_up", "cluster_source=live", "cluster_snapshot=x"]
)
def test_two_words_about_the_cluster_are_refused(contradiction, tmp_path):
    words = ("--cluster", str(RACKS), "-p", contradiction)
    done = gangplan(tmp_path / "h", "run", "--local", "compare_placements", *words)
    assert done.returncode == 2
    assert contradiction in done.stderr
    assert not (tmp_path / "h").exists()


def test_a_comparison_on_a_file_knows_its_queues_and_levels(tmp_path):
    code, result, told = train(
        tmp_path / "h",
        "compare_placements",
        *("--tfjob", str(ROOT / "examples" / "mnist-tfjob.yaml"), "-p", "gang_copies=2"),
        *("--cluster", str(ROOT / "examples" / "gpu-nodes.yaml"), "-p", "role_worker_count=3"),
    )
    assert code == 0, told
    assert len(result["found"]["rows"]) == 4
    assert "not looked at, since a TFJob is given that says it: role_worker_count" in told


def test_unknown_names_and_wrong_values_are_told_at_once(tmp_path):
    given = {"role_worker_cpu": "abc", "role_worker_memory": "1X", "nope": "3", "role_ps_count": "two"}
    flags = [word for name, value in given.items() for word in ("-p", f"{name}={value}")]
    for pipeline in ("what_if", "train"):
        done = gangplan(tmp_path / "h", "run", "--local", pipeline, *flags)
        assert done.returncode == 3
        assert "4 problems" in done.stderr
        for name in given:
            assert done.stderr.count(f"  {name}: ") == 1, name


def test_a_snapshot_that_is_not_given_is_missed(tmp_path):
    done = gangplan(tmp_path / "h", "run", "--local", "what_if", "-p", "cluster_source=snapshot")
    assert done.returncode == 3
    assert (
        "cluster_snapshot: must be a snapshot or the path of one, since cluster_source is snapshot"
        in done.stderr
    )
