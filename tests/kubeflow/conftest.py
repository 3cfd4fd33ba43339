"""Fixtures of the tests on Kubeflow Pipelines."""

import pytest
from kfpserver.server import serving
from kfpserver.terminal import Terminal


@pytest.fixture
def kubeflow():
    """A server that lets everybody in."""
    with serving() as server:
        yield server


@pytest.fixture
def terminal(kubeflow, tmp_path, monkeypatch):
    """The commands in front of it."""
    return Terminal(kubeflow, tmp_path / "home", monkeypatch)
