"""A cluster as tests and people see it: started, asked, ended; with kubeconfigs that work from outside."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cluster.bed.identity import ADMIN, write_kubeconfig
from cluster.bed.process import LAST_LINES, BedError

TESTS = Path(__file__).parent.parent.parent
NEEDS_ROOT = "the cluster needs root: it makes namespaces, bridges and containers"


class Cluster:
    """A Kubernetes cluster in namespaces of its own; the context manager ends it for certain."""

    def __init__(self, folder: Path, users: tuple[str, ...] = ()) -> None:
        if os.geteuid() != 0:
            raise BedError(NEEDS_ROOT)
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder.resolve()
        self._door = socket.create_server(("127.0.0.1", 0))
        self.server = f"https://127.0.0.1:{self._door.getsockname()[1]}"
        self._log = self.folder / "supervisor.log"
        namespaces = ["unshare", "-n", "-m", "-p", "--fork", "--kill-child=KILL", "--mount-proc", "--propagation", "private"]
        door = self._door.fileno()
        command = [*namespaces, sys.executable, "-m", "cluster.bed.inside", str(self.folder), f"--door={door}"]
        command += [f"--user={user}" for user in users]
        with self._log.open("wb") as log:
            self._supervisor = subprocess.Popen(
                command,
                cwd=TESTS,
                env=os.environ | {"PYTHONPATH": str(TESTS)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                pass_fds=(door,),
                start_new_session=True,
                text=True,
            )
        self._door.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def ask(self, do: str, **details: object) -> Any:
        """Have the supervisor do something.

        Raises:
            BedError: It cannot be done; with what the process in question said last.
        """
        assert self._supervisor.stdin is not None
        assert self._supervisor.stdout is not None
        try:
            self._supervisor.stdin.write(json.dumps({"do": do} | details) + "\n")
            self._supervisor.stdin.flush()
            line = self._supervisor.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            last = self._log.read_text(errors="replace").splitlines()[-LAST_LINES:]
            raise BedError("\n    ".join(["the supervisor of the cluster has ended:", *last]))
        answer = json.loads(line)
        if "error" in answer:
            raise BedError(answer["error"])
        return answer["done"]

    def start(self) -> None:
        """Start the control plane."""
        self.ask("start")

    def kubeconfig(self, user: str = ADMIN) -> Path:
        """A kubeconfig of a user, for programs outside."""
        lines = (self.folder / "tokens.csv").read_text().splitlines()
        tokens = {name: token for token, name, *_ in (line.split(",") for line in lines)}
        file = self.folder / "outside" / f"{user.replace(':', '-')}.kubeconfig"
        file.parent.mkdir(exist_ok=True)
        return write_kubeconfig(file, self.server, self.folder / "pki" / "ca.crt", {"token": tokens[user]})

    def end(self) -> None:
        """End all of it and wait until it is gone."""
        assert self._supervisor.stdin is not None
        self._supervisor.stdin.close()
        try:
            self._supervisor.wait(60)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()
