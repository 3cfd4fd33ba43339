"""What is old and over is pruned, what nobody looks after is reaped, and nothing else is touched."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from cli.clusters import Commands, new_server

from gangplan.cli import place, tidy
from gangplan.kube.kept_log import kept_folder
from gangplan.kube.kinds import GANG, POD, TFJOB
from gangplan.local.folder import JobFolder
from gangplan.local.store import LocalStore
from gangplan.record import Reservation, enter, new
from gangplan.runtime import JobStatus, ReplicaStatus
from gangplan.snapshot import Gang, Role

DAY = 86_400.0
N = ("-n", "default")


def moment(seconds_ago: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - seconds_ago))


@pytest.fixture
def cluster(monkeypatch, tmp_path) -> Commands:
    """One node, and a garbage collection whenever a command sleeps."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GANGPLAN_HOME", str(tmp_path / "home"))
    commands = Commands(new_server("team"), monkeypatch)
    commands.add_node("n1")
    monkeypatch.setattr(place.time, "sleep", lambda _: commands.server.settle())
    return commands


def add(
    cluster: Commands, name: str, phase: str, *, days: float = 0.0, job: str = "", **status: object
) -> None:
    """Add a gang of run ``r-NAME`` that came to its phase some days ago, with a TFJob of which something is said."""
    cluster.add_gang(name, 1, runId=f"r-{name}")
    history = [{"at": moment(30 * DAY), "phase": "Pending", "reason": "asked for"}]
    history += [{"at": moment(days * DAY), "phase": phase, "reason": "why"}] * (phase != "Pending")
    cluster.set_status(name, phase=phase, history=history, **status)
    if job:
        cluster.add_job(name, f"r-{name}", said=job)


def finished(cluster: Commands, name: str, days: float, *, job: str = "") -> None:
    add(cluster, name, "Finished", days=days, job=job, outcome="Succeeded", reason="well")


def reserved(cluster: Commands, name: str, seconds: float, *, job: str = "") -> None:
    """A gang whose room is kept for so many seconds more."""
    held = {"placement": {"worker": ["n1"]}, "expiresAt": moment(-seconds)}
    add(cluster, name, "Reserved", job=job, reservation=held)


def names(cluster: Commands, kind=GANG) -> list[str]:
    return [item["metadata"]["name"] for item in cluster.server.list(kind).items]


def keep(tmp_path: Path, name: str, run: str, days: float) -> Path:
    """A log that was kept of a run, and last written to some days ago."""
    folder = kept_folder(tmp_path / "home" / "logs", "default", name, run)
    folder.mkdir(parents=True)
    (folder / "worker-0.log").write_text("said\n")
    for path in (folder / "worker-0.log", folder):
        os.utime(path, (time.time() - days * DAY,) * 2)
    return folder


def test_finished_gangs_that_are_old_enough_go_with_their_jobs(cluster):
    finished(cluster, "old", 8, job="Succeeded")
    finished(cluster, "new", 6, job="Succeeded")
    finished(cluster, "refused", 9)
    finished(cluster, "strange", 8, job="Running")
    add(cluster, "waits", "Pending")
    add(cluster, "runs", "Bound", days=20, job="Running", reservation={"placement": {"worker": ["n1"]}})
    would = cluster("prune", *N, "--dry-run")
    assert would.stdout == (
        "gang default/old with its TFJob and its pods would be removed, 8d old\n"
        "gang default/refused would be removed, 9d old\n"
    )
    assert would.stderr == (
        "default/strange stays: its TFJob has not ended (Running): gangplan reap tells of it\n"
    )
    assert len(names(cluster)) == 6
    assert cluster("prune", *N).stdout == would.stdout.replace("would be removed", "removed")
    assert names(cluster) == ["new", "runs", "strange", "waits"]
    assert names(cluster, TFJOB) == ["new", "runs", "strange"]
    (told,) = json.loads(cluster("prune", *N, "--older-than", "5d", "-o", "json").stdout)
    assert (told["kind"], told["name"], told["removed"]) == ("gang", "default/new", True)
    assert cluster("prune", *N, "--older-than", "300d").stdout == "nothing that is over is older than 300d\n"
    assert cluster("prune", "-n", "team").stdout == "nothing that is over is older than 7d\n"


def test_jobs_that_have_outlived_the_records_of_their_gangs_go(cluster):
    """Records are kept for a day, TFJobs for as long as they are told to. These ended long ago, on the server's clock."""
    cluster.add_job("old", "r-old", said="Succeeded")
    cluster.add_job("foreign", said="Succeeded")
    cluster.add_job("alone", "r-alone", said="Running")
    assert cluster("prune", *N, "--dry-run").stdout.startswith("TFJob default/old would be removed, ")
    assert cluster("prune", *N).stdout.startswith("TFJob default/old removed, ")
    assert names(cluster, TFJOB) == ["alone", "foreign"]


