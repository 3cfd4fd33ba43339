"""Priority of a gang whose TFJob names a PriorityClass, as the cluster has it."""

from dataclasses import replace

from gangplan.errors import InvalidInput, NotFound, Problem
from gangplan.kube.api import Api
from gangplan.kube.kinds import PRIORITY_CLASS
from gangplan.kube.names import PRIORITY
from gangplan.kube.submission import Submission


def with_priority(api: Api, wanted: Submission) -> Submission:
    """A submission with the priority of its ``schedulingPolicy.priorityClass``; our own annotation wins.

    Raises:
        InvalidInput: There is no such class.
        ClusterError: The server does not answer or does not allow it.
    """
    policy = (wanted.manifest["spec"].get("runPolicy") or {}).get("schedulingPolicy") or {}
    name = policy.get("priorityClass")
    if not name or PRIORITY in (wanted.manifest["metadata"].get("annotations") or {}):
        return wanted
    try:
        found = api.get(PRIORITY_CLASS, name)
    except NotFound as error:
        path = "$.spec.runPolicy.schedulingPolicy.priorityClass"
        problem = Problem(path, "UNKNOWN_NAME", f"the cluster has no PriorityClass {name}")
        raise InvalidInput([problem], "TFJob") from error
    return replace(wanted, gang=replace(wanted.gang, priority=int(found["value"])))
