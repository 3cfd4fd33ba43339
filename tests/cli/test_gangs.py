"""Gangs of a cluster as a user lists, shows, reads, explains and deletes them, on a modelled server."""

import itertools
import json
import os
import re
import time

import pytest
import yaml
from apimodel.server import Fault
from builders import tfjob
from cli.clusters import Commands, new_server

from gangplan.cli import gang_list, place
from gangplan.errors import Busy, Forbidden, Unreachable
from gangplan.kube import own_pod
from gangplan.kube.kept_log import kept_folder
from gangplan.kube.kinds import GANG, POD, TFJOB

N = ("-n", "default")


@pytest.fixture
def cluster(monkeypatch, tmp_path) -> Commands:
    """Two nodes with four GPUs each; ``runs`` has all of one and two of the other, ``waits`` wants four, in a queue."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GANGPLAN_HOME", str(tmp_path / "home"))
    commands = Commands(new_server("team"), monkeypatch)
    for node in ("n1", "n2"):
        commands.add_node(node)
    commands.add_queue("research")
    commands.add_gang("runs", 6, runId="r1")
    nodes = ["n1"] * 4 + ["n2"] * 2
    history = [
        {"at": f"2026-01-01T00:00:0{second}Z", "phase": phase, "reason": reason}
        for second, (phase, reason) in enumerate(
            [("Pending", "asked for"), ("Bound", "all replicas have their nodes")]
        )
    ]
    commands.set_status(
        "runs",
        phase="Bound",
        reason="all replicas have their nodes",
        reservation={"placement": {"worker": nodes}},
        history=history,
    )
    commands.add_job("runs", "r1", message="all replicas are there")
    for index, node in enumerate(nodes):
        commands.add_worker("runs", index, node, lines=(f"hello from {index}", "training"))
    commands.add_gang("waits", 4, queue="research", runId="r2")
    commands.add_gang("waits", 1, namespace="team")
    return commands


def words(text: str) -> str:
    return " ".join(text.split())


def test_gangs_of_a_namespace_or_of_all_are_listed(cluster):
    table = words(cluster("list", *N).stdout)
    assert "GANG QUEUE PHASE POSITION AGE REASON" in table
    assert "runs – Bound –" in table
    assert "waits research Pending –" in table
    assert "team" not in table
    table = words(cluster("list", "-A").stdout)
    assert "NAMESPACE GANG QUEUE" in table
    assert "team waits – Pending" in table
    found = json.loads(cluster("list", "-n", "team", "-o", "json").stdout)
    assert [item["name"] for item in found] == ["team/waits"]
    assert cluster("list", "-n", "nowhere").stdout == "no gangs\n"


def test_a_setting_says_that_a_cluster_is_meant(cluster, monkeypatch, tmp_path):
    assert cluster("list").stdout.startswith("no gangs on this machine; "), "submit goes to a cluster"
    (tmp_path / "gangplan.toml").write_text('cluster = "kubernetes"\n')
    assert "runs" in cluster("list").stdout
    monkeypatch.setenv("GANGPLAN_CLUSTER", "local")
    assert cluster("list").stdout.startswith("no gangs on this machine; ")
    assert "runs" in cluster("list", "--context", "some").stdout
    monkeypatch.setenv("GANGPLAN_CLUSTER", "moon")
    assert "GANGPLAN_CLUSTER: must be one of local, kubernetes" in cluster("list", code=2).stderr


def test_a_gang_is_shown_with_its_pods_its_operator_and_events(cluster):
    cluster.add_event("Pod", "runs-worker-0", "Pulled", "the image is there")
    cluster.add_event("TFJob", "runs", "Created", "six pods")
    cluster.add_event("Gang", "runs", "Admitted", "there is room")
    cluster.add_event("Pod", "foreign", "Killing", "not ours")
    cluster.add_event("Pod", "waits", "Killing", "a pod of the name of a gang")
    text = words(cluster("get", "runs", *N).stdout)
    assert "default/runs: Bound all replicas have their nodes" in text
    assert "worker-0 n1 Running 2 –" in text
    assert "worker-5 n2 Running 2 –" in text
    assert "Running yes all replicas are there" in text
    assert "Pod runs-worker-0 Pulled 3 the image is there" in text
    assert "Gang runs Admitted" in text
    assert "Killing" not in text
    assert "Killing" not in cluster("get", "waits", *N).stdout
    found = json.loads(cluster("get", "default/runs", "--context", "c", "-o", "json").stdout)
    assert found["reservation"]["placement"]["worker"][5] == "n2"
    assert [(item["role"], item["index"], item["restarts"]) for item in found["replicas"]] == [
        ("worker", index, 2) for index in range(6)
    ]
    assert [event["phase"] for event in found["history"]] == ["Pending", "Bound"]
    assert [item["type"] for item in found["conditions"]] == ["Running"]
    assert len(found["events"]) == 3


def test_room_that_is_kept_for_a_gang_is_told_with_its_time(cluster):
    """Nothing runs yet, but its places are held."""
    reservation = {"placement": {"worker": ["n2"]}, "expiresAt": "2026-01-01T00:10:00Z"}
    cluster.set_status("waits", phase="Reserved", reason="admitted", reservation=reservation)
    text = words(cluster("get", "waits", *N).stdout)
    kept_until = time.strftime("%H:%M:%S", time.localtime(1767226200))
    assert f"default/waits: Reserved admitted; its room is kept until {kept_until}" in text
    assert "worker-0 n2 Pending 0 –" in text


def test_replicas_that_do_not_run_are_told(cluster):
    for index in (0, 1):
        cluster.server.delete(POD, f"runs-worker-{index}", namespace="default")
    cluster.server.settle()
    cluster.add_worker("runs", 0, "n1", phase="Pending")
    cluster.server.delete(POD, "runs-worker-5", namespace="default")
    cluster.server.settle()
    cluster.add_worker("runs", 5, "n2", phase="Failed")
    text = words(cluster("get", "runs", *N).stdout)
    assert "worker-0: its image cannot be pulled: no such image" in text
    assert "worker-1 n1 Pending 0 –" in text, "its place is held, but it has no pod"
    assert "worker-5: it ended with exit code 3" in text
    assert "worker-5 n2 Failed 2 3" in text


def test_a_job_that_has_ended_is_told_so_although_nobody_has_written_it_down(cluster):
    """It was submitted without --wait: who admits next writes it."""
    ends = {"type": "Succeeded", "status": "True", "message": "TFJob runs successfully completed."}
    status = {"status": {"conditions": [ends]}}
    cluster.server.patch(TFJOB, "runs", status, namespace="default", subresource="status")
    assert "runs – Succeeded" in words(cluster("list", *N).stdout)
    records = json.loads(cluster("list", *N, "-o", "json").stdout)
    (found,) = [item for item in records if item["name"] == "default/runs"]
    told = (found["phase"], found["outcome"], found["reason"], found["reservation"])
    assert told == ("Finished", "Succeeded", "TFJob runs successfully completed.", None)
    assert cluster("get", "runs", *N).stdout.startswith("default/runs: Succeeded\n")
    assert "default/runs" not in cluster("top", "jobs", *N).stdout
    assert cluster.server.get(GANG, "runs", namespace="default")["status"]["phase"] == "Bound"


def test_a_job_that_has_failed_is_told_with_its_reason(cluster):
    cluster.server.delete(POD, "runs-worker-5", namespace="default")
    cluster.add_worker("runs", 5, "n2", phase="Failed")
    ends = {"type": "Failed", "status": "True", "message": "1 Worker replica(s) failed"}
    status = {"status": {"conditions": [ends]}}
    cluster.server.patch(TFJOB, "runs", status, namespace="default", subresource="status")
    found = {item["name"]: item for item in json.loads(cluster("list", *N, "-o", "json").stdout)}
    told = found["default/runs"]
    assert (told["outcome"], told["reason"]) == ("Failed", "worker-5: it ended with exit code 3")
    cluster.server.faults = lambda about: Fault(error=Forbidden) if about.kind == "TFJob" else None
    assert "runs – Bound" in words(cluster("list", *N).stdout), "who may not look at TFJobs sees the record"


def let_go(cluster: Commands, *indices: int) -> None:
    """Delete workers, which take their time to end."""
    held = {"metadata": {"finalizers": ["kubelet/time-to-end"]}}
    for name in (f"runs-worker-{index}" for index in indices):
        cluster.server.patch(POD, name, held, namespace="default")
        cluster.server.delete(POD, name, namespace="default")


@pytest.mark.parametrize("said", ["Succeeded", "Failed"])
def test_pods_that_the_operator_removes_after_the_end_were_deleted_by_nobody_else(cluster, said):
    message = {"Succeeded": "TFJob runs successfully completed.", "Failed": "1 Worker replica(s) failed"}[
        said
    ]
    ends = {"type": said, "status": "True", "message": message, "lastTransitionTime": "2025-12-31T23:00:00Z"}
    policy = {"spec": {"runPolicy": {"cleanPodPolicy": "All"}}}
    cluster.server.patch(TFJOB, "runs", policy, namespace="default")
    status = {"status": {"conditions": [ends]}}
    cluster.server.patch(TFJOB, "runs", status, namespace="default", subresource="status")
    cluster.set_status("runs", phase="Finished", outcome=said, reason=message, reservation=None)
    let_go(cluster, *range(6))
    found = json.loads(cluster("get", "runs", *N, "-o", "json").stdout)
    assert [item["state"] for item in found["replicas"]] == ["Stopped"] * 6
    assert found["troubles"] == []
    assert "somebody else" not in cluster("get", "runs", *N).stdout
    assert "somebody else" not in cluster("list", *N).stdout


def test_a_pod_that_somebody_deletes_while_its_job_runs_is_told(cluster):
    let_go(cluster, 5)
    found = json.loads(cluster("get", "runs", *N, "-o", "json").stdout)
    assert found["troubles"] == ["worker-5: its pod was deleted by somebody else"]
    assert [item["state"] for item in found["replicas"]] == ["Running"] * 6


def test_what_was_noted_about_a_job_before_its_gang_was_asked_for_is_not_shown(cluster):
    """There is no TFJob yet whose uid would tell it apart."""
    cluster.add_event("TFJob", "waits", "New", "about this one")
    cluster.add_event("TFJob", "waits", "Old", "about an earlier one", at="2025-12-31T23:59:00Z")
    found = json.loads(cluster("get", "waits", *N, "-o", "json").stdout)
    assert [event["message"] for event in found["events"]] == ["about this one"]


def test_what_was_noted_about_an_earlier_run_of_the_name_is_not_shown(cluster):
    for kind, name in ((GANG, "runs"), (TFJOB, "runs"), (POD, "runs-worker-0")):
        uid = cluster.server.get(kind, name, namespace="default")["metadata"]["uid"]
        cluster.add_event(kind.name, name, f"{kind.name}New", f"about this {kind.name}", uid=uid)
        cluster.add_event(
            kind.name, name, f"{kind.name}Old", f"about an earlier {kind.name}", uid="of-an-earlier-one"
        )
    found = json.loads(cluster("get", "runs", *N, "-o", "json").stdout)
    assert sorted(event["message"] for event in found["events"]) == [
        "about this Gang",
        "about this Pod",
        "about this TFJob",
    ]


@pytest.mark.parametrize("kind", ["Event", "TFJob"])
def test_who_may_not_look_at_something_sees_the_rest(cluster, kind):
    cluster.server.faults = lambda about: Fault(error=Forbidden) if about.kind == kind else None
    assert "worker-5 n2" in words(cluster("get", "runs", *N).stdout)


@pytest.mark.parametrize("command", ["get", "logs", "delete", "explain"])
def test_a_gang_that_is_not_there_is_named_with_those_that_are(cluster, command):
    told = cluster(command, "nosuch", *N, code=1).stderr
    assert "there is no gang default/nosuch" in told
    if command != "delete":
        assert "runs" in told
        assert "waits" in told


@pytest.mark.parametrize("command", ["get", "logs", "delete", "explain"])
def test_a_namespace_before_a_name_says_that_a_cluster_is_meant(cluster, command):
    told = cluster(command, "default/nosuch", code=1).stderr
    assert "there is no gang default/nosuch" in told
    assert "this machine" not in told


@pytest.mark.parametrize("command", ["get", "logs", "delete", "explain"])
@pytest.mark.parametrize("name", ["../x", "default/a/b", "A", "a..b", "a?x", "default/", "", "a" * 254])
def test_what_is_no_name_is_not_looked_for(cluster, command, name):
    cluster.server.faults = lambda _: Fault(error=Unreachable)
    told = words(cluster(command, name, *N, code=3).stderr)
    assert "the name of a" in told
    assert "must be lower-case letters" in told


def test_what_is_no_namespace_is_not_looked_in(cluster):
    cluster.server.faults = lambda _: Fault(error=Unreachable)
    assert "the name of a namespace" in cluster("list", "-n", "../x", code=3).stderr
    assert "the name of a namespace" in cluster("list", "-n", "a.b", code=3).stderr


@pytest.mark.parametrize("command", ["get", "logs", "delete", "explain"])
def test_a_gang_that_is_not_on_this_machine_may_be_on_a_cluster(cluster, command):
    told = words(cluster(command, "runs", code=1).stderr)
    assert "there is no gang runs on this machine; for those of a Kubernetes cluster add -n NAMESPACE" in told


def test_logs_of_all_replicas_or_of_one_are_printed(cluster):
    said = cluster("logs", "runs", *N).stdout.splitlines()
    assert said[:3] == ["worker-0: hello from 0", "worker-0: training", "worker-1: hello from 1"]
    assert len(said) == 12
    assert cluster("logs", "runs", "worker-3", *N).stdout == "hello from 3\ntraining\n"
    told = cluster("logs", "runs", "worker-6", *N, code=1).stderr
    assert "default/runs has no replica worker-6; it has worker-0, worker-1" in told
    told = cluster("logs", "waits", *N, code=1).stderr
    assert "nothing that a replica of default/waits has said is still here; it is Pending" in told


@pytest.mark.parametrize("replica", [None, "worker-2"])
def test_logs_are_followed_to_the_end_of_the_job(cluster, replica):
    """Every line of every replica once, with its replica before it where there are several."""
    wanted = [replica] if replica else [f"worker-{index}" for index in range(6)]
    for index in range(6):
        cluster.server.delete(POD, f"runs-worker-{index}", namespace="default")
    cluster.server.settle()
    for index in range(6):
        cluster.add_worker("runs", index, "n1", phase="Succeeded", lines=[f"{index}.{i}" for i in range(9)])
    ended = {"status": {"conditions": [{"type": "Succeeded", "status": "True"}]}}
    cluster.server.patch(TFJOB, "runs", ended, namespace="default", subresource="status")
    said = cluster("logs", "runs", *([replica] if replica else []), "-f", *N).stdout.splitlines()
    lines = {each: [f"{each.removeprefix('worker-')}.{i}" for i in range(9)] for each in wanted}
    if replica:
        assert said == lines[replica]
    else:
        for each in wanted:
            assert [line for line in said if line.startswith(each)] == [
                f"{each}: {line}" for line in lines[each]
            ]
        assert len(said) == 54


def test_a_gang_that_has_not_started_is_followed_from_its_start(cluster, monkeypatch):
    """Looked at while it waits, while one replica runs, and when its job has ended."""
    monkeypatch.setattr("gangplan.kube.gangs.POLL_S", 0.0)
    get, looks = cluster.server.get, iter(range(99))

    def look(kind, name, **more):
        if kind == GANG:
            match next(looks):
                case 1:
                    cluster.set_status("waits", phase="Bound", reservation={"placement": {"worker": ["n1"]}})
                    cluster.add_job("waits", "r2")
                    cluster.add_worker("waits", 0, "n1", lines=["first"])
                    cluster.add_worker("waits", 1, "n1", phase="Pending")
                case 2:
                    for index in (0, 1):
                        cluster.server.delete(POD, f"waits-worker-{index}", namespace="default")
                    cluster.server.settle()
                    cluster.add_worker("waits", 1, "n1", phase="Succeeded", lines=["second"])
                case 3:
                    cluster.set_status("waits", phase="Finished", outcome="Succeeded")
        return get(kind, name, **more)

    cluster.server.get = look
    said = cluster("logs", "waits", "-f", *N).stdout.splitlines()
    assert sorted(said) == ["worker-0: first", "worker-1: second"]


@pytest.mark.parametrize("kind", ["Gang", "Pod", "TFJob"])
@pytest.mark.parametrize("error", [Unreachable, Busy])
def test_logs_are_followed_on_where_the_server_does_not_answer_for_a_while(
    cluster, monkeypatch, caplog, kind, error
):
    """It answers at first, then not while the job ends."""
    monkeypatch.setattr("gangplan.kube.gangs.POLL_S", 0.0)
    for index in range(6):
        cluster.server.delete(POD, f"runs-worker-{index}", namespace="default")
    cluster.server.settle()
    cluster.add_worker("runs", 0, "n1", phase="Succeeded", lines=["first", "last"])
    asked = itertools.count()

    def glitch(about: object) -> Fault | None:
        if about.kind == kind:
            match next(asked):
                case 1 | 2:
                    return Fault(error=error)
                case 4:
                    cluster.server.faults = None
                    cluster.set_status("runs", phase="Finished", outcome="Succeeded")
                    done = {"status": {"conditions": [{"type": "Succeeded", "status": "True"}]}}
                    cluster.server.patch(TFJOB, "runs", done, namespace="default", subresource="status")
        return None

    cluster.server.faults = glitch
    done = cluster("logs", "runs", "-f", *N)
    assert done.stdout.splitlines() == ["worker-0: first", "worker-0: last"]
    assert "asking again" in caplog.text


def test_logs_are_not_followed_where_the_server_does_not_answer_at_first(cluster):
    cluster.server.faults = lambda _: Fault(error=Unreachable)
    assert "fault before it was done" in words(cluster("logs", "runs", "-f", *N, code=4).stderr)


def test_logs_of_pods_that_are_gone_are_those_that_were_kept(cluster, tmp_path):
    kept = tmp_path / "home" / "logs" / "default"
    for run, text in (("r0", "of an earlier run\n"), ("r1", "kept\n")):
        folder = kept_folder(kept.parent, "default", "runs", run)
        folder.mkdir(parents=True)
        (folder / "worker-1.log").write_text(text)
    os.utime(kept_folder(kept.parent, "default", "runs", "r0"), (1.0, 1.0))
    cluster.server.delete(POD, "runs-worker-1", namespace="default")
    cluster.server.settle()
    assert cluster("logs", "runs", "worker-1", *N).stdout == "kept\n"
    assert cluster("logs", "runs", *N).stdout.count("hello from") == 5
    told = words(cluster("logs", "runs", "nosuch-0", *N, code=1).stderr)
    every = ", ".join(f"worker-{index}" for index in range(6))
    assert f"default/runs has no replica nosuch-0; it has {every}" in told, "also those that are kept only"
    cluster.server.delete(TFJOB, "runs", namespace="default")
    cluster.server.delete(GANG, "runs", namespace="default")
    cluster.server.settle()
    assert cluster("logs", "runs", "-f", *N).stdout == "worker-1: kept\n"


def test_a_gang_is_explained_as_the_cluster_stands(cluster):
    text = words(cluster("explain", "waits", *N).stdout)
    assert "default/waits waits" in text
    assert "nvidia.com/gpu" in text or "GPU" in text
    assert "default/runs" in text, "who holds what is short"
    text = words(cluster("explain", "runs", *N).stdout)
    assert "default/runs runs: all 6 replicas have their place" in text
    assert cluster("explain", "-n", "team").stdout == "no gang waits\n", "its gang may start"
    everything = json.loads(cluster("explain", "-A", "-o", "json").stdout)
    assert everything["default/waits"]["rule"]
    assert "explain" in cluster("explain", "waits", "-f", "x.json", *N, code=2).stderr
    cluster.set_status("runs", phase="Finished", outcome="Succeeded", reason="the TFJob succeeded")
    told = cluster("explain", "runs", *N, code=1).stderr
    assert "default/runs waits for nothing any more: Succeeded: the TFJob succeeded" in told


def left(cluster: Commands) -> tuple[list[str], list[str], list[str]]:
    return tuple(
        [item["metadata"]["name"] for item in cluster.server.list(kind, namespace="default").items]
        for kind in (GANG, TFJOB, POD)
    )


@pytest.fixture
def collected(cluster, monkeypatch) -> Commands:
    """The cluster, whose garbage is collected whenever a command sleeps."""
    monkeypatch.setattr(place.time, "sleep", lambda _: cluster.server.settle())
    return cluster


def test_a_gang_is_deleted_with_its_job_and_its_pods(collected):
    assert collected("delete", "runs", *N).stdout == "default/runs deleted\n"
    assert left(collected) == (["waits"], [], [])


def test_a_gang_that_waits_is_deleted(collected):
    assert collected("delete", "default/waits", *N).stdout == "default/waits deleted; it had no TFJob\n"
    assert left(collected)[0] == ["runs"]


def test_a_job_without_a_record_is_deleted(collected):
    collected.server.delete(GANG, "runs", namespace="default")
    assert collected("delete", "runs", *N).stdout == "the TFJob of default/runs deleted; it had no record\n"
    assert left(collected) == (["waits"], [], [])


def test_a_job_that_no_run_of_ours_made_stays(collected):
    collected.add_job("foreign")
    told = collected("delete", "foreign", *N, code=1).stderr
    assert "kubectl delete tfjob foreign -n default" in told
    collected.add_job("waits")
    assert "the TFJob of its name stays" in collected("delete", "waits", *N).stdout
    assert left(collected)[:2] == (["runs"], ["foreign", "runs", "waits"])


def test_a_dry_run_names_all_and_deletes_nothing(collected):
    before = left(collected)
    done = collected("delete", "runs", "waits", "--dry-run", *N)
    assert done.stdout == (
        "default/runs (Bound) with its TFJob would be deleted\ndefault/waits (Pending) would be deleted\n"
    )
    collected("delete", "runs", "nosuch", *N, code=1)
    assert left(collected) == before, "all are found before any is deleted"


def test_what_is_waited_for_is_told_after_two_seconds_and_every_ten_then(cluster, monkeypatch):
    """The pods hear nothing for a while."""
    passed = [0.0]

    def sleep(seconds: float) -> None:
        passed[0] += seconds
        if passed[0] >= 14.0:
            cluster.server.settle()

    monkeypatch.setattr(place.time, "sleep", sleep)
    monkeypatch.setattr(place.time, "monotonic", lambda: passed[0])
    done = cluster("delete", "runs", *N)
    waits = "default/runs: waits for worker-0, worker-1, worker-2, worker-3, worker-4, worker-5 to end"
    assert done.stderr == f"{waits}\n{waits} still, after 12 s\n"
    assert left(cluster) == (["waits"], [], [])


def test_a_deletion_that_is_interrupted_is_gone_on_with(cluster, monkeypatch):
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(place.time, "sleep", interrupt)
    told = cluster("delete", "runs", *N, code=130).stderr
    assert "gangplan delete default/runs goes on with it" in told
    assert "runs" in left(cluster)[0], "its record stays while anything of it runs"
    monkeypatch.setattr(place.time, "sleep", lambda _: cluster.server.settle())
    assert "deleted" in cluster("delete", "runs", *N).stdout
    assert left(cluster) == (["waits"], [], [])


def test_a_job_that_is_launched_while_its_gang_is_deleted_goes_too(collected):
    """Its launcher creates it after it was looked for, and before the record ends."""
    update, done = collected.server.replace, []

    def late(kind, body, **more):
        answer = update(kind, body, **more)
        if kind == GANG and not done:
            done.append(collected.add_job("waits", "r2"))
        return answer

    collected.server.replace = late
    collected("delete", "waits", *N)
    assert left(collected)[:2] == (["runs"], ["runs"])


def test_what_is_deleted_is_told_as_a_document(collected):
    words = ("delete", "runs", "waits", *N, "-o", "json")
    would = [
        {"name": "default/runs", "stood": "Bound", "job": True, "deleted": False},
        {"name": "default/waits", "stood": "Pending", "job": False, "deleted": False},
    ]
    assert json.loads(collected(*words, "--dry-run").stdout) == would
    assert json.loads(collected(*words).stdout) == [{**item, "deleted": True} for item in would]
    assert left(collected) == ([], [], [])


def test_what_is_deleted_is_told_also_where_the_rest_cannot_be(collected):
    def fault(about: object) -> Fault | None:
        return Fault(error=Forbidden) if (about.verb, about.name) == ("delete", "waits") else None

    collected.server.faults = fault
    done = collected("delete", "runs", "waits", *N, "-o", "json", code=4)
    assert [item["name"] for item in json.loads(done.stdout)] == ["default/runs"]


def test_lines_of_logs_are_told_as_documents(cluster):
    lines = [json.loads(line) for line in cluster("logs", "runs", *N, "-o", "json").stdout.splitlines()]
    assert lines[:2] == [
        {"replica": "worker-0", "line": "hello from 0"},
        {"replica": "worker-0", "line": "training"},
    ]
    assert len(lines) == 12


@pytest.mark.parametrize("command", ["get", "logs", "explain"])
def test_a_name_is_looked_for_in_all_namespaces(cluster, command):
    cluster(command, "runs", "-A")
    told = words(cluster(command, "waits", "-A", code=3).stderr)
    assert "waits: is in several namespaces: give one of default/waits, team/waits" in told
    assert "there is no gang nosuch in any namespace" in cluster(command, "nosuch", "-A", code=1).stderr
    assert "must be lower-case letters" in cluster(command, "A", "-A", code=3).stderr


KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts:
  - {name: here, context: {cluster: c, user: u, namespace: team}}
  - {name: there, context: {cluster: c, user: u}}
"""


