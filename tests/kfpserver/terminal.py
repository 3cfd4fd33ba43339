"""The commands in front of a server of Kubeflow Pipelines; all between them is real."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from gangplan.cli.main import app
from kfpserver.server import KubeflowServer

REFUSED = """Traceback (most recent call last):
  File "/usr/local/lib/python3.11/site-packages/gangplan/steps/conclude.py", line 35, in conclude
    raise error
gangplan.errors.{kind}: {outcome}: {reason}
I1101 12:00:59.000000      21 launcher_v2.go:208] publishing
"""
"""What ``conclude`` leaves in its log when a job did not succeed."""


class Terminal:
    """A terminal with a home folder of its own."""

    def __init__(self, server: KubeflowServer, home: Path, patch: Any) -> None:
        for name in ("KF_PIPELINES_ENDPOINT", "KUBERNETES_SERVICE_HOST", "GANGPLAN_IMAGE"):
            patch.delenv(name, raising=False)
        patch.setenv("GANGPLAN_HOME", str(home))
        patch.setenv("GANGPLAN_PIPELINES_HOST", server.url)
        patch.setenv("GANGPLAN_POLL_S", "0.001")
        self.server, self.home = server, home

    def run(self, *words: str) -> Result:
        """Run a command, however it ends."""
        return CliRunner().invoke(app, ["pipeline", *words])

    def __call__(self, *words: str, code: int = 0) -> str:
        """Run a command that ends with a code; gives all that it prints."""
        done = self.run(*words)
        assert done.exit_code == code, done.output
        return done.output

    def data(self, *words: str, code: int = 0) -> Any:
        """Run a command that ends with a code; gives its result."""
        done = self.run(*words, "-o", "json")
        assert done.exit_code == code, done.output
        return json.loads(done.stdout)
