"""gangplan pipeline upload, run, list, status, logs, stop, delete, schedule against a server as the real one answers."""

import json
from pathlib import Path

import pytest
from kfpserver.progress import Plan
from kfpserver.server import serving
from kfpserver.terminal import REFUSED, Terminal
from runs import interrupt, job, start, until

from gangplan.cli.kubeflow_options import ServerFlags
from gangplan.kubeflow.follow import Known, follow
from gangplan.kubeflow.stops import Stops
from gangplan.pipeline import packaged

STEPS = ["prepare-data", "admit", "launch-tfjob", "evaluate", "report", "conclude", "release"]


def concluding(kind: str, outcome: str, reason: str) -> Plan:
    return Plan(
        fails="conclude",
        logs={"conclude": REFUSED.format(kind=kind, outcome=outcome, reason=reason)},
    )


# ---- uploading


def test_what_is_there_already_is_not_uploaded_again(terminal):
    first = terminal.data("upload")
    again = terminal.data("upload")
    assert (first["uploaded"], again["uploaded"]) == (True, False)
    assert first["version_id"] == again["version_id"]
    assert len(terminal.server.versions) == 1


def test_other_bytes_are_a_new_version_of_the_same_pipeline(terminal, tmp_path: Path):
    terminal("upload")
    file = tmp_path / "mine.yaml"
    file.write_text(packaged("train").read_text().replace("defaultValue: digits", "defaultValue: mine"))
    assert terminal.data("upload", str(file))["uploaded"]
    terminal("upload", "--image", "registry.example/python:2")
    assert len(terminal.server.pipelines) == 1
    names = {version["name"] for version in terminal.server.versions.values()}
    assert len(names) == 3, "versions are named by their bytes"
    assert terminal.data("upload", "--name", "another")["pipeline"] == "another"
    assert len(terminal.server.pipelines) == 2


def test_dry_runs_ask_no_server_and_write_nothing(terminal, monkeypatch):
    monkeypatch.setenv("GANGPLAN_PIPELINES_HOST", "http://127.0.0.1:1")
    assert "would be uploaded" in terminal("upload", "--dry-run")
    assert "train_epochs=3" in terminal("run", "-p", "train_epochs=3", "--dry-run")
    assert "would be scheduled" in terminal("schedule", "train", "--every", "1d", "--dry-run")
    assert not terminal.home.exists()


def test_a_file_that_is_no_pipeline_is_refused_before_a_server_is_asked(terminal, tmp_path: Path):
    (tmp_path / "x.yaml").write_text("a: 1\n")
    assert "no compiled pipeline" in terminal("upload", str(tmp_path / "x.yaml"), code=3)
    assert terminal.server.answers == []


# ---- running


def test_a_run_is_uploaded_started_and_told_with_its_page(terminal):
    told = terminal("run", "-p", "train_epochs=3", "--name", "mine", "--service-account", "trainer")
    (run_id,) = terminal.server.runs
    assert run_id in told
    assert f"{terminal.server.url}/#/runs/details/{run_id}" in told
    run = terminal.server.runs[run_id]
    assert run["runtime_config"]["parameters"] == {"train_epochs": 3}
    assert (run["display_name"], run["service_account"]) == ("mine", "trainer")


def test_runs_of_an_experiment_share_it(terminal):
    for _ in range(2):
        terminal("run", "--experiment", "digits")
    assert [item["display_name"] for item in terminal.server.experiments.values()] == ["digits"]


@pytest.mark.parametrize(
    ("argument", "told"),
    [
        ("train_epochs=12.5", "train_epochs: must be a whole number"),
        ("train_strategy=PS", "must be one of auto, ps, mirrored, alone"),
        ("train_epoch=3", "did you mean train_epochs?"),
        ("gang_wait_if_impossible=yes", "must be true or false"),
        ("train_learning_rate=nan", "must be a finite number"),
    ],
)
def test_wrong_arguments_are_told_before_the_server_is_asked(terminal, argument, told):
    assert told in terminal("run", "-p", argument, code=3)
    assert terminal.server.answers == []


