"""Probe: a TFJob of one replica that waits behind a gate, so that nothing starts; what becomes of it tells the rest.

It shows whether the operator makes pods of TFJobs, what others put into them, and whether it makes a PodGroup of each job,
which is the operator's gang flag: with it no pod comes before Volcano lets its group in.
"""

import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from gangplan import moments
from gangplan.errors import ClusterError, Forbidden, NotFound, NotInstalled, Refused, Unreachable
from gangplan.kube.api import Object
from gangplan.kube.doctor.exam import Exam
from gangplan.kube.doctor.finding import Finding, fault, note, ok, warning
from gangplan.kube.enforce import NO_ISTIO, is_gated
from gangplan.kube.kinds import EVENT, POD, TFJOB, VOLCANO_GROUP
from gangplan.kube.names import JOB_NAME, PLACEMENT_GATE, TENSORFLOW_CONTAINER

WAIT_S = 30.0
"""Seconds that the operator may take to make a pod; it mostly takes one."""

POLL_S = 0.5

SKEW_S = 5.0
"""Seconds by which clocks may differ; a reservation is kept for 300 s."""

GONE_S = 30.0
"""Seconds that the probe may take to be gone."""

NOT_TRIED = note("operator", "whether the operator works was not tried", cure="leave out --no-probe")


@dataclass(slots=True, kw_only=True)
class Seen:
    """What became of a probe.

    Attributes:
        skew_s: Seconds by which the server's clock is ahead of ours.
        looked_at: Whether the operator has set its conditions.
        pod: Its pod.
        group: Whether there is a PodGroup of Volcano for it.
        refused: What the server said when the operator wanted to make the pod.
    """

    skew_s: float = 0.0
    looked_at: bool = False
    pod: Object | None = None
    group: bool = False
    refused: str = ""


def probe(exam: Exam) -> Iterator[Finding]:
    """What becomes of a TFJob."""
    manifest = _manifest(exam, f"gangplan-doctor-{secrets.token_hex(3)}")
    if exam.probe:
        exam.tell("trying a TFJob whose pod never starts …")
    try:
        before = exam.clock()
        made = exam.api.would_create(TFJOB, manifest)
        after = exam.clock()
    except (NotInstalled, NotFound):
        return  # said already
    except Forbidden:
        if exam.probe:
            raise
        yield NOT_TRIED
        return
    except (Refused, Unreachable) as error:
        if isinstance(error, Unreachable) and "webhook" not in str(error):
            raise
        yield fault(
            "operator", f"the server refuses a TFJob: {error}", why="every job is one", cure=_cure(error)
        )
        return
    server = moments.seconds(made["metadata"]["creationTimestamp"])
    # The server tells whole seconds only.
    skew = server - after if server > after else min(0.0, server + 1.0 - before)
    yield from _clock(skew)
    if not exam.probe:
        yield NOT_TRIED
        return
    try:
        exam.api.create(TFJOB, manifest)
        seen = _watched(exam, manifest["metadata"]["name"])
    finally:
        left = _is_left(exam, manifest["metadata"]["name"])
    yield from _operator(exam, seen)
    if left:
        yield warning(
            "operator",
            f"the probe {manifest['metadata']['name']} is still there",
            why="jobs that end, or are deleted, leave their pods as long",
            cure=f"kubectl -n {exam.namespace} delete tfjob {manifest['metadata']['name']}",
        )


def _cure(error: ClusterError) -> str:
    said = str(error)
    if "webhook" in said:
        return "kubectl get validatingwebhookconfigurations    # and see that what they call runs"
    if "quota" in said:
        return "raise the quota that the message names, or delete TFJobs: gangplan prune"
    return "see the message: a rule of this cluster forbids it"


def _watched(exam: Exam, name: str) -> Seen:
    seen, until = Seen(), exam.clock() + WAIT_S
    while exam.clock() < until:
        job = exam.api.get(TFJOB, name, namespace=exam.namespace)
        seen.looked_at = bool((job.get("status") or {}).get("conditions"))
        pods = exam.all(POD, namespace=exam.namespace, labels=f"{JOB_NAME}={name}")
        seen.pod = pods[0] if pods else None
        try:
            seen.group = exam.found(VOLCANO_GROUP, name, namespace=exam.namespace) is not None
            events = () if pods else exam.all(EVENT, namespace=exam.namespace)
        except ClusterError:
            events = ()
        uid = job["metadata"]["uid"]
        refused = [
            str(event.get("message") or "")
            for event in events
            if (event.get("involvedObject") or {}).get("uid") == uid
            and event.get("reason") == "FailedCreatePod"
        ]
        seen.refused = refused[-1] if refused else ""
        if seen.pod or seen.refused or (seen.group and seen.looked_at):
            break
        exam.sleep(POLL_S)
    return seen


def _is_left(exam: Exam, name: str) -> bool:
    """Remove the probe; whether something of it is still there after some time."""
    with suppress(NotFound):
        exam.api.delete(TFJOB, name, namespace=exam.namespace, propagation="Foreground")
    until = exam.clock() + GONE_S
    while exam.clock() < until:
        job = exam.found(TFJOB, name, namespace=exam.namespace)
        if job is None and not exam.all(POD, namespace=exam.namespace, labels=f"{JOB_NAME}={name}"):
            return False
        exam.sleep(POLL_S)
    return True


