"""Every step of the pipelines with several gangs, or none, as KFP's launcher starts it."""

from pathlib import Path

import pytest
from kfpserver.driver import Driver
from kfpserver.process import Processes
from runs import job, nothing_left, python

from gangplan.pipeline import packaged
from pipelines.compile import PIPELINES

TELLS = job(Worker=python("print('total images/sec: 100.0')"))
SMALL = {
    "scaling_study": {
        "study_trainer": "tfjob",
        "tfjob_yaml": TELLS,
        "study_worker_counts": [1, 2],
        "study_repeats": 1,
    },
    "sweep": {"sweep_grid": {"train_seed": [0, 1]}, "train_epochs": 1},
}


@pytest.mark.parametrize("name", sorted(PIPELINES.keys() - {"train"}))
def test_every_step_is_green_and_takes_what_the_driver_makes(name, tmp_path):
    driver = Driver(
        package=packaged(name),
        run_id="run-1",
        arguments=SMALL.get(name, {}),
        folder=str(tmp_path / "artifacts"),
    )
    run = Processes(driver=driver, home=tmp_path / "home")
    for task in driver.tasks():
        ended = run.run(task)
        assert ended.code == 0, ended.log
        for key in driver.artifacts(task):
            metadata = driver.artifact(task, key)["metadata"]
            assert {type(value) for value in metadata.values()} <= {str, int, float}, (task, key)
            assert Path(driver.artifact(task, key)["uri"]).exists() or metadata, (task, key)
    nothing_left(tmp_path / "home")
