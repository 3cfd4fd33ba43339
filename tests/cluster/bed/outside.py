"""A cluster as tests and people see it: started, asked, ended; with kubeconfigs that work from outside."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from cluster.bed import containers, programs
from cluster.bed.administrator import AT_ONCE, Administrator, is_ready
from cluster.bed.identity import ADMIN, OPERATOR, write_kubeconfig
from cluster.bed.image import project_mounts, write_images
from cluster.bed.kwok import GPU
from cluster.bed.needs import missing
from cluster.bed.process import LAST_LINES, BedError
from cluster.bed.training_operator import group_definitions

TESTS = Path(__file__).parent.parent.parent
NAMESPACES = (
    "unshare",
    "--net",
    "--mount",
    "--propagation=private",
    "--pid",
    "--fork",
    "--kill-child=KILL",
    "--mount-proc",
)
ACCOUNT = "system:serviceaccount:"


LONGEST_FOLDER = 60
"""Linux takes paths of sockets up to 107 characters, and kubelets make some far down."""


class Cluster:
    """A Kubernetes cluster in namespaces of its own; the context manager ends it for certain.

    It also ends when the process that made it ends, however it does: the cluster listens to a pipe from it.

    Args:
        folder: What it writes goes here: logs, keys, kubeconfigs. Must not exist, or be empty.

    Attributes:
        server: Address of the API server, from outside.
        admin: Plain requests with all rights; once the control plane is started.
        pid: Process id of the outermost process.
    """

    def __init__(self, folder: Path) -> None:
        lacking = missing()
        if lacking:
            raise BedError(f"the cluster needs {', '.join(lacking)}")
        if len(str(folder.absolute())) > LONGEST_FOLDER:
            raise BedError(f"{folder}: the path is too long for the sockets that are made in it")
        # Built out here: there is no network inside.
        programs.KUBE.build()
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder.resolve()
        self._one_at_a_time = threading.Lock()
        door = socket.create_server(("127.0.0.1", 0))
        self.server = f"https://127.0.0.1:{door.getsockname()[1]}"
        self._log = self.folder / "supervisor.log"
        inside = [sys.executable, "-m", "cluster.bed.inside", str(self.folder)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*NAMESPACES, *inside, f"--door={door.fileno()}"],
                cwd=TESTS,
                env=os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                pass_fds=(door.fileno(),),
                start_new_session=True,
                text=True,
            )
        door.close()
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def start(self, *, node_grace_s: int = 50) -> None:
        """Start the control plane: etcd, API server, controllers and the default scheduler.

        Args:
            node_grace_s: A node that has not been heard of for so long is not ready; 50 is what Kubernetes has. Kubelets
                here let hear of them every 5 seconds.

        Raises:
            BedError: One of them does not work; with the last lines of its log. So do all methods below.
        """
        self._ask("start", node_grace_s=node_grace_s)
        authority = self.folder / "pki" / "ca.crt"
        self.admin = Administrator(self.server, authority, self._token(ADMIN))

    def add_node(self, name: str, *, gpus: int = 0, labels: dict[str, str] | None = None) -> None:
        """Add a real node: a kubelet and a containerd of its own; returns when it is ready.

        Args:
            name: Its name.
            gpus: How many ``nvidia.com/gpu`` it offers; they are not there.
            labels: Its labels, beside those that a kubelet sets.
        """
        details = {"labels": labels or {}, "images": self._images, "mounts": project_mounts()}
        self._ask("add_node", name=name, **details)
        self.set_gpus(name, gpus)

    def set_gpus(self, name: str, count: int) -> None:
        """Let a node offer so many GPUs; its kubelet leaves the number as it is, also when it is started again."""
        offer = {GPU: str(count)}
        self.admin.patch_status(f"/api/v1/nodes/{name}", {"capacity": offer, "allocatable": offer})

    def kill_node(self, name: str) -> None:
        """End a real node with all of its containers, as a power failure would."""
        self._ask("kill_node", name=name)

    def add_fake_nodes(self, nodes: Iterable[dict[str, Any]]) -> None:
        """Add nodes that are only objects (see :func:`cluster.bed.kwok.fake_node`); returns when all are ready."""
        kwok = programs.KWOK
        source = programs.module_folder(kwok, "sigs.k8s.io/kwok")
        self._ask("start_kwok", program=str(kwok.build()), source=str(source))
        nodes = list(nodes)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda node: self.admin.create("/api/v1/nodes", node), nodes))
        wanted = {node["metadata"]["name"] for node in nodes}

        def all_are_ready() -> bool:
            there = (self.admin.get("/api/v1/nodes") or {"items": []})["items"]
            return wanted <= {node["metadata"]["name"] for node in there if is_ready(node)}

        self.wait_until(f"{len(nodes)} fake nodes are ready", all_are_ready, seconds=300)

    def start_operator(self, gang_scheduler: str = "") -> None:
        """Start the training-operator, in place of the one that runs; returns when it takes TFJobs.

        Args:
            gang_scheduler: Its flag of that name; empty: it makes no PodGroups. Their CRDs are installed with it.
        """
        program = programs.TRAINING_OPERATOR
        self._ask(
            "start_operator",
            program=str(program.build()),
            source=str(programs.module_folder(program, programs.OPERATOR)),
            definitions=[str(file) for file in group_definitions(gang_scheduler)],
            gang_scheduler=gang_scheduler,
        )

    def processes(self) -> list[str]:
        """Names of the processes that should be running: ``apiserver``, ``NODE-kubelet`` and so on."""
        names: list[str] = self._ask("processes")
        return names

    def kill(self, name: str) -> None:
        """End a process as a power failure would."""
        self._ask("kill", name=name)

    def stop(self, name: str) -> None:
        """End a process in good order."""
        self._ask("stop", name=name)

    def start_again(self, name: str) -> None:
        """Start a process that was ended, with the command it had."""
        self._ask("start_again", name=name)

    def log(self, name: str) -> Path:
        """The log of a process."""
        return self.folder / "log" / f"{name}.log"

    @property
    def audit_log(self) -> Path:
        """Every request that the API server has answered, a JSON line each."""
        return self.folder / "log" / "audit.json"

    def wait_until(self, what: str, is_so: Callable[[], object], *, seconds: float = 120.0) -> None:
        """Wait until something is so, or a process of the cluster has ended by itself.

        Args:
            what: What is waited for.
            is_so: Whether it is so.
            seconds: How long at most.
        """
        deadline = time.monotonic() + seconds
        while not is_so():
            self._ask("check", before=f" before {what}")
            if time.monotonic() > deadline:
                raise BedError(f"not so after {seconds:.0f} s: {what}")
            time.sleep(0.1)

    def kubeconfig(self, user: str = ADMIN) -> Path:
        """A kubeconfig for programs outside.

        Args:
            user: The administrator, or ``system:serviceaccount:NAMESPACE:NAME`` of an account that there is.
        """
        if user.startswith(ACCOUNT) and user != OPERATOR:
            namespace, name = user.removeprefix(ACCOUNT).split(":")
            token = self.kubectl("create", "token", name, "--namespace", namespace, "--duration=24h").strip()
        else:
            token = self._token(user)
        file = self.folder / "outside" / f"{user.replace(':', '-')}.kubeconfig"
        file.parent.mkdir(exist_ok=True)
        return write_kubeconfig(file, self.server, self.folder / "pki" / "ca.crt", {"token": token})

    def kubectl(self, *arguments: str, user: str = ADMIN, document: object = None) -> str:
        """What kubectl prints.

        Args:
            arguments: Of kubectl.
            user: As whom, as for :meth:`kubeconfig`.
            document: Given to it on standard input, as JSON.

        Raises:
            BedError: It fails; with what it said.
        """
        command = [str(programs.KUBE.path()), "kubectl", f"--kubeconfig={self.kubeconfig(user)}", *arguments]
        ran = subprocess.run(command, input=json.dumps(document), capture_output=True, text=True, check=False)
        if ran.returncode:
            raise BedError(f"kubectl {' '.join(arguments)}: {ran.stdout}{ran.stderr}".rstrip())
        return ran.stdout

    def end(self) -> None:
        """End all of it and wait until it is gone; logs stay."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):  # it has ended already
            self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        containers.remove_groups(self.folder)
        for part in ("etcd", "nodes", "images", "pod-addresses"):
            shutil.rmtree(self.folder / part, ignore_errors=True)

    @cached_property
    def _images(self) -> list[str]:
        return [str(archive) for archive in write_images(self.folder / "images")]

    def _token(self, user: str) -> str:
        lines = (self.folder / "tokens.csv").read_text().splitlines()
        tokens = {name: token for token, name, *_ in (line.split(",") for line in lines)}
        return tokens[user]

    def _ask(self, do: str, **details: object) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._one_at_a_time:
            try:
                self._process.stdin.write(json.dumps({"do": do} | details) + "\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
            except BrokenPipeError:
                line = ""
        if not line:
            last = self._log.read_text(errors="replace").splitlines()[-LAST_LINES:]
            raise BedError("\n    ".join(["the supervisor of the cluster has ended:", *last]))
        answer = json.loads(line)
        if "error" in answer:
            raise BedError(answer["error"])
        return answer["done"]
