"""Checkpoints of real trainings: written in parts by the parameter servers, read by a job of any shape."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

DIGITS = ("--data", "digits", "--log-every", "10")
AS_TENSORFLOW_KEEPS_THEM = """
import sys, keras, tensorflow as tf
from gangplan.train.network import build
network, optimizer = build((8, 8, 1), 10, 7), keras.optimizers.Adam(0.002)
optimizer.build(network.trainable_variables)
checkpoint = tf.train.Checkpoint(
    step=tf.Variable(30, dtype=tf.int64),
    network=[each.value for each in network.variables],
    optimizer=[each.value for each in optimizer.variables],
)
tf.train.CheckpointManager(checkpoint, sys.argv[1], max_to_keep=2).save(checkpoint_number=30)
"""


def parts(training, step):
    """Give the parts of a checkpoint, the first one first."""
    return sorted((training.out / "checkpoints").glob(f"ckpt-{step}.data-*"))


def listed(training):
    lines = (training.out / "checkpoints" / "checkpoint").read_text().splitlines()
    return [line.split('"')[1] for line in lines if line.startswith("all_model")]


def files(training):
    """Give what lies in the folder of checkpoints, without the numbers of parts."""
    return {path.name.partition(".data-")[0] for path in (training.out / "checkpoints").iterdir()}


def last_words(status):
    return " ".join(line for replica in status.replicas for line in replica.last_lines[-1:])


def test_each_parameter_server_writes_its_own_part(train):
    """The modes of the files tell who made them. The first part is the chief's: the step, and what is where."""
    training = train(
        "chief 2*ps worker",
        *DIGITS,
        *("--steps", "40", "--checkpoint-every", "10"),
        first={"ps-0": "umask 027", "ps-1": "umask 007"},
    )
    training.succeeds()
    found = parts(training, 40)
    assert [path.name for path in found] == [f"ckpt-40.data-0000{k}-of-00003" for k in range(3)]
    assert [path.stat().st_mode & 0o777 for path in found[1:]] == [0o640, 0o660]
    assert listed(training) == ["ckpt-30", "ckpt-40"]
    assert files(training) == {"checkpoint", "ckpt-30", "ckpt-30.index", "ckpt-40", "ckpt-40.index"}


def test_a_training_with_servers_goes_on_with_more_of_them_or_with_none(train):
    """What was learned is the same to the last bit: nothing is trained until the last job."""
    first = train("chief 2*ps worker", *DIGITS, "--steps", "40").succeeds()
    for roles in ("chief 3*ps worker", "worker"):
        again = train(roles, *DIGITS, "--steps", "40", "--resume").succeeds()
        assert again["resumed_at"] == 40
        assert (again["loss"], again["accuracy"]) == (first["loss"], first["accuracy"])
    training = train("chief 3*ps worker", *DIGITS, "--steps", "60", "--resume")
    assert training.succeeds()["resumed_at"] == 40
    assert len(parts(training, 60)) == 4
    assert training.read("history.json")[-1]["loss"] < training.read("history.json")[0]["loss"]


def test_a_checkpoint_of_tensorflows_own_keeping_is_gone_on_from(train, tmp_path):
    """So were all of them written before parameter servers wrote parts."""
    folder = tmp_path / "out" / "checkpoints"
    subprocess.run([sys.executable, "-c", AS_TENSORFLOW_KEEPS_THEM, str(folder)], check=True)
    training = train("chief 2*ps worker", *DIGITS, "--steps", "40", "--resume")
    assert training.succeeds()["resumed_at"] == 30
    assert listed(training) == ["ckpt-30", "ckpt-40"]


@pytest.mark.parametrize("victim", ["chief-0", "ps-1"])
def test_a_training_that_was_killed_while_it_wrote_goes_on_from_the_last_whole_checkpoint(train, victim):
    training = train("chief 2*ps worker", *DIGITS, "--steps", "100000", "--checkpoint-every", "10")
    training.until_step(50)
    pid = training.pid(victim)
    end = time.monotonic() + 60
    while not list((training.out / "checkpoints").glob("*_temp")):
        assert time.monotonic() < end, "no checkpoint was written"
    os.kill(pid, signal.SIGKILL)
    assert training.wait().state == "Failed"
    last = int(listed(training)[-1].removeprefix("ckpt-"))
    then = train("chief ps worker", *DIGITS, "--steps", str(last + 20), "--resume")
    assert then.succeeds()["resumed_at"] == last
    assert files(then) == {"checkpoint", *listed(then), *(f"{name}.index" for name in listed(then))}


