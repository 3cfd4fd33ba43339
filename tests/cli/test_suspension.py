"""Gangs are put aside and gone on with: those of a cluster with their TFJobs, those of this machine while they wait."""

import json
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from apimodel.server import Fault
from builders import tfjob
from cli.clusters import Commands
from launches.world import World

from gangplan import admission
from gangplan.cli import place
from gangplan.cli import submit as command
from gangplan.config import settings
from gangplan.errors import ClusterError, Forbidden, Refused, Unreachable
from gangplan.kube.cluster import KubeCluster
from gangplan.kube.kinds import GANG, POD, TFJOB
from gangplan.local.cluster import LocalCluster
from gangplan.local.store import LocalStore
from gangplan.record import new
from gangplan.snapshot import Gang, Role

N = ("-n", "default")


class Killed(BaseException):
    """The process ends here, and does nothing else."""

    def __init__(self, *_: object, **__: object) -> None:
        pass


class Suspending:
    """A server with room and an operator, and a job ``j`` that was submitted and runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = World()
        self.server = self.world.server
        self.world.runs_for = 1000
        self.server.delete(GANG, "j", namespace="default")
        passed = self.world.time
        clock = SimpleNamespace(time=lambda: passed[0], monotonic=lambda: passed[0], sleep=self._sleep)
        monkeypatch.setattr(command, "time", clock)
        monkeypatch.setattr(place, "time", clock)
        self.meanwhile = lambda: None
        self.commands = Commands(self.server, monkeypatch)
        self.commands.add_node("n1")
        Path("job.yaml").write_text(yaml.safe_dump(tfjob("j", {"PS": {}, "Worker": {"replicas": 2}})))
        self.commands("submit", "job.yaml", "--run-id", "run")

    def _sleep(self, seconds: float) -> None:
        self.world.sleep(seconds)
        self.meanwhile()

    def __call__(self, *words: str, code: int = 0):
        return self.commands(*words, *N, code=code)

    @property
    def stands(self) -> str:
        """Phase, or outcome, of the gang."""
        status = self.server.get(GANG, "j", namespace="default")["status"]
        return status.get("outcome") or status["phase"]

    @property
    def pods(self) -> int:
        return len(self.server.list(POD).items)

    @property
    def job(self) -> dict:
        return self.server.get(TFJOB, "j", namespace="default")


@pytest.fixture
def running(monkeypatch, tmp_path) -> Suspending:
    monkeypatch.chdir(tmp_path)
    return Suspending(monkeypatch)


def test_a_gang_is_suspended_with_its_job_and_runs_again_when_it_is_resumed(running):
    uid = running.job["metadata"]["uid"]
    assert (running.stands, running.pods) == ("Bound", 3)
    done = running("suspend", "j")
    assert done.stdout == "default/j suspended; its TFJob stays, and holds no room\n"
    assert "waits for ps-0, worker-0, worker-1 to end" in done.stderr
    assert (running.stands, running.pods) == ("Suspended", 0)
    assert running.job["spec"]["runPolicy"]["suspend"] is True
    assert "reservation" not in running.server.get(GANG, "j", namespace="default")["status"]
    assert running("suspend", "j").stdout == done.stdout, "it is suspended already"
    told = running("resume", "j").stdout
    assert told.startswith("default/j runs: ps-0 on n1, worker-0 on n1, worker-1 on n1; follow it with")
    assert (running.stands, running.pods) == ("Bound", 3)
    assert running.job["spec"]["runPolicy"]["suspend"] is False
    assert running.job["metadata"]["uid"] == uid
    reasons = [
        (event["phase"], event["reason"])
        for event in json.loads(running("get", "j", "-o", "json").stdout)["history"]
    ]
    assert [phase for phase, _ in reasons] == [
        "Pending",
        "Reserved",
        "Bound",
        "Suspended",
        "Pending",
        "Reserved",
        "Bound",
    ]
    assert reasons[3:5] == [("Suspended", "suspended by the user"), ("Pending", "resumed")]


def test_the_room_of_a_suspended_gang_is_for_others_who_then_keep_it(running):
    """It waits for them when it is resumed, and is suspended again if they do not end in time."""
    running("suspend", "j")
    running.commands.add_gang(
        "other", 1, runId="r2", roles=[{"name": "worker", "replicas": 8, "requests": {"cpu": "1"}}]
    )
    running.commands.reserve("other", *["n1"] * 8)
    done = running("resume", "j", "--queue-wait", "5", "-o", "json", code=1)
    answer = json.loads(done.stdout)
    assert answer["outcome"] == "NotAdmitted"
    assert "not admitted in time: needs 300m cpu" in answer["reason"]
    assert "Pending at position 1" in done.stderr
    assert (running.stands, running.pods) == ("Suspended", 0)
    told = json.loads(running("get", "j", "-o", "json").stdout)["reason"]
    assert told.startswith("suspended again: not admitted in time: needs 300m cpu")
    running.server.delete(GANG, "other", namespace="default")
    running("resume", "j")
    assert running.stands == "Bound"


def test_a_resumed_job_is_followed_to_its_end_if_asked(running):
    running("suspend", "j")
    running.world.runs_for = 3
    done = running("resume", "j", "--wait")
    assert done.stdout == "default/j: Succeeded: Succeeded\n"
    assert running.stands == "Succeeded"
    assert "nothing to resume of default/j: it has ended (Succeeded" in running("resume", "j", code=1).stderr
    assert "nothing to suspend of default/j: it has ended" in running("suspend", "j", code=1).stderr


def test_who_follows_a_job_is_told_that_it_was_suspended_and_leaves_it(running, monkeypatch):
    """Its record stays put aside: it has not ended."""
    looks = []

    def suspend_once() -> None:
        if len(looks) == 2:
            running("suspend", "j")
        looks.append(running.stands)

    running.meanwhile = suspend_once
    done = running.commands("submit", "job.yaml", "--run-id", "run", "--wait", code=6)
    assert done.stdout == (
        "default/j: Canceled: suspended by the user: it goes on with gangplan resume j -n default\n"
    )
    assert (running.stands, running.pods) == ("Suspended", 0)
    running.meanwhile = lambda: None
    running("resume", "j")
    assert running.stands == "Bound"


@pytest.mark.parametrize("looks", range(6))
def test_a_resumption_that_is_interrupted_is_suspended_again_or_goes_on(running, looks):
    running("suspend", "j")
    seen = []

    def interrupt() -> None:
        seen.append(running.stands)
        if len(seen) == looks + 1:
            raise KeyboardInterrupt

    running.meanwhile = interrupt
    done = running.commands.run("resume", "j", *N)
    running.meanwhile = lambda: None
    if done.exit_code == 0:
        assert running.stands == "Bound"
        return
    assert done.exit_code == 130, done.output
    assert running.stands == "Suspended"
    running.world.sleep(1.0)
    assert (running.pods, running.job["spec"]["runPolicy"]["suspend"]) == (0, True)
    running("resume", "j")
    assert running.stands == "Bound"


def test_a_resumption_that_was_killed_is_gone_on_with(running):
    """It had let the gang wait, and nothing else was done."""
    running("suspend", "j")

    def kill() -> None:
        running.server.faults = lambda _: Fault(error=Killed)
        raise Killed

    running.meanwhile = kill
    with pytest.raises(Killed):
        running.commands("resume", "j", *N)
    running.server.faults, running.meanwhile = None, lambda: None
    assert running.stands in {"Pending", "Reserved"}
    running("resume", "j")
    assert (running.stands, running.pods) == ("Bound", 3)


def test_a_gang_that_waits_is_put_aside_and_waits_again(running):
    running.commands.add_gang("waits", 9, runId="r2")
    assert running("suspend", "waits").stdout == "default/waits suspended; it had no TFJob\n"
    found = {item["name"]: item for item in json.loads(running("list", "-o", "json").stdout)}
    assert found["default/waits"]["phase"] == "Suspended"
    told = " ".join(running("explain", "waits", code=1).stderr.split())
    assert "default/waits waits for nothing: suspended by the user; gangplan resume default/waits" in told
    done = running("resume", "waits").stdout
    assert "default/waits: waits again: it had no TFJob yet: who submitted it goes on with it" in done
    assert "nothing to resume of default/waits: it is Pending" in running("resume", "waits", code=1).stderr


def test_what_is_suspended_is_told_as_a_document(running):
    would = json.loads(running("suspend", "j", "--dry-run", "-o", "json").stdout)
    assert would == {"name": "default/j", "phase": "Bound", "text": "default/j (Bound) would be suspended"}
    done = json.loads(running("suspend", "j", "-o", "json").stdout)
    assert (done["name"], done["phase"]) == ("default/j", "Suspended")


def test_a_dry_run_suspends_and_resumes_nothing(running):
    assert running("suspend", "j", "--dry-run").stdout == "default/j (Bound) would be suspended\n"
    assert running.stands == "Bound"
    running("suspend", "j")
    assert running("resume", "j", "--dry-run").stdout == "default/j (Suspended) would wait for room again\n"
    assert running.stands == "Suspended"


def test_who_waits_for_a_gang_that_is_put_aside_goes_on_when_it_is_resumed(running):
    """There is room for it meanwhile, which it does not take."""
    running("delete", "j")
    roles = [{"name": "worker", "replicas": 8, "requests": {"cpu": "1"}}]
    running.commands.add_gang("other", 1, runId="r2", roles=roles)
    running.commands.reserve("other", *["n1"] * 8)
    stood: list[str] = []

    def happen() -> None:
        match len(stood):
            case 1:
                running("suspend", "j")
            case 3:
                running.server.delete(GANG, "other", namespace="default")
            case 6:
                assert "waits again" in running("resume", "j").stdout
        stood.append(running.stands)

    running.meanwhile = happen
    told = running.commands("submit", "job.yaml", "--run-id", "run").stdout
    assert told.startswith("default/j runs: ps-0 on n1")
    assert stood[:6] == ["Pending", *["Suspended"] * 5]
    assert running.stands == "Bound"


def test_a_suspended_gang_is_deleted_like_any_other(running):
    running("suspend", "j")
    assert running("delete", "j").stdout == "default/j deleted\n"
    assert running.server.list(TFJOB).items == running.server.list(GANG).items == ()


def test_what_cannot_be_suspended_is_left_as_it_was(running):
    assert "there is no such gang" in running("suspend", "nosuch", code=1).stderr
    running.server.faults = lambda about: (
        Fault(error=Forbidden) if (about.verb, about.kind) == ("patch", "TFJob") else None
    )
    assert "patch TFJob j" in running("suspend", "j", code=4).stderr
    running.server.faults = None
    spec = running.job["spec"]
    for replicas in spec["tfReplicaSpecs"].values():
        replicas["template"]["spec"]["schedulerName"] = "volcano"
    running.server.replace(TFJOB, {**running.job, "spec": spec})
    told = " ".join(running("suspend", "j", code=3).stderr.split())
    assert "j: cannot be suspended: for Volcano the nodes of its replicas stand in its TFJob" in told


def refusing_patches(error: type[ClusterError], *, calls: int = 1):
    """Refuse the n-th patch of the TFJob, and those after it; a dry run is one, too."""
    left = [calls]

    def faults(about):
        if (about.verb, about.kind) != ("patch", "TFJob"):
            return None
        left[0] -= 1
        return Fault(error=error) if left[0] <= 0 else None

    return faults


@pytest.mark.parametrize("error", [Forbidden, Refused, Unreachable])
def test_a_gang_whose_job_may_not_be_changed_keeps_its_room(running, error):
    """No right, a rule, a webhook that does not answer: its record would say what is not so."""
    before = running.server.get(GANG, "j", namespace="default")
    running.server.faults = refusing_patches(error)
    told = " ".join(running("suspend", "j", code=4).stderr.split())
    assert "default/j is not suspended, and all stays as it was: patch TFJob j" in told
    running.server.faults = None
    assert running.server.get(GANG, "j", namespace="default") == before
    running("suspend", "j")
    running.server.faults = refusing_patches(error)
    told = " ".join(running("resume", "j", code=4).stderr.split())
    assert "default/j is not resumed, and all stays as it was" in told
    assert running.stands == "Suspended"


def test_what_is_half_suspended_is_told_and_gone_on_with(running):
    """The server would have taken it a moment before."""
    running.server.faults = refusing_patches(Unreachable, calls=2)
    told = " ".join(running("suspend", "j", code=4).stderr.split())
    half = "default/j is put aside, but its pods may run on: gangplan suspend default/j goes on with it"
    assert half in told
    assert 1 <= told.count("asking again:") <= 8, "a word now and then"
    running.server.faults = None
    running("suspend", "j")
    assert (running.stands, running.pods) == ("Suspended", 0)


def test_a_server_that_does_not_answer_for_a_moment_is_asked_again(running):
    """What was begun is done all the same."""
    left = [2, 5]

    def faults(about):
        verb = (about.verb, about.kind)
        place = {("patch", "TFJob"): 0, ("list", "Pod"): 1}.get(verb)
        if place is None:
            return None
        left[place] -= 1
        return Fault(error=Unreachable) if 0 <= left[place] < 1 + 3 * place else None

    running.server.faults = faults
    done = running("suspend", "j")
    running.server.faults = None
    assert "asking again" in done.stderr
    assert max(left) < 0, "both were asked in vain"
    assert (running.stands, running.pods) == ("Suspended", 0)


def test_who_interrupts_is_told_what_goes_on_with_it_and_what_stands(running):
    def interrupt() -> None:
        raise KeyboardInterrupt

    running.meanwhile = interrupt
    assert "gangplan suspend default/j goes on with it" in running("suspend", "j", code=130).stderr
    running.meanwhile = lambda: None
    running("suspend", "j")
    running.meanwhile = interrupt
    assert "default/j is suspended again" in running("resume", "j", code=130).stderr


def test_an_operator_that_does_not_run_is_told_while_pods_are_waited_for(running):
    """Nobody ends them: a word now and then, and an end."""
    running.world.sleep, passed = lambda _: None, running.world.time

    def happen() -> None:
        passed[0] += 1.0
        assert passed[0] < 200.0

    running.meanwhile = happen
    told = " ".join(running("suspend", "j", code=4).stderr.split())
    assert "waits for ps-0, worker-0, worker-1 to end still, after 50 s" in told
    assert "nothing has looked at the TFJob of default/j for 60 s: is the training-operator running?" in told
    assert "it is put aside, and ps-0, worker-0, worker-1 of it holds room until it ends" in told
    assert running.stands == "Suspended"


def test_an_operator_that_does_not_run_is_told_when_a_gang_is_to_go_on(running):
    running("suspend", "j")
    slept, passed = running.world.sleep, running.world.time

    def happen(seconds: float) -> None:
        if running.job["spec"]["runPolicy"]["suspend"]:
            slept(seconds)
        passed[0] += 1.0
        assert passed[0] < 200.0

    running.world.sleep = happen
    told = " ".join(running("resume", "j", code=4).stderr.split())
    assert told.count("waits for the training-operator to go on with its TFJob") >= 3
    assert "nothing has looked at the TFJob of default/j for 60 s" in told
    assert running.stands == "Suspended"


def test_the_queue_of_a_suspended_gang_is_not_passed_while_its_pods_end(running):
    """Who suspends is killed before the operator is asked: the end of the pods alone makes the queue free."""
    running("delete", "j")
    running.commands.add_queue("q", limit={"cpu": "300m"})
    job = tfjob("j", {"PS": {}, "Worker": {"replicas": 2}})
    job["metadata"]["annotations"] = {"gangplan.dev/queue": "q"}
    Path("job.yaml").write_text(yaml.safe_dump(job))
    running.commands("submit", "job.yaml", "--run-id", "run")
    roles = [{"name": "worker", "replicas": 1, "requests": {"cpu": "100m"}}]
    running.commands.add_gang("next", 1, runId="r2", roles=roles, queue="q")
    running.server.faults = refusing_patches(Killed, calls=2)
    with pytest.raises(Killed):
        running.commands("suspend", "j", *N)
    running.server.faults = None
    assert (running.stands, running.pods) == ("Suspended", 3)
    phases = []
    for pod in [None, *running.server.list(POD).items]:
        if pod is not None:
            running.server.delete(POD, pod["metadata"]["name"], namespace="default")
        cluster = KubeCluster(running.server, clock=lambda: 2.0, monotonic=lambda: 2.0)
        admission.run_cycle(cluster.store(), cluster, now=2.0, terms=settings().terms)
        status = running.server.get(GANG, "next", namespace="default")["status"]
        (queue,) = json.loads(running.commands("top", "queues", "-A", "-o", "json").stdout)
        phases.append((status["phase"], next(share["used"] for share in queue["shares"])))
    assert phases == [
        ("Pending", "300m"),
        ("Reserved", "300m"),
        ("Reserved", "200m"),
        ("Reserved", "100m"),
    ]


def test_a_gang_whose_pods_still_end_is_not_resumed_before_they_have(running):
    """It was suspended half: who did it was killed. Its operator is asked again."""
    running.server.faults = refusing_patches(Killed, calls=2)
    with pytest.raises(Killed):
        running.commands("suspend", "j", *N)
    running.server.faults = None
    slept, passed = running.world.sleep, running.world.time

    def idle(seconds: float) -> None:
        passed[0] += seconds

    running.world.sleep = idle
    done = json.loads(running("resume", "j", "--queue-wait", "3", "-o", "json", code=1).stdout)
    assert done["outcome"] == "NotAdmitted"
    assert done["reason"] == "ps-0, worker-0, worker-1 of it had not ended in 3 s"
    assert running.job["spec"]["runPolicy"]["suspend"] is True
    assert (running.stands, running.pods) == ("Suspended", 3)
    running.world.sleep = slept
    stood = []
    running.meanwhile = lambda: stood.append((running.stands, running.pods))
    running("resume", "j")
    assert stood[0] == ("Suspended", 0), "it waits for no room while its pods are there"
    assert (running.stands, running.pods) == ("Bound", 3)


def test_a_job_that_ends_before_it_is_suspended_has_ended(running):
    ended = {"status": {"conditions": [{"type": "Succeeded", "status": "True", "message": "all done"}]}}
    running.server.patch(TFJOB, "j", ended, namespace="default", subresource="status")
    assert "its TFJob has ended (Succeeded)" in running("suspend", "j", code=1).stderr
    assert running.stands == "Bound"


def test_on_this_machine_what_waits_is_put_aside_and_what_runs_is_not(running, monkeypatch, tmp_path):
    monkeypatch.setattr(place, "time", time)
    monkeypatch.setenv("GANGPLAN_HOME", str(tmp_path / "home"))
    chosen = settings()
    store = LocalStore(chosen.store)
    for name, cpu in (("small", "100m"), ("large", "100m")):
        gang = Gang(name=name, roles=(Role(name="worker", replicas=1, requests={"cpu": cpu}),))
        store.create(new(gang, uid=name, run_id=name, now=time.time()))
    assert running.commands("suspend", "large").stdout == "large suspended\n"
    admission.run_cycle(store, LocalCluster(store), now=time.time(), terms=chosen.terms)
    assert (store.get("small").phase, store.get("large").phase) == ("Reserved", "Suspended")
    told = " ".join(running.commands("suspend", "small", code=3).stderr.split())
    assert "small: runs on this machine (Reserved), where only what waits can be suspended" in told
    assert "waits again: its run goes on with it" in running.commands("resume", "large").stdout
    admission.run_cycle(store, LocalCluster(store), now=time.time(), terms=chosen.terms)
    assert store.get("large").phase == "Reserved"
    assert "nothing to resume of large: it is Reserved" in running.commands("resume", "large", code=1).stderr
    running.commands("delete", "large", "small")
    assert store.records() == ()