@pytest.mark.parametrize("command", [("run",), ("run", "--dry-run"), ("schedule", "--every", "1d")])
@pytest.mark.parametrize(
    ("pipeline", "given", "paths"),
    [
        (
            "train",
            {"role_worker_memory": "xx", "role_worker_count": "-3", "train_epochs": "0", "nope": "1"},
            ["nope", "role_worker_count", "role_worker_memory", "train_epochs"],
        ),
        ("train", {"volume_claim": "", "tfjob_yaml": "kind: Pod"}, ["tfjob_yaml", "volume_claim"]),
        ("sweep", {"sweep_trials": '[{"foo": 1}]'}, ["sweep_trials[0].foo"]),
        ("scaling_study", {"study_worker_counts": "[0]"}, ["study_worker_counts[0]"]),
        ("what_if", {"cluster_source": "snapshot", "cluster_snapshot": "mine.yaml"}, ["cluster_snapshot"]),
    ],
)
def test_arguments_are_judged_as_the_steps_would_before_anything_is_uploaded(
    terminal, monkeypatch, command, pipeline, given, paths
):
    """In a notebook of the cluster too, where this process is no step."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.delenv("GANGPLAN_HOME")
    flags = [word for name, value in given.items() for word in ("-p", f"{name}={value}")]
    told = terminal(command[0], pipeline, *command[1:], *flags, code=3)
    for path in paths:
        assert f"  {path}: " in told, told
    assert terminal.server.answers == []


def test_parameters_that_a_tfjob_makes_moot_are_told(terminal):
    text = job(worker=["true"])
    told = terminal("run", "-p", f"tfjob_yaml={text}", "-p", "train_epochs=3", "--dry-run")
    assert "not looked at, since a TFJob is given that says it: train_epochs" in told


def test_a_run_is_watched_to_its_end(terminal):
    terminal.server.plan = Plan(logs={"admit": "waits: 2 of 4 GPUs are free\nadmitted\n"})
    done = terminal.run("run", "--watch", "-o", "json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["outcome"] == "Succeeded"
    assert [step["name"] for step in told["steps"]] == STEPS
    assert {step["state"] for step in told["steps"]} == {"SUCCEEDED"}
    lines = [line[9:] for line in done.stderr.splitlines()]
    assert (
        lines.index("admit: running") < lines.index("admit: succeeded") < lines.index("launch-tfjob: running")
    )
    assert "admit | waits: 2 of 4 GPUs are free" in lines
    assert lines.count("admit | admitted") == 1, "a line that was told is not told again"


@pytest.mark.parametrize(
    ("kind", "outcome", "code"),
    [
        ("JobFailed", "NotAdmitted", 1),
        ("JobFailed", "Failed", 5),
        ("JobCanceled", "Canceled", 6),
        ("JobTimedOut", "TimedOut", 7),
    ],
)
def test_exit_codes_tell_how_the_gang_ended_though_the_server_says_failed_of_all(
    terminal, kind, outcome, code
):
    terminal.server.plan = concluding(kind, outcome, "rack a has 3 of 4 GPUs\n  | more of it")
    told = terminal.data("run", "--watch", code=code)
    assert (told["state"], told["outcome"], told["step"]) == ("FAILED", outcome, "conclude")
    assert told["reason"] == "rack a has 3 of 4 GPUs\n  | more of it"
    assert terminal.data("status", told["id"])["outcome"] == outcome, "who asks later is told the same"


def test_a_run_that_passes_over_a_gang_without_room_is_green_and_told_apart(terminal):
    terminal.server.plan = Plan(logs={"conclude": "12:00:00 skipped: NotAdmitted: rack a has 3 of 4 GPUs\n"})
    told = terminal.data("run", "--watch", "-p", "gang_skip_if_not_admitted=true", code=1)
    assert (told["state"], told["outcome"]) == ("SUCCEEDED", "NotAdmitted")
    assert told["reason"] == "rack a has 3 of 4 GPUs"


def test_a_step_that_crashed_is_named_with_the_last_it_said(terminal):
    terminal.server.plan = Plan(
        fails="prepare-data", logs={"prepare-data": "reading\nOSError: no space left\n"}
    )
    told = terminal.data("run", "--watch", code=5)
    assert (told["outcome"], told["step"], told["reason"]) == (
        "Failed",
        "prepare-data",
        "OSError: no space left",
    )


def test_a_server_that_does_not_answer_for_a_while_is_waited_for(terminal):
    terminal.server.plan = Plan(unanswered=3)
    done = terminal.run("run", "--watch")
    assert done.exit_code == 0, done.output
    assert done.stderr.count("the server does not answer, the run goes on") == 1


def test_ctrl_c_ends_the_watching_and_not_the_run(terminal, tmp_path: Path):
    terminal.server.plan = Plan(holds="admit")
    made = terminal.data("run")["id"]
    log = tmp_path / "watch"
    words = ("pipeline", "status", made, "--watch", "--host", terminal.server.url)
    watching = start(terminal.home, *words, log=log)
    until(lambda: "admit: running" in log.with_suffix(".err").read_text(), "the run is watched")
    interrupt(watching)
    assert watching.wait(60) == 130
    assert f"gangplan pipeline stop {made}" in log.with_suffix(".err").read_text()
    assert not terminal.server.progress[made].asked


# ---- stopping


def test_a_run_that_was_stopped_is_canceled_though_the_server_says_failed(terminal):
    terminal.server.plan = Plan(holds="launch-tfjob")
    made = terminal.data("run")["id"]
    told = terminal.data("stop", made)
    assert (told["state"], told["outcome"]) == ("FAILED", "Canceled")
    assert terminal.data("status", made)["outcome"] == "Canceled"
    assert terminal.data("stop", made)["outcome"] == "Canceled", "stopping it again changes nothing"


def test_a_stop_that_was_only_asked_for_is_waited_for_by_the_next(terminal):
    terminal.server.plan = Plan(holds="admit")
    made = terminal.data("run")["id"]
    assert terminal.data("stop", made, "--no-wait")["outcome"] is None
    assert terminal.server.progress[made].asked
    assert terminal.data("stop", made)["outcome"] == "Canceled", (
        "the server refuses a second request with 400"
    )


def test_a_stop_by_somebody_else_is_seen_while_it_is_watched(terminal):
    terminal.server.plan = Plan(holds="admit")
    made = terminal.data("run")["id"]
    terminal.server.progress[made].asked = True
    terminal.server.progress[made].history.append("CANCELING")
    assert terminal.data("status", made, "--watch", code=6)["outcome"] == "Canceled"


def test_a_run_that_ended_by_itself_is_not_called_canceled(terminal):
    terminal.server.plan = concluding("JobFailed", "Failed", "exit code 1")
    made = terminal.data("run", "--watch", code=5)["id"]
    assert terminal.data("stop", made)["outcome"] == "Failed"
    assert terminal.data("status", made)["outcome"] == "Failed"


def test_stopping_dry_stops_nothing(terminal):
    terminal.server.plan = Plan(holds="admit")
    made = terminal.data("run", "--name", "mine")["id"]
    assert "mine (pending) would be stopped" in terminal("stop", "mine", "--dry-run")
    assert not terminal.server.progress[made].asked


# ---- looking


def test_runs_are_found_by_id_and_by_name_the_newest_first(terminal):
    first, second = (terminal.data("run", "--name", "mine")["id"] for _ in range(2))
    assert [run["id"] for run in terminal.data("list")] == [second, first]
    assert terminal.data("list", "--limit", "1")[0]["id"] == second
    assert terminal.data("status", "mine")["id"] == second
    assert terminal.data("status", first)["id"] == first
    assert "gangplan pipeline list" in terminal("status", "yours", code=1)
    assert "not found" in terminal("status", "00000000-0000-0000-0000-000000000000", code=1)


def test_long_lists_are_read_to_their_end(terminal, monkeypatch):
    import gangplan.kubeflow.server

    monkeypatch.setattr(gangplan.kubeflow.server, "PAGE", 2)
    made = [terminal.data("run")["id"] for _ in range(5)]
    assert [run["id"] for run in terminal.data("list")] == made[::-1]


def test_logs_are_those_of_the_steps(terminal):
    made = terminal.data("run", "--watch")["id"]
    assert terminal("logs", made, "launch_tfjob") == "this is launch-tfjob\n"
    lines = terminal("logs", made).splitlines()
    assert lines == [f"{name} | this is {name}" for name in STEPS]
    assert terminal.data("logs", made, "admit") == [{"step": "admit", "log": "this is admit\n"}]
    assert "begun: prepare-data, admit" in terminal("logs", made, "train", code=1)


def test_logs_are_followed_until_the_run_has_ended(terminal):
    """A step that begins and ends between two looks is told as whole as one that runs long."""
    terminal.server.plan = Plan(logs={"admit": "waits\nadmitted\n"}, unanswered=2)
    terminal.data("run", "--name", "mine")
    done = terminal.run("logs", "mine", "-f")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines == [
        f"{name} | {line}"
        for name in STEPS
        for line in (("waits", "admitted") if name == "admit" else (f"this is {name}",))
    ]
    assert done.stderr.count("the server does not answer, the run goes on") == 1
    again = terminal.run("logs", "mine", "-f", "-o", "json")
    assert [json.loads(line)["step"] for line in again.stdout.splitlines()] == [
        line.split(" | ")[0] for line in lines
    ]


def test_the_log_of_a_step_is_followed_from_before_it_begins_until_it_ends(terminal):
    terminal.server.plan = Plan(holds="launch-tfjob")
    made = terminal.data("run")["id"]
    assert terminal("logs", made, "admit", "-f") == "this is admit\n"
    assert terminal.data("status", made)["outcome"] is None, "the run goes on"
    terminal("stop", made)
    assert "has not begun" in terminal("logs", made, "evaluate", "-f", code=1)


def test_a_step_whose_log_is_lost_is_named_to_who_follows(terminal):
    terminal.server.plan = Plan(lost=True)
    done = terminal.run("logs", terminal.data("run")["id"], "-f")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.count("the server has no log of it") == len(STEPS)


def test_who_begins_to_watch_is_told_the_tail_of_what_running_steps_have_printed(terminal, tmp_path: Path):
    terminal.server.plan = Plan(holds="admit", logs={"admit": "".join(f"line {i}\n" for i in range(50))})
    made = terminal.data("run")["id"]
    for _ in range(3):
        terminal.data("status", made)
    told: list[str] = []

    def tell(line: str) -> None:
        told.append(line)
        if line == "admit | line 49":  # it has seen enough
            terminal.server.progress[made].asked = True

    server = ServerFlags(host=terminal.server.url).connect()
    known = Known(stops=Stops(tmp_path), records=lambda _: ())
    follow(server, made, known=known, tell=tell, logs=True, pause_s=0.0)
    assert [line for line in told if " | line" in line] == [f"admit | line {i}" for i in range(30, 50)]


# ---- schedules and deleting


def test_schedules_are_made_listed_and_deleted(terminal):
    made = terminal.data("schedule", "train", "--cron", "30 2 * * *", "-p", "train_epochs=20")
    (kept,) = terminal.server.schedules.values()
    assert kept["trigger"] == {"cron_schedule": {"cron": "0 30 2 * * *"}}, "the server counts seconds, too"
    assert (kept["max_concurrency"], kept["no_catchup"]) == ("1", True)
    assert kept["runtime_config"]["parameters"] == {"train_epochs": 20}
    terminal("schedule", "train", "--every", "6h", "--name", "often")
    listed = terminal("list", "schedules")
    assert "cron 0 30 2 * * *, enabled" in listed
    assert "every 21600s, enabled" in listed
    terminal("delete", "--schedule", made["id"])
    assert [item["name"] for item in terminal.data("list", "schedules")] == ["often"]


def test_what_is_no_schedule_is_refused(terminal):
    assert "give either --cron or --every" in terminal("schedule", "train", code=2)
    assert "must be five fields" in terminal("schedule", "train", "--cron", "often", code=3)
    told = terminal("schedule", "train", "--cron", "61 2 31 foo 5-1", code=3)
    assert all(words in told for words in ("minute '61'", "month 'foo'", "weekday '5-1'")), told
    assert "0 to 59" in told
    assert terminal.server.answers == []


def test_a_pipeline_that_is_started_by_a_schedule_is_not_deleted_from_under_it(terminal):
    made = terminal.data("schedule", "train", "--every", "6h", "--name", "often")
    told = terminal("delete", "--pipeline", "gangplan-train", code=1)
    assert f"often ({made['id']})" in told
    assert terminal.server.pipelines
    terminal("delete", "--pipeline", "gangplan-train", "--schedule", made["id"])
    assert terminal.server.pipelines == terminal.server.schedules == {}


def test_who_stops_what_has_ended_is_told_so(terminal):
    made = terminal.data("run", "--watch")["id"]
    assert "had ended before: nothing was stopped" in terminal("stop", made)


def test_what_runs_is_not_deleted_and_nothing_else_with_it(terminal):
    ended = terminal.data("run", "--watch")["id"]
    terminal.server.plan = Plan(holds="admit")
    running = terminal.data("run")["id"]
    assert "stop first" in terminal("delete", ended, running, code=1)
    assert len(terminal.server.runs) == 2
    terminal("stop", running)
    terminal("delete", ended, running)
    assert terminal.server.runs == {}
    assert "would be deleted" in terminal("delete", "--pipeline", "gangplan-train", "--dry-run")
    terminal("delete", "--pipeline", "gangplan-train")
    assert terminal.server.versions == {}
    assert "there is no pipeline" in terminal("delete", "--pipeline", "gangplan-train", code=1)


# ---- who asks, and whom


def test_a_token_and_cookies_let_in(tmp_path: Path, monkeypatch):
    (tmp_path / "token").write_text("secret\n")
    (tmp_path / "cookies").write_text("authservice_session=abc\n")
    with serving(token="secret") as server:
        terminal = Terminal(server, tmp_path / "home", monkeypatch)
        assert "--token-file" in terminal("list", code=4)
        assert terminal.data("list", "--token-file", str(tmp_path / "token")) == []
        monkeypatch.setenv("KF_PIPELINES_SA_TOKEN_PATH", str(tmp_path / "token"))
        assert terminal.data("list") == []
    with serving(cookie="authservice_session=abc") as server:
        terminal = Terminal(server, tmp_path / "home", monkeypatch)
        assert "--cookie-file" in terminal("list", code=4), "the page to log in is no answer"
        assert terminal.data("list", "--cookie-file", str(tmp_path / "cookies")) == []


def test_who_may_not_is_told_what(tmp_path: Path, monkeypatch):
    with serving(forbidden=True) as server:
        told = Terminal(server, tmp_path / "home", monkeypatch)("list", code=4)
    assert "you may not" in told
    assert "this is forbidden" in told


def test_a_server_of_several_namespaces_wants_one(tmp_path: Path, monkeypatch):
    with serving(multi_user=True) as server:
        terminal = Terminal(server, tmp_path / "home", monkeypatch)
        assert "give -n NAMESPACE" in terminal("list", code=2)
        assert terminal.data("run", "-n", "team", "--watch")["outcome"] == "Succeeded"
        assert {item["namespace"] for item in server.experiments.values()} == {"team"}


def test_a_server_that_is_away_is_told_with_the_way_to_it(terminal, monkeypatch):
    monkeypatch.setenv("GANGPLAN_PIPELINES_HOST", "http://127.0.0.1:1")
    told = terminal("list", code=4)
    assert "no answer from http://127.0.0.1:1" in told
    assert "port-forward" in told


def test_what_is_no_kubeflow_is_told_so(terminal, tmp_path: Path, monkeypatch):
    told = terminal("list", "--host", f"{terminal.server.url}/elsewhere", code=4)
    assert "not as Kubeflow Pipelines" in told
    with serving(website=True) as server:
        told = Terminal(server, tmp_path / "other", monkeypatch)("list", code=4)
    assert "not as Kubeflow Pipelines" in told


def test_without_an_address_the_ways_to_name_one_are_told(terminal, monkeypatch):
    monkeypatch.delenv("GANGPLAN_PIPELINES_HOST")
    told = terminal("list", code=2)
    assert "KF_PIPELINES_ENDPOINT" in told
    assert "port-forward" in told
    monkeypatch.setenv("KF_PIPELINES_ENDPOINT", terminal.server.url)
    assert terminal.data("list") == []


@pytest.mark.parametrize(
    "command",
    ["", "upload", "run", "list", "status", "logs", "stop", "delete", "schedule", "smoke", "compile"],
)
def test_help_asks_no_server(terminal, command):
    told = terminal(*([command] if command else []), "--help")
    assert "Example: gangplan pipeline" in told or not command
    assert terminal.server.answers == []
