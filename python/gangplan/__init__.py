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
next to nothing and needs none of the extras.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gangplan.closeness import Closeness, ReplicaAffinity, Slice, Spread
    from gangplan.columns import (
        NONE,
        Columns,
        GangColumns,
        LabelColumn,
        NodeColumns,
        NodeNeeds,
        PodColumns,
        RoleColumns,
        RunningColumns,
    )
    from gangplan.decisions import Decisions
    from gangplan.delta_columns import DeltaColumns, EndedColumns, NodeDeltas
    from gangplan.deltas import Deltas, Gone
    from gangplan.documents import dump
    from gangplan.errors import (
        AlreadyExists,
        Busy,
        CheckFailed,
        ClusterError,
        ConfigError,
        Conflict,
        Expired,
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
        Refused,
        SolverError,
        StoreError,
        Unreachable,
        Violation,
    )
    from gangplan.options import SolveOptions
    from gangplan.plan import (
        Certificate,
        Change,
        Earmark,
        Exclusion,
        Holder,
        LevelFit,
        Plan,
        Rejection,
        Stats,
    )
    from gangplan.session import CommitConflict, Session
    from gangplan.snapshot import (
        Container,
        Expression,
        Gang,
        Group,
        NamespaceQuota,
        Node,
        NodeSelectorTerm,
        Pod,
        PreferredTerm,
        Queue,
        Role,
        Running,
        Snapshot,
        Taint,
        Toleration,
        Traffic,
    )
    from gangplan.solver import check, load, solve, traffic

_HOMES = {
    "closeness": ("Closeness", "ReplicaAffinity", "Slice", "Spread"),
    "columns": (
        "NONE",
        "Columns",
        "GangColumns",
        "LabelColumn",
        "NodeColumns",
        "NodeNeeds",
        "PodColumns",
        "RoleColumns",
        "RunningColumns",
    ),
    "decisions": ("Decisions",),
    "delta_columns": ("DeltaColumns", "EndedColumns", "NodeDeltas"),
    "deltas": ("Deltas", "Gone"),
    "documents": ("dump",),
    "errors": (
        "AlreadyExists",
        "Busy",
        "CheckFailed",
        "ClusterError",
        "ConfigError",
        "Conflict",
        "Expired",
        "Forbidden",
        "GangplanError",
        "InvalidInput",
        "InvalidQuantity",
        "JobCanceled",
        "JobError",
        "JobFailed",
        "JobTimedOut",
        "NotFound",
        "NotInstalled",
        "Problem",
        "Refused",
        "SolverError",
        "StoreError",
        "Unreachable",
        "Violation",
    ),
    "options": ("SolveOptions",),
    "plan": (
        "Certificate",
        "Change",
        "Earmark",
        "Exclusion",
        "Holder",
        "LevelFit",
        "Plan",
        "Rejection",
        "Stats",
    ),
    "session": ("CommitConflict", "Session"),
    "snapshot": (
        "Container",
        "Expression",
        "Gang",
        "Group",
        "NamespaceQuota",
        "Node",
        "NodeSelectorTerm",
        "Pod",
        "PreferredTerm",
        "Queue",
        "Role",
        "Running",
        "Snapshot",
        "Taint",
        "Toleration",
        "Traffic",
    ),
    "solver": ("check", "load", "solve", "traffic"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [  # noqa: PLE0604 - type checkers read the imports above; a test compares the two
    *sorted(_HOME),
    "__version__",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its module when it is first asked for (PEP 562)."""
    from importlib import import_module

    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            value: Any = version("gangplan")
        except PackageNotFoundError:  # a source tree that is not installed; the solver has the same version
            value = import_module("gangplan.solver").core_version()
    elif name in _HOME:
        value = getattr(import_module(f"gangplan.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"module 'gangplan' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
