"""gangplan pipeline smoke says point by point whether a Kubeflow does what we rely on, and leaves nothing there."""

import json

from kfpserver.progress import Plan

NAMES = [
    "a pipeline is uploaded",
    "nothing is uploaded twice",
    "the server refuses what is no choice",
    "a run succeeds",
    "its steps are told",
    "their logs can be read",
    "a run that is stopped ends",
    "it holds nothing any more",
    "what was made is removed",
]


def points(done) -> dict[str, bool]:
    return {point["name"]: point["passed"] for point in json.loads(done.stdout)}


def left(server) -> int:
    return len(server.pipelines) + len(server.versions) + len(server.runs)


def test_all_points_pass_where_all_is_well(terminal):
    done = terminal.run("smoke", "-o", "json")
    assert done.exit_code == 0, done.output
    assert points(done) == dict.fromkeys(NAMES, True)
    assert left(terminal.server) == 0
    assert not list((terminal.home / "pipelines" / "stopped").iterdir())


def test_a_point_that_fails_is_told_and_the_others_are_tried(terminal):
    terminal.server.plan = Plan(any_choice=True, lost=True)
    done = terminal.run("smoke", "-o", "json")
    assert done.exit_code == 1, done.output
    wrong = {"the server refuses what is no choice", "their logs can be read"}
    assert points(done) == {name: name not in wrong for name in NAMES}
    assert left(terminal.server) == 0


def test_a_run_that_fails_is_told_with_its_reason(terminal):
    terminal.server.plan = Plan(fails="admit", logs={"admit": "OSError: no such claim\n"})
    told = terminal("smoke", code=1)
    assert "FAIL  a run succeeds: Failed: OSError: no such claim" in told
    assert "pass  what was made is removed" in told
    assert left(terminal.server) == 0


def test_a_run_that_does_not_end_is_given_up_and_removed(terminal):
    terminal.server.plan = Plan(holds="admit")
    told = terminal("smoke", "--timeout", "1", code=1)
    assert "FAIL  a run ends in time: it has not ended after 1 s" in told
    assert left(terminal.server) == 0


def test_what_the_server_cannot_do_ends_the_trying_and_not_the_cleaning(terminal, monkeypatch):
    monkeypatch.setattr(type(terminal.server), "terminate", _refuse)
    told = terminal("smoke", code=1)
    assert "FAIL  the server does what it is asked: cannot terminate run" in told
    assert left(terminal.server) == 0


def _refuse(self, **_):
    from kfpserver.server import Refusal

    raise Refusal(400, "not today")
