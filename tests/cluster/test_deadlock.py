"""Two gangs of four on four GPUs, their pods created by turns: each may get a part, and then both wait for ever.

With the default scheduler alone this happens, and is counted; through `gangplan submit` it never does.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from cluster.bed.image import BUSYBOX, PROJECT
from cluster.bed.kwok import GPU
from cluster.bed.outside import Cluster
from cluster.demo.stage import gated, open_by_turns
from cluster.manifests import gang_of_workers
from cluster.objects import conditions, pods_of
from cluster.submissions import Submitter, gangs_of, install, moments_of, tfjobs_of

NewNamespace = Callable[[Cluster], str]
ROUNDS = 19
LANES = (GPU, "amd.com/gpu", "gpu.intel.com/i915")
"""Kinds of GPUs, four of each: rounds on different kinds do not touch each other and run side by side."""
WATCH_S = 2.0
"""Seconds for which two jobs that block each other are watched; that nothing changes is the point."""
ENDS_WITHIN_S = 280.0

UNTIL_ALL_ANSWER = """
trap exit TERM
httpd -p 2222 -h /tmp
address() {{ nslookup {name}-worker-$1.{namespace}.svc.cluster.local | sed -n "s/^Address: //p"; }}
for i in 0 1 2 3; do until nc -w 1 "`address $i`" 2222 </dev/null; do sleep 0.1; done; done 2>/dev/null
case "$HOSTNAME" in *-worker-0) exit;; esac
while :; do sleep 0.2; done
"""
"""All wait until all answer; then the first ends, and with it the job. The others stay, since they may be asked yet."""

TRAINING = "python -m gangplan.train.classifier --data digits --out /tmp/out --strategy mirrored --epochs 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """Where rounds are played one after the other.

    Attributes:
        cluster: Two nodes.
        namespace: Its jobs are here.
        gpu: The resource of which each node has two.
        submit: Starts submissions.
    """

    cluster: Cluster
    namespace: str
    gpu: str
    submit: Submitter

    def jobs(self, number: int | str, image: str = BUSYBOX, program: str = "") -> list[dict[str, Any]]:
        """The two jobs of a round."""
        names = [f"{letter}-{number}" for letter in "ab"]
        return [
            gang_of_workers(
                name,
                ["sh", "-c", program or UNTIL_ALL_ANSWER.format(name=name, namespace=self.namespace)],
                image=image,
                workers=4,
                gpu=self.gpu,
            )
            for name in names
        ]

    def alone(self, jobs: list[dict[str, Any]], *, by_turns: bool = False) -> bool:
        """Let the default scheduler have both at the same moment; whether they block each other.

        By turns: not as the operator happens to create them, but one pod of each at a time.
        """
        together = threading.Barrier(len(jobs))
        path = f"/apis/kubeflow.org/v1/namespaces/{self.namespace}/tfjobs"

        def send(job: dict[str, Any]) -> None:
            together.wait()
            self.cluster.admin.create(path, gated(job) if by_turns else job)

        with ThreadPoolExecutor(len(jobs)) as hands:
            list(hands.map(send, jobs))
        self.cluster.wait_until("all pods are there", lambda: len(pods_of(self.cluster, self.namespace)) == 8)
        if by_turns:
            open_by_turns(self.cluster, self.namespace)
        self.cluster.wait_until("each pod has a node or is told that there is none", self._all_are_decided)
        before = self._bound()
        counts = [sum(pod.startswith(job["metadata"]["name"]) for pod in before) for job in jobs]
        assert sum(counts) == 4
        blocked = all(0 < count < 4 for count in counts)
        if blocked:
            self.cluster.wait_until("those with a node run", lambda: self._running() == before)
            begun = time.monotonic()
            while time.monotonic() - begun < WATCH_S:
                assert self._running() == self._bound() == before
        self.clear()
        return blocked

    def as_gangs(self, jobs: list[dict[str, Any]]) -> None:
        """Submit both at the same moment; both run to their end, one after the other."""
        runs = [self.submit(self.namespace, job, "--wait") for job in jobs]
        said = [run.communicate(timeout=ENDS_WITHIN_S) for run in runs]
        assert [run.returncode for run in runs] == [0, 0], said
        statuses = gangs_of(self.cluster, self.namespace)
        ended = [statuses[job["metadata"]["name"]] for job in jobs]
        assert [status["outcome"] for status in ended] == ["Succeeded", "Succeeded"]
        first, second = sorted((moments_of(status) for status in ended), key=lambda found: found["Reserved"])
        # A reservation carries the moment at which its cycle began to look.
        assert first["Finished"] <= second["Bound"], "room is only given when it is free"
        assert any("needs 4" in err for _, err in said), "the second is told why it waits"
        self.clear()

    def clear(self) -> None:
        """Delete the jobs, and wait until all is free again."""
        scope = ("--all", "--namespace", self.namespace, "--wait=false")
        self.cluster.kubectl("delete", "tfjobs", "--cascade=foreground", *scope)
        self.cluster.wait_until(
            "nothing is left",
            lambda: not tfjobs_of(self.cluster, self.namespace) and not pods_of(self.cluster, self.namespace),
        )

    def _all_are_decided(self) -> bool:
        pods = pods_of(self.cluster, self.namespace).values()
        return len(pods) == 8 and all("PodScheduled" in conditions(pod) for pod in pods)

    def _bound(self) -> set[str]:
        pods = pods_of(self.cluster, self.namespace)
        return {name for name, pod in pods.items() if "nodeName" in pod["spec"]}

    def _running(self) -> set[str]:
        pods = pods_of(self.cluster, self.namespace)
        return {name for name, pod in pods.items() if pod["status"].get("phase") == "Running"}


@pytest.fixture(scope="module")
def cluster(real: Cluster) -> Cluster:
    """Two real nodes with two GPUs of each kind, and what ``deploy/`` installs."""
    install(real)
    for gpu in LANES:
        for node in ("n0", "n1"):
            offer = {gpu: "2"}
            real.admin.patch_status(f"/api/v1/nodes/{node}", {"capacity": offer, "allocatable": offer})
    return real


@pytest.fixture
def lanes(cluster: Cluster, new_namespace: NewNamespace) -> Iterator[list[Lane]]:
    """A lane for each kind of GPU."""
    with Submitter(cluster.kubeconfig()) as submit:
        yield [
            Lane(cluster=cluster, namespace=new_namespace(cluster), gpu=gpu, submit=submit) for gpu in LANES
        ]


@pytest.mark.timeout(600)
def test_two_gangs_that_block_each_other_with_the_default_scheduler_never_do_through_us(
    lanes: list[Lane], capsys: pytest.CaptureFixture[str]
) -> None:
    """Nineteen rounds with containers that wait until all four of their gang answer."""

    def play(number: int) -> list[bool]:
        lane, found = lanes[number], []
        for each in range(number, ROUNDS, len(lanes)):
            jobs = lane.jobs(each)
            found.append(lane.alone(jobs))
            lane.as_gangs(jobs)
        return found

    with ThreadPoolExecutor(len(lanes)) as hands:
        blocked = [each for found in hands.map(play, range(len(lanes))) for each in found]
    assert len(blocked) == ROUNDS
    with capsys.disabled():
        sys.stdout.write(
            f"\n{sum(blocked)} of {ROUNDS} rounds blocked with the default scheduler, none through us\n"
        )
    assert sum(blocked) >= 1


@pytest.mark.timeout(600)
def test_two_trainings_run_one_after_the_other(lanes: list[Lane], capsys: pytest.CaptureFixture[str]) -> None:
    """A round with real TensorFlow, whose workers wait for each other by themselves."""
    lane = lanes[0]
    jobs = lane.jobs("tf", image=PROJECT, program=f"trap exit TERM; {TRAINING}")
    blocked = lane.alone(jobs, by_turns=True)
    with capsys.disabled():
        sys.stdout.write(f"\n{'blocked' if blocked else 'not blocked'} with the default scheduler\n")
    assert blocked
    lane.as_gangs(jobs)