def test_a_half_written_checkpoint_is_not_the_last_one(train):
    """Such as one whose parts are there but not its index, or which is not in the list yet."""
    training = train("chief 2*ps worker", *DIGITS, "--steps", "40")
    training.succeeds()
    folder = training.out / "checkpoints"
    (folder / "ckpt-55_temp").mkdir()
    (folder / ".probe-ps-0-of-a-killed-chief").touch()
    for path in parts(training, 40):
        shutil.copy(path, folder / path.name.replace("ckpt-40", "ckpt-55"))
        shutil.copy(path, folder / path.name.replace("ckpt-40", "ckpt-65"))
        shutil.copy(path, folder / "ckpt-55_temp" / path.name)
    shutil.copy(folder / "ckpt-40.index", folder / "ckpt-65.index")
    then = train("chief ps worker", *DIGITS, "--steps", "70", "--resume")
    assert then.succeeds()["resumed_at"] == 40
    assert not [name for name in files(then) if name.startswith(("ckpt-55", "ckpt-65", ".probe"))]


def test_a_checkpoint_with_a_part_missing_is_damaged(train):
    training = train("chief 2*ps worker", *DIGITS, "--steps", "40")
    training.succeeds()
    parts(training, 40)[2].unlink()
    status = train("chief 2*ps worker", *DIGITS, "--steps", "50", "--resume").wait()
    assert status.state == "Failed"
    assert "checkpoints/ckpt-40 does not fit this network, or is damaged" in last_words(status)


def test_a_damaged_list_of_checkpoints_is_told(train):
    training = train("worker", *DIGITS, "--steps", "40")
    training.succeeds()
    (training.out / "checkpoints" / "checkpoint").write_text("")
    status = train("worker", *DIGITS, "--steps", "50", "--resume").wait()
    assert status.state == "Failed"
    assert "checkpoints/checkpoint is damaged" in last_words(status)


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ('cd "{elsewhere}"', "ps-1 does not find what the chief has written there"),
        ("ulimit -f 1 && exec > /dev/null 2>&1", "ps-1 cannot write there ("),
    ],
)
def test_a_server_that_cannot_write_the_checkpoints_ends_the_training_before_it_begins(
    train, tmp_path: Path, before, said
):
    """The same name is another folder to it, as where a volume is not mounted; or the volume takes nothing."""
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    training = train(
        "chief 2*ps worker",
        *DIGITS,
        out=Path("out"),
        first={
            "chief": f'cd "{here}"',
            "ps-0": f'cd "{here}"',
            "ps-1": f'cd "{here}" && ' + before.format(elsewhere=elsewhere),
        },
    )
    status = training.wait()
    assert (status.state, status.replica) == ("Failed", "chief-0")
    assert said in status.reason
    assert "part of the checkpoints to out/checkpoints" in status.reason
    assert "Mount the volume with this folder" in status.reason
    assert not list(elsewhere.iterdir())
    assert not list((here / "out" / "checkpoints").iterdir())


def test_a_server_that_cannot_write_its_part_ends_the_training_with_the_file_that_it_could_not_write(train):
    """Such as on a disk that is full by then."""
    training = train(
        "chief ps worker",
        *DIGITS,
        *("--steps", "40"),
        first={"ps": "ulimit -f 20 && exec > /dev/null 2>&1"},
    )
    status = training.wait()
    assert (status.state, status.replica) == ("Failed", "chief-0")
    said = training.logs()["chief-0"][-1]
    assert said.startswith(f"cannot write a checkpoint to {training.out / 'checkpoints'}: ")
    assert "part-00001-of-00002" in said
    assert said.endswith("File too large")
    assert not (training.out / "checkpoints" / "checkpoint").exists()
