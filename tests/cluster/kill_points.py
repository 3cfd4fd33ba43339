"""Submissions whose requests fail now and then, and which are killed in the middle: each is gone on with by another.

One point is one job: when its submission has sent a certain request, it is killed; another call with the same run id goes on.
"""

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.bed.fault_proxy import FaultProxy, seeded
from cluster.bed.identity import ADMIN, write_kubeconfig
from cluster.bed.kwok import EXIT_CODE, GPU, RUNS_FOR
from cluster.bed.outside import Cluster
from cluster.manifests import gang_of_workers
from cluster.submissions import Submitter

RACK = "r6"
"""Four nodes: room for two of the gangs."""
ENDS_WITHIN_S = 200.0
CALLS = 8
"""How often a person goes on with a run whose cluster does not answer; mostly once is enough."""
UNUSABLE = 4
"""Exit code: the cluster cannot be used."""
OUTCOMES = {"0": ("Succeeded", 0), "3": ("Failed", 5)}
"""Exit code of the job's program → the true outcome, and the exit code of who submits it."""

MOMENTS = {
    "any request": (r".*", 15),
    "asking for the gang": (r"POST .*/gangs$", 1),
    "looking for the lead": (r"\w+ .*/leases", 3),
    "reading the cluster, or, where another leads, the TFJob": (r"GET /api/v1/pods|GET .*/tfjobs/", 1),
    "writing to a gang": (r"PUT .*/gangs/[^/]+/status$", 1),
    "creating the TFJob": (r"POST .*/tfjobs$", 1),
    "looking at the TFJob": (r"GET .*/tfjobs/", 2),
    "giving a pod its node": (r"PATCH .*/pods/", 2),
    "following a log": (r"GET .*/log\?", 2),
}
"""Where a submission is killed → the requests that count, and how many of them nearly each sends at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What happens to one job.

    Attributes:
        number: Its number.
        moment: Where it is killed; a key of ``MOMENTS``.
        count: At the so-manieth request of that kind.
        when: ``before`` it goes to the server, or ``after`` it was done and before the answer.
        code: Exit code of the job's program.
        seed: Of the faults.
    """

    number: int
    moment: str
    count: int
    when: str
    code: str
    seed: int

    @property
    def job(self) -> dict[str, Any]:
        """Two workers that take two whole nodes for a second."""
        job = gang_of_workers(f"k{self.number}", ["train"], workers=2, gpu=GPU, nodeSelector={"rack": RACK})
        template = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]
        template["metadata"] = {"annotations": {EXIT_CODE: self.code, RUNS_FOR: "1s"}}
        template["spec"]["containers"][0]["resources"]["limits"][GPU] = "8"
        return job


def points(count: int, seed: int) -> list[Point]:
    """Points of all kinds by turns, each by chance in its kind."""
    chance = random.Random(seed)
    moments = list(MOMENTS)
    found = []
    for number in range(count):
        moment = moments[number % len(moments)]
        _, most = MOMENTS[moment]
        found.append(
            Point(
                number=number,
                moment=moment,
                count=chance.randint(1, most),
                when=chance.choice(("before", "after")),
                code=chance.choice(("0", "0", "3")),
                seed=chance.getrandbits(32),
            )
        )
    return found


@dataclass(slots=True)
class Told:
    """What came of a point.

    Attributes:
        point: The point.
        killed: Whether its submission was killed.
        calls: How many calls it took.
        code: Exit code of the last call.
        said: What the last call said.
        faults: How often each fault was given.
    """

    point: Point
    killed: bool
    calls: int
    code: int
    said: str
    faults: Counter[str]

    def has_gone_wrong(self) -> bool:
        """Whether the last call did not tell the true outcome."""
        outcome, code = OUTCOMES[self.point.code]
        return self.code != code or f": {outcome}: " not in self.said


def play(cluster: Cluster, namespace: str, submit: Submitter, point: Point) -> Told:
    """Submit a job, kill the submission, and go on with it until the job has ended."""
    told = Told(point=point, killed=False, calls=0, code=UNUSABLE, said="", faults=Counter())
    seeds = random.Random(point.seed)
    while told.calls < CALLS and (told.code in (UNUSABLE, -9)):
        kill = None if told.killed else _Kill(point)
        pki = cluster.folder / "pki"
        plan = seeded(seeds.getrandbits(32))
        with FaultProxy(cluster.server, pki, plan, kill.see if kill else _nothing) as proxy:
            file = kubeconfig_of(cluster, proxy, submit.folder / f"{point.number}-{told.calls}.kubeconfig")
            run = submit(
                namespace,
                point.job,
                "--wait",
                "--run-id",
                f"run-{namespace}-{point.number}",
                kubeconfig=file,
            )
            if kill:
                kill.arm(run.kill)
            out, err = run.communicate(timeout=ENDS_WITHIN_S)
            told.faults += proxy.given
        told.calls += 1
        told.killed |= run.returncode == -9
        told.code, told.said = run.returncode, out + err
    return told


class _Kill:
    """Kills a process when it has sent what the point says."""

    def __init__(self, point: Point) -> None:
        self._point, self._seen = point, 0
        self._kill: Callable[[], None] = _nothing
        self._is_due = False

    def arm(self, kill: Callable[[], None]) -> None:
        """Say how to kill it; it may have sent its request already."""
        self._kill = kill
        if self._is_due:
            kill()

    def see(self, request: str, moment: str) -> None:
        """Look at a request."""
        if moment == self._point.when and re.match(MOMENTS[self._point.moment][0], request):
            self._seen += 1
            if self._seen == self._point.count:
                self._is_due = True
                self._kill()


def _nothing(*_: object) -> None:
    pass


def kubeconfig_of(cluster: Cluster, proxy: FaultProxy, file: Path) -> Path:
    """A kubeconfig of the administrator that leads through a proxy."""
    lines = (cluster.folder / "tokens.csv").read_text().splitlines()
    tokens = {name: token for token, name, *_ in (line.split(",") for line in lines)}
    authority = cluster.folder / "pki" / "ca.crt"
    return write_kubeconfig(file, proxy.address, authority, {"token": tokens[ADMIN]})
