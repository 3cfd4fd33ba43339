"""Real trainings: TensorFlow processes that find each other through TF_CONFIG."""

import json
import math
import os
import re
import signal
import socket
from itertools import pairwise
from pathlib import Path

import pytest

from gangplan.local.survivors import survivors

MNIST = Path(__file__).parents[1] / "data" / "mnist"
LONG = ("--data", "digits", "--steps", "200000", "--log-every", "20", "--checkpoint-every", "60")


def states(status):
    return {replica.name: replica.state for replica in status.replicas}


def test_parameter_servers_train_digits(train):
    """The defaults: 1 chief, 1 ps, 2 workers reach 0.93, and all that a run leaves is there."""
    training = train("chief ps 2*worker", "--data", "digits")
    result = training.succeeds()
    assert result["accuracy"] >= 0.93
    assert result["strategy"] == "ps"
    assert result["replicas"] == {"chief": 1, "ps": 1, "worker": 2}
    assert result["finished"] is True
    assert states(training.status()) == {
        "chief-0": "Succeeded",
        "ps-0": "Stopped",
        "worker-0": "Stopped",
        "worker-1": "Stopped",
    }
    history = training.read("history.json")
    assert [point["step"] for point in history] == list(range(45, 901, 45))
    assert history[-1]["loss"] < history[0]["loss"]
    assert all(one["seconds"] <= other["seconds"] for one, other in pairwise(history))
    assert {path.name for path in training.out.iterdir()} == {
        "checkpoints",
        "events",
        "history.json",
        "model",
        "result.json",
    }
    assert any(line.startswith("step 900/900 test loss") for line in training.logs()["chief-0"])


def test_mnist_with_a_master_and_an_evaluator(train):
    """Both are in the TF_CONFIG that the operator writes, and TensorFlow 2 can use neither as it stands there."""
    training = train(
        "master ps 2*worker evaluator", "--data", str(MNIST), "--split", "8000/2000", "--epochs", "3"
    )
    result = training.succeeds()
    assert result["accuracy"] >= 0.93
    assert result["strategy"] == "ps"
    assert result["data"] == "mnist"
    assert any("test accuracy" in line for line in training.logs()["evaluator-0"])


def test_servers_without_a_chief_train_with_worker_0_as_chief(train):
    result = train("ps 2*worker", "--data", "digits", "--epochs", "5").succeeds()
    assert result["strategy"] == "ps"
    assert result["replicas"] == {"ps": 1, "chief": 1, "worker": 1}


def test_one_worker_with_a_server_trains_alone(train):
    result = train("ps worker", "--data", "digits", "--epochs", "5").succeeds()
    assert (result["strategy"], result["replicas"]) == ("alone", {"chief": 1})


@pytest.mark.parametrize("roles", ["2*worker", "chief worker"])
def test_workers_train_together(train, roles):
    training = train(roles, "--data", "digits", "--epochs", "8")
    result = training.succeeds()
    assert result["strategy"] == "mirrored"
    assert result["accuracy"] >= 0.93


def test_mirrored_workers_leave_servers_out(train):
    """With a ps in its cluster the strategy waits for ever."""
    result = train(
        "chief ps worker", "--data", "digits", "--epochs", "5", "--strategy", "mirrored"
    ).succeeds()
    assert result["replicas"] == {"chief": 1, "worker": 1}


def test_alone_the_same_seed_gives_the_same_training(train, tmp_path):
    seen = []
    for name in ("a", "b", "c"):
        seed = "2" if name == "c" else "1"
        training = train("worker", "--data", "digits", "--epochs", "3", "--seed", seed, out=tmp_path / name)
        result = training.succeeds()
        points = [
            (point["step"], point["loss"], point["accuracy"]) for point in training.read("history.json")
        ]
        seen.append((points, result["accuracy"], result["loss"]))
    assert seen[0] == seen[1] != seen[2]


