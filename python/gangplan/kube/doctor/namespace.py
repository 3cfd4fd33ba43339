"""What the namespace of a job has and what it forbids: queues, quotas, volumes, sidecars, accounts."""

import json
from collections.abc import Iterable, Iterator

from gangplan.errors import Forbidden, NotFound
from gangplan.kube.api import Object
from gangplan.kube.claims import check_claim, claim_use, why_unbound
from gangplan.kube.doctor.exam import Exam
from gangplan.kube.doctor.finding import Finding, fault, note, ok, warning
from gangplan.kube.doctor.rights import ACCOUNT as ROBOT
from gangplan.kube.doctor.rights import GRANTS, bound, may_as
from gangplan.kube.kinds import ACCOUNT, CLAIM, GANG_QUEUE, LIMIT_RANGE, NAMESPACE, QUOTA, VOLCANO_QUEUE
from gangplan.kube.quota_needs import unsaid_by_flags
from gangplan.solver import parse_quantity

PROFILE = ("app.kubernetes.io/part-of", "kubeflow-profile")
"""Label of a namespace that Kubeflow made for a profile."""

EDITOR = "default-editor"
"""The account under which a profile's notebooks and pipelines run."""

RUNNER = "pipeline-runner"
"""The account under which steps run where Kubeflow Pipelines is without profiles."""

OVERLAY = "kubectl kustomize deploy/overlays/kubeflow-profile"
EVERY_POD = frozenset({"pods", "count/pods"})
"""Keys of a quota that count every pod."""


def namespace(exam: Exam) -> Iterator[Finding]:
    """The namespace is there, and puts no sidecars into pods."""
    name = exam.namespace
    found = exam.found(NAMESPACE, name)
    if found is None:
        yield fault(
            "namespace",
            f"there is no namespace {name}",
            why="jobs run in it",
            cure=f"kubectl create namespace {name}    # or name another: gangplan doctor -n NAMESPACE",
        )
        return
    labels = found["metadata"].get("labels") or {}
    injects = labels.get("istio-injection") == "enabled" or "istio.io/rev" in labels
    if injects:
        yield note(
            "istio",
            f"istio puts a sidecar into pods of {name}; those of our jobs ask for none",
            why="a sidecar never ends, so that a job with one never does; the probe sees whether they are heard",
        )
    else:
        yield ok("istio", f"istio does not touch pods of {name}")
    if labels.get(PROFILE[0]) == PROFILE[1]:
        yield from _profile(exam)
    elif exam.found(ACCOUNT, RUNNER, namespace=name) is not None:
        yield from _runner(exam)


def _profile(exam: Exam) -> Iterator[Finding]:
    """The account of a Kubeflow profile may submit."""
    name = exam.namespace
    if exam.found(ACCOUNT, EDITOR, namespace=name) is None:
        yield fault(
            "profile",
            f"{name} is a Kubeflow profile without the account {EDITOR}",
            why="its notebooks and pipelines run under that account",
            cure=f"kubectl create serviceaccount {EDITOR} -n {name}    # or make the Profile anew",
        )
        return
    try:
        lacks = [lack for grant in GRANTS for lack in may_as(exam, EDITOR, grant)]
    except Forbidden:
        yield note("profile", f"what {name}/{EDITOR} may do cannot be asked by you")
        return
    if lacks:
        yield fault(
            "profile",
            f"{name}/{EDITOR} may not {', '.join(lacks)}",
            why="pipelines of this profile run under that account, and admit and launch jobs",
            cure=f"{OVERLAY} | sed s/my-profile/{name}/ | kubectl apply -f -    # from a checkout",
        )
    else:
        yield ok("profile", f"{name}/{EDITOR} may submit")


def _runner(exam: Exam) -> Iterator[Finding]:
    """The account of steps, where there are no profiles, may submit."""
    name = exam.namespace
    try:
        lacks = {grant: lack for grant in GRANTS if (lack := may_as(exam, RUNNER, grant))}
    except Forbidden:
        yield note("steps", f"what {name}/{RUNNER} may do cannot be asked by you")
        return
    if lacks:
        who = f"{ROBOT}{name}:{RUNNER}"
        binds = " && ".join(bound(grant, who, namespace=name) for grant in lacks)
        yield warning(
            "steps",
            f"{name}/{RUNNER} may not {', '.join(what for lack in lacks.values() for what in lack)}",
            why="steps of pipelines run under that account, and admit and launch jobs",
            cure=f"{binds}    # as an administrator; deploy/overlays/pipelines-only has all",
        )
    else:
        yield ok("steps", f"{name}/{RUNNER} may submit")


def queues(exam: Exam) -> Iterator[Finding]:
    """The queues are open."""
    if not exam.is_served(GANG_QUEUE):
        return  # said already
    found = {item["metadata"]["name"]: item for item in exam.all(GANG_QUEUE)}
    if exam.queue and exam.queue not in found:
        yield fault(
            "queues",
            f"there is no queue {exam.queue}; known: {', '.join(sorted(found)) or 'none'}",
            why="a gang that names it is refused",
            cure=f"gangplan queue set {exam.queue}",
        )
    closed = sorted(name for name, item in found.items() if item.get("spec", {}).get("open") is False)
    for name in closed:
        tell = fault if name == exam.queue else warning
        yield tell(
            "queues",
            f"the queue {name} is closed",
            why="it admits nothing new",
            cure=f"gangplan queue set {name} --open",
        )
    for item in exam.all(VOLCANO_QUEUE):
        state = (item.get("status") or {}).get("state")
        if state and state != "Open":
            name = item["metadata"]["name"]
            yield warning(
                "queues",
                f"Volcano's queue {name} is {state}",
                why="Volcano lets nothing new into it",
                cure=f"vcctl queue operate -a open -n {name}",
            )
    if found and not closed:
        yield ok("queues", f"open queues: {', '.join(sorted(found))}")
    elif not found:
        yield ok("queues", "there are no queues: gangs wait in one line")


