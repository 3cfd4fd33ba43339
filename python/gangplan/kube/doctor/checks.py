"""Checks: all of them on one cluster, in the order in which one thing rests on another."""

from collections.abc import Callable, Collection, Iterator
from functools import partial

from gangplan.errors import Conflict, Forbidden, InvalidInput, NotFound, Problem, Refused
from gangplan.kube.doctor import image, installed, levels, limits, namespace, nodes, probe, rights, services
from gangplan.kube.doctor.exam import Exam
from gangplan.kube.doctor.finding import Finding, note, warning

Check = Callable[[Exam], Iterator[Finding]]

MATTERS = ("istio", "profile", "steps", "gpus", "clock", "enforcement")
"""What checks tell of beside what they are named after."""

OF_NAMESPACE = frozenset({"rights", "quota", "limits", "volumes", "operator", "image"})
"""Checks that say nothing of use where the namespace is not there."""


def checks(version: str) -> dict[str, Check]:
    """Name → check. One check may tell of several matters, each with a name of its own.

    Args:
        version: The version of gangplan that looks.
    """
    return {
        "server": installed.server,
        "crds": partial(installed.definitions, version=version),
        "tfjobs": installed.tfjobs,
        "namespace": namespace.namespace,
        "rights": rights.rights,
        "nodes": nodes.nodes,
        "levels": levels.levels,
        "dns": services.dns,
        "schedulers": services.schedulers,
        "queues": namespace.queues,
        "quota": namespace.quotas,
        "limits": limits.limits,
        "volumes": namespace.volumes,
        "operator": probe.probe,
        "image": image.image,
        "pipelines": services.pipelines,
    }


def examine(exam: Exam, version: str, *, skip: Collection[str] = ()) -> Iterator[Finding]:
    """Yield what the checks find, as they find it.

    Args:
        exam: The cluster.
        version: The version of gangplan that looks.
        skip: Names of checks that are left out, or of matters that they tell of.

    Raises:
        InvalidInput: A check that is to be left out is not known.
        ClusterError: The server does not answer.
    """
    known = checks(version)
    if unknown := sorted(set(skip) - {*known, *MATTERS}):
        message = f"no check is named {', '.join(unknown)}; known: {', '.join([*known, *MATTERS])}"
        raise InvalidInput([Problem("--skip", "UNKNOWN_NAME", message)], "doctor")
    there = True
    for name, check in known.items():
        if name in skip or (name in OF_NAMESPACE and not there):
            continue
        try:
            for finding in check(exam):
                there = there and finding.check != "namespace"
                if finding.check not in skip:
                    yield finding
        except Forbidden as error:
            what = f"cannot be seen by you: {error.verb} {error.kind} is not allowed"
            yield note(name, what, cure=rights.allowed(exam, error))
        except (Refused, NotFound, Conflict) as error:
            yield warning(
                name,
                f"could not be looked at: {error}",
                why="a job may meet the same",
                cure="see the message, and look again",
            )
