"""Events of gangs: each change of phase and each new obstacle is told once, and nothing depends on it."""

from pathlib import Path

import pytest
import yaml
from apimodel.server import ApiServer, Fault
from builders import gang, role

from gangplan import admission
from gangplan.config import Terms
from gangplan.errors import Forbidden
from gangplan.kube.cluster import KubeCluster
from gangplan.kube.kinds import EVENT, NODE, TFJOB
from gangplan.record import GangRecord, new

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
TERMS = Terms(reservation_s=600.0, record_s=3600.0, earmark_s=300.0, earmark_bypasses=5)


@pytest.fixture
def server() -> ApiServer:
    """A server with a node of two cores."""
    crds = [yaml.safe_load(file.read_text()) for file in sorted(CRDS.glob("*.yaml"))]
    made = ApiServer(crds=crds, kinds=[TFJOB], namespaces=("default", "gangplan-system"))
    allocatable = {"cpu": "2", "memory": "4Gi", "pods": "110"}
    ready = [{"type": "Ready", "status": "True"}]
    made.create(
        NODE,
        {"metadata": {"name": "n1"}, "spec": {}, "status": {"allocatable": allocatable, "conditions": ready}},
    )
    return made


def cluster(server: ApiServer) -> KubeCluster:
    return KubeCluster(server, clock=lambda: 1_000.0, monotonic=lambda: 0.0)


def ask(server: ApiServer, name: str, cpu: str) -> GangRecord:
    asked = gang(f"default/{name}", role("worker", 1, cpu=cpu), namespace="default")
    return cluster(server).store().create(new(asked, uid="", run_id="run", now=1_000.0))


def decide(server: ApiServer) -> None:
    view = cluster(server)
    assert admission.run_cycle(view.store(), view, now=1_000.0, terms=TERMS) is not None


def told(server: ApiServer) -> list[tuple[str, str, str]]:
    server.faults = None
    events = server.list(EVENT, namespace="default").items
    return [(item["involvedObject"]["name"], item["type"], item["reason"]) for item in events]


def test_what_happens_to_a_gang_is_told_where_it_is_looked_for(server):
    record = ask(server, "fits", "1")
    decide(server)
    store = cluster(server).store()
    admission.finish(store, record.name, run_id="run", outcome="Failed", reason="it failed", now=1_001.0)
    assert told(server) == [("fits", "Normal", "Reserved"), ("fits", "Warning", "Failed")]
    about = server.list(EVENT, namespace="default").items[1]
    assert about["involvedObject"] | {"name": ""} == {
        "apiVersion": "gangplan.dev/v1alpha1",
        "kind": "Gang",
        "name": "",
        "namespace": "default",
        "uid": record.uid,
    }
    assert (about["message"], about["source"]) == ("it failed", {"component": "gangplan"})


def test_an_obstacle_is_told_once(server):
    ask(server, "first", "2")
    decide(server)
    ask(server, "second", "1")
    for _ in range(3):
        decide(server)
    assert told(server) == [("first", "Normal", "Reserved"), ("second", "Normal", "Waiting")]


def test_nothing_depends_on_events(server):
    ask(server, "fits", "1")
    server.faults = lambda about: Fault(error=Forbidden) if about.kind == "Event" else None
    decide(server)
    assert told(server) == []
    assert cluster(server).store().get("default/fits").phase == "Reserved"
