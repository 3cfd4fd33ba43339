"""What the page on Kubeflow says of the run form, the steps and the exit codes is so."""

import re
from pathlib import Path

import pytest
import yaml
from kfpserver.progress import order

from gangplan.cli.exits import code_of_outcome
from gangplan.pipeline import packaged, parameters

PAGE = (Path(__file__).parents[2] / "docs" / "kubeflow.md").read_text()
PIPELINES = sorted(path.stem for path in packaged("train").parent.glob("*.yaml"))
PARAMETERS = parameters(packaged("train"))


def section(title: str) -> str:
    """The text below a heading."""
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def first_column(text: str) -> list[str]:
    """The first cells of all rows of a table, without its head."""
    return re.findall(r"^\| (.*?) \|", text, re.MULTILINE)[1:]


def test_each_parameter_of_the_run_form_is_in_a_group_that_the_page_explains():
    groups = [
        word for cell in first_column(section("The run form")) for word in re.findall(r"`(\w+)…?`", cell)
    ]
    assert groups == sorted(groups), "as the form has them"
    found = {name: [group for group in groups if name.startswith(group)] for name in PARAMETERS}
    assert {name for name, of in found.items() if len(of) != 1} == set()
    assert {group for of in found.values() for group in of} == set(groups)


def test_each_parameter_that_the_page_names_is_there():
    words = re.findall(r"\b(?:cluster|data|gang|role|study|sweep|train|volume)_[a-z_]+[a-z]\b", PAGE)
    named = set(words) - set(PIPELINES)
    assert len(named) > 16
    assert named <= {name for pipeline in PIPELINES for name in parameters(packaged(pipeline))}


def test_the_steps_and_artifacts_of_other_pipelines_are_those_that_the_page_names():
    rows = re.findall(
        r"^\| `(\w+)` \|.*\| (.*) \|$", section("Pipelines with several gangs, or none"), re.MULTILINE
    )
    assert {name for name, _ in rows} == set(PIPELINES) - {"train"}
    for name, told in rows:
        spec = next(iter(yaml.safe_load_all(packaged(name).read_text())))
        for step, artifacts in re.findall(r"`([a-z-]+)`: ((?:`\w+`(?: \(.*?\))?,? ?)+)", told):
            outputs = spec["components"][f"comp-{step}"]["outputDefinitions"]["artifacts"]
            assert set(re.findall(r"`(\w+)`", artifacts)) <= set(outputs), step


def test_the_drop_downs_are_those_that_the_page_names():
    (line,) = [line for line in section("The run form").splitlines() if "are drop-downs" in line]
    named = re.findall(r"`(\w+)`", line.partition("are drop-downs")[0])
    assert set(named) == {name for name, item in PARAMETERS.items() if item.choices}


def test_the_steps_are_those_of_the_pipeline_in_their_order():
    spec = next(iter(yaml.safe_load_all(packaged("train").read_text())))
    assert [cell.strip("`") for cell in first_column(section("What is seen of a run"))] == order(spec)


def test_the_artifacts_of_each_step_are_those_that_the_page_names():
    """Words in backticks in the last column are artifacts, but for commands and other steps."""
    spec = next(iter(yaml.safe_load_all(packaged("train").read_text())))
    rows = re.findall(r"^\| `([a-z-]+)` \|.*\| (.*) \|$", section("What is seen of a run"), re.MULTILINE)
    assert len(rows) == 7
    for step, told in rows:
        outputs = spec["components"][f"comp-{step}"].get("outputDefinitions", {}).get("artifacts", {})
        assert set(re.findall(r"`(\w+)`", told)) <= set(outputs), step


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        ("Succeeded", "succeeded"),
        ("NotAdmitted", "not admitted"),
        ("Failed", "failed"),
        ("Canceled", "canceled"),
        ("TimedOut", "timed out"),
    ],
)
def test_exit_codes_are_those_of_the_outcomes(outcome, word):
    rows = re.findall(r"^\| (\d+) \| ([^:|]+)", section("By command"), re.MULTILINE)
    assert [int(code) for code, said in rows if said.strip().partition(",")[0] == word] == [
        code_of_outcome(outcome)
    ]
