"""Every call of a session lets other threads run, ends on Ctrl-C with the session whole, and works after a fork."""

import multiprocessing
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from session.test_bad_columns import good

import gangplan as gp

LARGE = """
import sys, threading
from array import array
import gangplan as gp
many = 2000
columns = gp.Columns(
    resources=["cpu"],
    nodes=gp.NodeColumns(names=[str(row) for row in range(many)], allocatable=[array("q", [7] * many)]),
    gangs=gp.GangColumns(names=[str(row) for row in range(many)]),
    roles=gp.RoleColumns(gangs=array("I", range(many)), names=["w"] * many, replicas=array("q", [5] * many),
                         requests=[array("q", [row % 7 + 1 for row in range(many)])]),
)
session = gp.Session(columns)
decisions = session.solve()
snapshot = session.snapshot()
(refused, *_) = decisions.refusals()
def again():
    "Each time something else."
    again.times += 1
    return again.times
again.times = 0
"""
CALLS = {
    "open": "gp.Session(columns)",
    "open a snapshot": "gp.Session(snapshot)",
    "solve": "session.solve()",
    "plan": "session.plan(gp.SolveOptions(changes=False))",
    "explain": "session.explain(refused)",
    "explain alone": "session.explain(refused, alone=True)",
    "apply names": "session.apply(gp.Deltas(now=again(), nodes=snapshot.nodes))",
    "apply columns": (
        "session.apply(gp.DeltaColumns(nodes=gp.NodeDeltas(rows=range(many), allocatable=[[again()] * many])))"
    ),
    "commit": "session.commit(decisions)",
    "snapshot": "session.snapshot()",
}


def child(code):
    return subprocess.Popen(
        [sys.executable, "-c", LARGE + code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_ctrl_c_ends_a_call_and_leaves_the_session_whole(call):
    """Afterwards it decides as its snapshot does: nothing was done by halves."""
    process = child(
        f"try:\n    print('ready', flush=True)\n    while True: {call}\n"
        "except KeyboardInterrupt:\n"
        "    print(session.solve().placements() == gp.Session(session.snapshot()).solve().placements())\n"
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=240)
    assert (out, process.returncode) == ("True\n", 0), err


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_other_threads_run_during_a_call(call):
    """Threads take turns only where one lets go: the loop ends only if the call lets the other thread run."""
    process = child(
        "sys.setswitchinterval(1000)\n"
        "seen = threading.Event()\n"
        f"def work():\n    while not seen.is_set(): {call}\n"
        "thread = threading.Thread(target=work)\n"
        "thread.start()\nseen.set()\nthread.join()\nprint('both ran')\n"
    )
    out, err = process.communicate(timeout=240)
    assert (out, process.returncode) == ("both ran\n", 0), err


def node(number):
    return gp.Node(name=f"new{number}", allocatable={"cpu": "1"})


def test_deltas_of_eight_threads_all_arrive():
    session = gp.Session(good())
    with ThreadPoolExecutor(8) as pool:
        changed = pool.map(lambda number: session.apply(gp.Deltas(nodes=(node(number),))), range(40))
    assert all(changed)
    assert session.epoch == session.version == 40
    assert {one.name for one in session.snapshot().nodes} == {"n1", "n2", *(f"new{row}" for row in range(40))}


def test_threads_that_solve_while_others_tell_deltas_get_whole_answers():
    """Whatever is decided is decided of one state: all of a gang or nothing, on nodes that are there."""
    session = gp.Session(good())

    def follow(number):
        session.apply(gp.Deltas(nodes=(node(number),), gone=gp.Gone(nodes=(f"new{number - 1}",))))
        return session.solve().placements()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(follow, range(40)))
    assert answers == [{"g": {"ps": ("n1",), "worker": ("n1",)}}] * 40


def test_of_two_threads_that_commit_the_same_one_gets_it():
    for _ in range(20):
        session = gp.Session(good())
        decisions = session.solve()
        with ThreadPoolExecutor(2) as pool:
            conflicts = list(pool.map(lambda _: session.commit(decisions), range(2)))  # noqa: B023 - run at once
        assert sorted(map(len, conflicts)) == [0, 1]


def in_a_child(work):
    """What a forked child answers."""
    fork = multiprocessing.get_context("fork")
    mine, other = fork.Pipe()
    process = fork.Process(target=lambda: other.send(work()))
    process.start()
    assert mine.poll(60), "the child did not answer"
    answer = mine.recv()
    process.join()
    assert process.exitcode == 0
    return answer


@pytest.mark.parametrize("cluster", [good(), gp.Session(good()).snapshot()], ids=["columns", "snapshot"])
def test_a_forked_child_goes_on_by_itself(cluster):
    session = gp.Session(cluster)
    session.solve()

    def follow():
        session.apply(gp.DeltaColumns(nodes=gp.NodeDeltas(rows=[1], unschedulable=[True])))
        session.apply(gp.Deltas(nodes=(node(0),)))
        conflicts = session.commit(session.solve())
        return (
            session.epoch,
            conflicts,
            session.explain("g"),
            session.plan().hash,
            len(session.snapshot().nodes),
        )

    answer = in_a_child(follow)
    assert answer[:3] == (3, (), None)
    assert answer[4] == 3
    assert session.epoch == 0, "the parent knows nothing of it"
    assert follow() == answer


def test_a_child_is_told_if_a_thread_of_the_parent_had_its_turn():
    """A thread that the fork left behind never ends its turn: waiting for it would take for ever."""
    rows = range(3000)
    session = gp.Session(
        gp.Columns(
            resources=["cpu"],
            nodes=gp.NodeColumns(names=[str(row) for row in rows], allocatable=[[7] * len(rows)]),
            gangs=gp.GangColumns(names=[str(row) for row in rows]),
            roles=gp.RoleColumns(
                gangs=rows, names=["w"] * len(rows), replicas=[5] * len(rows), requests=[[4] * len(rows)]
            ),
        )
    )
    done = threading.Event()

    def work():
        while not done.is_set():
            session.plan()

    thread = threading.Thread(target=work)
    thread.start()

    def ask():
        try:
            return str(session.epoch)
        except gp.SolverError as error:
            return str(error)

    try:
        answers = {in_a_child(ask) for _ in range(10)}
    finally:
        done.set()
        thread.join()
    assert answers <= {"0", "another thread used this session when the process forked; open it anew here"}
    assert len(answers - {"0"}) == 1


def test_a_bug_of_the_solver_is_an_error_and_the_session_says_so_from_then_on(capfd):
    session = gp.Session(gp.Snapshot())
    with pytest.raises(gp.SolverError, match=r"broke an invariant \(two at once\); please report it"):
        session._core.panic("two at once")
    with pytest.raises(gp.SolverError, match="a bug ended another call while it used this session"):
        session.plan()
    assert gp.Session(gp.Snapshot()).plan() == gp.solve(gp.Snapshot()), "only that session is lost"
    assert "two at once" in capfd.readouterr().err, "the trace of the bug is not lost"
