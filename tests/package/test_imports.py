"""What an import costs, and what works in an environment that has none of the extras."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import gangplan
from gangplan.snapshot import Gang, Node, Role, Snapshot

EXTRAS = {
    "train": ("tensorflow", "keras", "sklearn", "tensorboard", "numpy"),
    "pipelines": ("kfp", "kfp_pipeline_spec", "kfp_server_api"),
    "kube": ("kubernetes", "urllib3"),
    "report": ("jinja2", "markupsafe", "matplotlib"),
}

BLOCKER = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
sys.argv = ["gangplan", *sys.argv[1:]]
"""


def python(code: str, *words: str) -> str:
    """Run code in a fresh interpreter and give what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def without_extras(code: str, *words: str) -> str:
    """The same where no package of an extra can be imported."""
    return python(BLOCKER.format(names={name for names in EXTRAS.values() for name in names}) + code, *words)


def loaded(code: str) -> set[str]:
    """Packages that are in memory after running code."""
    text = python(
        f"{code}\nimport json, sys; print(json.dumps([name.partition('.')[0] for name in sys.modules]))"
    )
    return set(json.loads(text.splitlines()[-1]))


ALL = {name for names in EXTRAS.values() for name in names}


def test_importing_gangplan_loads_nothing_but_itself():
    assert loaded("import gangplan") & (ALL | {"msgspec", "yaml", "typer", "rich"}) == set()


@pytest.mark.parametrize(
    "code",
    [
        "import gangplan; gangplan.solve(gangplan.Snapshot())",
        "import gangplan.cli.main",
        "import gangplan.steps.admit, gangplan.steps.release, gangplan.steps.conclude",
        "import gangplan.kube.tfjob, gangplan.local.runtime, gangplan.pipeline, gangplan.report.explanation",
    ],
)
def test_what_needs_no_extra_loads_none(code):
    assert loaded(code) & ALL == set()


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """A snapshot file with one gang that fits and one that does not."""

    def one(name: str, cores: str) -> Gang:
        return Gang(name=name, roles=(Role(name="worker", replicas=1, requests={"cpu": cores}),))

    path = tmp_path / "cluster.json"
    nodes = (Node(name="n1", allocatable={"cpu": "4"}),)
    gangplan.dump(Snapshot(nodes=nodes, gangs=(one("small", "1"), one("large", "9"))), path)
    return path


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["run", "--help"],
        ["run", "--parameters"],
        ["pipeline", "run", "--help"],
        ["pipeline", "run", "--dry-run"],
        ["demo", "--help"],
        ["solve", "FILE", "-o", "json"],
        ["solve", "FILE"],
        ["explain", "large", "-f", "FILE"],
        ["version"],
        ["list"],
        ["explain"],
    ],
    ids=" ".join,
)
def test_the_command_line_works_without_extras(words, cluster: Path, tmp_path: Path):
    code = "import os; os.environ['GANGPLAN_HOME'] = {!r}; from gangplan.cli.main import app; app(sys.argv[1:], standalone_mode=False)"
    given = [str(cluster) if word == "FILE" else word for word in words]
    assert without_extras(code.format(str(tmp_path / "home")), *given)


def test_the_library_works_without_extras(cluster: Path):
    code = (
        "import gangplan as gp\n"
        "snapshot = gp.load(sys.argv[1]); plan = gp.solve(snapshot); gp.check(snapshot, plan)\n"
        "from gangplan.report.explanation import explain\n"
        "text = explain('large', snapshot, plan); print(text.as_text(), text.as_markdown())\n"
        "for name in gp.__all__: getattr(gp, name)\n"
    )
    assert "large" in without_extras(code, str(cluster))


NEEDED = [
    ("train", "import gangplan.train.data"),
    ("train", "import gangplan.train.classifier"),
    ("train", "import gangplan.train.evaluate"),
    (
        "pipelines",
        "from gangplan.pipeline import compile_pipeline as f; from pathlib import Path; f(None, Path('x'))",
    ),
    (
        "pipelines",
        "from gangplan.pipeline import run_local as f; f(None, {}, outputs=None, environment={}, tell=print)",
    ),
    ("pipelines", "import gangplan.kubeflow.server"),
    ("kube", "import gangplan.kube.client"),
    ("report", "import gangplan.report.page"),
    ("report", "import gangplan.report.figures"),
    ("report", "import gangplan.report.canvas"),
    ("report", "import gangplan.report.placement_map"),
    ("report", "import gangplan.report.domain_bars"),
]


@pytest.mark.parametrize(("extra", "code"), NEEDED, ids=[f"{extra}: {code[:50]}" for extra, code in NEEDED])
def test_where_an_extra_is_needed_its_name_is_told(extra, code):
    guarded = (
        "from gangplan.errors import ConfigError\n"
        f"try:\n    exec({code!r})\n"
        "except ConfigError as error:\n    print(error)\nelse:\n    print('it worked')\n"
    )
    assert f"pip install 'gangplan[{extra}]'" in without_extras(guarded)


def test_only_a_missing_package_is_told_as_a_missing_extra():
    """A fault of ours must not send people to pip."""
    from gangplan.extras import needed

    with pytest.raises(ModuleNotFoundError, match=r"gangplan\.nothing"), needed("report"):
        import gangplan.nothing  # noqa: F401
    with pytest.raises(ImportError, match="cannot import name"), needed("report"):
        from json import nothing  # noqa: F401


def test_the_commands_end_with_2_where_an_extra_is_missing(tmp_path: Path):
    code = (
        "from typer.testing import CliRunner\n"
        "from gangplan.cli.main import app\n"
        "done = CliRunner().invoke(app, ['version', '--server'])\n"
        "print(done.exit_code, done.output)\n"
    )
    text = without_extras(code)
    assert text.startswith("2 ")
    assert "gangplan[kube]" in text
