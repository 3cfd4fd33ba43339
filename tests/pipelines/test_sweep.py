"""The pipeline sweep on this machine: trials compete in one queue, and the best model is published."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from runs import gangplan, interrupt, nothing_left, records, start, train, until

ONE_AT_A_TIME = "nodes: [{name: n1, allocatable: {cpu: 500m, memory: 2Gi}}]\n"
"""A cluster with room for one trial."""

TRIALS = [
    {"train_epochs": 1, "train_seed": 1},
    {"train_epochs": 4},
    {"train_learning_rate": 1e30},
    {"train_learning_rate": 1e30, "train_seed": 1},
    {"role_worker_count": 400},
]


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """Two trials that learn, two that diverge and one that can never have room, one after another on half a core."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "cluster.yaml").write_text(ONE_AT_A_TIME)
    home = folder / "home"
    words = ["run", "--local", "sweep", "-o", "json", "--cluster", str(folder / "cluster.yaml")]
    words += ["-p", f"sweep_trials={json.dumps(TRIALS)}", "-p", "sweep_grid={}"]
    process = start(home, *words, log=folder / "run")
    waiting = until(lambda: three_or_more(waits(home)), "the queue")
    assert process.wait(timeout=200) == 0, (folder / "run.err").read_text()
    return home, json.loads((folder / "run.out").read_text()), waiting


def waits(home: Path) -> list[str]:
    return [record.name for record in records(home) if record.phase == "Pending"]


def three_or_more(names: list[str]) -> list[str]:
    return names if len(names) >= 3 else []


def test_all_trials_are_asked_for_before_any_is_waited_for(swept):
    """Three of them were seen in the queue at once; by their history none was asked for after another had room."""
    home, _, waiting = swept
    assert len(waiting) >= 3
    found = records(home)
    assert len(found) == len(TRIALS)
    last_asked = max(record.history[0].at for record in found)
    ended = [record.finished_at for record in found if record.outcome == "Succeeded"]
    assert last_asked < min(ended)


def test_trials_take_the_room_one_after_another(swept):
    home, _, _ = swept
    held = []
    for record in records(home):
        times = {event.phase: event.at for event in record.history}
        if "Reserved" in times:
            held.append((times["Reserved"], times["Finished"]))
    assert len(held) == 4
    assert all(first[1] <= second[0] + 0.001 for first, second in pairwise(sorted(held)))


def test_the_table_tells_what_became_of_each_trial(swept):
    _, result, _ = swept
    rows = result["found"]["rows"]
    assert [row[0] for row in rows] == ["0", "1 (best)", "2", "3", "4"]
    assert [row[1] for row in rows][:2] == ["train_epochs=1, train_seed=1", "train_epochs=4"]
    assert [row[2] for row in rows] == ["Succeeded", "Succeeded", "Failed", "Failed", "NotAdmitted"]
    assert "training diverged" in rows[2][-1]
    assert "cannot fit this cluster" in rows[4][-1]
    assert result["reason"] == "3 of 5 trials have no model: 2, 3, 4"


def test_the_best_model_is_published_with_flat_metadata(swept):
    home, result, _ = swept
    (outputs,) = home.glob("outputs/*/choose-best")
    model = json.loads((outputs / "model").read_text())
    assert all(isinstance(value, str | int | float) for value in model.values())
    assert {"tfjob", "run_id", "placement", "signature", "data_digest", "path"} <= set(model)
    assert (model["trial"], model["trial_parameters"], model["chosen_by"]) == (
        1,
        "train_epochs=4",
        "accuracy",
    )
    assert (Path(result["model"]) / "saved_model.pb").is_file()
    assert result["model"] == model["path"]
    metrics = result["found"]["metrics"]
    assert (metrics["trials"], metrics["models"], metrics["best_trial"]) == (5, 2, 1)
    assert metrics["best_accuracy"] == pytest.approx(model["test_accuracy"], abs=1e-6)
    published = json.loads((outputs / "executor_output.json").read_text())["artifacts"]["model"]
    assert published["artifacts"][0]["metadata"]["trial"] == 1
    nothing_left(home)


