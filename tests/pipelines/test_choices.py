"""What the SDK cannot say is put into the compiled file: choices, and a size that its driver can bear."""

from pathlib import Path
from typing import Optional

import pytest
import yaml
from kfp import components, dsl
from kfp.client.client import _override_caching_options

from gangplan import InvalidInput
from gangplan.pipeline import compile_pipeline, packaged, parameters, read_arguments
from gangplan.steps.training import STRATEGIES
from pipelines.compile import CHOICES, PIPELINES

RUN = "{{$.pipeline_job_uuid}}"
ACTS = {"admit", "launch-tfjob", "measure-scaling", "release", "release-all", "train-all"}


def test_the_run_form_offers_what_a_parameter_may_be():
    found = parameters(packaged("train"))
    assert found["train_strategy"].choices == STRATEGIES
    assert found["role_chief_count"].choices == (0, 1)
    offered = [item for name in PIPELINES for item in parameters(packaged(name)).values() if item.choices]
    assert all(item.default in item.choices for item in offered)
    assert set(CHOICES) == {item.name for item in offered}


def test_whole_numbers_in_lists_are_shown_as_such():
    shown = parameters(packaged("scaling_study"))["study_worker_counts"].default
    assert [str(value) for value in shown] == ["1", "2"]


def test_the_sdk_reads_choices_and_keeps_them():
    """Its client sends what it has read, not the file."""
    loaded = components.load_component_from_file(str(packaged("train")))
    kept = loaded.pipeline_spec.root.input_definitions.parameters["train_strategy"].literals
    assert [value.string_value for value in kept] == list(STRATEGIES)


def test_what_is_no_choice_is_refused_with_the_choices():
    given = {"train_strategy": "PS", "role_chief_count": "2"}
    with pytest.raises(InvalidInput) as caught:
        read_arguments(packaged("train"), given)
    assert {problem.path: problem.message for problem in caught.value.problems} == {
        "role_chief_count": "must be one of 0, 1, not '2'",
        "train_strategy": "must be one of auto, ps, mirrored, alone, not 'PS'",
    }


def test_compiling_twice_in_one_process_gives_the_same_choices(tmp_path: Path):
    @dsl.component(base_image="python:3.11", install_kfp_package=False)
    def one(mode: str):
        """Nothing."""

    @dsl.pipeline(name="choosing")
    def choosing(mode: str = "a"):
        one(mode=mode)

    for name in ("first", "second"):
        compile_pipeline(choosing, tmp_path / name, choices={"mode": ("a", "b"), "absent": (1,)})
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    assert parameters(tmp_path / "second")["mode"].choices == ("a", "b")


def test_a_step_whose_driver_could_not_start_is_refused_when_it_is_compiled(tmp_path: Path):
    """The server takes it, and then the run hangs: "Argument list too long"."""

    @dsl.component(base_image="python:3.11", install_kfp_package=False)
    def one(text: str):
        """Nothing."""

    @dsl.pipeline(name="large")
    def large():
        one(text="x" * 100_001)

    with pytest.raises(InvalidInput, match=r"\$\.root: is 1\d{5} bytes long, and may have 100000"):
        compile_pipeline(large, tmp_path / "large.yaml")
    assert not (tmp_path / "large.yaml").exists()


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_client_that_turns_caching_on_cannot_skip_a_step_that_acts(pipeline):
    """``enable_caching=True`` overrides what the outermost tasks say; a run's id among the inputs is never seen twice."""
    spec = components.load_component_from_file(str(packaged(pipeline))).pipeline_spec
    _override_caching_options(spec, True)
    cached, seen = [], 0
    dags = [spec.root.dag, *(part.dag for part in spec.components.values() if part.HasField("dag"))]
    for dag in dags:
        for name, task in dag.tasks.items():
            if spec.components[task.component_ref.name].HasField("dag"):
                continue
            seen += 1
            inputs = [item.runtime_value.constant.string_value for item in task.inputs.parameters.values()]
            if task.caching_options.enable_cache and RUN not in inputs:
                cached.append(name)
            if name in ACTS:
                assert RUN in inputs, f"{name} must not be found in a cache, whoever turns it on"
    assert seen
    assert cached == []


def test_the_placeholder_of_the_run_is_what_kfp_calls_it():
    assert dsl.PIPELINE_JOB_ID_PLACEHOLDER == RUN
    assert RUN in yaml.safe_dump(next(yaml.safe_load_all(packaged("train").read_text())), width=1000)


def test_lists_and_mappings_are_read_as_json_and_optional_ones_may_be_left_out(tmp_path: Path):
    @dsl.component(base_image="python:3.11", install_kfp_package=False)
    def one(counts: list, names: dict, note: Optional[str] = None):  # noqa: UP045 - KFP knows no other spelling
        """Nothing."""

    @dsl.pipeline(name="several")
    def several(counts: list, names: dict = {}, note: Optional[str] = None):  # noqa: B006, UP045 - KFP writes it down
        one(counts=counts, names=names, note=note)

    file = tmp_path / "several.yaml"
    compile_pipeline(several, file)
    given = {"counts": "[1, 2, 4]", "names": '{"a": [1.5]}'}
    assert read_arguments(file, given, local=False) == {"counts": [1, 2, 4], "names": {"a": [1.5]}}
    with pytest.raises(InvalidInput, match="note: must be given"):
        read_arguments(file, given)
    wrong = {"counts": '{"a": 1}', "names": '{"a": NaN}'}
    with pytest.raises(InvalidInput) as caught:
        read_arguments(file, wrong, local=False)
    assert [problem.path for problem in caught.value.problems] == ["counts", "names"]