def _clock(skew: float) -> Iterator[Finding]:
    if abs(skew) <= SKEW_S:
        yield ok("clock", "the server's clock and this one agree")
        return
    yield warning(
        "clock",
        f"the server's clock is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} this one",
        why="who admits and who launches judge reservations by their own clocks: rooms are given up early, or kept",
        cure="timedatectl set-ntp true    # here, and on the servers",
    )


def _operator(exam: Exam, seen: Seen) -> Iterator[Finding]:
    if seen.refused:
        yield fault(
            "operator",
            f"the server refuses the pods of a TFJob: {seen.refused}",
            why="no replica can start",
            cure=f"see the message; kubectl describe namespace {exam.namespace} shows quotas and policies",
        )
    elif not seen.looked_at and seen.pod is None:
        yield fault(
            "operator",
            f"nothing has looked at a TFJob in {WAIT_S:.0f} s",
            why="training-operator makes the pods of TFJobs: does it run, and does it serve TFJobs?",
            cure="kubectl get pods -A -l control-plane=kubeflow-training-operator    # and see why it does not run",
        )
    elif seen.pod is None and not seen.group:
        yield fault(
            "operator",
            f"training-operator has looked at a TFJob, and made no pod of it in {WAIT_S:.0f} s",
            why="no replica can start",
            cure="kubectl logs -A -l control-plane=kubeflow-training-operator --tail=50",
        )
    else:
        yield ok("operator", "training-operator looks after TFJobs")
        yield from _modes(exam, seen)
    if seen.pod is not None:
        yield from _pod(seen.pod)


def _modes(exam: Exam, seen: Seen) -> Iterator[Finding]:
    """Which way to enforce a placement can be honoured: the operator's gang flag decides."""
    if exam.enforcement == "gangplan":
        yield fault(
            "enforcement",
            "--enforcement gangplan cannot be honoured: no scheduler of ours is running",
            why="nothing would bind the pods",
            cure="gangplan submit --enforcement default …",
        )
        return
    can, cannot = ("volcano", "default") if seen.group else ("default", "volcano")
    flag = "--gang-scheduler-name=volcano"
    if exam.enforcement == can:
        yield ok("enforcement", f"--enforcement {can} can be honoured, {cannot} cannot")
    elif seen.group:
        yield fault(
            "enforcement",
            f"--enforcement default cannot be honoured: training-operator runs with {flag}",
            why="it makes no pod before Volcano lets the job in",
            cure="gangplan submit --enforcement volcano …    # or take the flag off training-operator",
        )
    else:
        yield fault(
            "enforcement",
            f"--enforcement volcano cannot be honoured: training-operator runs without {flag}",
            why="Volcano binds whole gangs only by their PodGroups, which the operator makes with that flag",
            cure=f"give training-operator the flag {flag}; or gangplan submit --enforcement default …",
        )


def _pod(pod: Object) -> Iterator[Finding]:
    others = sorted(
        container["name"]
        for container in pod["spec"].get("containers") or ()
        if container["name"] != TENSORFLOW_CONTAINER
    )
    if others:
        yield fault(
            "istio",
            f"something puts a container into pods of jobs: {', '.join(others)}",
            why="it goes on when the training has ended, so that no job ever ends",
            cure="kubectl get mutatingwebhookconfigurations    # and let it heed the label sidecar.istio.io/inject=false",
        )
    if not is_gated(pod):
        yield fault(
            "enforcement",
            f"the pods of TFJobs lose the scheduling gate {PLACEMENT_GATE}",
            why="they start anywhere, before their gang has room",
            cure="kubectl get mutatingwebhookconfigurations    # and see who changes pods; training-operator must be v1.9",
        )


def _manifest(exam: Exam, name: str) -> Object:
    labels = {"app.kubernetes.io/name": "gangplan", "app.kubernetes.io/component": "doctor"}
    pod = {
        "metadata": {
            "labels": {**labels, NO_ISTIO: "false"},
            "annotations": {NO_ISTIO: "false"},
        },
        "spec": {
            "schedulingGates": [{"name": PLACEMENT_GATE}],
            "containers": [
                {
                    "name": TENSORFLOW_CONTAINER,
                    "image": "gangplan.invalid/never-pulled",
                    # No limits but where a LimitRange has some, as jobs from flags have none: a quota may want some.
                    "resources": exam.least(),
                }
            ],
        },
    }
    return {
        "apiVersion": TFJOB.api_version,
        "kind": TFJOB.name,
        "metadata": {"name": name, "namespace": exam.namespace, "labels": labels},
        "spec": {
            # Were nobody there to remove it, the operator does.
            "runPolicy": {
                "activeDeadlineSeconds": 120,
                "ttlSecondsAfterFinished": 1,
                "cleanPodPolicy": "All",
            },
            "tfReplicaSpecs": {"Worker": {"replicas": 1, "restartPolicy": "Never", "template": pod}},
        },
    }
