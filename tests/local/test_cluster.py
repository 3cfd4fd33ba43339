"""Virtual nodes: this machine divided, or those of a file; owners are processes."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from builders import gang, node, role, snapshot

import gangplan as gp
from gangplan.admission import run_cycle
from gangplan.config import Terms
from gangplan.local.cluster import LocalCluster, divide_machine, owner, read_cluster, this_process
from gangplan.local.store import LocalStore
from gangplan.record import Owner, new
from gangplan.solver import parse_quantity


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_the_parts_of_this_machine_are_equal_and_not_more_than_it_has(count):
    divided = divide_machine(count)
    cores = [parse_quantity("cpu", item.allocatable["cpu"], round_up=False) for item in divided.nodes]
    memory = [parse_quantity("memory", item.allocatable["memory"], round_up=False) for item in divided.nodes]
    assert len(divided.nodes) == len({item.name for item in divided.nodes}) == count
    assert len(set(cores)) == len(set(memory)) == 1
    assert 0 < sum(cores) <= 1000 * len(os.sched_getaffinity(0))
    assert 0 < sum(memory) <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert gp.solve(replace(divided, gangs=(gang("g1", role(cpu="100m"), required="rack"),))).placements


def test_a_cluster_file_gives_nodes_queues_and_topology(tmp_path: Path):
    cluster = snapshot(nodes=(node("n1", rack="r1"),), queues=(gp.Queue(name="q"),))
    gp.dump(cluster, tmp_path / "c.yaml")
    assert read_cluster(tmp_path / "c.yaml") == cluster


def test_a_cluster_file_with_gangs_or_without_nodes_is_refused_with_all_its_problems(tmp_path: Path):
    gp.dump(gp.Snapshot(gangs=(gang(),)), tmp_path / "c.json")
    with pytest.raises(gp.InvalidInput) as caught:
        read_cluster(tmp_path / "c.json")
    assert [problem.path for problem in caught.value.problems] == ["$.gangs", "$.nodes"]
    assert str(tmp_path / "c.json") in str(caught.value)


def test_an_owner_is_gone_once_its_process_has_ended():
    child = subprocess.Popen(["sleep", "600"])
    try:
        found = owner(child.pid)
        view = LocalCluster(None)
        owners = [found, this_process()]
        assert view.gone(owners) == frozenset()
        reused = Owner(pid=os.getpid(), started=this_process().started - 1)
        assert view.gone([*owners, reused]) == {reused}, "its number belongs to another process now"
    finally:
        child.kill()
        child.wait()
    assert view.gone(owners) == {found}
    assert owner(child.pid) is None


def test_a_store_that_nobody_told_the_nodes_gets_this_machine_even_from_a_cycle(tmp_path: Path):
    store = LocalStore(tmp_path / "s")
    store.create(new(gp.Gang(name="g", roles=(gp.Role(name="w", replicas=1),)), uid="u", run_id="r", now=0.0))
    decision = run_cycle(
        store,
        LocalCluster(store),
        now=1.0,
        terms=Terms(reservation_s=9.0, record_s=9.0, earmark_s=300.0, earmark_bypasses=5),
    )
    assert decision.plan.placements
    assert store.cluster() == divide_machine()
    assert LocalCluster(store).snapshot() == store.cluster()


def test_the_nodes_that_were_told_are_kept(tmp_path: Path):
    store = LocalStore(tmp_path / "s")
    store.set_cluster(snapshot())
    assert LocalCluster(store).snapshot() == snapshot()
