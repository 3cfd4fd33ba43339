"""Many gangs in one process, with real processes: order, room for all, and ends that leave nothing behind."""

import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from builders import gang, node, role, snapshot

from gangplan import admission
from gangplan.config import Terms
from gangplan.errors import Conflict, NotFound
from gangplan.local.cluster import LocalCluster, this_process
from gangplan.local.runtime import LocalRuntime
from gangplan.local.scheduler import Request, run_gangs
from gangplan.local.store import LocalStore
from gangplan.record import HOLDING, GangRecord, new
from gangplan.runtime import Job, JobStatus, ReplicaSpec

SOON = "import time; time.sleep(0.1)"
FOREVER = "import time; time.sleep(600)"
FAIL = "import sys; sys.exit(3)"


@dataclass
class Stage:
    """A store, a runtime, and requests for gangs of one program."""

    store: LocalStore
    runtime: LocalRuntime
    run_id: str
    told: list[tuple[str, str]] = field(default_factory=list)

    def request(self, name: str, code: str = SOON, *, replicas: int = 2, gpus: int = 2) -> Request:
        def job(placement) -> Job:
            return Job(
                name=name,
                run_id=self.run_id,
                replicas=tuple(
                    ReplicaSpec(role="worker", index=index, node=place, command=("python", "-c", code))
                    for index, place in enumerate(placement["worker"])
                ),
            )

        wanted = gang(name, role(replicas=replicas, gpus=gpus), created=len(self.store.records()))
        return Request(gang=wanted, uid=f"uid-{name}", job=job)

    def run(self, *requests: Request, **more) -> dict[str, JobStatus]:
        def tell(record: GangRecord) -> None:
            self.told.append((record.name, record.phase))

        return run_gangs(
            requests,
            **{
                "run_id": self.run_id,
                "store": self.store,
                "view": LocalCluster(self.store),
                "runtime": self.runtime,
                "owner": this_process(),
                "terms": Terms(reservation_s=600.0, record_s=600.0, earmark_s=300.0, earmark_bypasses=5),
                "clock": time.time,
                "sleep": time.sleep,
                "poll_s": 0.02,
                "on_change": tell,
            }
            | more,
        )

    def holding(self) -> list[str]:
        return [record.name for record in self.store.records() if record.phase in HOLDING]


@pytest.fixture
def stage(tmp_path: Path, runtime: LocalRuntime, no_survivors) -> Stage:
    """Four GPUs on one node; when the test is over, no process of its run may be left."""
    store = LocalStore(tmp_path / "store.sqlite")
    store.set_cluster(snapshot(nodes=(node("n1", gpus=4),)))
    stage = Stage(store, runtime, f"run-{time.time_ns()}")
    yield stage
    no_survivors(stage.run_id)
    assert stage.holding() == []


def test_gangs_that_have_no_room_together_run_one_after_the_other(stage):
    ended = stage.run(stage.request("a", gpus=2), stage.request("b", gpus=2))
    assert {name: status.state for name, status in ended.items()} == {"a": "Succeeded", "b": "Succeeded"}
    assert stage.told == [
        *(("a", phase) for phase in ("Reserved", "Bound")),
        ("b", "Pending"),
        ("a", "Finished"),
        *(("b", phase) for phase in ("Reserved", "Bound", "Finished")),
    ]
    assert [record.outcome for record in stage.store.records()] == ["Succeeded", "Succeeded"]


def test_gangs_that_have_room_together_run_together(stage):
    """Each waits until it sees the other's file, so they cannot have run in turn."""
    folder = stage.store._path.parent
    code = (
        "import pathlib, sys, time\n"
        "folder = pathlib.Path({!r})\n"
        "(folder / {!r}).touch()\n"
        "while not (folder / {!r}).exists(): time.sleep(0.01)\n"
    )
    ended = stage.run(
        stage.request("a", code.format(str(folder), "a", "b"), gpus=1),
        stage.request("b", code.format(str(folder), "b", "a"), gpus=1),
    )
    assert {status.state for status in ended.values()} == {"Succeeded"}


def test_the_failure_of_one_gang_leaves_the_other(stage):
    ended = stage.run(stage.request("a", FAIL, gpus=1), stage.request("b", gpus=1))
    assert {name: status.state for name, status in ended.items()} == {"a": "Failed", "b": "Succeeded"}
    assert [record.outcome for record in stage.store.records()] == ["Failed", "Succeeded"]
    assert "3" in stage.store.get("a").reason


