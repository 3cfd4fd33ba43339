"""What `make cluster-up` leaves for a person works as it is told there."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from cluster.bed.outside import TESTS

ROOT = TESTS.parent


@pytest.mark.timeout(600)
def test_what_is_told_of_a_cluster_for_a_person_works_there(short_path: Path) -> None:
    """The example trains with real TensorFlow in seven containers."""
    folder = short_path / "c"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])}

    def run(*command: str, **more: str) -> str:
        done = subprocess.run(
            command, env=environment | more, cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    told = run(sys.executable, "-m", "cluster.up", str(folder), "--nodes", "2", "--gpus", "2").splitlines()
    try:
        lines = [line.strip() for line in told]
        settings = dict(
            line.removeprefix("export ").split("=", 1) for line in lines if line.startswith("export ")
        )
        assert settings.keys() == {"KUBECONFIG", "GANGPLAN_CLUSTER", "GANGPLAN_TENSORBOARD_IMAGE"}
        settings["GANGPLAN_HOME"] = str(short_path / "home")
        words = [line.split() for line in lines if line.startswith(("gangplan ", str(folder)))]
        assert [word for _, word, *_ in words] == [
            *("get", "doctor", "snapshot", "storage", "submit", "tensorboard", "get")
        ]
        said = []
        for program, *rest in words:
            command = [sys.executable, "-m", "gangplan.cli.main"] if program == "gangplan" else [program]
            file = str(short_path / "s.json")
            if rest[0] == "tensorboard":
                see_loss([*command, *rest, "--port", "0"], environment | settings)
            else:
                said.append(run(*command, *(word.replace("s.json", file) for word in rest), **settings))
        *_, ended, gangs = said
        assert ended.startswith("default/mnist: Succeeded: ")
        assert gangs.splitlines()[1].split()[:4] == ["mnist", "research", "Finished", "Succeeded"]
        assert (folder / "volume" / "mnist" / "model" / "saved_model.pb").exists()
        logs = sorted(file.name for file in (short_path / "home").glob("logs/default/mnist-*/*.log"))
        assert logs == ["chief-0.log", "ps-0.log", "ps-1.log", *(f"worker-{i}.log" for i in range(4))]
    finally:
        run(sys.executable, "-m", "cluster.down", str(folder))


def see_loss(command: list[str], environment: dict[str, str]) -> None:
    """Look at a board as a browser does, until Ctrl-C."""
    with subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True) as board:
        try:
            assert board.stdout is not None
            address = next(line.strip() for line in board.stdout if line.startswith("http://"))
            with urlopen(f"{address}data/plugin/scalars/tags", timeout=60) as answer:
                assert any("loss" in tags for tags in json.load(answer).values())
        finally:
            board.send_signal(signal.SIGINT)
            board.wait(timeout=60)
