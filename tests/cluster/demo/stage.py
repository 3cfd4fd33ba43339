"""Where the stories play: a cluster, what is told of it while they do, and `gangplan submit` as a person uses it."""

import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cluster.bed.outside import Cluster
from cluster.objects import conditions, pods_of
from cluster.submissions import Submitter, tfjobs_of
from gangplan.cli import render
from gangplan.kube.client import connect
from gangplan.kube.outcome import replica_name
from gangplan.kube.snapshot import SnapshotReader
from gangplan.kube.store import read_records
from gangplan.kube.tfjob import gang, read, write
from gangplan.record import GangRecord
from gangplan.report.page import Table
from gangplan.snapshot import Snapshot

NAMESPACE = "default"
TURN = "demo.gangplan.dev/turn"
"""Scheduling gate with which the pods of several jobs are let in by turns."""
QUIET_S, REMIND_S = 2.0, 5.0
"""After so long without a word it is said what is waited for, and then again and again."""
WORTH_TELLING = re.compile(r" training on |test accuracy|model written")
"""Of what replicas say; TensorFlow says much of itself."""
ENDS_WITHIN_S = 240.0

Job = Mapping[str, Any]
Nodes = dict[str, dict[str, tuple[str, ...]]]
"""Job → role → nodes by index; without a node: empty."""