def quotas(exam: Exam) -> Iterator[Finding]:
    """The quotas of the namespace leave room."""
    found = exam.all(QUOTA, namespace=exam.namespace)
    if not found:
        yield ok("quota", f"no quota limits {exam.namespace}")
    for quota in found:
        name, amounts = quota["metadata"]["name"], _amounts(quota)
        spent = {key for key, (used, limit) in amounts.items() if used >= limit}
        if spent:
            none_ever = any(key in EVERY_POD and amounts[key][1] == 0 for key in spent)
            tell = fault if none_ever else warning
            yield tell(
                "quota",
                f"the quota {name} is used up: {_told(quota, spent)}",
                why="the server refuses pods that ask for more of it; a gang waits until there is room",
                cure=f"kubectl describe quota {name} -n {exam.namespace}    # then raise it, or end jobs: gangplan list",
            )
        if left := amounts.keys() - spent:
            yield ok("quota", f"used of the quota {name}: {_told(quota, left)}")
    yield from _unsaid(exam, found)


def _unsaid(exam: Exam, found: tuple[Object, ...]) -> Iterator[Finding]:
    """Quotas want of pods what those from flags do not say."""
    if not unsaid_by_flags(found, ()):
        return
    unsaid = unsaid_by_flags(found, exam.all(LIMIT_RANGE, namespace=exam.namespace))
    amounts = {"limits.cpu": "4", "limits.memory": "8Gi"}
    default = {key.removeprefix("limits."): amounts[key] for key in sorted(unsaid)}
    limits = {"type": "Container", "default": default}
    defaults = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "gangplan-defaults", "namespace": exam.namespace},
        "spec": {"limits": [limits]},
    }
    for quota in sorted(set(unsaid.values())):
        keys = ", ".join(sorted(key for key, of in unsaid.items() if of == quota))
        yield fault(
            "quota",
            f"the quota {quota} counts {keys}, and no LimitRange sets a default",
            why="the server refuses pods that do not say it, and those of jobs from flags do not; a file can",
            cure=f"echo '{json.dumps(defaults)}' | kubectl apply -f -    # with the amounts that are right for you",
        )


def _amounts(quota: Object) -> dict[str, tuple[int, int]]:
    """Key of a quota → used and limit, in units of the resource."""
    status = quota.get("status") or {}
    used = status.get("used") or {}
    found = {}
    for key, limit in (status.get("hard") or {}).items():
        resource = key.removeprefix("requests.").removeprefix("limits.")
        now, most = (parse_quantity(resource, text, round_up=False) for text in (used.get(key, "0"), limit))
        found[key] = (now, most)
    return found


def _told(quota: Object, keys: Iterable[str]) -> str:
    status = quota.get("status") or {}
    used, hard = status.get("used") or {}, status.get("hard") or {}
    return ", ".join(f"{key} {used.get(key, '0')} of {hard[key]}" for key in sorted(keys))


def volumes(exam: Exam) -> Iterator[Finding]:
    """There is a volume that all replicas can mount."""
    where = exam.namespace
    if exam.claim:
        yield from _claim(exam)
        return
    shared = []
    for claim in exam.all(CLAIM, namespace=where):
        use, remark = claim_use(claim, ()), why_unbound(exam.api, claim)
        if remark is not None and remark.is_obstacle:
            yield warning(
                "volumes",
                f"the claim {use.name} {remark.text}",
                why="pods that mount it wait for it, a gang whole",
                cure=remark.cure,
            )
        elif "ReadWriteMany" in use.modes and use.phase == "Bound":
            shared.append(use.name)
    if shared:
        yield ok("volumes", f"all replicas can mount: {', '.join(shared)}")
    else:
        yield note(
            "volumes",
            f"no claim in {where} can be mounted by replicas on several nodes (ReadWriteMany)",
            why="checkpoints and models of a job are lost with its pods",
            cure=f"gangplan storage nfs NAME -n {where} --help    # or nas, hostpath",
        )


def _claim(exam: Exam) -> Iterator[Finding]:
    """A job of several nodes can use the claim that is asked about."""
    name, where = exam.claim, exam.namespace
    try:
        checked = check_claim(exam.api, name, namespace=where)
    except NotFound as error:
        yield fault(
            "volumes",
            str(error),
            why="a job that mounts it is refused",
            cure=f"gangplan storage nfs {name} -n {where} --help    # or nas, hostpath",
        )
        return
    for remark in checked.findings:
        if remark.is_obstacle:
            yield fault(
                "volumes",
                f"the claim {name} {remark.text}",
                why="a job whose replicas are on several nodes is refused, or waits for it",
                cure=remark.cure,
            )
        else:
            yield note("volumes", f"the claim {name} {remark.text}", cure=remark.cure)
    if checked.is_usable:
        yield ok("volumes", f"all replicas can mount {name}")
