"""The public names: what type checkers see is what there is."""

import ast
import importlib
import pkgutil
from importlib.metadata import version
from pathlib import Path

import pytest

import gangplan
from gangplan.solver import core_version

SOURCE = Path(gangplan.__file__)


def declared() -> dict[str, str]:
    """Name → module, as the imports for type checkers say."""
    (block,) = [
        node
        for node in ast.parse(SOURCE.read_text()).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    return {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_the_public_names_are_those_that_type_checkers_see():
    assert set(gangplan.__all__) == {*declared(), "__version__"}
    assert dir(gangplan) == sorted(gangplan.__all__)
    assert len(declared()) > 40, "a comparison of nothing proves nothing"


@pytest.mark.parametrize(("name", "module"), declared().items())
def test_a_public_name_is_the_object_of_its_module(name, module):
    assert getattr(gangplan, name) is getattr(importlib.import_module(module), name)
    assert module.startswith("gangplan.")


def test_every_error_is_public():
    errors = importlib.import_module("gangplan.errors")
    own = {
        name for name, item in vars(errors).items() if getattr(item, "__module__", "") == "gangplan.errors"
    }
    assert own == {name for name, module in declared().items() if module == "gangplan.errors"}


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        gangplan.nothing  # noqa: B018
    with pytest.raises(ImportError):
        exec("from gangplan import nothing")


def test_package_and_solver_have_one_version():
    assert gangplan.__version__ == version("gangplan") == core_version()


def test_every_module_has_a_docstring_that_is_a_sentence():
    seen = 0
    for found in pkgutil.walk_packages([str(SOURCE.parent)], "gangplan."):
        if found.name.endswith("._core"):
            continue
        path = SOURCE.parents[1] / Path(*found.name.split("."))
        path = path / "__init__.py" if found.ispkg else path.with_suffix(".py")
        text = ast.get_docstring(ast.parse(path.read_text()))
        assert text, path
        assert text.split("\n\n")[0].rstrip().endswith((".", ":", '"')), path
        seen += 1
    assert seen > 60
