"""The recipe of the image, judged without a container engine: it names what there is, in the versions that are tested."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "deploy" / "Dockerfile"
KNOWN = {"ARG", "CMD", "COPY", "ENV", "FROM", "RUN", "USER", "WORKDIR"}


def instructions() -> list[tuple[str, str]]:
    """Instructions in their order, each with the rest of its line; continued lines are joined."""
    lines = [line for line in RECIPE.read_text().splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines())]


def defaults() -> dict[str, str]:
    """Build argument → its default."""
    pairs = (rest.partition("=") for word, rest in instructions() if word == "ARG")
    return {name: value for name, _, value in pairs if value}


def copied() -> list[tuple[str, str]]:
    """What is copied from the working folder: source, and where to under the working folder of the image."""
    found = []
    for word, rest in instructions():
        if word == "COPY" and not rest.startswith("--from"):
            *sources, target = rest.split()
            found += [(source, f"{target}{source}" if target.endswith("/") else target) for source in sources]
    return found


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_it_has_only_instructions_that_any_builder_knows():
    assert {word for word, _ in instructions()} == KNOWN
    assert instructions()[0][0] == "ARG"


def test_it_names_no_registry_and_every_base_can_be_replaced():
    bases = [rest.split()[0] for word, rest in instructions() if word == "FROM"]
    assert bases == ["${RUST_IMAGE}", "${PYTHON_IMAGE}"]
    for image in defaults().values():
        assert "/" not in image, "a host or an account would be someone's own"
        assert re.fullmatch(r"[a-z]+:\d+\.\d+[a-z0-9.-]*", image), "a version is named"
    assert "http" not in RECIPE.read_text()


def test_its_versions_are_those_that_are_tested():
    channel = tomllib.loads((ROOT / "rust-toolchain.toml").read_text())["toolchain"]["channel"]
    assert defaults()["RUST_IMAGE"].startswith(f"rust:{channel}-")
    assert ("ENV", f"RUSTUP_TOOLCHAIN={channel}") in instructions()
    locked = (ROOT / "requirements.lock").read_text()
    (maturin,) = re.findall(r"maturin==[\d.]+", RECIPE.read_text())
    assert f"\n{maturin} " in locked
    python = re.match(r"python:3\.(\d+)-", defaults()["PYTHON_IMAGE"])
    assert python is not None
    assert int(python[1]) >= int(project()["requires-python"].removeprefix(">=3."))
    assert f"gangplan/python:{project()['version']} " in RECIPE.read_text()
    assert f'VERSION = "{project()["version"]}"' in (ROOT / "components" / "_image.py").read_text()


def test_it_installs_the_wheel_with_every_version_of_the_lock(tmp_path):
    (install,) = (rest for word, rest in instructions() if word == "RUN" and "requirements.lock" in rest)
    assert "--constraint /tmp/versions" in install
    assert "gangplan-*.whl)[all]" in install
    assert "all" in project()["optional-dependencies"]
    expression = re.search(r"sed -n '(.*?)'", install)
    assert expression is not None
    command = ["sed", "-n", expression[1], str(ROOT / "requirements.lock")]
    versions = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    locked = re.findall(r"^[\w.-]+==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert [re.match(r"[\w.-]+==", line)[0] for line in versions] == locked
    assert len(locked) > 50
    assert not [line for line in versions if "\\" in line or "--hash" in line]


def test_what_it_copies_is_there_and_enough_to_build_the_wheel(tmp_path):
    """Cargo and maturin find all that they read; nothing is compiled."""
    for source, target in copied():
        if source == "requirements.lock":
            continue
        if (ROOT / source).is_dir():
            ignored = shutil.ignore_patterns("target", "fuzz", "__pycache__", "*.so")
            shutil.copytree(ROOT / source, tmp_path / target, symlinks=True, ignore=ignored)
        else:
            shutil.copy(ROOT / source, tmp_path / target)
    assert (tmp_path / "python" / "gangplan" / "compiled" / "train.yaml").is_file()
    described = ["cargo", "metadata", "--locked", "--offline", "--no-deps", "--format-version", "1"]
    subprocess.run(described, cwd=tmp_path, check=True, capture_output=True)
    maturin = str(Path(sys.executable).with_name("maturin"))
    packed = [maturin, "pep517", "write-dist-info", "--metadata-directory", str(tmp_path / "info")]
    done = subprocess.run(
        [*packed, "--interpreter", sys.executable], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (metadata,) = (tmp_path / "info").glob("*/METADATA")
    assert f"Version: {project()['version']}\n" in metadata.read_text()


@pytest.mark.parametrize("source", [source for source, _ in copied()])
def test_nothing_that_it_copies_is_left_out_of_what_the_builder_is_sent(source):
    rules = (RECIPE.parent / "Dockerfile.dockerignore").read_text().splitlines()
    assert "*" in rules, "all else stays where it is"
    assert f"!{source}" in rules


def test_it_runs_as_a_user_that_is_not_root():
    users = [rest for word, rest in instructions() if word == "USER"]
    assert users
    assert users[-1].isdecimal()
    assert int(users[-1]) > 0