def test_the_namespace_of_the_context_is_meant_where_none_is_named(cluster, tmp_path):
    file = tmp_path / "kubeconfig"
    file.write_text(KUBECONFIG)

    def named(*words: str) -> list[str]:
        return [item["name"] for item in json.loads(cluster("list", *words, "-o", "json").stdout)]

    assert named("--kubeconfig", str(file)) == ["team/waits"]
    assert named("--kubeconfig", str(file), "--context", "there") == ["default/runs", "default/waits"]
    assert named("--kubeconfig", str(file), "-n", "default") == ["default/runs", "default/waits"]
    manifest = yaml.safe_dump(tfjob("mine", {"Worker": {}}))
    (tmp_path / "job.yaml").write_text(manifest)
    told = json.loads(
        cluster("submit", "job.yaml", "--kubeconfig", str(file), "--dry-run", "-o", "json").stdout
    )
    assert told["manifest"]["metadata"]["namespace"] == "team"


def test_in_a_pod_its_own_namespace_is_meant(cluster, monkeypatch, tmp_path):
    file = tmp_path / "namespace"
    file.write_text("team")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("GANGPLAN_CLUSTER", "kubernetes")
    monkeypatch.setattr(own_pod, "NAMESPACE_FILE", file)
    assert [item["name"] for item in json.loads(cluster("list", "-o", "json").stdout)] == ["team/waits"]


