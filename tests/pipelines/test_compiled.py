"""What is committed is what compiles, and it is what the package carries."""

import re
from pathlib import Path

import pytest
import yaml

from gangplan import InvalidInput
from gangplan.pipeline import packaged, parameters, read_arguments
from gangplan.steps import comparison_request, place_only, scaling_request, sweep_request, training
from gangplan.steps.arguments import judged
from pipelines.compile import PIPELINES, compile_all

WIRED = [
    ("train", "admit", training.PARAMETERS),
    ("scaling_study", "measure-scaling", scaling_request.PARAMETERS),
    ("sweep", "train-all", sweep_request.PARAMETERS),
    ("compare_placements", "compare-placements", comparison_request.PARAMETERS),
    ("what_if", "place-only", place_only.PARAMETERS),
]
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


def spec_of(name: str) -> dict:
    return next(yaml.safe_load_all((COMPILED / f"{name}.yaml").read_text()))


def steps_of(spec: dict) -> dict[str, dict]:
    """Name → task, of all layers, without those that only hold others."""
    dags = [spec["root"]["dag"], *(part["dag"] for part in spec["components"].values() if "dag" in part)]
    tasks = {name: task for dag in dags for name, task in dag["tasks"].items()}
    return {
        name: task
        for name, task in tasks.items()
        if "dag" not in spec["components"][task["componentRef"]["name"]]
    }


STEPS = {"compare_placements": 2, "scaling_study": 4, "sweep": 6, "train": 7, "what_if": 1}


@pytest.mark.parametrize("name", PIPELINES)
def test_no_step_is_cached_and_every_step_takes_the_image_parameter(name):
    """A cached launch would skip the training; KFP caches exit handlers unless told not to."""
    spec = spec_of(name)
    steps = steps_of(spec)
    assert len(steps) == STEPS[name]
    for step, task in steps.items():
        assert not task["cachingOptions"].get("enableCache"), step
    for step, executor in spec["deploymentSpec"]["executors"].items():
        image = executor["container"]["image"]
        assert re.fullmatch(r"\{\{\$\.inputs\.parameters\['(pipelinechannel--)?image'\]\}\}", image), step


@pytest.mark.parametrize("name", PIPELINES)
def test_parameters_say_what_they_mean(name):
    found = parameters(packaged(name))
    assert all(item.text for item in found.values()), [name for name, item in found.items() if not item.text]
    assert list(found) == sorted(found)
    assert judged(found), "all that is wrong with its arguments is said before a run starts"


@pytest.mark.parametrize(("name", "step", "names"), WIRED)
def test_a_step_gets_the_parameters_that_are_checked_for_it(name, step, names):
    """What is checked before a run starts is what the step checks: by the wiring of the compiled pipeline."""
    inputs = steps_of(spec_of(name))[step]["inputs"]["parameters"]
    wired = {
        item["componentInputParameter"].removeprefix("pipelinechannel--"): inner
        for inner, item in inputs.items()
        if "componentInputParameter" in item and not inner.startswith("pipelinechannel--")
    }
    assert {outer: wired.get(outer) for outer in names} == dict(names)


@pytest.mark.parametrize(("name", "step", "names"), WIRED)
def test_a_component_alone_has_the_defaults_of_its_pipeline(name, step, names):
    spec = spec_of(name)
    said = spec["root"]["inputDefinitions"]["parameters"]
    component = spec["components"][steps_of(spec)[step]["componentRef"]["name"]]["inputDefinitions"][
        "parameters"
    ]
    differ = {
        inner: (said[outer].get("defaultValue"), component[inner].get("defaultValue"))
        for outer, inner in names.items()
        if outer != "image" and said[outer].get("defaultValue") != component[inner].get("defaultValue")
    }
    assert differ == {}


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