def test_a_training_is_resumed_by_a_job_of_another_shape(train):
    """Alone, then mirrored, then with parameter servers: the checkpoint does not know who wrote it."""
    first = train("worker", "--data", "digits", "--steps", "300").succeeds()
    then = train("2*worker", "--data", "digits", "--steps", "400", "--resume").succeeds()
    training = train("chief ps worker", "--data", "digits", "--steps", "500", "--resume")
    last = training.succeeds()
    assert [result["resumed_at"] for result in (first, then, last)] == [0, 300, 400]
    steps = [point["step"] for point in training.read("history.json")]
    assert steps == sorted(set(steps))
    assert steps[0] == 15
    losses = {point["step"]: point["loss"] for point in training.read("history.json")}
    assert max(loss for step, loss in losses.items() if step > 300) < losses[15] / 3, (
        "it did not go on, it began anew"
    )


def test_without_resume_nothing_old_is_left(train):
    train("worker", "--data", "digits", "--steps", "40").succeeds()
    training = train("worker", "--data", "digits", "--steps", "20")
    assert training.succeeds()["resumed_at"] == 0
    assert training.read("history.json")[-1]["step"] == 20
    assert len(list((training.out / "events").iterdir())) == 1


def test_resuming_what_is_done_writes_the_results_again(train):
    train("worker", "--data", "digits", "--steps", "40").succeeds()
    result = train("worker", "--data", "digits", "--steps", "40", "--resume").succeeds()
    assert (result["resumed_at"], result["images_per_s"]) == (40, 0.0)


@pytest.mark.parametrize(
    ("roles", "victim", "end"),
    [
        ("chief ps 2*worker", "worker-1", "was ended by SIGKILL"),
        ("chief ps 2*worker", "ps-0", "was ended by SIGKILL"),
        ("chief ps 2*worker", "chief-0", "was ended by SIGKILL"),
        ("2*worker", "worker-1", "was ended by SIGKILL"),
        ("2*worker", "worker-0", "was ended by SIGKILL"),
    ],
)
def test_a_killed_replica_fails_the_job_and_is_named(train, roles, victim, end):
    training = train(roles, *LONG)
    training.until_step(60)
    os.kill(training.pid(victim), signal.SIGKILL)
    status = training.wait()
    assert (status.state, status.replica) == ("Failed", victim)
    assert status.reason.startswith(f"{victim} {end}")
    failed = next(each for each in status.replicas if each.name == victim)
    assert failed.last_lines
    assert all(each.state in {"Failed", "Stopped"} for each in status.replicas)
    assert not (training.out / "result.json").exists()


def test_a_killed_worker_that_is_started_again_does_not_stop_the_training(train):
    """The others go on, as the chief hands the lost steps to them."""
    training = train(
        "chief ps 2*worker", "--data", "digits", "--steps", "3000", "--log-every", "50", restart="OnFailure"
    )
    training.until_step(100)
    os.kill(training.pid("worker-1"), signal.SIGKILL)
    assert training.succeeds()["steps"] == 3000
    assert {each.name: each.restarts for each in training.status().replicas}["worker-1"] == 1


@pytest.mark.parametrize("victim", ["ps-0", "chief-0"])
def test_with_restarts_and_resume_a_lost_server_or_chief_costs_only_the_last_steps(train, victim):
    """The chief of a lost server fails with it; both are started again, at the same addresses."""
    words = (
        "--data",
        "digits",
        "--steps",
        "2000",
        "--log-every",
        "50",
        "--checkpoint-every",
        "200",
        "--resume",
    )
    training = train("chief ps worker", *words, restart="OnFailure")
    training.until_step(600)
    os.kill(training.pid(victim), signal.SIGKILL)
    result = training.succeeds()
    assert result["steps"] == 2000
    assert result["resumed_at"] >= 200


def test_a_job_whose_server_was_lost_goes_on_from_its_checkpoint(train):
    training = train("chief ps worker", *LONG)
    training.until_step(200)
    os.kill(training.pid("ps-0"), signal.SIGKILL)
    assert training.wait().state == "Failed"
    result = train("chief ps worker", "--data", "digits", "--steps", "400", "--resume").succeeds()
    assert result["resumed_at"] >= 60


