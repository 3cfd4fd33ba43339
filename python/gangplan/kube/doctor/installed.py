"""What must be installed: a server that is new enough, our kinds in our version, the TFJobs of training-operator."""

import re
from collections.abc import Iterator

from gangplan.errors import Forbidden
from gangplan.kube.doctor.exam import Exam
from gangplan.kube.doctor.finding import Finding, fault, note, ok, warning
from gangplan.kube.kinds import DEFINITION, GANG, GANG_QUEUE, GANG_TOPOLOGY, TFJOB
from gangplan.kube.names import VERSION_LABEL

INSTALL = "kubectl apply -k deploy/"
OPERATOR = (
    "kubectl apply --server-side -k "
    '"github.com/kubeflow/training-operator.git/manifests/overlays/standalone?ref=v1.9.3"'
)
"""docs/install.md has the same; a test compares."""
SERVES = {
    GANG: "gangs are kept as objects of this kind",
    GANG_QUEUE: "there can be no queues: gangs wait in one line, and one that names a queue is refused",
    GANG_TOPOLOGY: "there can be no levels but nodes: a gang that names another is refused",
}
"""Why each of our kinds matters; queues and levels are optional."""

OLDEST = (1, 30)
"""The first version in which the affinity of a pod behind a scheduling gate may be narrowed without a feature gate."""


def server(exam: Exam) -> Iterator[Finding]:
    """The API server is new enough."""
    told = exam.api.server_version()
    found = re.match(r"v(\d+)\.(\d+)", told)
    if found is None:
        yield note("server", f"the API server says that its version is {told}")
    elif (int(found[1]), int(found[2])) < OLDEST:
        yield fault(
            "server",
            f"the API server is {told}",
            why="replicas are held back and placed by scheduling gates, which Kubernetes has since 1.30",
            cure="upgrade the cluster to Kubernetes 1.30 or newer",
        )
    else:
        yield ok("server", f"Kubernetes {told}")


def definitions(exam: Exam, version: str) -> Iterator[Finding]:
    """Our kinds are served, as this version of ours writes them.

    Args:
        exam: The cluster.
        version: The version of gangplan that looks.
    """
    for kind in (GANG, GANG_QUEUE, GANG_TOPOLOGY):
        name = f"{kind.plural}.{kind.api_version.partition('/')[0]}"
        if not exam.is_served(kind):
            is_needed = kind == GANG or (kind == GANG_QUEUE and bool(exam.queue))
            tell = fault if is_needed else warning
            yield tell(
                "crds",
                f"the kind {kind.name} ({kind.api_version}) is not installed",
                why=SERVES[kind],
                cure=f"{INSTALL}    # from a checkout of gangplan {version}",
            )
            continue
        try:
            definition = exam.found(DEFINITION, name)
        except Forbidden:
            yield ok("crds", f"{kind.name} is installed; of which version may not be seen")
            continue
        labels = (definition or {"metadata": {}})["metadata"].get("labels") or {}
        installed = labels.get(VERSION_LABEL, "an unknown version")
        if installed == version:
            yield ok("crds", f"{kind.name} is installed, of version {version}")
        else:
            yield warning(
                "crds",
                f"{kind.name} is installed as of {installed}, and this is gangplan {version}",
                why="a server drops fields that its definition does not know, without a word",
                cure=f"{INSTALL}    # from a checkout of gangplan {version}; or install gangplan {installed}",
            )


def tfjobs(exam: Exam) -> Iterator[Finding]:
    """The server knows TFJobs."""
    if exam.is_served(TFJOB):
        yield ok("tfjobs", f"TFJob ({TFJOB.api_version}) is installed")
    else:
        yield fault(
            "tfjobs",
            f"the kind TFJob ({TFJOB.api_version}) is not installed",
            why="a job of several processes is a TFJob, which training-operator runs",
            cure=OPERATOR,
        )
