"""Whether the identity that looks may do what submitting needs; each missing rule with the file that grants it.

https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gangplan.kube.cluster import LEASE_NAME, SYSTEM
from gangplan.kube.doctor.exam import Exam
from gangplan.kube.doctor.finding import Finding, fault, ok, warning
from gangplan.kube.kinds import REVIEW, SUBJECT_REVIEW

OURS = "gangplan.dev"
OPERATOR = "kubeflow.org"


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
        binds: The command that gives it to a user, but for who that is.
        rules: Its rules.
    """

    role: str
    file: str
    reach: str
    binds: str
    rules: tuple[Rule, ...]


_PEERS = "what other schedulers declare goes unread"

GRANTS = (
    Grant(
        role="gangplan-launch",
        file="deploy/rbac/launch.yaml",
        reach="namespace",
        binds="kubectl create rolebinding gangplan-launch -n {namespace} --clusterrole=gangplan-launch",
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
            Rule(group="", resource="events", verbs=("create", "list")),
            Rule(group=OURS, resource="gangs", verbs=("get",)),
            Rule(group=OURS, resource="gangs/status", verbs=("update",)),
        ),
    ),
    Grant(
        role="gangplan-admit",
        file="deploy/rbac/admit.yaml",
        reach="cluster",
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
)
"""What ``deploy/rbac`` grants; a test compares."""


def rights(exam: Exam) -> Iterator[Finding]:
    """Whoever looks may submit."""
    total = missing = 0
    for grant in GRANTS:
        where = {"namespace": exam.namespace, "system": SYSTEM, "cluster": ""}[grant.reach]
        lacks: list[tuple[Rule, str]] = []
        for rule in grant.rules:
            total += len(rule.verbs)
            lacks += [(rule, verb) for verb in rule.verbs if not _may(exam, rule, verb, where)]
        missing += len(lacks)
        yield from _told(grant, lacks, exam)
    if not missing:
        yield ok("rights", f"you may submit in {exam.namespace}: {total} rights were asked for")


def _may(exam: Exam, rule: Rule, verb: str, namespace: str) -> bool:
    return bool(exam.api.review(REVIEW, _asked(rule, verb, namespace)).get("allowed"))


def may_as(exam: Exam, account: str, rules: Iterable[Rule]) -> list[str]:
    """What an account of the namespace may not do there, of what some rules say.

    Raises:
        Forbidden: Whoever looks may not ask for others.
    """
    lacks = []
    for rule in rules:
        for verb in rule.verbs:
            spec = {
                **_asked(rule, verb, exam.namespace),
                "user": f"system:serviceaccount:{exam.namespace}:{account}",
                "groups": ["system:serviceaccounts", f"system:serviceaccounts:{exam.namespace}"],
            }
            if not exam.api.review(SUBJECT_REVIEW, spec).get("allowed"):
                lacks.append(f"{verb} {rule.resource}")
    return lacks


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


def _told(grant: Grant, lacks: list[tuple[Rule, str]], exam: Exam) -> Iterator[Finding]:
    binds = grant.binds.format(namespace=exam.namespace, who="USER")
    cure = f"{binds} --user=USER    # {grant.file} has the rule"
    for rule in grant.rules:
        verbs = [verb for lacking, verb in lacks if lacking is rule]
        if not verbs:
            continue
        where = {
            "namespace": f" in {exam.namespace}",
            "system": f" in {SYSTEM}",
            "cluster": " in all namespaces",
        }[grant.reach]
        group = f" of {rule.group}" if rule.group else ""
        what = f"you may not {', '.join(verbs)} {rule.resource}{group}{where}"
        if rule.serves:
            yield warning("rights", what, why=f"without it {rule.serves}", cure=cure)
        else:
            does = "launched" if grant.role == "gangplan-launch" else "admitted"
            yield fault("rights", what, why=f"without it no gang of yours is {does}", cure=cure)
