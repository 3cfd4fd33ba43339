"""gangplan pipeline compile: what is committed, for any image, from anywhere."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from runs import GANGPLAN, environment
from typer.testing import CliRunner

import gangplan.kubeflow.package
from gangplan import InvalidInput
from gangplan.cli.main import app
from gangplan.kubeflow.package import Package, checkout, compiled, with_image
from gangplan.pipeline import packaged

IMAGE = "registry.example:5000/team/python@sha256:" + "ab" * 32
TRAIN = Package(name="train", text=packaged("train").read_text())


def command(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["pipeline", *words])
    assert done.exit_code == code, done.output
    return done.output


def test_what_is_committed_is_what_compiles():
    found = json.loads(command("compile", "--check", "-o", "json"))
    assert "train" in {each["pipeline"] for each in found}
    assert {(each["changed"], tuple(each["difference"])) for each in found} == {(False, ())}


def test_the_bytes_are_the_same_in_another_folder_and_home(tmp_path: Path):
    """Sets and dictionaries of names are the usual reason why they are not."""
    texts = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        done = subprocess.run(
            [*GANGPLAN, "pipeline", "compile", "train", "--out", "train.yaml"],
            cwd=folder,
            env=environment(folder) | {"HOME": str(folder), "PYTHONHASHSEED": seed, "TZ": f"UTC+{seed}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        texts.append((folder / "train.yaml").read_bytes())
    assert texts == [packaged("train").read_bytes()] * 2


def test_a_file_that_differs_is_told_with_its_difference(tmp_path: Path):
    file = tmp_path / "train.yaml"
    file.write_text(packaged("train").read_text().replace("defaultValue: digits", "defaultValue: mine"))
    told = command("compile", "train", "--check", "--out", str(file), code=1)
    assert "-        defaultValue: mine" in told
    assert "+        defaultValue: digits" in told
    assert "mine" in file.read_text(), "--check writes nothing"


def test_another_image_is_what_compiling_with_it_gives(tmp_path: Path):
    command("compile", "train", "--image", IMAGE, "--out", str(tmp_path / "ours.yaml"))
    code = "import sys; from pathlib import Path; from pipelines.compile import compile_all; compile_all(Path(sys.argv[1]))"
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env=os.environ | {"GANGPLAN_IMAGE": IMAGE, "PYTHONPATH": f"{checkout()}/python:{checkout()}"},
        check=True,
    )
    assert (tmp_path / "ours.yaml").read_bytes() == (tmp_path / "train.yaml").read_bytes()
    parameters = next(yaml.safe_load_all((tmp_path / "ours.yaml").read_text()))["root"]["inputDefinitions"][
        "parameters"
    ]
    assert parameters["image"]["defaultValue"] == IMAGE


def test_without_a_checkout_the_file_of_the_package_is_written(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(gangplan.kubeflow.package, "checkout", lambda: None)
    monkeypatch.chdir(tmp_path)
    command("compile")
    assert Path("train.yaml").read_bytes() == packaged("train").read_bytes()
    (package,) = compiled(("train",), image=IMAGE)
    assert package.text.count(IMAGE) == 2, "the default, and the comment that shows it"


def test_a_version_is_named_by_its_bytes():
    one = TRAIN
    assert one.version == Package(name="other", text=one.text).version
    assert one.version != with_image(one, IMAGE).version
    assert one.title == "gangplan-train"


@pytest.mark.parametrize("image", ["", "with space", "a\nb", "{{image}}", "x'"])
def test_what_is_no_image_is_refused(image):
    with pytest.raises(InvalidInput, match="must be the name of an image"):
        with_image(TRAIN, image)


def test_what_cannot_be_done_is_told():
    assert ", train" in command("compile", "trian", code=3)
    assert "give its NAME" in command("compile", "--out", "x.yaml", code=2)
