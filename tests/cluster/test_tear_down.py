"""Whatever ends a cluster, nothing of it stays on the machine; and a part that fails is told at once."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.bed.containers import remove_groups
from cluster.bed.outside import TESTS, Cluster
from cluster.bed.process import BedError

# A program that makes a cluster with a container, says so, and goes on for ever.
OWNER = """
import sys, time
from pathlib import Path
from cluster.bed.outside import Cluster
from cluster.manifests import pod

cluster = Cluster(Path(sys.argv[1]))
cluster.start()
cluster.add_node("n0")
cluster.kubectl("create", "-f", "-", document=pod("long", ["sh", "-c", f": {sys.argv[1]}; sleep 100000"]))
path = "/api/v1/namespaces/default/pods/long"
cluster.wait_until("the pod runs", lambda: cluster.admin.get(path)["status"]["phase"] == "Running")
print(cluster.pid, flush=True)
time.sleep(100000)
"""


def processes_of(folder: Path) -> dict[int, str]:
    """Command lines that name a folder: those of the cluster in it."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if str(folder).encode() in command:
                found[int(entry.name)] = command.replace(b"\0", b" ").decode()
    return found


def containers_of(folder: Path) -> list[str]:
    return [bundle.name for bundle in folder.glob("nodes/*/state/io.containerd.runtime.v2.task/k8s.io/*")]


def control_groups_of(containers: list[str]) -> list[Path]:
    return [group for name in containers for group in Path("/sys/fs/cgroup").glob(f"*/k8s.io/{name}")]


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert is_so()


@pytest.mark.parametrize("victim", ["the owner", "the outermost process"])
def test_nothing_is_left_after_a_violent_end(short_path: Path, victim: str) -> None:
    """Neither who made the cluster nor the supervisor gets to clean up."""
    folder = short_path / "c"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])}
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(folder)], stdout=subprocess.PIPE, text=True, env=environment
    ) as owner:
        assert owner.stdout is not None
        said = owner.stdout.readline()
        assert said, "the cluster did not start"
        running, containers = processes_of(folder), containers_of(folder)
        for part in ("etcd", "apiserver", "containerd-shim", "kubelet", "sleep 100000", "cluster.bed.inside"):
            assert any(part in command for command in running.values()), part
        assert len(containers) == 2  # with the one that holds the pod's network
        assert control_groups_of(containers)
        os.kill(owner.pid if victim == "the owner" else int(said), signal.SIGKILL)
        wait_until(lambda: not processes_of(folder).keys() - {owner.pid})
        owner.kill()
    assert str(folder) not in Path("/proc/self/mountinfo").read_text()
    if victim == "the outermost process":
        remove_groups(folder)  # as the owner does at its end, had it come to it
    assert not control_groups_of(containers)


def test_death_of_a_part_ends_every_wait_with_what_it_said_last(short_path: Path) -> None:
    with Cluster(short_path) as cluster:
        cluster.start()
        (server,) = (pid for pid, command in processes_of(short_path).items() if "kube apiserver" in command)
        os.kill(server, signal.SIGKILL)
        with pytest.raises(BedError, match=r"^apiserver ended with -9 before pigs fly:\n    .*\d{2}:\d{2}"):
            cluster.wait_until("pigs fly", lambda: False)
        with pytest.raises(
            BedError, match=r"^apiserver ended with -9 before (containerd answers|node n0 is ready):\n    "
        ):
            cluster.add_node("n0")
    assert not processes_of(short_path)


def test_part_that_is_ended_on_purpose_is_not_missed_and_comes_back(short_path: Path) -> None:
    with Cluster(short_path) as cluster:
        cluster.start()
        with pytest.raises(BedError, match=r"no process 'api' runs; there are: etcd, apiserver, "):
            cluster.kill("api")
        with pytest.raises(BedError, match="no process 'apiserver' was ended"):
            cluster.start_again("apiserver")
        with pytest.raises(BedError, match="no real node 'n0'"):
            cluster.kill_node("n0")
        cluster.kill("apiserver")
        cluster.wait_until("it does not answer", lambda: cluster.admin.get("/version") is None)
        cluster.start_again("apiserver")
        cluster.wait_until("it answers again", lambda: cluster.admin.get("/api/v1/namespaces/default"))


def test_supervisor_that_dies_is_told(short_path: Path) -> None:
    with Cluster(short_path) as cluster:
        assert cluster.processes() == []
        os.kill(cluster.pid, signal.SIGKILL)
        with pytest.raises(BedError, match="the supervisor of the cluster has ended"):
            cluster.start()


def test_cluster_for_a_person_stays_until_it_is_asked_to_go(short_path: Path) -> None:
    folder = short_path / "c"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])}

    def run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", module, str(folder), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    up = run("cluster.up", "--nodes", "1", "--fake-nodes", "2")
    assert up.returncode == 0, up.stderr
    (setting,) = (line.strip() for line in up.stdout.splitlines() if "KUBECONFIG" in line)
    kubeconfig = setting.removeprefix("export KUBECONFIG=")
    nodes = [str(folder / "kubectl"), f"--kubeconfig={kubeconfig}", "get", "nodes", "-o", "name"]
    shown = subprocess.run(nodes, capture_output=True, text=True, check=True).stdout
    assert shown == "node/f0\nnode/f1\nnode/n0\n"
    assert "runs already" in run("cluster.up").stderr
    assert run("cluster.down").stdout == "the cluster has ended\n"
    assert not processes_of(folder)
    assert "no cluster runs" in run("cluster.down").stderr
