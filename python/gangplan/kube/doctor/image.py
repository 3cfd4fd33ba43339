"""Whether nodes can pull an image: a pod of it is made, watched until its image is there or refused, and removed."""

import contextlib
import secrets
from collections.abc import Iterator

from gangplan.errors import NotFound, Refused
from gangplan.kube.api import Object
from gangplan.kube.doctor.exam import Exam
from gangplan.kube.doctor.finding import Finding, fault, ok, warning
from gangplan.kube.enforce import NO_ISTIO
from gangplan.kube.kinds import POD

WAIT_S = 300.0
"""Seconds that pulling may take; images with CUDA are large."""

POLL_S = 1.0
NEVER = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})


def image(exam: Exam) -> Iterator[Finding]:
    """A node pulls the image."""
    if not exam.image:
        return
    name = f"gangplan-doctor-{secrets.token_hex(3)}"
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": exam.namespace,
            "labels": {"app.kubernetes.io/name": "gangplan", NO_ISTIO: "false"},
        },
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "activeDeadlineSeconds": int(WAIT_S),
            # What it runs need not be in the image: that it is started tells that the image is there.
            "containers": [
                {
                    "name": "image",
                    "image": exam.image,
                    "command": ["/gangplan-doctor-starts-nothing"],
                    "resources": exam.least(),
                }
            ],
        },
    }
    exam.tell(f"letting a node pull {exam.image}; it may take {WAIT_S:.0f} s …")
    try:
        exam.api.create(POD, pod)
        yield _watched(exam, name)
    except Refused as error:
        yield fault(
            "image",
            f"the server refuses a pod: {error}",
            why="it may refuse replicas for the same",
            cure=f"kubectl describe namespace {exam.namespace}    # shows quotas and policies",
        )
    finally:
        with contextlib.suppress(NotFound):
            exam.api.delete(POD, name, namespace=exam.namespace)


def _watched(exam: Exam, name: str) -> Finding:
    until, node = exam.clock() + WAIT_S, ""
    while exam.clock() < until:
        pod = exam.api.get(POD, name, namespace=exam.namespace)
        node = pod["spec"].get("nodeName") or ""
        status: Object = next(iter((pod.get("status") or {}).get("containerStatuses") or ()), {})
        waiting = (status.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") in NEVER:
            return fault(
                "image",
                f"{node} cannot pull {exam.image}: {waiting.get('message') or waiting['reason']}",
                why="replicas of it would wait for ever",
                cure="see the name, and that the nodes may read it: imagePullSecrets of the account default, or of the job",
            )
        if status.get("imageID") or (status.get("state") or {}).keys() & {"running", "terminated"}:
            return ok("image", f"{node} has pulled {exam.image}")
        exam.sleep(POLL_S)
    return warning(
        "image",
        f"{exam.image} was not pulled in {WAIT_S:.0f} s" + ("" if node else ": no node took the pod"),
        why="replicas of it would wait as long",
        cure=f"kubectl -n {exam.namespace} get events    # tells what the node does",
    )
