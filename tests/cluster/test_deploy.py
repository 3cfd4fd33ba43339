"""What ``deploy/`` installs on a real API server: CRDs, accounts and rights; enough, and no more; and its removal."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from builders import gang, role
from typer.testing import CliRunner

from cluster.accounts import add_launch_account
from cluster.bed.outside import ACCOUNT, Cluster
from cluster.bed.process import BedError
from cluster.manifests import pod, tfjob
from cluster.objects import create
from gangplan.cli.main import app
from gangplan.errors import Forbidden, NotFound, Refused
from gangplan.kube.client import Connection, connect
from gangplan.kube.cluster import LEASE_NAME, SYSTEM
from gangplan.kube.events import Teller
from gangplan.kube.gang_object import to_object
from gangplan.kube.kinds import GANG, GANG_QUEUE, LEASE, NODE, POD, QUOTA, TFJOB, VOLUME, Kind
from gangplan.kube.lease import LEASE_S, LeaseLock
from gangplan.kube.priority import with_priority
from gangplan.kube.snapshot import SnapshotReader
from gangplan.kube.store import GangStore
from gangplan.kube.submission import submission
from gangplan.kube.taking import take
from gangplan.record import GangRecord, enter, new
from gangplan.solver import load

DEPLOY = Path(__file__).parents[2] / "deploy"
ADMIT = f"{ACCOUNT}{SYSTEM}:gangplan-admit"
NewNamespace = Callable[[Cluster], str]
Right = tuple[str, str, str]
"""API group, resource (with its subresource), verb."""


@pytest.fixture(scope="module")
def own(new_cluster: Callable[..., Cluster]) -> Cluster:
    """A cluster where nothing of ours is installed yet."""
    return new_cluster()


@pytest.fixture
def cluster(own: Cluster) -> Cluster:
    """The same, with all of ``deploy/``."""
    own.kubectl("apply", "-k", str(DEPLOY))
    own.kubectl("wait", "--for=condition=Established", "crd", "-l", "app.kubernetes.io/name=gangplan")
    lead = ("coordination.k8s.io", "leases", "create")
    own.wait_until("the account may read", lambda: is_allowed(own, ADMIT, ("", "nodes", "list")))
    own.wait_until("the account may lead", lambda: is_allowed(own, ADMIT, lead, SYSTEM))
    return own


@pytest.fixture
def admit(cluster: Cluster) -> Iterator[Connection]:
    """A connection of the account that admits."""
    with connect(kubeconfig=cluster.kubeconfig(ADMIT)) as connection:
        yield connection


@pytest.fixture
def team(cluster: Cluster, new_namespace: NewNamespace, tmp_path: Path) -> str:
    """A namespace with an account that launches, made as deploy/README.md says."""
    name = new_namespace(cluster)
    launch = add_launch_account(cluster, name, tmp_path)
    right = ("kubeflow.org", "tfjobs", "create")
    cluster.wait_until("the account may launch", lambda: is_allowed(cluster, launch, right, name))
    return name


def is_allowed(cluster: Cluster, user: str, right: Right, namespace: str = "") -> bool:
    """Whether the server would let a user do something."""
    group, resource, verb = right
    plural, _, subresource = resource.partition("/")
    asked = {"group": group, "resource": plural, "subresource": subresource, "verb": verb}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": asked | {"namespace": namespace}},
    }
    told = json.loads(cluster.kubectl("create", "-f", "-", "-o", "json", document=review))
    return bool(told["status"]["allowed"])


def granted(file: str) -> set[Right]:
    """What the roles in a file grant."""
    return {
        (group, resource, verb)
        for item in yaml.safe_load_all((DEPLOY / "rbac" / file).read_text())
        for rule in item.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def used(cluster: Cluster, user: str) -> set[Right]:
    """What a user has done, by the audit log."""
    return {right for who, right, allowed in requests_of(cluster) if allowed and who == user}


def requests_of(cluster: Cluster) -> Iterator[tuple[str, Right, bool]]:
    """User, right and whether it was granted, of each request about resources in the audit log."""
    for line in cluster.audit_log.read_text().splitlines():
        event = json.loads(line)
        about = event.get("objectRef", {})
        if "resource" in about:
            parts = (about["resource"], about.get("subresource"))
            right = (about.get("apiGroup", ""), "/".join(filter(None, parts)), event["verb"])
            allowed = event.get("annotations", {}).get("authorization.k8s.io/decision") == "allow"
            # Whose token has expired is nobody.
            yield event["user"].get("username", ""), right, allowed


def asked(namespace: str, name: str) -> GangRecord:
    """The record of a gang that was just asked for."""
    described = gang(f"{namespace}/{name}", role("worker"), namespace=namespace)
    return new(described, uid="u", run_id="run", now=0.0)


def store(connection: Connection, time: list[float], identity: str) -> GangStore:
    """The gangs of all namespaces, as an actor whose clock is ``time``."""
    lock = LeaseLock(
        connection,
        name=LEASE_NAME,
        namespace=SYSTEM,
        identity=identity,
        clock=lambda: 1_000.0 + time[0],
        monotonic=lambda: time[0],
    )
    return GangStore(connection, lock, teller=Teller(connection, clock=lambda: 1_000.0 + time[0]))


def test_people_may_use_all_kinds_once_it_is_installed(cluster: Cluster) -> None:
    kinds = cluster.kubectl("api-resources", "--categories=gangplan", "-o", "name").split()
    assert sorted(kinds) == [
        "gangqueues.gangplan.dev",
        "gangs.gangplan.dev",
        "gangtopologies.gangplan.dev",
    ]
    again = cluster.kubectl("apply", "-k", str(DEPLOY)).splitlines()
    assert len(again) >= 11
    assert [line for line in again if not line.endswith(" unchanged")] == []


def test_who_admits_has_the_rights_that_it_uses_and_no_others(
    cluster: Cluster, admit: Connection, team: str
) -> None:
    """Read, decide, write, take over from a leader that was lost: all under the account, each right needed."""
    time = [0.0]
    first, second = store(admit, time, "first"), store(admit, time, "second")
    SnapshotReader(admit).read()
    job = tfjob("j", ["true"])
    job["spec"]["runPolicy"]["schedulingPolicy"] = {"priorityClass": "system-node-critical"}
    wanted = submission(job, namespace=team, run_id="run", now=0.0)
    assert with_priority(admit, wanted).gang.priority == 2_000_001_000
    # As for each claim of a job; the claims themselves are for the account that launches to read.
    with pytest.raises(NotFound):
        admit.get(VOLUME, "none")
    waiting, ended = first.create(asked(team, "waits")), first.create(asked(team, "ends"))
    with first.leadership() as leads:
        assert leads
        first.update(enter(ended, "Finished", now=1.0, reason="done", outcome="Succeeded"))
        with second.leadership() as leads_too:
            assert not leads_too
        time[0] += LEASE_S
        with second.leadership() as leads_too:
            assert leads_too
            found = {record.name: record for record in second.records()}
            second.remove(found[ended.name])
    now_waiting = second.get(waiting.name)
    assert now_waiting is not None
    assert now_waiting.version > waiting.version
    assert {item.name for item in take(admit, now=1.0).snapshot.gangs} >= {waiting.name}
    cluster.wait_until("the log has what was done", lambda: used(cluster, ADMIT) == granted("admit.yaml"))


def test_who_admits_is_refused_what_was_not_granted(cluster: Cluster, admit: Connection, team: str) -> None:
    create(cluster, team, pod("p"))
    admit.create(GANG, to_object(asked(team, "g")))
    for act in (
        lambda: admit.delete(POD, "p", namespace=team),
        lambda: admit.get(POD, "p", namespace=team),
        lambda: admit.patch(GANG, "g", {"spec": {"priority": 9}}, namespace=team),
        lambda: admit.patch(GANG_QUEUE, "q", {"spec": {"weight": 9}}),
        lambda: admit.get(LEASE, LEASE_NAME, namespace="kube-system"),
        lambda: admit.get(LEASE, "another", namespace=SYSTEM),
        lambda: admit.delete(TFJOB, "j", namespace=team),
    ):
        with pytest.raises(Forbidden):
            act()


def test_who_launches_may_do_so_in_its_namespace_only(
    cluster: Cluster, admit: Connection, team: str, new_namespace: NewNamespace
) -> None:
    user, elsewhere = f"{ACCOUNT}{team}:gangplan-launch", new_namespace(cluster)
    rights = granted("launch.yaml")
    assert len(rights) >= 8
    for right in sorted(rights):
        assert is_allowed(cluster, user, right, team), right
        assert not is_allowed(cluster, user, right, elsewhere), right
    for right in (("", "pods", "create"), ("gangplan.dev", "gangs", "delete"), ("", "secrets", "get")):
        assert not is_allowed(cluster, user, right, team), right
    create(cluster, team, pod("p"))
    record = store(admit, [0.0], "admits").create(asked(team, "g"))
    with connect(kubeconfig=cluster.kubeconfig(user)) as launch:
        launch.patch(POD, "p", {"metadata": {"labels": {"a": "b"}}}, namespace=team)
        assert [item["metadata"]["name"] for item in launch.list(POD, namespace=team).items] == ["p"]
        own = store(launch, [0.0], "launches")
        ended = own.update(enter(record, "Finished", now=1.0, reason="done", outcome="Succeeded"))
        assert own.get(record.name) == ended
        for kind in (POD, NODE, QUOTA):
            with pytest.raises(Forbidden):
                launch.list(kind)


def test_who_may_look_at_pods_may_look_at_gangs(cluster: Cluster, admit: Connection, team: str) -> None:
    scope = ("--namespace", team)
    cluster.kubectl("create", "serviceaccount", "reader", *scope)
    cluster.kubectl(
        "create", "rolebinding", "r", "--clusterrole=view", f"--serviceaccount={team}:reader", *scope
    )
    reader = f"{ACCOUNT}{team}:reader"
    right = ("gangplan.dev", "gangs", "list")
    cluster.wait_until("the view includes gangs", lambda: is_allowed(cluster, reader, right, team))
    admit.create(GANG, to_object(asked(team, "g")))
    assert "g" in cluster.kubectl("get", "gangs", *scope, "-o", "name", user=reader)
    with pytest.raises(BedError, match=r"cannot delete resource \"gangs\""):
        cluster.kubectl("delete", "gang", "g", *scope, user=reader)


def test_who_may_edit_pods_may_suspend_and_delete_gangs(cluster: Cluster, team: str) -> None:
    scope = ("--namespace", team)
    cluster.kubectl("create", "serviceaccount", "editor", *scope)
    cluster.kubectl(
        "create", "rolebinding", "e", "--clusterrole=edit", f"--serviceaccount={team}:editor", *scope
    )
    editor = f"{ACCOUNT}{team}:editor"
    (role,) = yaml.safe_load_all((DEPLOY / "rbac" / "edit.yaml").read_text())
    wanted = [
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]
    for right in wanted:
        cluster.wait_until(f"{right}", lambda right=right: is_allowed(cluster, editor, right, team))


def there(cluster: Cluster, kind: Kind | str) -> list[str]:
    """Names of objects of ours, of any namespace."""
    name = kind if isinstance(kind, str) else kind.plural
    return cluster.kubectl("get", name, "-A", "-l", "app.kubernetes.io/name=gangplan", "-o", "name").split()


def test_an_upgrade_keeps_the_gangs_that_are_there_and_what_the_older_definition_had_no_field_for(
    cluster: Cluster, admit: Connection, team: str
) -> None:
    older = yaml.safe_load((DEPLOY / "crds" / "gangs.yaml").read_text())
    older["metadata"]["labels"]["app.kubernetes.io/version"] = "0.0.1"
    for version in older["spec"]["versions"]:
        del version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["runtimeS"]
    cluster.kubectl("apply", "-f", "-", document=older)
    words = ("doctor", "-n", team, "--no-probe", "--kubeconfig", str(cluster.kubeconfig()))
    assert "Gang is installed as of 0.0.1" in CliRunner().invoke(app, words).stdout
    made = admit.create(GANG, to_object(asked(team, "before")))
    cluster.kubectl("apply", "-k", str(DEPLOY))
    cluster.wait_until("the new definition counts", lambda: _takes_run_times(admit, team))
    told = CliRunner().invoke(app, words)
    assert "installed as of" not in told.stdout, told.stdout
    there = admit.get(GANG, "before", namespace=team)
    assert (there["metadata"]["uid"], there["spec"]) == (made["metadata"]["uid"], made["spec"])
    admit.delete(GANG, "before", namespace=team)


def _takes_run_times(api: Connection, namespace: str) -> bool:
    described = replace(asked(namespace, "after").gang, runtime_s=60)
    try:
        taken = api.would_create(GANG, to_object(new(described, uid="u", run_id="run", now=0.0)))
    except Refused:  # an unknown field
        return False
    return "runtimeS" in taken["spec"]


def test_all_of_it_is_removed_although_gangs_are_left(cluster: Cluster, admit: Connection, team: str) -> None:
    """A cluster where removal hangs needs somebody who knows finalizers."""
    for name in ("a", "b", "c"):
        admit.create(GANG, to_object(asked(team, name)))
    installed = ("crd", "clusterrole", "clusterrolebinding", "namespace")
    assert all(there(cluster, kind) for kind in installed)
    cluster.kubectl("delete", "-k", str(DEPLOY), "--timeout=60s")
    assert {kind: there(cluster, kind) for kind in installed} == {kind: [] for kind in installed}


def test_commands_say_how_to_install_what_they_need(own: Cluster, tmp_path: Path) -> None:
    """A snapshot takes a cluster without our kinds as one without queues and gangs."""
    own.kubectl("delete", "-k", str(DEPLOY), "--ignore-not-found", "--timeout=60s")
    file, words = tmp_path / "s.json", ("--kubeconfig", str(own.kubeconfig()))
    for asked, kind in ((["set", "new"], "GangQueue"), (["list"], "Gang")):
        done = CliRunner().invoke(app, ["queue", *asked, *words])
        assert (done.exit_code, done.stdout) == (4, "")
        assert f"does not know {kind}: its CRD is missing" in done.stderr
        assert "(kubectl apply -k deploy/" in done.stderr
    assert CliRunner().invoke(app, ["snapshot", "take", "--out", str(file), *words]).exit_code == 0
    assert load(file).gangs == ()