def test_mirrored_workers_that_ignore_sigterm_are_ended(train):
    """TensorFlow's preemption handler swallows the signal."""
    training = train("2*worker", *LONG)
    training.until_step(40)
    pids = [training.pid(name) for name in ("worker-0", "worker-1")]
    training.runtime.delete(training.name)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert survivors(training.run_id) == []


def test_a_taken_port_is_told_by_its_exit_code_and_other_ports_are_tried(train):
    """Here the port stays the same, so that the last answer is a failure that says so."""
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("", 0)) as other:
        hosts = [f"127.0.0.1:{each.getsockname()[1]}" for each in (taken, other)]
        config = {
            "cluster": {"chief": ["127.0.0.1:1"], "ps": hosts[:1], "worker": hosts[1:]},
            "task": {"type": "ps", "index": 0},
        }
        training = train("2*ps", "--data", "digits", env={"TF_CONFIG": json.dumps(config)})
        status = training.wait()
    assert status.state == "Failed"
    assert "found its port taken, 4 times in a row" in status.reason
    assert all("port taken" in line for line in status.replicas[0].last_lines[-1:])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--data", "nowhere"), "nowhere: does not exist"),
        (("--data", "digits", "--batch", "0"), "--batch: must be at least 1"),
        (("--data", "digits", "--learning-rate", "nan"), "--learning-rate: must be above 0 and finite"),
        (("--data", "digits", "--learning-rate", "inf"), "--learning-rate: must be above 0 and finite"),
        (("--data", "digits", "--learning-rate", "0"), "--learning-rate: must be above 0 and finite"),
        (("--data", "digits", "--learning-rate", "-1"), "--learning-rate: must be above 0 and finite"),
        (("--data", "digits", "--strategy", "ps"), "--strategy: ps needs parameter servers"),
        (("--data", "digits", "--split", "9/9999"), "cannot be split"),
    ],
)
def test_bad_input_is_told_in_a_line(train, words, message):
    status = train("worker", *words).wait()
    assert status.replicas[0].exit_code == 3
    assert message in status.reason


@pytest.mark.parametrize("roles", ["worker", "2*worker", "chief ps worker"])
def test_a_training_that_diverges_ends_and_says_so(train, roles):
    """It leaves no model, no result and no checkpoint that a later start would go on from."""
    training = train(
        roles, "--data", "digits", "--steps", "40", "--log-every", "4", "--learning-rate", "1e30"
    )
    status = training.wait()
    assert status.state == "Failed"
    (failed,) = (each for each in status.replicas if each.name == status.replica)
    assert failed.exit_code == 1
    assert re.fullmatch(
        r"training diverged: loss is (nan|inf) at step \d+; lower --learning-rate", failed.last_lines[-1]
    )
    assert {path.name for path in training.out.iterdir()} <= {"history.json", "events", "checkpoints"}
    assert all(math.isfinite(value) for point in training.read("history.json") for value in point.values())
    assert not list(training.out.glob("checkpoints/*.index"))


def test_the_last_step_may_be_the_one_that_diverges(train):
    """The loss of a step is that of the weights before it."""
    training = train("worker", "--data", "digits", "--steps", "1", "--learning-rate", "1e30")
    status = training.wait()
    assert status.replicas[0].exit_code == 1
    assert "training diverged: loss is " in status.reason
    assert not (training.out / "result.json").exists()


def test_a_broken_tf_config_is_told(train):
    status = train("worker", "--data", "digits", env={"TF_CONFIG": "{"}).wait()
    assert status.replicas[0].exit_code == 3
    assert "$: must be JSON" in status.reason


def test_an_output_folder_that_cannot_be_made_is_told(train, tmp_path):
    (tmp_path / "file").write_text("")
    status = train("worker", "--data", "digits", out=tmp_path / "file" / "out").wait()
    assert "--out" in status.reason


def test_a_checkpoint_of_another_network_is_refused(train):
    train("worker", "--data", "digits", "--steps", "20").succeeds()
    status = train("worker", "--data", str(MNIST), "--steps", "40", "--resume").wait()
    assert status.state == "Failed"
    assert "does not fit this network" in " ".join(status.replicas[0].last_lines)
