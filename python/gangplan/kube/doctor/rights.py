"""Whether the identity that looks may do what submitting needs; each missing rule with the file that grants it.

https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from gangplan.errors import Forbidden
from gangplan.kube.cluster import LEASE_NAME, SYSTEM
from gangplan.kube.doctor.exam import Exam
from gangplan.kube.doctor.finding import Finding, fault, note, ok, warning
from gangplan.kube.kinds import REVIEW, SUBJECT_REVIEW, WHO_AM_I
from gangplan.kube.roles import allowing, role_for

OURS = "gangplan.dev"
OPERATOR = "kubeflow.org"
ACCOUNT = "system:serviceaccount:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule of a role, as RBAC writes it.

    Attributes:
        group: API group; empty: the core one.
        resource: Plural, with its subresource after a stroke.
        verbs: What is done.
        name: Only this object; empty: all.
        serves: What goes wrong without it, after "without it"; empty: nothing can be submitted.
    """

    group: str
    resource: str
    verbs: tuple[str, ...]
    name: str = ""
    serves: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A role that ``deploy/`` has.

    Attributes:
        role: Its name.
        file: The file that defines it.
        reach: Where it is needed: ``namespace`` of the job, ``system`` or the whole ``cluster``.
        does: What is done by it, in the words of a sentence.
        binds: The command that gives it to somebody, but for who that is.
        rules: Its rules.
        submits: Whether submitting needs it; what lacks of another is good to know.
    """

    role: str
    file: str
    reach: str
    does: str
    binds: str
    rules: tuple[Rule, ...]
    submits: bool = True


_TIDY = "gangs cannot be suspended, resumed or deleted by you"
_BOARD = "TensorBoard cannot be shown by you"
_PEERS = "what other schedulers declare goes unread"

GRANTS = (
    Grant(
        role="gangplan-launch",
        file="deploy/rbac/launch.yaml",
        reach="namespace",
        does="launched",
        binds="kubectl create rolebinding gangplan-launch-{who} -n {namespace} --clusterrole=gangplan-launch",
        rules=(
            Rule(group=OPERATOR, resource="tfjobs", verbs=("get", "create", "delete")),
            Rule(group="", resource="pods", verbs=("get", "list", "patch", "watch")),
            Rule(group="", resource="pods/log", verbs=("get",)),
            Rule(
                group="scheduling.volcano.sh",
                resource="podgroups",
                verbs=("get",),
                serves="why Volcano holds a job back goes untold",
            ),
            Rule(group="", resource="persistentvolumeclaims", verbs=("get",)),
            Rule(
                group="",
                resource="limitranges",
                verbs=("list",),
                serves="what a quota wants pods to say is told only when they are refused",
            ),
            Rule(group="", resource="events", verbs=("create", "list")),
            Rule(group=OURS, resource="gangs", verbs=("get",)),
            Rule(group=OURS, resource="gangs/status", verbs=("update",)),
        ),
    ),
    Grant(
        role="gangplan-admit",
        file="deploy/rbac/admit.yaml",
        reach="cluster",
        does="admitted",
        binds="kubectl create clusterrolebinding gangplan-admit-{who} --clusterrole=gangplan-admit",
        rules=(
            Rule(group=OURS, resource="gangs", verbs=("get", "list", "create", "delete")),
            Rule(group=OURS, resource="gangs/status", verbs=("update", "patch")),
            Rule(group=OURS, resource="gangqueues", verbs=("list",)),
            Rule(group=OURS, resource="gangtopologies", verbs=("list",)),
            Rule(group="", resource="nodes", verbs=("list",)),
            Rule(group="", resource="pods", verbs=("list",)),
            Rule(group="", resource="resourcequotas", verbs=("list",)),
            Rule(
                group="",
                resource="persistentvolumes",
                verbs=("get",),
                serves="gangs may be placed where their volumes cannot be reached",
            ),
            Rule(group="", resource="events", verbs=("create",)),
            Rule(group=OPERATOR, resource="tfjobs", verbs=("list",)),
            Rule(group="scheduling.volcano.sh", resource="queues", verbs=("list",), serves=_PEERS),
            Rule(group="scheduling.volcano.sh", resource="podgroups", verbs=("list",), serves=_PEERS),
            Rule(group="topology.volcano.sh", resource="hypernodes", verbs=("list",), serves=_PEERS),
            Rule(group="scheduling.x-k8s.io", resource="podgroups", verbs=("list",), serves=_PEERS),
            Rule(group="kueue.x-k8s.io", resource="topologies", verbs=("list",), serves=_PEERS),
            Rule(group="kai.scheduler", resource="topologies", verbs=("list",), serves=_PEERS),
            Rule(
                group="scheduling.k8s.io",
                resource="priorityclasses",
                verbs=("get",),
                serves="jobs that name a priority class are refused",
            ),
        ),
    ),
    Grant(
        role="gangplan-lead",
        file="deploy/rbac/admit.yaml",
        reach="system",
        does="admitted",
        binds=f"kubectl create rolebinding gangplan-lead-{{who}} -n {SYSTEM} --role=gangplan-lead",
        rules=(
            Rule(
                group="coordination.k8s.io",
                resource="leases",
                verbs=("get", "update"),
                name=LEASE_NAME,
            ),
            Rule(group="coordination.k8s.io", resource="leases", verbs=("create",)),
        ),
    ),
    Grant(
        role="gangplan-edit",
        file="deploy/rbac/edit.yaml",
        reach="namespace",
        does="suspended",
        binds="kubectl create rolebinding gangplan-edit-{who} -n {namespace} --clusterrole=gangplan-edit",
        rules=(
            Rule(group=OURS, resource="gangs", verbs=("delete",), serves=_TIDY),
            Rule(group=OURS, resource="gangs/status", verbs=("update",), serves=_TIDY),
            Rule(group=OPERATOR, resource="tfjobs", verbs=("get", "list", "patch", "delete"), serves=_TIDY),
            Rule(group="", resource="pods", verbs=("create", "delete"), serves=_BOARD),
            Rule(group="", resource="pods/portforward", verbs=("create",), serves=_BOARD),
        ),
        submits=False,
    ),
)
"""What ``deploy/rbac`` grants; a test compares."""


def rights(exam: Exam) -> Iterator[Finding]:
    """Whoever looks may submit."""
    total = missing = 0
    who = _who(exam)
    for grant in GRANTS:
        where = _where(exam, grant)
        total += sum(len(rule.verbs) for rule in grant.rules) if grant.submits else 0
        lacks = {
            rule: verbs
            for rule in grant.rules
            if (verbs := [verb for verb in rule.verbs if not _may(exam, rule, verb, where)])
        }
        missing += len(lacks) if grant.submits else 0
        yield from _told(grant, lacks, exam, who)
    if not missing:
        yield ok("rights", f"{who} may submit in {exam.namespace}: {total} rights were asked for")


def _who(exam: Exam) -> str:
    """The name by which the server knows whoever looks."""
    user = exam.api.review(WHO_AM_I, {}).get("userInfo") or {}
    return str(user.get("username") or "system:anonymous")


def _flag(who: str) -> str:
    """Who it is, as kubectl takes it."""
    if who.startswith(ACCOUNT):
        return f"--serviceaccount={who.removeprefix(ACCOUNT)}"
    return f"--user={shlex.quote(who)}"


def _may(exam: Exam, rule: Rule, verb: str, namespace: str) -> bool:
    return bool(exam.api.review(REVIEW, _asked(rule, verb, namespace)).get("allowed"))


def may_as(exam: Exam, account: str, grant: Grant) -> list[str]:
    """What an account of the namespace may not do, of what a role is needed for.

    Raises:
        Forbidden: Whoever looks may not ask for others.
    """
    group = "system:serviceaccounts"
    who = {"user": f"{ACCOUNT}{exam.namespace}:{account}", "groups": [group, f"{group}:{exam.namespace}"]}
    where = _where(exam, grant)
    return [
        f"{verb} {rule.resource}"
        for rule in grant.rules
        if not rule.serves
        for verb in rule.verbs
        if not exam.api.review(SUBJECT_REVIEW, {**_asked(rule, verb, where), **who}).get("allowed")
    ]


def _where(exam: Exam, grant: Grant) -> str:
    """The namespace in which a role is needed; empty: in all."""
    return {"namespace": exam.namespace, "system": SYSTEM, "cluster": ""}[grant.reach]


def _asked(rule: Rule, verb: str, namespace: str) -> dict[str, object]:
    plural, _, subresource = rule.resource.partition("/")
    wanted = {
        "group": rule.group,
        "resource": plural,
        "subresource": subresource,
        "verb": verb,
        "namespace": namespace,
        "name": rule.name,
    }
    return {"resourceAttributes": {key: value for key, value in wanted.items() if value}}


def bound(grant: Grant, who: str, *, namespace: str) -> str:
    """The command that gives a role to somebody, by the name by which the server knows them."""
    return f"{grant.binds.format(namespace=namespace, who=_binding(who))} {_flag(who)}"


def _binding(who: str) -> str:
    """What stands for somebody in the name of what binds a role to them."""
    return re.sub(r"[^a-z0-9.-]+", "-", who.removeprefix(ACCOUNT).lower()).strip("-.")


def allowed(exam: Exam, error: Forbidden) -> str:
    """The command that allows whoever looks what was not allowed."""
    who = _who(exam)
    role = role_for(error.verb, error.kind, error.namespace)
    for grant in GRANTS:
        if grant.role == role and error.namespace in {_where(exam, grant), ""}:
            return f"{bound(grant, who, namespace=exam.namespace)}    # as an administrator"
    command = allowing(error.verb, error.kind, error.namespace, who=_binding(who), flag=_flag(who))
    return f"{command}    # as an administrator"


def _told(grant: Grant, lacks: dict[Rule, list[str]], exam: Exam, who: str) -> Iterator[Finding]:
    cure = (
        f"{bound(grant, who, namespace=exam.namespace)}    # as an administrator; {grant.file} has the rules"
    )
    where = f" in {_where(exam, grant) or 'all namespaces'}"
    needed = {rule: verbs for rule, verbs in lacks.items() if not rule.serves}
    others = {rule: verbs for rule, verbs in lacks.items() if rule.serves}
    if needed:
        yield fault(
            "rights",
            f"{who} may not{where}: {_listed(needed)}",
            why=f"without that no gang of yours is {grant.does}",
            cure=cure,
        )
    if others:
        served = "; ".join(dict.fromkeys(rule.serves for rule in others))
        tell = warning if grant.submits else note
        yield tell(
            "rights",
            f"{who} may not{where}: {_listed(others)}",
            why=f"without that {served}",
            cure=cure,
        )


def _listed(lacks: dict[Rule, list[str]]) -> str:
    return "; ".join(
        f"{', '.join(verbs)} {rule.resource}{f' ({rule.group})' if rule.group else ''}"
        for rule, verbs in lacks.items()
    )