def test_logs_that_were_kept_go_unless_their_job_still_runs_or_is_young(cluster, tmp_path):
    add(cluster, "runs", "Bound", days=20, job="Running", reservation={"placement": {"worker": ["n1"]}})
    finished(cluster, "new", 1)
    kept = [keep(tmp_path, *about) for about in (
        ("runs", "r-runs", 9), ("runs", "earlier", 9), ("gone", "r", 9), ("gone", "later", 1), ("new", "r-new", 9)
    )]  # fmt: skip
    cluster("prune", *N, "--dry-run")
    assert all(folder.exists() for folder in kept)
    told = cluster("prune", *N, "-o", "json").stdout
    assert {item["path"] for item in json.loads(told)} == {str(kept[1]), str(kept[2]), str(kept[4])}
    assert [folder.exists() for folder in kept] == [True, False, False, True, False]


@pytest.mark.parametrize("age", ["7", "d", "1w", "-1d", "1.5h", ""])
def test_an_age_that_is_none_is_refused(cluster, age):
    assert "--older-than: wants a number" in cluster("prune", "--older-than", age, *N, code=3).stderr


def local_job(tmp_path: Path, gang: str, run: str, state: str, days: float) -> Path:
    """The files of a job on this machine, which were last written to some days ago."""
    folder = JobFolder(tmp_path / "home" / "jobs", gang, run)
    folder.path.mkdir(parents=True)
    replica = ReplicaStatus(role="worker", index=0, state="Running" if state == "Running" else "Succeeded")
    folder.write(JobStatus(name=gang, state=state, replicas=(replica,)))
    (folder.path.parent / ".current").write_text(run)
    folder.log("worker-0").write_text("said\n")
    for path in folder.path.iterdir():
        os.utime(path, (time.time() - days * DAY,) * 2)
    return folder.path


def local_record(tmp_path: Path, name: str, run: str, *, ended: bool) -> None:
    gang = Gang(name=name, roles=(Role(name="worker", replicas=1),))
    record = new(gang, uid=run, run_id=run, now=time.time() - 3600)
    if ended:
        record = enter(record, "Finished", now=time.time() - 1800, reason="well", outcome="Succeeded")
    else:
        place = Reservation(placement={"worker": ("node-0",)}, expires_at=None)
        record = enter(record, "Reserved", now=time.time() - 1800, reason="room", reservation=place)
    LocalStore(tmp_path / "home" / "store.sqlite").create(record)


def test_on_this_machine_files_of_jobs_go_that_have_ended(cluster, tmp_path):
    """A job whose record holds room has not, whatever its files say, nor one that its supervisor still runs."""
    old = local_job(tmp_path, "a", "r1", "Succeeded", 9)
    young = local_job(tmp_path, "a", "r2", "Failed", 1)
    holds = local_job(tmp_path, "b", "r3", "Succeeded", 9)
    runs = local_job(tmp_path, "c", "r4", "Running", 9)
    local_record(tmp_path, "b", "r3", ended=False)
    local_record(tmp_path, "d", "r5", ended=True)
    told = cluster("prune").stdout
    assert told == f"job files a/r1 in {old} removed, 9d old\n"
    assert [path.exists() for path in (old, young, holds, runs)] == [False, True, True, True]
    assert (young.parent / ".current").read_text() == "r2"
    told = cluster("prune", "--older-than", "10m").stdout
    assert told.splitlines() == [f"job files a/r2 in {young} removed, 1d old", "gang d removed, 30m old"]
    assert not young.parent.exists(), "nothing else has that name"
    assert holds.exists()
    assert runs.exists()


def reaped(cluster: Commands, *words: str) -> dict[str, dict]:
    return {
        f"{item['kind']} {item['name']}": item
        for item in json.loads(cluster("reap", *N, "-o", "json", *words).stdout)
    }