def watched(cluster: Commands, monkeypatch, *steps, words: tuple[str, ...] = N):
    """What is printed while something happens at each look, and Ctrl-C is pressed after the last."""
    left_over = iter(steps)

    def sleep(_: float) -> None:
        try:
            next(left_over)()
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(gang_list.time, "sleep", sleep)
    return cluster("list", "-w", *words, code=130)


def test_gangs_are_watched_until_ctrl_c(cluster, monkeypatch):
    done = watched(
        cluster,
        monkeypatch,
        lambda: None,
        lambda: cluster.set_status("waits", phase="Reserved", reason="admitted"),
        lambda: cluster.server.delete(GANG, "waits", namespace="default"),
    )
    lines = [words(line) for line in done.stdout.splitlines()]
    assert lines[0] == "GANG QUEUE PHASE POSITION AGE REASON"
    assert [line.split()[:3] for line in lines[1:]] == [
        ["runs", "–", "Bound"],
        ["waits", "research", "Pending"],
        ["waits", "research", "Reserved"],
        ["waits", "research", "Gone"],
    ]
    assert done.stderr == ""


MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def moments_in(value: object) -> list[str]:
    """All moments of what is printed; no number in it may be one, but in parts of snapshots, which queues are."""
    if isinstance(value, dict):
        return [each for key, item in value.items() if key != "queue" for each in moments_in(item)]
    if isinstance(value, list):
        return [each for item in value for each in moments_in(item)]
    assert not isinstance(value, int | float) or abs(value) < 1e8, f"{value} may be a moment in seconds"
    return [value] if isinstance(value, str) and MOMENT.fullmatch(value) else []


