"""Every step of the pipelines with several gangs, or none, as KFP's launcher starts them."""

import uuid
from pathlib import Path

import pytest
from kfpserver.driver import Driver
from kfpserver.process import Processes
from runs import job, nothing_left, python

from gangplan.pipeline import packaged
from pipelines.compile import PIPELINES

STAND_IN = job(Worker=python("print('total images/sec: 100.0')"))
RUNS = {
    "compare_placements": ({"gang_copies": 2}, ["compare-placements", "report-study"]),
    "scaling_study": (
        {"study_trainer": "tfjob", "tfjob_yaml": STAND_IN, "study_worker_counts": [1, 2], "study_repeats": 1},
        ["measure-scaling", "report-study", "conclude", "release-all"],
    ),
    "sweep": (
        {"sweep_grid": {"train_seed": [0, 1]}, "train_epochs": 1},
        ["prepare-data", "train-all", "choose-best", "report-study", "conclude", "release-all"],
    ),
    "what_if": ({"role_worker_count": 1}, ["place-only"]),
}


def new_id() -> str:
    """No other run of this machine may have it: release ends every process that bears it."""
    return f"run-{uuid.uuid4()}"


@pytest.fixture(scope="module", params=RUNS)
def ran(request, tmp_path_factory):
    """A run of each, with small settings."""
    folder = tmp_path_factory.mktemp(request.param)
    arguments, steps = RUNS[request.param]
    driver = Driver(
        package=packaged(request.param),
        run_id=new_id(),
        arguments=arguments,
        folder=str(folder / "artifacts"),
    )
    run = Processes(driver=driver, home=folder / "home", extra={"GANGPLAN_FORKSERVER": "true"})
    return request.param, run, run.run_until(steps[-1]), folder / "home"


def test_every_step_is_green_and_takes_what_the_driver_makes(ran):
    name, run, ended, home = ran
    assert sorted(ended) == sorted(RUNS[name][1])
    assert {task: step.code for task, step in ended.items()} == dict.fromkeys(ended, 0), {
        task: step.log for task, step in ended.items()
    }
    for task in ended:
        for key in run.driver.artifacts(task):
            found = run.driver.artifact(task, key)
            assert {type(value) for value in found["metadata"].values()} <= {str, int, float}, (task, key)
            assert Path(found["uri"]).exists() or found["metadata"], (task, key)
    nothing_left(home)


def test_every_pipeline_is_run_so():
    assert set(RUNS) == PIPELINES.keys() - {"train"}


def test_what_is_published_is_what_was_found_out(ran):
    name, run, ended, _ = ran
    if name == "scaling_study":
        assert ended["measure-scaling"].outputs == {"outcome": "Succeeded", "reason": ""}
        assert run.driver.artifact("report-study", "metrics")["metadata"]["speed_up_2"] == 1.0
        assert ended["release-all"].outputs["Output"] == 2
    elif name == "sweep":
        model = run.driver.artifact("choose-best", "model")["metadata"]
        assert {type(value) for value in model.values()} <= {str, int, float}
        assert model["chosen_by"] == "accuracy"
        assert ended["train-all"].outputs["Output"] == 2
    elif name == "compare_placements":
        assert run.driver.artifact("report-study", "metrics")["metadata"]["deadlocked_packed"] == 0
        assert run.artifact("report-study", "page").lstrip().startswith("<!")
    else:
        assert ended["place-only"].outputs["outcome"] == "Succeeded"
        assert "may start" in run.artifact("place-only", "explanation")


def test_a_red_end_has_the_reason_as_its_error(tmp_path):
    """The gang of one worker fails; report and table are published, and conclude says why."""
    own = job(Worker=python("import sys; sys.exit('no such device')"))
    arguments = RUNS["scaling_study"][0] | {"tfjob_yaml": own}
    driver = Driver(
        package=packaged("scaling_study"),
        run_id=new_id(),
        arguments=arguments,
        folder=str(tmp_path / "artifacts"),
    )
    run = Processes(driver=driver, home=tmp_path / "home")
    ended = run.run_until("release-all")
    assert {task: step.code for task, step in ended.items() if step.code} == {"conclude": 1}
    assert "1 worker, repeat 1: Failed:" in ended["conclude"].log
    assert "no such device" in ended["conclude"].log
    assert "no such device" in run.artifact("report-study", "table")
    nothing_left(tmp_path / "home")