def test_what_nobody_looks_after_is_listed_with_its_reason_and_ended_if_told_to(cluster):
    reserved(cluster, "dropped", -120, job="Created")
    reserved(cluster, "launching", -30, job="Created")
    add(cluster, "forgotten", "Pending", keptUntil=moment(120))
    add(cluster, "asked", "Pending", keptUntil=moment(-300))
    add(cluster, "ended", "Bound", job="Succeeded", reservation={"placement": {"worker": ["n1"]}})
    add(cluster, "lost", "Bound", reservation={"placement": {"worker": ["n1"]}})
    add(cluster, "runs", "Bound", job="Running", reservation={"placement": {"worker": ["n1"]}})
    finished(cluster, "over", 1, job="Running")
    finished(cluster, "done", 1, job="Succeeded")
    cluster.add_job("alone", "r-alone")
    cluster.add_worker("alone", 0, "n1")
    cluster.add_job("foreign")
    found = reaped(cluster, "--dry-run")
    reasons = {
        "gang default/dropped": "nobody has renewed its room",
        "gang default/ended": "its job has ended while nobody looked: Succeeded",
        "gang default/forgotten": "nobody has asked for it any more",
        "gang default/lost": "its job has ended while nobody looked: Canceled: the TFJob was deleted by",
        "TFJob default/alone": "it has no record",
        "TFJob default/over": "its gang has ended (Succeeded: well)",
    }
    assert found.keys() == reasons.keys()
    for name, reason in reasons.items():
        assert reason in found[name]["reason"]
    assert [name for name, item in found.items() if item["job"]] == [
        "gang default/dropped", "TFJob default/alone", "TFJob default/over"
    ]  # fmt: skip
    assert len(names(cluster, TFJOB)) == 8, "nothing was ended"
    ended = reaped(cluster, "--yes")
    assert ended["gang default/ended"]["ended"] == "default/ended: Succeeded"
    assert ended["gang default/dropped"]["ended"] == "default/dropped: Canceled, its TFJob is deleted"
    assert names(cluster, TFJOB) == ["done", "ended", "foreign", "launching", "runs"]
    assert names(cluster, POD) == []
    phases = {item["metadata"]["name"]: item["status"]["phase"] for item in cluster.server.list(GANG).items}
    assert {name for name, phase in phases.items() if phase != "Finished"} == {"asked", "launching", "runs"}
    assert reaped(cluster) == {}


def test_where_nobody_can_be_asked_nothing_is_ended(cluster):
    cluster.add_job("alone", "r-alone")
    done = cluster("reap", "-A")
    assert "default/alone  TFJob  yes" in done.stdout
    assert done.stderr == "nothing is ended: --yes ends them\n"
    assert names(cluster, TFJOB) == ["alone"]
    assert cluster("reap", "-n", "team").stdout == "no orphans\n"
    cluster("reap", "--yes", "--dry-run", *N, code=2)


@pytest.mark.parametrize(("answer", "left"), [("y\n", []), ("n\n", ["alone"])])
def test_who_sits_there_is_asked(cluster, monkeypatch, answer, left):
    monkeypatch.setattr(tidy, "is_asked", lambda: True)
    cluster.add_job("alone", "r-alone")
    assert "end it?" in cluster.run("reap", *N, stdin=answer).stderr
    cluster.server.settle()
    assert names(cluster, TFJOB) == left


def test_what_is_looked_after_again_meanwhile_is_left(cluster, monkeypatch):
    """Its launcher was slow, and renews the room while somebody reads the list."""
    monkeypatch.setattr(tidy, "is_asked", lambda: True)
    reserved(cluster, "slow", -120, job="Created")

    def renew(*_: object, **__: object) -> bool:
        held = {"placement": {"worker": ["n1"]}, "expiresAt": moment(-600)}
        cluster.set_status("slow", phase="Reserved", reservation=held)
        return True

    monkeypatch.setattr(tidy.typer, "confirm", renew)
    assert "default/slow: left, it is no orphan any more" in cluster("reap", *N).stdout
    assert names(cluster, TFJOB) == ["slow"]


def test_on_this_machine_processes_that_a_run_left_are_found_and_ended(cluster, tmp_path):
    run = f"run-{time.time_ns()}"
    local_job(tmp_path, "a", run, "Failed", 0)
    environment = {**os.environ, "GANGPLAN_RUN_ID": run, "GANGPLAN_GANG": "a"}
    left = subprocess.Popen(["sleep", "600"], env=environment, start_new_session=True)
    try:
        (found,) = json.loads(cluster("reap", "-o", "json").stdout)
        assert found["reason"] == f"run {run} has ended, and has left processes: {left.pid}"
        assert left.poll() is None
        assert cluster("prune", "--older-than", "0s").stdout == "nothing that is over is older than 0s\n"
        assert "a: 1 process ended" in cluster("reap", "--yes").stdout
        assert left.wait() == -9
    finally:
        left.kill()
        left.wait()
    assert cluster("reap").stdout == "no orphans\n"