@dataclass
class Stage:
    """A cluster and the time since the curtain rose.

    Attributes:
        cluster: Two real nodes with two GPUs each.
        home: Folder for what submissions keep.
    """

    cluster: Cluster
    home: Path
    _begun: float = field(default_factory=time.monotonic)
    _told_at: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, text: str) -> None:
        """Say what happens, with the seconds since the beginning."""
        with self._lock:
            self._told_at = time.monotonic()
            render.say(f"{self._told_at - self._begun:5.0f} s  {text}", now=True)

    def show(self, table: Table) -> None:
        """Show a table between two empty lines."""
        with self._lock:
            render.say("", now=True)
            render.table(table.header, table.rows, title=table.caption)
            render.say("", now=True)
            self._told_at = time.monotonic()

    @contextmanager
    def telling(self, what: str) -> Iterator[None]:
        """Say again and again that something is waited for, as long as nothing else is said."""
        done = threading.Event()

        def remind() -> None:
            patience = QUIET_S
            while not done.wait(0.2):
                if time.monotonic() - self._told_at >= patience:
                    self.tell(f"… {what}{self._phases()}")
                    patience = REMIND_S

        reminder = threading.Thread(target=remind, daemon=True)
        reminder.start()
        try:
            yield
        finally:
            done.set()
            reminder.join()

    def _phases(self) -> str:
        if not hasattr(self.cluster, "admin"):
            return ""
        counts = Counter(pod["status"].get("phase", "Pending") for pod in self.pods().values())
        told = ", ".join(f"{count} {phase}" for phase, count in sorted(counts.items()))
        return f" ({told})" if told else ""

    def wait(self, what: str, is_so: Callable[[], object]) -> None:
        """Wait until something is so."""
        with self.telling(f"waiting until {what}"):
            self.cluster.wait_until(what, is_so, seconds=ENDS_WITHIN_S)

    def create(self, jobs: Sequence[Job], *, by_turns: bool) -> None:
        """Create jobs as anybody would; by turns: their pods are let in one of each job at a time."""
        for job in jobs:
            body = gated(job) if by_turns else job
            self.cluster.admin.create(f"/apis/kubeflow.org/v1/namespaces/{NAMESPACE}/tfjobs", dict(body))
        count = sum(replicas["replicas"] for job in jobs for replicas in _specs(job).values())
        self.wait(f"all {count} pods are there", lambda: len(self.pods()) == count)
        if by_turns:
            open_by_turns(self.cluster, NAMESPACE)
        self.wait(
            "each pod has a node or is told that there is none",
            lambda: all("PodScheduled" in conditions(pod) for pod in self.pods().values()),
        )

    def submit(self, jobs: Sequence[Job]) -> list[str]:
        """Submit jobs at the same moment, and follow them to their ends.

        Returns:
            What was said meanwhile.

        Raises:
            subprocess.CalledProcessError: One did not end well.
        """
        with Submitter(self.cluster.kubeconfig()) as submit, self.telling("training"):
            runs, followers, said = [], [], list[str]()
            for job in jobs:
                name = job["metadata"]["name"]
                run = submit(NAMESPACE, job, "--wait", GANGPLAN_HOME=str(self.home))
                runs.append((name, run))
                followers.append(threading.Thread(target=self._repeat, args=(name, run, said), daemon=True))
                followers[-1].start()
            for (name, run), follower in zip(runs, followers, strict=True):
                code = run.wait(ENDS_WITHIN_S)
                follower.join()
                if code:
                    raise subprocess.CalledProcessError(code, f"gangplan submit {name}.yaml --wait")
            return said

    def _repeat(self, name: str, run: "subprocess.Popen[str]", said: list[str]) -> None:
        assert run.stderr is not None
        for line in run.stderr:
            said.append(line.rstrip().replace(f"{NAMESPACE}/", ""))
            if " | " not in line or WORTH_TELLING.search(line):
                self.tell(f"{name} │ {said[-1]}")

    def clear(self) -> None:
        """Delete all jobs, and wait until nothing is left of them."""
        scope = ("--all", "-n", NAMESPACE, "--wait=false")
        self.cluster.kubectl("delete", "tfjobs", "--cascade=foreground", *scope)
        self.wait(
            "nothing is left of the jobs", lambda: not tfjobs_of(self.cluster, NAMESPACE) and not self.pods()
        )
        self.cluster.kubectl("delete", "gangs", "--all", "-n", NAMESPACE)

    def pods(self) -> dict[str, dict[str, Any]]:
        """All pods, by name."""
        return pods_of(self.cluster, NAMESPACE)

    def is_over(self, job: Job) -> bool:
        """Whether a job has ended."""
        found = tfjobs_of(self.cluster, NAMESPACE)[job["metadata"]["name"]]
        return bool(
            {"Succeeded", "Failed"} & {kind for kind, holds in conditions(found).items() if holds == "True"}
        )

    def who_lies_where(self, jobs: Sequence[Job], caption: str) -> Table:
        """Each pod of some jobs: its node, or why it has none."""
        rows = []
        for name, pod in sorted(self.pods().items()):
            if any(name.startswith(job["metadata"]["name"]) for job in jobs):
                status = pod.get("status") or {}
                waits = [
                    item for item in status.get("conditions", ()) if item.get("reason") == "Unschedulable"
                ]
                why = waits[0].get("message", "").partition(". ")[0] if waits else ""
                rows.append((name, pod["spec"].get("nodeName", "–"), status.get("phase", ""), why))
        return Table(caption=caption, header=("pod", "node", "phase", "why it waits"), rows=tuple(rows))

    def nodes_of(self, jobs: Sequence[Job]) -> Nodes:
        """Where the replicas of some jobs lie now."""
        found: Nodes = {}
        for job in jobs:
            roles: dict[str, dict[int, str]] = {}
            for name, pod in self.pods().items():
                if name.startswith(f"{job['metadata']['name']}-"):
                    role, _, index = replica_name(pod).rpartition("-")
                    roles.setdefault(role, {})[int(index)] = pod["spec"].get("nodeName", "")
            found[job["metadata"]["name"]] = {
                role: tuple(nodes[index] for index in sorted(nodes)) for role, nodes in roles.items()
            }
        return found

    def snapshot(self, jobs: Sequence[Job]) -> Snapshot:
        """The nodes, and jobs as gangs on them."""
        with connect(kubeconfig=self.cluster.kubeconfig()) as connection:
            seen = SnapshotReader(connection).read().snapshot
        gangs = tuple(gang(read(write(dict(job))), created=place) for place, job in enumerate(jobs))
        return replace(seen, gangs=gangs, running=(), quotas=())

    def records(self) -> tuple[GangRecord, ...]:
        """The records of all gangs."""
        with connect(kubeconfig=self.cluster.kubeconfig()) as connection:
            return read_records(connection, namespace=NAMESPACE)


def gated(job: Job) -> dict[str, Any]:
    """A job whose pods wait for their turn."""
    specs = {
        kind: {
            **replicas,
            "template": {
                **replicas["template"],
                "spec": {**replicas["template"]["spec"], "schedulingGates": [{"name": TURN}]},
            },
        }
        for kind, replicas in _specs(job).items()
    }
    return {**job, "spec": {**job["spec"], "tfReplicaSpecs": specs}}


def open_by_turns(cluster: Cluster, namespace: str) -> None:
    """Let in the gated pods of a namespace: the first of each job, then the second, and so on."""
    for name in sorted(pods_of(cluster, namespace), key=lambda name: (name.rpartition("-")[2], name)):
        patch = '[{"op": "remove", "path": "/spec/schedulingGates"}]'
        cluster.kubectl("patch", "pod", name, "-n", namespace, "--type=json", "-p", patch)


def _specs(job: Job) -> Mapping[str, Any]:
    specs: Mapping[str, Any] = job["spec"]["tfReplicaSpecs"]
    return specs


def say_title(text: str) -> None:
    """Begin a part."""
    sys.stdout.write(f"\n── {text}\n")
    sys.stdout.flush()
