"""Many who submit at once: threads of a few processes, each with its own connection and its own store."""

import multiprocessing
import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from gangplan.config import settings
from gangplan.kube.client import connect
from gangplan.kube.cluster import KubeCluster
from gangplan.kube.launch import Launch
from gangplan.kube.launcher import Launcher
from gangplan.kube.submission import submission
from gangplan.record import new
from gangplan.verdict import Pace, ask, wait

WITHIN_S = 240.0
POLL_S = 1.0
Job = Mapping[str, Any]


def run_all(kubeconfig: Path, namespace: str, jobs: Sequence[Job], *, processes: int) -> dict[str, str]:
    """Run all jobs, each as `gangplan submit --wait` would; name → how it ended."""
    parts = [jobs[first::processes] for first in range(processes)]
    fresh = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    with ProcessPoolExecutor(processes, mp_context=fresh) as pool:
        ended = [pool.submit(run_part, kubeconfig, namespace, part) for part in parts]
        return {name: outcome for part in ended for name, outcome in part.result().items()}


def run_part(kubeconfig: Path, namespace: str, jobs: Sequence[Job]) -> dict[str, str]:
    """Run some of the jobs, all at once."""
    with ThreadPoolExecutor(len(jobs)) as threads:
        return dict(threads.map(lambda job: run_one(kubeconfig, namespace, job), jobs))


def run_one(kubeconfig: Path, namespace: str, job: Job) -> tuple[str, str]:
    """Ask for a gang, wait for it, launch its job and follow it to the end."""
    now, terms = time.time(), settings().terms
    wanted = submission(job, namespace=namespace, run_id=uuid.uuid4().hex, now=now)
    with connect(kubeconfig=kubeconfig) as connection:
        cluster = KubeCluster(connection, clock=time.time, monotonic=time.monotonic)
        store, pace = cluster.store(), Pace(cluster, clock=time.time)
        asked = new(wanted.gang, uid="", run_id=wanted.run_id, now=now)
        verdict = wait(
            store,
            cluster,
            store.create(replace(asked, kept_until=now + terms.waiter_s)),
            clock=time.time,
            sleep=time.sleep,
            terms=terms,
            deadline=now + WITHIN_S,
            poll_s=POLL_S,
        )
        if not verdict.admitted:
            return wanted.name, verdict.reason
        launcher = Launcher(
            connection,
            store,
            wanted.manifest,
            Launch(run_id=wanted.run_id, reservation_s=terms.reservation_s, waiter_s=terms.waiter_s),
            clock=time.time,
            sleep=time.sleep,
            poll_s=POLL_S,
            admit=lambda: ask(store, pace, wanted.gang.name, clock=time.time, terms=terms),
        )
        return wanted.name, launcher.run().outcome
