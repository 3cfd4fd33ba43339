"""Recovery: a node that is not ready now may be so again, so that a gang which needs it is not given up."""

from collections.abc import Set as AbstractSet
from dataclasses import replace

from gangplan import solver
from gangplan.options import SolveOptions
from gangplan.plan import Plan, Rejection
from gangplan.snapshot import Node, Snapshot

PASSING: AbstractSet[str] = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
"""Taints that Kubernetes puts on a node while it is not ready."""


def with_recovery(snapshot: Snapshot, plan: Plan, options: SolveOptions) -> Plan:
    """Call those refusals impossible only that are so also with all nodes ready.

    Of the others the changes go that were tried as if nothing ran; nothing else of a plan changes.

    Args:
        snapshot: What the plan rests on.
        plan: The plan.
        options: How it was made.
    """
    hopeless = {name for name, rejection in plan.rejections.items() if rejection.impossible}
    if not hopeless or all(node.ready or not node.allocatable for node in snapshot.nodes):
        return plan
    recovered = replace(snapshot, nodes=tuple(_recovered(node) for node in snapshot.nodes))
    then = solver.solve(recovered, options).rejections
    hopeful = {name for name in hopeless if name not in then or not then[name].impossible}
    return replace(
        plan,
        rejections={
            name: _possible(rejection) if name in hopeful else rejection
            for name, rejection in plan.rejections.items()
        },
    )


def _possible(rejection: Rejection) -> Rejection:
    changes = tuple(change for change in rejection.changes if not change.alone)
    return replace(rejection, impossible=False, changes=changes)


def _recovered(node: Node) -> Node:
    if node.ready:
        return node
    return replace(node, ready=True, taints=tuple(taint for taint in node.taints if taint.key not in PASSING))
