"""What the README and the examples show is what happens."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from runs import gangplan
from typer.main import get_command

from gangplan.cli.main import app

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = {kind: re.findall(rf"```{kind}\n(.*?)```", README, re.DOTALL) for kind in ("python", "sh")}
COMMANDS = [
    line.split("#")[0].strip().removeprefix(".venv/bin/")
    for block in BLOCKS["sh"]
    for line in block.splitlines()
    if line.startswith(".venv/bin/gangplan")
]


def test_the_python_of_the_readme_prints_what_its_comments_say():
    (code,) = BLOCKS["python"]
    promised = [line.split("# ")[1].strip() for line in code.splitlines() if line.startswith("print(")]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == promised
    assert promised


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_readme_works(command, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    done = gangplan(tmp_path / "home", *shlex.split(command)[1:], timeout_s=200)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_make_has_the_two_commands_of_the_readme():
    named = re.findall(r"^make ([a-z-]+)", "\n".join(BLOCKS["sh"]), re.MULTILINE)
    assert set(named) == {"demo", "test"}
    told = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert all(re.search(rf"^  {name} ", told, re.MULTILINE) for name in named)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_says_how_to_try_it_and_works(path, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    tried = [
        command.strip()
        for line in re.findall(r"^# Try: (.*)$", path.read_text(), re.MULTILINE)
        for command in line.split(";")
    ]
    assert tried, "an example begins with a comment that says how to try it"
    for command in tried:
        done = gangplan(tmp_path / "home", *shlex.split(command)[1:])
        assert done.returncode == 0, done.stderr


def test_every_link_of_the_docs_leads_somewhere():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md")]
    links = [
        (page, target)
        for page in pages
        for target in re.findall(r"\]\(([^)#]+)", page.read_text())
        if not target.startswith("http")
    ]
    assert len(links) >= 8
    assert [(page.name, target) for page, target in links if not (page.parent / target).exists()] == []


PAGES = [
    ROOT / "README.md",
    *sorted(ROOT.glob("docs/**/*.md")),
    *sorted(ROOT.glob("*/README.md")),
    *sorted(ROOT.glob("python/gangplan/kube/doctor/*.py")),  # its cures
]
TOLD = sorted(
    {
        (page.relative_to(ROOT).as_posix(), told.strip())
        for page in PAGES
        for told in re.findall(
            r'(?:^|[`"])(?:\.venv/bin/)?(gangplan [a-z][^`"\n]*)', page.read_text(), re.MULTILINE
        )
    }
)


@pytest.mark.parametrize(("page", "told"), TOLD, ids=[f"{page}: {told}" for page, told in TOLD])
def test_every_command_and_option_that_the_docs_name_is_there(page, told):
    """Whatever the words around them are: commands on a cluster are tried in the tests of that cluster."""
    command, words = get_command(app), re.split(r"\s+", re.split(" -- | [|#] ", told)[0])[1:]
    while (known := getattr(command, "commands", None)) is not None:
        name = words.pop(0).strip(",.;")
        assert name in known, f"{page} names {told!r}"
        command = known[name]
        if not words:
            break
    known = {
        option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
    }
    used = {word.strip("[](),;:.").partition("=")[0] for word in words if word.strip("[(").startswith("-")}
    assert used - {"-", "", "…"} <= known | {"--help"}, f"{page} names {told!r}"
