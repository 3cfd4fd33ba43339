"""Steps called as plain functions, as a test or a program of one's own calls them."""

import hashlib
from pathlib import Path

import pytest
from runs import job, python

from gangplan.steps.admit import admit
from gangplan.steps.launch_tfjob import launch_tfjob

TRAINING = {
    "image": "gangplan/python",
    "queue": "",
    "priority": 0,
    "required_level": "",
    "preferred_level": "",
    "chief_count": 1,
    "ps_count": 1,
    "ps_cpu": "100m",
    "ps_memory": "64Mi",
    "worker_count": 2,
    "worker_cpu": "100m",
    "worker_memory": "64Mi",
    "worker_gpus": 0,
    "strategy": "auto",
    "epochs": 1,
    "batch_size": 32,
    "learning_rate": 0.01,
    "seed": 0,
    "deadline_seconds": 60,
}


class Steps:
    """One run's steps, with paths for their outputs."""

    def __init__(self, folder: Path, run_id: str = "run-1") -> None:
        self.folder = folder
        # A release ends processes of its run all over this machine, where other tests run too.
        mark = hashlib.sha256(str(folder).encode()).hexdigest()[:8]
        self.common = {"run_id": f"{run_id}-{mark}", "job_name": "test", "volume": ""}
        self.metadata: dict[str, object] = {}

    def path(self, name: str) -> str:
        return str(self.folder / f"{self.common['run_id']}-{name}")

    def admit(self, **given):
        values = {
            "wait_seconds": 0,
            "wait_if_impossible": False,
            "tfjob": job(Worker=(python("pass"), 2)),
            "volume_claim": "",
        }
        paths = {name: self.path(name) for name in ("job", "snapshot", "plan", "text")}
        return admit(**self.common, **paths, **TRAINING | values | given)

    def launch(self, outcome="Admitted", reason=""):
        paths = {name: self.path(name) for name in ("job", "model", "status", "logs", "ui_metadata")}
        return launch_tfjob(
            **self.common, **paths, admitted=outcome, reason=reason, model_metadata=self.metadata
        )


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A local cluster of this machine, without the fork server."""
    monkeypatch.setenv("GANGPLAN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GANGPLAN_FORKSERVER", "false")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    return tmp_path / "home"


@pytest.fixture
def steps(home, tmp_path):
    return Steps(tmp_path)
