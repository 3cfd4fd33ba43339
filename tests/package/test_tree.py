"""The tree: one noun a file, no file too long to read, one door to the Rust core."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST = 400
FOLDERS = {"python": (".py", ".pyi", ".j2"), "components": (".py",), "pipelines": (".py",), "core": (".rs",)}
EMPTY_WORDS = {
    "base", "common", "core", "helper", "helpers", "lib", "manager", "misc", "shared", "stuff", "tools", "types",
    "util", "utils",
}  # fmt: skip
"""Names that say nothing of what is in a file; ``lib.rs`` is the name that Rust gives to the root of a crate."""


def files(folder: str) -> Iterator[Path]:
    for path in sorted((ROOT / folder).rglob("*")):
        if path.suffix in FOLDERS[folder] and not path.is_symlink() and "target" not in path.parts:
            yield path


@pytest.mark.parametrize(
    ("folder", "at_least"), [("python", 80), ("components", 7), ("pipelines", 2), ("core", 40)]
)
def test_no_file_is_longer_than_one_reads(folder, at_least):
    lengths = {path: len(path.read_text().splitlines()) for path in files(folder)}
    assert len(lengths) >= at_least, "a guard that sees nothing guards nothing"
    assert {str(path): lines for path, lines in lengths.items() if lines > LONGEST} == {}


def test_every_file_and_folder_is_named_by_what_it_holds():
    seen = [path for folder in FOLDERS for path in files(folder)]
    assert len(seen) > 130
    nothing = [
        str(path)
        for path in seen
        for part in path.relative_to(ROOT).with_suffix("").parts[1:]
        if part.lower().strip("_") in EMPTY_WORDS and path.name not in {"_core.pyi", "lib.rs"}
    ]
    assert nothing == []


def imported(tree: ast.Module) -> set[str]:
    """Full names of all that a module imports, wherever it does so."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def test_only_solver_session_and_decisions_know_the_rust_core():
    users, seen = set(), 0
    for path in files("python"):
        if path.suffix == ".py":
            seen += 1
            if "gangplan._core" in imported(ast.parse(path.read_text())):
                users.add(path.name)
    assert users == {"decisions.py", "session.py", "solver.py"}
    assert seen > 80


def test_no_module_imports_relatively():
    for path in files("python"):
        if path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text())):
                assert not (isinstance(node, ast.ImportFrom) and node.level), path
