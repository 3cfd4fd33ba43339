"""Components are types, a docstring, one import and one call; everything else is in gangplan.steps."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "components"
FOLDERS = sorted(path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("_"))


def _module(name: str) -> ast.Module:
    return ast.parse((ROOT / name / "component.py").read_text())


def test_there_are_the_components_that_the_pipeline_needs():
    needed = {"prepare_data", "admit", "launch_tfjob", "evaluate", "report", "conclude", "release"}
    assert needed <= set(FOLDERS)


@pytest.mark.parametrize("name", FOLDERS)
def test_module_scope_imports_only_kfp_and_the_image(name):
    imports = [node for node in _module(name).body if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {node.module for node in imports if isinstance(node, ast.ImportFrom)}
    assert modules <= {"kfp", "typing", "components._image"}
    assert all(isinstance(node, ast.ImportFrom) for node in imports)
    assert "annotations" not in {alias.name for node in imports for alias in node.names}


@pytest.mark.parametrize("name", FOLDERS)
def test_the_body_is_a_docstring_an_import_and_a_call(name):
    (function,) = [node for node in _module(name).body if isinstance(node, ast.FunctionDef)]
    assert function.name == name
    text, imported, called = function.body
    assert ast.get_docstring(function)
    assert isinstance(text, ast.Expr)
    assert isinstance(imported, ast.ImportFrom)
    assert imported.module == f"gangplan.steps.{name}"
    assert isinstance(called, ast.Expr | ast.Return)
    assert isinstance(called.value, ast.Call)
    assert isinstance(called.value.func, ast.Name)
    names = {node.id for node in ast.walk(called) if isinstance(node, ast.Name)}
    parameters = {argument.arg for argument in function.args.args}
    assert names - {"step"} <= parameters, "a component passes its parameters on, and nothing else"


@pytest.mark.parametrize("name", FOLDERS)
def test_the_docstring_names_every_parameter(name):
    (function,) = [node for node in _module(name).body if isinstance(node, ast.FunctionDef)]
    text = ast.get_docstring(function) or ""
    for argument in function.args.args:
        assert f"\n    {argument.arg}: " in text, argument.arg