def test_a_sweep_without_a_model_is_red(tmp_path):
    code, result, told = train(
        tmp_path / "h", "sweep", "-p", "sweep_grid={}", "-p", 'sweep_trials=[{"role_worker_cpu": "4000"}]'
    )
    assert code == 1
    assert result["outcome"] == "NotAdmitted"
    assert "no trial has trained a model" in result["reason"]
    assert result["model"] is None
    assert "Task 'report-study' finished with status SUCCESS" in told


def test_all_wrong_trials_are_named_before_anything_starts(tmp_path):
    trials = [{"train_epoch": 3}, {"train_epochs": "3", "train_seed": 1}, 4, {"train_strategy": 1}]
    given = {
        "sweep_trials": json.dumps(trials),
        "sweep_grid": '{"train_seed": [], "role_worker_count": [1, "x"]}',
        "sweep_metric": "f1",
        "gang_wait_seconds": "-1",
    }
    flags = [word for name, value in given.items() for word in ("-p", f"{name}={value}")]
    done = gangplan(tmp_path / "h", "run", "--local", "sweep", *flags)
    assert done.returncode == 3
    assert not (tmp_path / "h").exists()
    for path in (
        "sweep_trials[0].train_epoch",
        "sweep_trials[1].train_epochs",
        "sweep_trials[1].train_seed",
        "sweep_trials[2]",
        "sweep_trials[3].train_strategy",
        "sweep_grid.train_seed",
        "sweep_grid.role_worker_count[1]",
        "sweep_metric",
        "gang_wait_seconds",
    ):
        assert f"  {path}: " in done.stderr, path


def test_a_sweep_of_nothing_is_refused(tmp_path):
    done = gangplan(tmp_path / "h", "run", "--local", "sweep", "-p", "sweep_trials=[]", "-p", "sweep_grid={}")
    assert done.returncode == 3
    assert "sweep_grid: must have values to try, or sweep_trials trials" in done.stderr


def test_values_that_no_training_can_have_are_told_with_their_trial(tmp_path):
    given = ("-p", 'sweep_trials=[{}, {"train_epochs": 0}, {"role_ps_count": 1, "role_worker_count": 0}]')
    done = gangplan(tmp_path / "h", "run", "--local", "sweep", *given, "-p", "role_worker_memory=much")
    assert done.returncode == 3
    assert "  trial 3: train_epochs: must be a whole number, at least 1, not 0" in done.stderr
    assert "  trial 6: role_worker_count: somebody must train" in done.stderr
    assert done.stderr.count("role_worker_memory: ") == 1, "what is wrong for all is said once"
    many = ("-p", 'sweep_grid={"train_seed": [0,1,2,3,4,5,6,7], "train_epochs": [1,2,3,4,5,6,7,8,9]}')
    done = gangplan(tmp_path / "h", "run", "--local", "sweep", *many)
    assert done.returncode == 3
    assert "makes 72 gangs together with sweep_grid; a run may have 64 at most" in done.stderr
    ten = list(range(1, 11))
    names = (
        "train_seed",
        "train_epochs",
        "train_batch_size",
        "role_worker_count",
        "role_ps_count",
        "gang_priority",
    )
    more = ("-p", f"sweep_grid={json.dumps(dict.fromkeys(names, ten))}", "-p", "train_deadline_seconds=9")
    assert "makes 1000000 gangs" in gangplan(tmp_path / "h", "run", "--local", "sweep", *more).stderr


def test_a_sweep_that_is_interrupted_leaves_nothing(tmp_path):
    home = tmp_path / "h"
    process = start(home, "run", "--local", "sweep", "-p", "train_epochs=500", log=tmp_path / "run")
    until(lambda: sum(record.phase == "Bound" for record in records(home)) >= 2, "two gangs")
    interrupt(process)
    assert process.wait(timeout=30) == 130
    nothing_left(home)
    assert {record.phase for record in records(home)} == {"Finished"}
