"""Decisions come back as arrays that nobody can change, with numpy and without."""

import json
import subprocess
import sys

import numpy as np
import pytest
from session.test_bad_columns import good

import gangplan as gp

WITHOUT_NUMPY = """
import sys
sys.modules["numpy"] = None
import gangplan as gp
session = gp.Session(gp.Columns(
    resources=["cpu"],
    nodes=gp.NodeColumns(names=["n1", "n2"], allocatable=[[2, 9]]),
    gangs=gp.GangColumns(names=["a", "b"]),
    roles=gp.RoleColumns(gangs=[0, 1], names=["w", "w"], replicas=[3, 9], requests=[[2, 2]]),
))
decisions = session.solve()
import json
print(json.dumps([type(decisions.nodes).__name__, decisions.nodes.tolist(), decisions.proven.tolist(),
                  decisions.nodes.readonly, decisions.placements(), decisions.refusals()]))
"""


def run(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_numpy_there_are_memoryviews():
    assert json.loads(run(WITHOUT_NUMPY)) == [
        "memoryview", [1, 1, 1], [True], True, {"a": {"w": ["n2", "n2", "n2"]}}, ["b"],
    ]  # fmt: skip


def test_numpy_is_imported_only_for_arrays():
    code = WITHOUT_NUMPY.replace('sys.modules["numpy"] = None', "").partition("import json")[0]
    assert run(code + "print('numpy' in sys.modules); decisions.nodes; print('numpy' in sys.modules)").split() == [
        "False", "True",
    ]  # fmt: skip


def test_arrays_have_their_types_and_cannot_be_written_to():
    decisions = gp.Session(good()).solve()
    for name in ("gangs", "roles", "indexes", "nodes", "refused"):
        column = getattr(decisions, name)
        assert isinstance(column, np.ndarray)
        assert column.dtype == np.uint32
        assert column is getattr(decisions, name)
        with pytest.raises(ValueError, match="read-only"):
            column[:] = 0
    assert decisions.proven.dtype == np.bool_
    assert decisions.stopped is False
    assert decisions.work["nodes"] > 0


def test_replicas_come_in_the_order_of_gang_role_and_index_and_leave_out_those_that_run():
    decisions = gp.Session(good()).solve()
    rows = list(
        zip(decisions.gangs.tolist(), decisions.roles.tolist(), decisions.indexes.tolist(), strict=True)
    )
    assert rows == [(0, 0, 0), (0, 1, 1)]


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
)
def test_integers_of_any_width_are_taken(dtype):
    changed = good(
        roles__gangs=np.zeros(2, dtype=dtype), roles__replicas=np.array([1, 2], dtype=dtype),
        pods__requests=np.array([[100], [1]], dtype=dtype), nodes__taints=np.array([0, 0], dtype=dtype),
        nodes__taint_sets=[[]],
    )  # fmt: skip
    expected = gp.Session(good(nodes__taint_sets=[[]])).solve().placements()
    assert gp.Session(changed).solve().placements() == expected


def test_names_may_be_arrays_of_texts():
    expected = gp.Session(good()).solve().placements()
    found = gp.Session(good(nodes__names=np.array(["n1", "n2"]))).solve().placements()
    assert found == expected
    assert {type(node) for nodes in found["g"].values() for node in nodes} == {str}


def test_the_callers_arrays_are_copied():
    requests, names = np.array([[500, 1000], [1, 1]]), ["n1", "n2"]
    session = gp.Session(good(roles__requests=requests, nodes__names=names))
    expected = session.solve().placements()
    requests[:] = 10**12
    names.reverse()
    assert session.solve().placements() == expected == {"g": {"ps": ("n1",), "worker": ("n1",)}}
