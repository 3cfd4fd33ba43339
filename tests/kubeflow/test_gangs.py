"""What the cluster of a run knows of its gangs is told beside what Kubeflow says."""

import pytest
from cli.clusters import Commands, new_server
from kfpserver.progress import Plan


@pytest.fixture
def cluster(monkeypatch) -> Commands:
    """The cluster that the steps of runs work on."""
    return Commands(new_server("team"), monkeypatch)


def ended_run(terminal) -> str:
    terminal.server.plan = Plan(fails="conclude", lost=True)
    return terminal.data("run", "--watch", code=5)["id"]


def test_an_outcome_is_read_from_the_gang_where_the_pods_are_gone(terminal, cluster):
    made = ended_run(terminal)
    cluster.add_gang("mine", 2, runId=made)
    cluster.set_status("mine", phase="Finished", outcome="TimedOut", reason="not done after 60 s")
    cluster.add_gang("other", 2, runId="another")
    cluster.set_status("other", phase="Finished", outcome="Canceled", reason="by mia")
    told = terminal.data("status", made, "--context", "ours")
    assert (told["outcome"], told["reason"], told["step"]) == (
        "TimedOut",
        "not done after 60 s",
        "gang default/mine",
    )
    assert terminal.data("status", made)["outcome"] == "Failed", "no cluster is asked that nothing names"
    terminal("status", made, "--watch", "--context", "ours", code=7)


def test_a_cluster_that_cannot_be_read_takes_nothing_from_what_the_server_says(
    terminal, monkeypatch, tmp_path
):
    made = ended_run(terminal)
    (tmp_path / "none").write_text("apiVersion: v1\nkind: Config\n")
    done = terminal.run("status", made, "--kubeconfig", str(tmp_path / "none"))
    assert done.exit_code == 0, done.output
    assert "the gangs of the run cannot be read" in done.stderr
    assert "Failed" in done.stdout


def test_what_a_stopped_run_still_holds_is_told(terminal, cluster):
    terminal.server.plan = Plan(holds="launch-tfjob")
    made = terminal.data("run")["id"]
    cluster.add_gang("mine", 1, runId=made)
    told = terminal("stop", made, "--context", "ours")
    assert "still holds or waits for room: default/mine" in told
    cluster.set_status("mine", phase="Finished", outcome="Canceled", reason="its run was stopped")
    assert "still holds" not in terminal("stop", made, "--context", "ours")