def test_a_gang_that_cannot_fit_is_not_admitted_and_stops_no_other(stage):
    ended = stage.run(stage.request("a", gpus=3), stage.request("b"))
    assert {name: status.state for name, status in ended.items()} == {"a": "Canceled", "b": "Succeeded"}
    assert ended["a"].reason == stage.store.get("a").reason
    assert stage.store.get("a").outcome == "NotAdmitted", "nobody canceled it"
    assert "6 nvidia.com/gpu" in ended["a"].reason


@pytest.mark.parametrize("phase", ["Reserved", "Bound", "Pending"])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_exception_in_the_middle_ends_everything(error, phase, stage):
    def fail(record: GangRecord) -> None:
        if record.phase == phase:
            raise error("no")

    with pytest.raises(error, match="no"):
        stage.run(stage.request("a", FOREVER), stage.request("b", FOREVER), on_change=fail)
    assert [record.outcome for record in stage.store.records()] == ["Canceled", "Canceled"]


def test_a_gang_that_somebody_deletes_ends_whether_it_waits_or_runs(stage):
    """The names may be given to gangs of another run at once; those are not ours to start."""
    seen = []

    def delete(seconds: float) -> None:
        time.sleep(seconds)
        if not seen and stage.store.get("a").phase == "Bound" and stage.store.get("b").phase == "Pending":
            seen.append(1)
            for name in ("a", "b"):
                done = admission.finish(
                    stage.store, name, run_id=stage.run_id, outcome="Canceled", reason="deleted", now=1.0
                )
                stage.store.remove(done)
                stage.store.create(new(gang(name), uid="theirs", run_id="other", now=1.0))

    ended = stage.run(stage.request("a", FOREVER), stage.request("b", FOREVER), sleep=delete)
    assert {status.state for status in ended.values()} == {"Canceled"}
    assert {record.phase for record in stage.store.records()} <= {"Pending", "Reserved"}
    for name in ("a", "b"):
        admission.finish(stage.store, name, run_id="other", outcome="Canceled", reason="", now=1.0)


def test_a_name_that_is_taken_is_refused_and_the_other_gang_goes_on(stage, no_survivors):
    """The job of that name belongs to another run: it must not be ended with ours."""
    other = f"other-{time.time_ns()}"
    stage.runtime.submit(
        Job(
            name="b",
            run_id=other,
            replicas=(ReplicaSpec(role="worker", index=0, node="n1", command=("python", "-c", FOREVER)),),
        )
    )
    theirs = stage.store.create(new(gang("b"), uid="theirs", run_id=other, now=0.0, owner=this_process()))
    with pytest.raises(Conflict):
        stage.run(stage.request("a", FOREVER), stage.request("b", FOREVER))
    assert stage.runtime.status("b").state in {"Pending", "Running"}
    assert stage.store.get("b") == theirs
    assert stage.store.get("a").outcome == "Canceled"
    stage.runtime.delete("b")
    no_survivors(other)


def test_a_job_whose_name_is_taken_is_refused_and_the_other_job_goes_on(stage, no_survivors):
    other = f"other-{time.time_ns()}"
    spec = ReplicaSpec(role="worker", index=0, node="n1", command=("python", "-c", FOREVER))
    stage.runtime.submit(Job(name="b", run_id=other, replicas=(spec,)))
    with pytest.raises(Conflict):
        stage.run(stage.request("a", FOREVER, gpus=1), stage.request("b", FOREVER, gpus=1))
    assert stage.runtime.status("b").state in {"Pending", "Running"}
    stage.runtime.delete("b")
    no_survivors(other)


class Stubborn:
    """A runtime that cannot delete one job at the first try."""

    def __init__(self, runtime: LocalRuntime, name: str) -> None:
        self._runtime = runtime
        self._name = name
        self.submit, self.status = runtime.submit, runtime.status

    def delete(self, name: str) -> None:
        if name == self._name:
            raise OSError("no such luck")
        self._runtime.delete(name)


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_job_that_cannot_be_ended_does_not_save_the_others(name: str, stage):
    def fail(record: GangRecord) -> None:
        if [each.phase for each in stage.store.records()] == ["Bound", "Bound"]:
            raise RuntimeError("enough")

    requests = (stage.request("a", FOREVER, gpus=1), stage.request("b", FOREVER, gpus=1))
    with pytest.raises(OSError, match="luck"):
        stage.run(*requests, runtime=Stubborn(stage.runtime, name), on_change=fail)
    other = "b" if name == "a" else "a"
    with pytest.raises(NotFound):
        stage.runtime.status(other)
    assert stage.store.get(other).outcome == "Canceled"
    stage.runtime.delete(name)
    admission.finish(
        stage.store, name, run_id=stage.run_id, outcome="Canceled", reason="by the test", now=1.0
    )
