"""Whole-gang placement of TensorFlow jobs: whole gangs or nothing, close together, with a reason.

>>> import gangplan as gp
>>> snapshot = gp.Snapshot(
...     nodes=(gp.Node(name="n1", allocatable={"cpu": "8", "nvidia.com/gpu": "4"}),),
...     gangs=(gp.Gang(name="mnist", roles=(
...         gp.Role(name="worker", replicas=4, requests={"cpu": "1", "nvidia.com/gpu": "1"}),)),),
... )
>>> gp.solve(snapshot).placements["mnist"]["worker"]
('n1', 'n1', 'n1', 'n1')

This module only lists the public names. They are loaded on first use, so that ``import gangplan`` costs
next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gangplan.documents import dump, load
    from gangplan.errors import (
        CheckFailed,
        ClusterError,
        ConfigError,
        Conflict,
        Forbidden,
        GangplanError,
        InvalidInput,
        InvalidQuantity,
        JobCanceled,
        JobError,
        JobFailed,
        JobTimedOut,
        NotFound,
        NotInstalled,
        Problem,
        SolverError,
        StoreError,
        Unreachable,
        Violation,
    )
    from gangplan.options import SolveOptions
    from gangplan.plan import Change, Exclusion, Holder, LevelFit, Plan, Rejection, Stats
    from gangplan.snapshot import (
        Container,
        Expression,
        Gang,
        Node,
        NodeSelectorTerm,
        Pod,
        Queue,
        Role,
        Running,
        Snapshot,
        Taint,
        Toleration,
        Traffic,
    )
    from gangplan.solver import check, explain, solve, traffic
