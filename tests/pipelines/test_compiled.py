"""What is committed is what compiles, and it is what the package carries."""

from pathlib import Path

import pytest
import yaml

from gangplan import InvalidInput
from gangplan.pipeline import packaged, parameters, read_arguments
from gangplan.steps.training import PARAMETERS
from pipelines.compile import PIPELINES, compile_all

COMPILED = Path(__file__).parents[2] / "pipelines" / "compiled"


def test_every_pipeline_is_committed_as_it_compiles(tmp_path):
    compile_all(tmp_path)
    fresh = {path.name: path.read_text() for path in tmp_path.glob("*.yaml")}
    committed = {path.name: path.read_text() for path in COMPILED.glob("*.yaml")}
    assert fresh.keys() == committed.keys() == {f"{name}.yaml" for name in PIPELINES}
    assert fresh == committed, "run `make pipelines` and commit the difference"


def test_the_package_carries_the_same_bytes():
    for name in PIPELINES:
        assert packaged(name).read_bytes() == (COMPILED / f"{name}.yaml").read_bytes()


def test_no_step_is_cached_and_every_step_takes_the_image_parameter():
    """A cached launch would skip the training; KFP caches exit handlers unless told not to."""
    spec = yaml.safe_load((COMPILED / "train.yaml").read_text())
    tasks = dict(spec["root"]["dag"]["tasks"])
    inner = spec["components"]["comp-exit-handler-1"]["dag"]["tasks"]
    tasks |= inner
    steps = {
        name: task for name, task in tasks.items() if "comp-exit-handler" not in task["componentRef"]["name"]
    }
    assert len(steps) == 7
    for name, task in steps.items():
        assert not task["cachingOptions"].get("enableCache"), name
    for name, executor in spec["deploymentSpec"]["executors"].items():
        assert executor["container"]["image"] == "{{$.inputs.parameters['pipelinechannel--image']}}", name


def test_parameters_say_what_they_mean():
    found = parameters(packaged("train"))
    assert all(item.text for item in found.values()), [name for name, item in found.items() if not item.text]
    assert list(found) == sorted(found)
    assert set(PARAMETERS) <= set(found)


def test_arguments_are_read_by_the_type_of_their_parameter():
    given = {
        "train_epochs": "3",
        "train_learning_rate": "0.5",
        "gang_wait_if_impossible": "True",
        "job_name": "it's",
    }
    assert read_arguments(packaged("train"), given) == {
        "train_epochs": 3,
        "train_learning_rate": 0.5,
        "gang_wait_if_impossible": True,
        "job_name": "it's",
    }


def test_all_wrong_arguments_are_named_at_once():
    given = {
        "train_epoch": "3",
        "train_epochs": "3.5",
        "gang_wait_if_impossible": "perhaps",
        "job_name": "x" * 200_000,
    }
    with pytest.raises(InvalidInput) as caught:
        read_arguments(packaged("train"), given)
    assert {problem.path for problem in caught.value.problems} == set(given)
    assert "train_epochs" in str(caught.value), "a near miss is told what it may have meant"


def test_an_unknown_pipeline_is_told_the_known_ones():
    with pytest.raises(InvalidInput, match="train"):
        packaged("trian")
