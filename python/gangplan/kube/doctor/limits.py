"""What LimitRanges of the namespace make of jobs from flags, which mostly do not say how much they need."""

from collections.abc import Iterator
from typing import Any

from gangplan.kube.doctor.exam import Exam
from gangplan.kube.doctor.finding import Finding, fault, ok, warning
from gangplan.kube.limit_ranges import Breach, breaches
from gangplan.kube.manifest import GangRequest, RoleSize, training_job
from gangplan.kube.names import REPLICA_TYPES
from gangplan.solver import format_quantity

ROLE = "worker"


def limits(exam: Exam) -> Iterator[Finding]:
    """Jobs from flags that do not say what they need are allowed."""
    rules = exam.limits()
    pod = _pod_from_flags()
    (container,) = pod["containers"]
    found = list(breaches(pod, container, rules))
    for breach in found:
        if breach.what == "limits":
            yield fault(
                "limits",
                f"of jobs from flags limits.{breach.resource} {breach.message}",
                why="the server refuses their pods, and flags cannot say it; a file can",
                cure=f"kubectl describe limitrange -n {exam.namespace}    # then give it a default that it allows",
            )
    if asked := [breach for breach in found if breach.what == "requests"]:
        told = "; ".join(f"{breach.resource} {breach.message}" for breach in asked)
        yield warning(
            "limits",
            f"of a job whose flags do not say how much it needs {told}",
            why="submit refuses it, because the server would refuse its pods",
            cure=f"gangplan submit -n {exam.namespace} {_flags(asked)} …    # for other roles in the same way",
        )
    if rules and not found:
        yield ok("limits", f"the LimitRanges of {exam.namespace} allow jobs from flags")


def _pod_from_flags() -> dict[str, Any]:
    """The pod of a worker of which no flag says how much it needs."""
    sizes = {ROLE: RoleSize(replicas=1)}
    job = training_job(
        name="j",
        run_id="r",
        image="i",
        command=(),
        roles=sizes,
        request=GangRequest(),
        deadline_s=None,
        keep_s=0,
    )
    pod: dict[str, Any] = job["spec"]["tfReplicaSpecs"][REPLICA_TYPES[ROLE]]["template"]["spec"]
    return pod


def _flags(asked: list[Breach]) -> str:
    """Flags that ask for what is allowed."""
    fits: dict[str, int] = {}
    for breach in asked:
        closer = max if breach.edge == "least" else min
        fits[breach.resource] = closer(breach.amount, fits.get(breach.resource, breach.amount))
    return " ".join(
        f"--{ROLE}-{resource} {format_quantity(resource, amount)}" for resource, amount in fits.items()
    )
