"""What the model does beyond what is compared with a real API server: faults, time, the past, logs, namespaces."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from apimodel.definition import CONFIG_MAP
from apimodel.server import PAGE, START, ApiServer, Fault
from gangplan.errors import Busy, Expired, Forbidden, NotFound, NotInstalled, Refused, Unreachable
from gangplan.kube.api import Api, Object
from gangplan.kube.kinds import GANG, NAMESPACE, POD, QUOTA, TFJOB


def config(name: str, namespace: str = "default", **metadata: object) -> Object:
    return {"metadata": {"name": name, "namespace": namespace} | metadata}


def pod(name: str, cpu: str = "1") -> Object:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    return config(name) | {"spec": {"containers": [container]}}


def names(api: Api, **selected: str) -> list[str]:
    return [item["metadata"]["name"] for item in api.list(CONFIG_MAP, **selected).items]


def test_the_clock_is_that_of_the_test():
    now = [datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)]
    server = ApiServer(clock=lambda: now[0])
    assert server.create(CONFIG_MAP, config("a"))["metadata"]["creationTimestamp"] == "2026-02-03T04:05:06Z"
    now[0] += timedelta(hours=1)
    assert server.create(CONFIG_MAP, config("b"))["metadata"]["creationTimestamp"] == "2026-02-03T05:05:06Z"


def test_the_same_requests_give_the_same_objects():
    first, second = (
        [server.create(CONFIG_MAP, config(name)) for name in ("a", "b")]
        for server in (ApiServer(), ApiServer())
    )
    assert first == second
    assert first[0]["metadata"]["creationTimestamp"] == START.strftime("%Y-%m-%dT%H:%M:%SZ")


def test_whoever_changes_what_he_read_changes_nothing_else():
    server = ApiServer()
    server.create(CONFIG_MAP, config("a", labels={"x": "y"}))
    server.get(CONFIG_MAP, "a", namespace="default")["metadata"]["labels"]["x"] = "z"
    assert server.get(CONFIG_MAP, "a", namespace="default")["metadata"]["labels"] == {"x": "y"}


@pytest.mark.parametrize("error", [Busy, Unreachable, Forbidden])
@pytest.mark.parametrize("applied", [True, False])
def test_a_fault_is_told_whether_or_not_the_request_was_done(error, applied):
    fault = Fault(error=error, applied=applied)
    server = ApiServer(namespaces=("default", "other"))
    server.faults = lambda about: fault if (about.verb, about.name) == ("create", "a") else None
    with pytest.raises(error) as caught:
        server.create(CONFIG_MAP, config("a"))
    assert (caught.value.verb, caught.value.kind, caught.value.name) == ("create", "ConfigMap", "a")
    server.create(CONFIG_MAP, config("b"))
    assert names(server) == (["a", "b"] if applied else ["b"])


def test_the_past_can_be_listed_until_it_is_compacted():
    server = ApiServer()
    server.create(CONFIG_MAP, config("a"))
    then = server.moment()
    server.delete(CONFIG_MAP, "a", namespace="default")
    server.create(CONFIG_MAP, config("b"))
    assert names(server, version=then) == ["a"]
    assert names(server) == ["b"]
    assert [(c.type, c.object["metadata"].get("name")) for c in server.watch(CONFIG_MAP, version=then)] == [
        ("DELETED", "a"),
        ("ADDED", "b"),
        ("BOOKMARK", None),
    ]
    server.compact()
    with pytest.raises(Expired):
        server.list(CONFIG_MAP, version=then)
    with pytest.raises(Expired):
        next(server.watch(CONFIG_MAP, version=then))
    now = server.moment()
    assert names(server, version=now) == ["b"]
    assert [change.type for change in server.watch(CONFIG_MAP, version=now)] == ["BOOKMARK"]


def test_who_watches_some_labels_sees_objects_come_and_go_with_them():
    server = ApiServer()
    start = server.moment()
    server.create(CONFIG_MAP, config("a"))
    for label in ("x", "x2", None):
        server.patch(CONFIG_MAP, "a", {"metadata": {"labels": {"l": label}}}, namespace="default")
    server.delete(CONFIG_MAP, "a", namespace="default")
    seen = [change.type for change in server.watch(CONFIG_MAP, version=start, labels="l in (x, x2)")]
    assert seen == ["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]


def test_a_long_list_has_pages():
    server = ApiServer()
    for number in range(PAGE + 1):
        server.create(CONFIG_MAP, config(f"c{number:04}"))
    pages = [json.loads(page) for page in server.pages(CONFIG_MAP)]
    assert [len(page["items"]) for page in pages] == [PAGE, 1]
    assert ["continue" in page["metadata"] for page in pages] == [True, False]
    assert {page["metadata"]["resourceVersion"] for page in pages} == {server.moment()}


def test_a_deleted_namespace_takes_all_in_it_along():
    server = ApiServer(namespaces=("default", "other"))
    server.create(CONFIG_MAP, config("a", "other"))
    server.create(CONFIG_MAP, config("kept"))
    server.delete(NAMESPACE, "other")
    with pytest.raises(Refused, match="being terminated"):
        server.create(CONFIG_MAP, config("b", "other"))
    server.settle()
    assert names(server) == ["kept"]
    with pytest.raises(NotFound):
        server.get(NAMESPACE, "other")


def test_kinds_are_known_once_they_are_installed():
    with pytest.raises(NotInstalled):
        ApiServer().list(GANG)
    with pytest.raises(NotInstalled):
        ApiServer().create(TFJOB, config("j"))
    server = ApiServer(kinds=[TFJOB])
    with pytest.raises(Refused, match="kind: must be TFJob"):
        server.create(TFJOB, config("j"))
    typed = {"apiVersion": TFJOB.api_version, "kind": TFJOB.name}
    job = server.create(TFJOB, typed | config("j") | {"spec": {"any": "thing"}, "status": {"is": "ignored"}})
    assert (job["spec"], job.get("status"), job["metadata"]["generation"]) == ({"any": "thing"}, None, 1)
    done = server.patch(TFJOB, "j", {"status": {"phase": "x"}}, namespace="default", subresource="status")
    assert (done["status"], done["metadata"]["generation"]) == ({"phase": "x"}, 1)


def test_a_quota_counts_again_what_was_freed_once_its_controller_has_worked():
    server = ApiServer()
    server.create(QUOTA, config("q") | {"spec": {"hard": {"requests.cpu": "1500m"}}})
    with pytest.raises(Refused, match="status unknown for quota: q"):
        server.create(POD, pod("a"))
    server.settle()
    server.create(POD, pod("a"))
    with pytest.raises(
        Refused, match=r"exceeded quota: q, requested: requests\.cpu=1, used: requests\.cpu=1"
    ):
        server.create(POD, pod("b"))
    server.create(POD, pod("b", "500m"))
    server.delete(POD, "a", namespace="default")
    with pytest.raises(Refused, match="exceeded quota"):
        server.create(POD, pod("c"))
    server.settle()
    server.create(POD, pod("c"))


def test_logs_are_what_the_test_wrote():
    server = ApiServer()
    with pytest.raises(NotFound):
        list(server.log("p", namespace="default"))
    server.create(POD, pod("p"))
    with pytest.raises(Refused, match="waiting to start"):
        list(server.log("p", namespace="default"))
    lines = [b"2026-01-01T00:00:00Z one", b"2026-01-01T00:00:01Z two"]
    server.logs["default", "p", "c"] = lines
    assert list(server.log("p", namespace="default")) == lines
    assert list(server.log("p", namespace="default", since="2026-01-01T00:00:01Z")) == lines[1:]


def test_a_name_can_be_made_up_by_the_server():
    server = ApiServer()
    made = [
        server.create(CONFIG_MAP, {"metadata": {"generateName": "a-", "namespace": "default"}}) for _ in "xy"
    ]
    first, second = (obj["metadata"]["name"] for obj in made)
    assert first != second
    assert first.startswith("a-")
