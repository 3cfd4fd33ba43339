"""The wheel, installed far from the checkout."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from runs import job, python

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel as `make wheel` builds it."""
    folder = tmp_path_factory.mktemp("dist")
    maturin = Path(sys.executable).with_name("maturin")
    command = [str(maturin), "build", "--release", "--locked", "--quiet", "--out", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=280)
    (built,) = folder.glob("*.whl")
    return built


def _environment(folder: Path, *words: str) -> Path:
    """A new virtual environment with pip; gives its programs' folder."""
    venv.create(folder, with_pip=True)
    programs = folder / "bin"
    subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", *words], check=True, timeout=280)
    return programs


def _run(programs: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("GANGPLAN", "PYTHON", "VIRTUAL_ENV"))
    }
    return subprocess.run(
        [programs / "gangplan", *words],
        cwd=folder,
        env=kept,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def _locked(names: set[str]) -> list[str]:
    """Versions of the lock file, as pip's constraints."""
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pins = [line.split(" ")[0] for line in lines if "==" in line and not line.startswith((" ", "#"))]
    return [pin for pin in pins if pin.split("==")[0] in names]


def test_the_wheel_holds_the_package_and_the_compiled_pipelines_only(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "gangplan/compiled/train.yaml" in names
    assert "gangplan/py.typed" in names
    assert "gangplan/report/page.html.j2" in names
    assert "gangplan/profiles/ask-eci.toml" in names
    assert {name.split("/")[0] for name in names} - {names[-1].split("/")[0]} == {"gangplan"}
    assert "abi3" in wheel.name


def test_without_extras_it_solves_explains_and_checks(wheel, tmp_path):
    base = {
        "msgspec",
        "pyyaml",
        "rich",
        "typer",
        "shellingham",
        "markdown-it-py",
        "mdurl",
        "pygments",
        "annotated-doc",
    }
    (tmp_path / "constraints").write_text("\n".join(_locked(base)))
    programs = _environment(tmp_path / "venv", str(wheel), "-c", str(tmp_path / "constraints"))
    example = (ROOT / "examples" / "two-racks.yaml").read_text()
    (tmp_path / "cluster.yaml").write_text(example)
    solved = _run(programs, tmp_path, "solve", "cluster.yaml", "-o", "json", "--out", "plan.json")
    assert solved.returncode == 0, solved.stderr
    assert set(json.loads(solved.stdout)["placements"]) == {"mnist"}
    assert _run(programs, tmp_path, "check", "cluster.yaml", "plan.json").returncode == 0
    assert "8 workers" in _run(programs, tmp_path, "explain", "-f", "cluster.yaml").stdout
    written = _run(programs, tmp_path, "pipeline", "compile", "train", "--image", "registry.example/python:2")
    assert written.returncode == 0, written.stderr
    assert "defaultValue: registry.example/python:2" in (tmp_path / "train.yaml").read_text()
    refused = _run(programs, tmp_path, "run", "--local")
    assert refused.returncode == 2
    assert "gangplan[" in refused.stderr, "the missing extra is named"
    assert "Traceback" not in refused.stderr


def test_with_extras_it_runs_the_pipeline_without_a_checkout(wheel, tmp_path):
    """The extras come from this environment: a path to it, which does not bring its editable gangplan along."""
    programs = _environment(tmp_path / "venv", "--no-deps", str(wheel))
    site = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    (site / "extras.pth").write_text(sysconfig.get_path("purelib") + "\n")
    words = [
        "run",
        "--local",
        "--home",
        str(tmp_path / "home"),
        "-o",
        "json",
        "-p",
        "tfjob_yaml=" + job(Worker=python("pass")),
    ]
    done = _run(programs, tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outcome"] == "Succeeded"
    where = [programs / "python", "-c", "import gangplan; print(gangplan.__file__)"]
    assert str(site) in subprocess.run(where, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
