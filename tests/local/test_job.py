"""The course of a job, without processes: laws over random courses, then the rules one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.local.job import (
    PORT_RETRIES,
    PORT_TAKEN,
    Begin,
    Break,
    Cancel,
    Exited,
    Finish,
    JobRun,
    Start,
    Started,
    Stop,
    Tick,
)
from gangplan.runtime import FINAL, Job, ReplicaSpec

POLICIES = ("Never", "OnFailure", "Always", "ExitCode")
CODES = st.sampled_from([0, 0, 0, 1, 2, PORT_TAKEN, 127, 137, 143])


def spec(name, *, node="n1", restart="Never"):
    role, _, index = name.rpartition("-")
    return ReplicaSpec(role=role, index=int(index), node=node, command=("x",), restart=restart)


def job_of(*specs, **other):
    return Job(name="mnist", run_id="r", replicas=specs, **other)


@st.composite
def jobs(draw):
    counts = {
        "chief": draw(st.integers(0, 1)),
        "ps": draw(st.integers(0, 2)),
        "worker": draw(st.integers(0, 3)),
        "evaluator": draw(st.integers(0, 1)),
    }
    if not sum(counts.values()):
        counts["worker"] = 1
    specs = [
        spec(
            f"{role}-{i}",
            node=draw(st.sampled_from(["n1", "n2", "n1", None])),
            restart=draw(st.sampled_from(POLICIES)),
        )
        for role, count in counts.items()
        for i in range(count)
    ]
    return job_of(
        *draw(st.permutations(specs)),
        success_policy=draw(st.sampled_from(["", "AllWorkers"])),
        deadline_s=draw(st.none() | st.integers(1, 200)),
        backoff_limit=draw(st.integers(0, 3)),
    )


class World:
    """A machine on which processes live until they are told to end, or end by themselves."""

    def __init__(self, job, *, slow=False):
        self.run = JobRun(job)
        self.slow = slow
        self.now = 1000.0
        self.alive = set()
        self.stopping = set()
        self.starts = []
        self.finishes = []
        self.decided = False
        self.ports = {}

    def tell(self, event):
        """Give an event to the job; processes come up at once, unless they are still coming when it ends."""
        fresh = []
        for action in self.run.handle(event, self.now):
            assert not self.finishes, "an action after the end"
            match action:
                case Start(name, generation):
                    assert not self.decided, "a start after the decision"
                    assert name not in self.alive, "started while it runs"
                    if generation not in self.ports:
                        assert not self.alive, "new ports while old servers run"
                    self.ports.setdefault(generation, set()).add(name)
                    self.alive.add(name)
                    self.starts.append(name)
                    fresh.append(name)
                case Stop(name):
                    assert name in self.alive, "stopped what does not run"
                    assert name not in self.stopping, "told twice"
                    self.stopping.add(name)
                case Finish():
                    assert not self.alive, "ended while something runs"
                    self.finishes.append(action)
        self.decided = self.run._verdict is not None
        for name in fresh:
            if not self.slow:
                self.run.handle(Started(name, 4711), self.now)
        status = self.run.status
        assert (status.state in FINAL) == bool(self.finishes)
        assert {r.name for r in status.replicas} == {s.name for s in self.run.job.replicas}

    def end(self, name, code):
        self.alive.discard(name)
        self.stopping.discard(name)
        self.tell(Exited(name, code))


@given(jobs(), st.data())
def test_every_course_ends_once_with_nothing_running(job, data):
    """The law of laws, for any job and any order of events."""
    world = World(job, slow=data.draw(st.booleans(), "slow"))
    world.tell(Begin())
    for _ in range(data.draw(st.integers(0, 25), "events")):
        world.now += data.draw(st.integers(0, 40), "seconds")
        kind = data.draw(
            st.sampled_from(["exit", "exit", "exit", "started", "tick", "cancel", "break", "stale"])
        )
        if kind in {"exit", "started"} and world.alive:
            name = data.draw(st.sampled_from(sorted(world.alive)), "replica")
            if kind == "started":
                world.tell(Started(name, 4711))
            else:
                world.end(name, data.draw(CODES, "code"))
        elif kind == "tick":
            world.tell(Tick())
        elif kind == "cancel" and data.draw(st.booleans()):
            world.tell(Cancel("deleted"))
        elif kind == "break" and data.draw(st.booleans()):
            world.tell(Break("a bug"))
        elif kind == "stale":
            world.tell(Exited("worker-7", 0))
    world.tell(Cancel("the end of the test"))
    for name in sorted(world.alive):
        assert world.finishes or name in world.stopping, "left running after the decision"
        world.end(name, data.draw(CODES))
    assert len(world.finishes) == 1
    status = world.run.status
    assert status.state == world.finishes[0].state
    assert all(r.state != "Running" for r in status.replicas)
    placed = {s.name for s in job.replicas if s.node is not None}
    assert set(world.starts) <= placed, "started without a place"
    assert {r.name for r in status.replicas if r.state == "Pending"} == {
        r.name for r in status.replicas
    } - placed
    assert sum(r.restarts for r in status.replicas) <= job.backoff_limit
    if status.state == "Failed":
        assert status.reason


@given(jobs(), st.data())
def test_a_job_that_succeeded_has_no_failed_decider(job, data):
    """Succeeded means that those who decide have ended well, and Failed names a reason."""
    world = World(job)
    world.tell(Begin())
    while world.alive and not world.finishes:
        world.end(data.draw(st.sampled_from(sorted(world.alive))), data.draw(CODES))
    status = world.run.status
    states = {r.name: r.state for r in status.replicas}
    if status.state == "Succeeded":
        chief = [name for name in states if name.startswith("chief")]
        workers = [name for name in states if name.startswith("worker")]
        deciders = chief or (workers if job.success_policy else workers[:1]) or list(states)
        assert all(states[name] == "Succeeded" for name in deciders)
        assert "Failed" not in {states[name] for name in states if name in deciders}
    if status.state == "Failed":
        assert status.replica in status.reason
        assert states[status.replica] == "Failed"


def course(job, *events):
    """Drive a job; give its actions without the first starts, and the job."""
    run = JobRun(job)
    tell(run, Begin(), 0.0)
    actions = [action for at, event in events for action in tell(run, event, at)]
    return actions, run


def tell(run, event, at):
    """Give an event to a job and the processes that it asks for."""
    actions = run.handle(event, at)
    for action in actions:
        if isinstance(action, Start):
            run.handle(Started(action.replica, 4711), at)
    return actions


@pytest.mark.parametrize(
    ("names", "policy", "ended", "state"),
    [
        (("chief-0", "worker-0", "ps-0"), "", ("chief-0",), "Succeeded"),
        (("chief-0", "worker-0"), "", ("worker-0",), "Running"),
        (("chief-0", "worker-0"), "AllWorkers", ("chief-0",), "Succeeded"),
        (("master-0", "worker-0"), "", ("master-0",), "Succeeded"),
        (("worker-0", "worker-1"), "", ("worker-0",), "Succeeded"),
        (("worker-0", "worker-1"), "", ("worker-1",), "Running"),
        (("worker-0", "worker-1"), "AllWorkers", ("worker-0",), "Running"),
        (("worker-0", "worker-1"), "AllWorkers", ("worker-1", "worker-0"), "Succeeded"),
        (("ps-0", "worker-0"), "", ("ps-0",), "Running"),
        (("evaluator-0",), "", ("evaluator-0",), "Succeeded"),
    ],
)
def test_success_is_decided_as_by_the_operator(names, policy, ended, state):
    job = job_of(*map(spec, names), success_policy=policy)
    _, run = course(
        job, *((1.0, Started(name, 1)) for name in names), *((2.0, Exited(name, 0)) for name in ended)
    )
    for name in names:
        if name not in ended and state == "Succeeded":
            run.handle(Exited(name, 143), 3.0)
    assert run.status.state == state


def test_servers_of_a_job_that_succeeded_are_stopped():
    actions, run = course(job_of(spec("chief-0"), spec("ps-0")), (1.0, Exited("chief-0", 0)))
    assert actions == [Stop("ps-0")]
    (end,) = run.handle(Exited("ps-0", 143), 2.0)
    assert end.state == "Succeeded"
    assert {r.name: r.state for r in run.status.replicas} == {"chief-0": "Succeeded", "ps-0": "Stopped"}


def test_the_first_failure_decides_and_is_named():
    actions, run = course(
        job_of(spec("worker-0"), spec("worker-1")), (1.0, Exited("worker-1", 3)), (2.0, Exited("worker-0", 9))
    )
    assert actions == [
        Stop("worker-0"),
        Finish("Failed", "worker-1 failed with exit code 3", "worker-1"),
    ]
    assert run.status.replica == "worker-1"


def test_a_signal_is_named():
    actions, _ = course(job_of(spec("worker-0")), (1.0, Exited("worker-0", 137)))
    assert actions == [Finish("Failed", "worker-0 was ended by SIGKILL (exit code 137)", "worker-0")]


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [
        ("Never", 1, False),
        ("OnFailure", 1, True),
        ("OnFailure", 0, False),
        ("Always", 0, True),
        ("ExitCode", 1, False),
        ("ExitCode", 127, False),
        ("ExitCode", 128, True),
        ("ExitCode", 137, True),
    ],
)
def test_restart_policies_are_those_of_the_operator(policy, code, again):
    actions, _ = course(
        job_of(spec("worker-0"), spec("worker-1", restart=policy)), (99.0, Exited("worker-1", code))
    )
    assert (Start("worker-1", 0) in actions) == again


def test_the_backoff_limit_holds_for_the_whole_job():
    job = job_of(*(spec(f"worker-{i}", restart="OnFailure") for i in range(2)), backoff_limit=2)
    actions, run = course(
        job, (1.0, Exited("worker-0", 1)), (2.0, Exited("worker-1", 1)), (3.0, Exited("worker-0", 1))
    )
    assert actions == [Start("worker-0", 0), Start("worker-1", 0), Stop("worker-1")]
    (end,) = run.handle(Exited("worker-1", 143), 4.0)
    assert end.reason == "worker-0 failed with exit code 1, after 2 restarts, all that the job may use"


def test_a_taken_port_starts_the_whole_gang_again_with_new_ports():
    job = job_of(spec("worker-0"), spec("worker-1"))
    actions, run = course(job, (1.0, Exited("worker-1", PORT_TAKEN)))
    assert actions == [Stop("worker-0")]
    assert tell(run, Exited("worker-0", 143), 2.0) == [Start("worker-0", 1), Start("worker-1", 1)]
    assert all(r.restarts == 0 for r in run.status.replicas)


def test_ports_that_are_always_taken_fail_the_job():
    run = JobRun(job_of(spec("worker-0"), spec("worker-1")))
    tell(run, Begin(), 0.0)
    for _ in range(PORT_RETRIES):
        tell(run, Exited("worker-0", PORT_TAKEN), 1.0)
        assert len(tell(run, Exited("worker-1", PORT_TAKEN), 1.0)) == 2
    tell(run, Exited("worker-0", PORT_TAKEN), 1.0)
    tell(run, Exited("worker-1", PORT_TAKEN), 1.0)
    assert (run.status.state, run.status.replica) == ("Failed", "worker-0")
    assert "port" in run.status.reason


def test_exit_code_98_is_an_ordinary_failure_long_after_the_start_and_without_peers():
    late, _ = course(job_of(spec("worker-0"), spec("worker-1")), (3600.0, Exited("worker-1", PORT_TAKEN)))
    lonely, _ = course(job_of(spec("worker-0")), (1.0, Exited("worker-0", PORT_TAKEN)))
    assert late == [Stop("worker-0")]
    assert lonely == [Finish("Failed", "worker-0 failed with exit code 98", "worker-0")]


def test_the_deadline_ends_the_job():
    job = job_of(spec("worker-0"), deadline_s=30.0)
    actions, run = course(job, (29.9, Tick()), (30.0, Tick()), (30.1, Tick()))
    assert actions == [Stop("worker-0")]
    (end,) = run.handle(Exited("worker-0", 143), 31.0)
    assert (end.state, end.reason) == ("TimedOut", "did not end within its deadline of 30 s")


def test_a_replica_without_a_node_waits_and_so_does_its_job():
    """Two pods of three have found a place: the others run and wait for it, for ever."""
    job = job_of(spec("chief-0"), spec("worker-0", node=None))
    run = JobRun(job)
    assert run.handle(Begin(), 0.0) == [Start("chief-0", 0)]
    run.handle(Started("chief-0", 1), 1.0)
    assert run.handle(Tick(), 1e9) == []
    assert run.status.state == "Running"
    assert [r.state for r in run.status.replicas] == ["Running", "Pending"]


def test_a_job_without_any_place_is_pending():
    run = JobRun(job_of(spec("worker-0", node=None)))
    assert run.handle(Begin(), 0.0) == []
    assert run.status.state == "Pending"
    (end,) = run.handle(Cancel("deleted"), 1.0)
    assert end.state == "Canceled"
