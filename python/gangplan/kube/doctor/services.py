"""What must run beside a job: a name server, a scheduler, and, where pipelines are wanted, Kubeflow Pipelines."""

from collections.abc import Iterator

from gangplan import moments
from gangplan.errors import ClusterError
from gangplan.kube.doctor.exam import Exam
from gangplan.kube.doctor.finding import Finding, fault, note, ok, warning
from gangplan.kube.doctor.health import health
from gangplan.kube.kinds import ENDPOINTS, LEASE, SERVICE, VOLCANO_QUEUE

DNS = ("kube-system", "kube-dns")
"""The Service under which every cluster has its name server, whatever program that is."""

SCHEDULERS = {
    "kube-scheduler": ("kube-system", "kube-scheduler"),
    "volcano": ("volcano-system", "vc-scheduler"),
}
"""Scheduler → the Lease by which its replicas agree on a leader."""


def dns(exam: Exam) -> Iterator[Finding]:
    """Replicas can find each other by name."""
    namespace, name = DNS
    if exam.found(SERVICE, name, namespace=namespace) is None:
        yield fault(
            "dns",
            f"there is no Service {name} in {namespace}",
            why="replicas know each other by DNS names only: without a name server a TFJob hangs at its start",
            cure="kubeadm init phase addon coredns    # or the add-on of your distribution",
        )
        return
    slices = exam.all(ENDPOINTS, namespace=namespace, labels=f"kubernetes.io/service-name={name}")
    ready = [
        endpoint
        for slice_ in slices
        for endpoint in slice_.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready", True)
    ]
    if ready:
        yield ok("dns", f"names are served by {namespace}/{name}; ready endpoints: {len(ready)}")
    else:
        yield fault(
            "dns",
            f"the Service {namespace}/{name} has no endpoint that is ready",
            why="replicas know each other by DNS names only: without a name server a TFJob hangs at its start",
            cure="kubectl -n kube-system get pods -l k8s-app=kube-dns    # and see why they do not run",
        )


def schedulers(exam: Exam) -> Iterator[Finding]:
    """Something binds pods."""
    for scheduler, (namespace, name) in SCHEDULERS.items():
        if scheduler == "volcano" and not exam.is_served(VOLCANO_QUEUE):
            continue
        lease = exam.found(LEASE, name, namespace=namespace)
        spec = (lease or {}).get("spec") or {}
        if not spec.get("renewTime") or not spec.get("holderIdentity"):
            yield note("schedulers", f"whether {scheduler} runs cannot be seen: it holds no Lease {name}")
            continue
        idle = exam.clock() - moments.seconds(spec["renewTime"])
        if idle <= 2 * (spec.get("leaseDurationSeconds") or 15):
            yield ok("schedulers", f"{scheduler} runs ({spec['holderIdentity']})")
            continue
        yield fault(
            "schedulers",
            f"{scheduler} has not been heard of for {idle:.0f} s",
            why="admitted pods stay Pending: nothing binds them to their nodes",
            cure=f"kubectl -n {namespace} get pods | grep scheduler    # and see why it does not run",
        )


def pipelines(exam: Exam) -> Iterator[Finding]:
    """Kubeflow Pipelines, where it is installed, answers."""
    name, namespace = "ml-pipeline", "kubeflow"
    if exam.pipelines:
        yield from _answers(exam.pipelines)
        return
    if exam.found(SERVICE, name, namespace=namespace) is None:
        yield note(
            "pipelines",
            "Kubeflow Pipelines is not installed in the namespace kubeflow",
            why="pipelines run on this machine only; single jobs need none",
            cure="gangplan doctor --pipelines URL    # if it is elsewhere; docs/install.md tells how to install it",
        )
        return
    slices = exam.all(ENDPOINTS, namespace=namespace, labels=f"kubernetes.io/service-name={name}")
    if any(slice_.get("endpoints") for slice_ in slices):
        yield ok("pipelines", f"Kubeflow Pipelines runs as {namespace}/{name}")
        if not exam.image:
            yield note(
                "image",
                "whether nodes can pull the image of steps and replicas was not tried",
                why="every step of a pipeline waits for it",
                cure="gangplan doctor --image IMAGE    # that of gangplan pipeline compile --image IMAGE",
            )
    else:
        yield warning(
            "pipelines",
            f"the Service {namespace}/{name} has no endpoint",
            why="no pipeline can be uploaded or run",
            cure=f"kubectl -n {namespace} get pods -l app={name}    # and see why it does not run",
        )


def _answers(url: str) -> Iterator[Finding]:
    try:
        said = health(url)
    except ClusterError as error:
        yield warning(
            "pipelines",
            str(error),
            why="no pipeline can be uploaded or run",
            cure="see that the address is that of the API, such as http://localhost:8888, and that you may reach it",
        )
        return
    yield ok("pipelines", f"Kubeflow Pipelines answers at {url}: {said}")
