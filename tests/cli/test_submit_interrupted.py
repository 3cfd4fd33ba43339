"""Who submits a job is interrupted, or waits: what is told then, and what is left. On a modelled server."""

import itertools
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from builders import tfjob
from cli.clusters import Commands
from launches.world import World
from typer.testing import Result

from gangplan.cli import submit as command
from gangplan.kube import follow
from gangplan.kube.cluster import LEASE_NAME, SYSTEM
from gangplan.kube.kinds import GANG, LEASE, POD, TFJOB

GOES_ON = (
    "interrupted: the job goes on; follow it with: gangplan logs -f j -n default, "
    "end it with: gangplan delete j -n default"
)


class Submitting:
    """A submission to a server with room and an operator, which is interrupted once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = World()
        self.server = self.world.server
        self.world.runs_for = 5
        self.server.delete(GANG, "j", namespace="default")
        time = self.world.time
        clock = SimpleNamespace(time=lambda: time[0], monotonic=lambda: time[0], sleep=self._sleep)
        monkeypatch.setattr(command, "time", clock)
        self.commands = Commands(self.server, monkeypatch)
        self.commands.add_node("n1")
        Path("job.yaml").write_text(yaml.safe_dump(tfjob("j", {"PS": {}, "Worker": {"replicas": 2}})))
        self.meanwhile: Callable[[], object] = lambda: None

    def _sleep(self, seconds: float) -> None:
        self.world.sleep(seconds)
        self.meanwhile()

    def let_another_decide(self) -> None:
        """Somebody has the lead, and does nothing with it; he counts as lost after a while."""
        lease = {"apiVersion": LEASE.api_version, "kind": "Lease"}
        lease["metadata"] = {"name": LEASE_NAME, "namespace": SYSTEM}
        lease["spec"] = {"holderIdentity": "other", "leaseDurationSeconds": 15, "leaseTransitions": 1}
        self.server.create(LEASE, lease)

    def run(self, *words: str) -> Result:
        return self.commands.run("submit", "job.yaml", "--run-id", "run", *words)

    def see_that_it_is_over(self, done: Result) -> str:
        """See that nothing is left, or the job goes on; and that the next one need not wait for the Lease."""
        assert done.exit_code == 130, done.output
        told = " ".join(done.stderr.split())
        found = self.server.list(GANG).items
        phases = [gang["status"]["phase"] for gang in found]
        assert len(found) <= 1
        if phases == ["Bound"]:
            assert GOES_ON in told
            assert len(self.server.list(TFJOB).items) == 1
        else:
            # Before anything was asked for there is nothing to tell of.
            assert "interrupted: nothing is left of it" in told or (told, phases) == (
                "error: interrupted",
                [],
            )
            assert phases in ([], ["Finished"])
            assert [gang["status"]["reason"] for gang in found] == ["interrupted by its user"] * len(found)
            self.server.settle()
            assert (self.server.list(TFJOB).items, self.server.list(POD).items) == ((), ())
        return "".join(phases)


@pytest.fixture
def submitting(monkeypatch, tmp_path) -> Callable[[], Submitting]:
    """Makes submissions, each to a server of its own."""
    monkeypatch.chdir(tmp_path)
    return lambda: Submitting(monkeypatch)


def press_in_line(number: int) -> Callable[..., object]:
    """A trace function that presses Ctrl-C in the given line of those that a submission executes by itself."""
    own = ("_answered", "_following", "_refused", "show", "_launched")
    count = itertools.count()

    def lines(frame: object, event: str, _: object) -> object:
        if event == "line" and next(count) == number:
            signal.raise_signal(signal.SIGINT)
        return lines

    def calls(frame, event: str, _: object) -> object:
        code = frame.f_code
        of_command = code.co_filename == command.__file__ and code.co_name in own
        of_following = code.co_filename == follow.__file__ and code.co_name != "cancel"
        return lines if of_command or of_following else None

    return calls


def test_in_whatever_line_it_is_interrupted_nothing_is_left_or_the_job_goes_on(submitting):
    """Between the news that there is room and the launch too."""
    ends = []
    for number in itertools.count():
        asked, before = submitting(), sys.gettrace()
        sys.settrace(press_in_line(number))
        try:
            done = asked.run()
        finally:
            sys.settrace(before)
        if done.exit_code == 0:
            break
        ends.append(asked.see_that_it_is_over(done))
    assert {"", "Finished", "Bound"} <= set(ends)
    assert len(ends) > 40


@pytest.mark.parametrize("ends", [True, False])
def test_who_interrupts_is_told_what_is_waited_for_and_whether_something_is_left(submitting, ends):
    """A pod that hears nothing takes its time; what is said at the end is what the record says."""
    asked = submitting()
    passed = itertools.count()

    def hold(held: list[str]) -> None:
        patch = {"metadata": {"finalizers": held}}
        for pod in asked.server.list(POD).items:
            asked.server.patch(POD, pod["metadata"]["name"], patch, namespace="default")

    def look() -> None:
        if not asked.server.list(POD).items:
            return
        looks = next(passed)
        if looks == 0:
            hold(["test.dev/hears-nothing"])
            signal.raise_signal(signal.SIGINT)
        elif looks == 20 and ends:
            hold([])
            asked.server.settle()

    asked.meanwhile = look
    done = asked.run("--wait")
    assert done.exit_code == 130, done.output
    waits = "it is taken away: waits for ps-0, worker-0, worker-1 to end"
    assert f"{waits}\n" in done.stderr
    assert f"{waits} still, after 10 s\n" in done.stderr
    (gang,) = asked.server.list(GANG).items
    reason = gang["status"]["reason"]
    if ends:
        assert "interrupted: nothing is left of it" in done.stderr
        assert reason == "interrupted by its user"
    else:
        assert "nothing is left" not in done.stderr
        left = reason.removeprefix("interrupted by its user; ")
        assert "ps-0 on " in left
        assert " ".join(f"interrupted: {left}".split()) in " ".join(done.stderr.split())


def test_while_somebody_else_decides_it_is_told_why_a_gang_waits(submitting):
    asked = submitting()
    asked.let_another_decide()
    seen = []

    def look() -> None:
        if not seen:
            seen.append(asked.commands("list", "-n", "default", "-o", "json").stdout)

    asked.meanwhile = look
    done = asked.run()
    assert done.exit_code == 0, done.output
    assert "default/j: Pending: it was not looked at yet\n" in done.stderr
    assert [gang["reason"] for gang in json.loads(seen[0])] == ["it was not looked at yet"]


def test_a_gang_that_is_deleted_while_it_waits_is_canceled(submitting):
    """Its record is removed at once, mostly before who waits for it looks again."""
    asked = submitting()
    asked.let_another_decide()
    asked.meanwhile = lambda: asked.commands("delete", "j", "-n", "default")
    done = asked.run("--wait")
    assert done.exit_code == 6, done.output
    assert done.stdout == "default/j: Canceled: it was deleted while it waited\n"
