"""Fifty gangs at once where there is room for twenty: no node is given twice, all finish, nothing is left."""

import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from cluster.bed.kwok import EXIT_CODE, GPU, RUNS_FOR
from cluster.bed.outside import Cluster
from cluster.crowd import run_all
from cluster.history import History, gpus_of_nodes, overbooked, requests_by, runs_with_several_jobs, use
from cluster.manifests import gang_of_workers
from cluster.objects import conditions, pods_of
from cluster.submissions import gangs_of, install, tfjobs_of

GANGS = 50
RACKS = [f"r{number}" for number in range(5)]
"""Eighty nodes: room for twenty gangs of four nodes each."""
PROCESSES = 2


def gang(name: str) -> dict[str, Any]:
    """A TFJob that takes four whole nodes for some seconds; its pods are played."""
    rack = {"key": "rack", "operator": "In", "values": RACKS}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [rack]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    job = gang_of_workers(name, ["train"], workers=4, gpu=GPU, affinity=affinity)
    template = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    template["metadata"] = {"annotations": {EXIT_CODE: "0", RUNS_FOR: "3s"}}
    template["spec"]["containers"][0]["resources"]["limits"][GPU] = "8"
    return job


def test_many_gangs_at_once_never_share_a_place_and_all_finish(
    wide: Cluster, new_namespace: Callable[[Cluster], str], capsys: pytest.CaptureFixture[str]
) -> None:
    install(wide)
    namespace, nodes = new_namespace(wide), gpus_of_nodes(wide)
    before, begun = requests_by(wide.audit_log, "gangplan"), time.monotonic()
    with History(wide) as history:
        ended = run_all(
            wide.kubeconfig(), namespace, [gang(f"g{number}") for number in range(GANGS)], processes=PROCESSES
        )
        seconds = time.monotonic() - begun
        asked = requests_by(wide.audit_log, "gangplan") - before
        events = history.complete()
    assert ended == {f"g{number}": "Succeeded" for number in range(GANGS)}
    assert overbooked(events, nodes) == []
    assert runs_with_several_jobs(events) == {}
    most = most_at_once(events)
    assert 15 <= most <= 20, "the room that there is was used"
    assert {status["outcome"] for status in gangs_of(wide, namespace).values()} == {"Succeeded"}
    jobs = tfjobs_of(wide, namespace)
    assert len(jobs) == GANGS
    assert all(conditions(job).get("Succeeded") == "True" for job in jobs.values())
    wide.wait_until("no pod runs any more", lambda: not use([], pods_of(wide, namespace).values()))
    with capsys.disabled():
        cycles, total = asked["list resourcequotas"], asked.total()
        told = ", ".join(f"{count} {what}" for what, count in asked.most_common(8))
        sys.stdout.write(
            f"\n{GANGS} gangs in {seconds:.0f} s: {total} requests, {total / seconds / GANGS:.1f} a second and gang, "
            f"the cluster was read {cycles} times; {told}\n"
        )


def most_at_once(events: list[Any]) -> int:
    """How many gangs held room at the same moment, at most."""
    holding: set[str] = set()
    most = 0
    for event in events:
        if event.kind.name == "Gang":
            name, phase = event.obj["metadata"]["name"], (event.obj.get("status") or {}).get("phase")
            (holding.add if phase in {"Reserved", "Bound"} else holding.discard)(name)
            most = max(most, len(holding))
    return most
