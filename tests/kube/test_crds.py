"""The CRDs that are installed are those that the resources describe."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_crds_are_made_from_the_resources():
    spec = importlib.util.spec_from_file_location("write_crds", ROOT / "tools" / "write_crds.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    files = tool.files()
    assert len(files) == 3
    for name, text in files.items():
        assert (tool.FOLDER / name).read_text() == text, "run `make crds`"