@pytest.mark.parametrize(
    "command",
    [
        ("list", *N),
        ("get", "runs", *N),
        ("top", "jobs", "-A"),
        ("prune", "--older-than", "1s", "--dry-run", *N),
        ("snapshot", "show", "s.json"),
    ],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize("form", ["json", "yaml"])
def test_moments_are_texts_in_every_document(cluster, command, form):
    cluster.add_event("TFJob", "runs", "Made", "it was made")
    ended = {"at": "2026-01-01T00:00:09Z", "phase": "Finished", "reason": "it ran"}
    cluster.set_status("waits", phase="Finished", outcome="Succeeded", history=[ended])
    cluster("snapshot", "take", "--out", "s.json")
    told = cluster(*command, "-o", form).stdout
    assert moments_in(json.loads(told) if form == "json" else yaml.safe_load(told))


def test_a_gang_tells_when_it_was_asked_for_started_and_ended(cluster):
    (runs, waits) = json.loads(cluster("list", *N, "-o", "json").stdout)
    told = {key: runs[key] for key in ("created", "started", "ended")}
    assert told == {"created": "2026-01-01T00:00:00Z", "started": "2026-01-01T00:00:01Z", "ended": None}
    assert (waits["started"], waits["ended"]) == (None, None)
    ended = {"at": "2026-01-01T00:00:09Z", "phase": "Finished", "reason": "it ran"}
    cluster.set_status("waits", phase="Finished", outcome="Succeeded", history=[ended])
    assert json.loads(cluster("get", "waits", *N, "-o", "json").stdout)["ended"] == "2026-01-01T00:00:09Z"


def test_who_watches_where_there_is_no_gang_yet_is_told(cluster, monkeypatch):
    done = watched(cluster, monkeypatch, lambda: None, words=("-n", "nowhere"))
    assert done.stderr == "no gangs yet; the first is waited for, until Ctrl-C\n"


def test_a_gang_of_the_same_name_that_comes_between_two_looks_is_another(cluster, monkeypatch):
    def again() -> None:
        cluster.server.delete(GANG, "waits", namespace="team")
        cluster.server.settle()
        cluster.add_gang("waits", 2, namespace="team")

    done = watched(cluster, monkeypatch, again, words=("-n", "team", "-o", "json"))
    phases = [json.loads(line)["phase"] for line in done.stdout.splitlines()]
    assert phases == ["Pending", "Gone", "Pending"]
