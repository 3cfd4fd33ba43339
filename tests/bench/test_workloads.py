"""Workload files: the same seed, the same bytes; the shapes that their names promise; the figures of a run."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from gangplan.bench.column_door import Sessions
from gangplan.bench.door import Documents
from gangplan.bench.measure import measure
from gangplan.bench.shapes import GPUS, RECIPES, make
from gangplan.bench.workload import GangRow, RoleRow, read, write
from gangplan.cli.main import app
from gangplan.errors import InvalidInput

SMALL = ["W1-1250", "W1t-1250", "W2-1250", "W3-1250", "W3t-1250", "W4-500", "W4t-500", "W5-1000"]


def used_gpus(workload):
    used = [0] * len(workload.nodes)
    for gang in workload.gangs:
        for role, places in zip(gang.roles, gang.running or [()] * len(gang.roles), strict=True):
            for place in places:
                used[place] += role.gpu
    return used


@pytest.mark.parametrize("name", SMALL)
def test_equal_seeds_give_equal_bytes(name, tmp_path):
    first = write(make(name), tmp_path / "a").read_bytes()
    assert write(make(name), tmp_path / "b").read_bytes() == first
    shuffles = name[:2] in {"W2", "W3", "W4"}
    assert (
        write(make(name, seed=8), tmp_path / "c").read_bytes().replace(b'"seed":8', b'"seed":7') != first
    ) == shuffles


@pytest.mark.parametrize("name", SMALL)
def test_a_workload_is_read_as_it_was_made(name, tmp_path):
    assert read(write(make(name), tmp_path)) == make(name)


@pytest.mark.parametrize("name", SMALL)
def test_no_node_holds_more_gpus_than_it_has_and_counts_match(name):
    workload = make(name)
    assert max(used_gpus(workload)) <= GPUS
    assert len(workload.nodes) == RECIPES[name].nodes
    for gang in workload.gangs:
        if gang.running is not None:
            assert [role.count for role in gang.roles] == [len(places) for places in gang.running]


def test_the_stream_is_a_thousand_gangs_of_ten():
    waiting = make("W1-1250").waiting
    assert len(waiting) == 1000
    assert sum(role.count for gang in waiting for role in gang.roles) == 10_000


def test_the_large_gang_comes_to_a_cluster_of_which_three_tenths_are_in_use():
    workload = make("W2-1250")
    (big,) = workload.waiting
    assert [(role.name, role.count) for role in big.roles] == [("worker", 512), ("ps", 64)]
    assert 0.30 <= sum(used_gpus(workload)) / (GPUS * 1250) < 0.301


@pytest.mark.parametrize(("name", "free"), [("W3-1250", 12), ("W3t-1250", 64)])
def test_refused_gangs_come_to_a_cluster_with_a_few_single_gpus(name, free):
    used = used_gpus(make(name))
    assert GPUS * len(used) - sum(used) == free
    assert min(used) == GPUS - 1


def test_the_full_cluster_has_ten_replicas_on_each_node_and_nobody_waits():
    workload = make("W5-1000")
    assert workload.waiting == ()
    assert sum(role.count for gang in workload.gangs for role in gang.roles) == 10_000


def trimmed(name, *, gangs):
    """The first waiting gangs of a workload, on the same cluster."""
    workload = make(name)
    kept = [gang for gang in workload.gangs if gang.running is not None]
    return replace(workload, gangs=(*kept, *workload.waiting[:gangs]))


DOORS = pytest.mark.parametrize("door", [Documents(), Sessions()], ids=lambda door: type(door).__name__)


@DOORS
def test_figures_tell_what_was_placed_and_how_close(door):
    figures = measure(trimmed("W1t-1250", gangs=12), door, runs=2)
    assert (figures.gangs_placed, figures.pods_placed, figures.runs) == (12, 120, 2)
    assert figures.racks_per_gang == 1.0
    assert figures.ps_racks_without_workers == 0
    assert figures.min_ms <= figures.total_ms


@DOORS
def test_refusals_place_nothing(door):
    figures = measure(trimmed("W3-1250", gangs=5), door, runs=1)
    assert (figures.gangs_placed, figures.pods_placed, figures.racks_per_gang) == (0, 0, 0.0)


@pytest.mark.parametrize("name", ["W1-1250", "W1t-1250", "W2-1250", "W3t-1250", "W4t-500"])
def test_documents_and_sessions_place_every_replica_on_the_same_node(name):
    workload = trimmed(name, gangs=200)
    found = [
        door.places(workload, door.act(door.open(door.read(workload)))) for door in (Documents(), Sessions())
    ]
    assert found[0] == found[1]


class Scattered:
    """A door to no solver: workers in the first rack, a PS in the first and one in the last."""

    def read(self, workload):
        return workload

    def open(self, rows):
        return rows

    def act(self, state):
        return {"big": [[0, 1], [2, len(state.nodes) - 1]]}

    def places(self, workload, answer):
        return answer


def test_a_ps_in_a_rack_without_workers_is_counted():
    one = RoleRow(name="worker", count=2, cpu=1, memory=1, gpu=0)
    big = GangRow(name="big", roles=(one, replace(one, name="ps")))
    figures = measure(replace(make("W1-1250"), gangs=(big,)), Scattered(), runs=1)
    assert (figures.racks_per_gang, figures.ps_racks_without_workers) == (2.0, 1)


KEYS = [
    "runner",
    "workload",
    "total_ms",
    "min_ms",
    "cpu_ms",
    "runs",
    "open_ms",
    "act_ms",
    "gangs_placed",
    "pods_placed",
    "racks_per_gang",
    "ps_racks_without_workers",
    "gangs_hit",
    "pods_evicted",
]


def test_the_command_writes_workloads_and_prints_a_line_of_figures(tmp_path):
    done = CliRunner().invoke(app, ["bench", "--write", str(tmp_path), "--only", "W5-1000"])
    assert done.output.split() == [str(tmp_path / "W5-1000.json")]
    done = CliRunner().invoke(app, ["bench", str(tmp_path / "W5-1000.json"), "--runs", "1"])
    (line,) = done.output.splitlines()
    assert list(json.loads(line)) == KEYS
    assert json.loads(line)["runner"] == "gangplan"


def test_a_file_that_is_no_workload_is_invalid_input(tmp_path):
    path = tmp_path / "other.json"
    path.write_text('{"nodes": []}')
    with pytest.raises(InvalidInput):
        read(path)
    assert CliRunner().invoke(app, ["bench", str(path)]).exit_code == 3


def test_the_command_wants_a_file_or_a_folder_and_known_names(tmp_path):
    assert CliRunner().invoke(app, ["bench"]).exit_code == 2
    assert CliRunner().invoke(app, ["bench", "--write", str(tmp_path), "--only", "W9"]).exit_code == 3
