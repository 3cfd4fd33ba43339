"""What is to be compared by ``compare_placements``: its parameters, checked."""

from collections.abc import Mapping
from typing import Any

from gangplan.kube.tfjob import gang
from gangplan.snapshot import Gang, Snapshot
from gangplan.steps import what_if
from gangplan.steps.parameters import Checker
from gangplan.steps.run import MOST_GANGS, Run, one_of

PARAMETERS = what_if.GANG | what_if.CLUSTER | {"gang_copies": "copies"}
"""Parameters of the pipeline → what :func:`asked` calls them."""


def asked(run: Run, given: Mapping[str, Any]) -> tuple[tuple[Gang, ...], Snapshot | None]:
    """Check what is to be compared.

    Args:
        run: The run.
        given: The values of :data:`PARAMETERS`, by their second names.

    Returns:
        The gangs beside those that wait in the cluster, and the cluster; None: the live one.

    Raises:
        InvalidInput: Parameters are wrong; all of them are named.
    """
    check = Checker()
    copies = check.whole("gang_copies", given["copies"], at_least=0, at_most=MOST_GANGS)
    manifest = what_if.gang_asked(run, given, check)
    cluster = what_if.cluster_asked(given, check)
    if cluster is not None and not copies and not cluster.gangs and not check.problems():
        check.contradiction("gang_copies", "must be at least 1: no gang waits in this cluster")
    check.raise_if_any()
    assert manifest is not None, "nothing is wrong with it"
    gangs = tuple(gang(manifest, created=index, name=one_of(run, index).name) for index in range(copies))
    return gangs, cluster
