"""Every step of `train` as KFP's launcher starts it: what its local runner hides shows here."""

import json
import uuid
from pathlib import Path

import pytest
import yaml
from kfpserver.driver import Driver
from kfpserver.process import Processes
from runs import job, nothing_left, python, records, until

from gangplan.pipeline import packaged

SHORT = {"role_worker_count": 1, "role_ps_count": 0, "role_chief_count": 0, "train_epochs": 1}


@pytest.fixture
def new_run(tmp_path):
    """Begins runs of one home."""
    begun, own = [], f"run-{uuid.uuid4()}"  # release ends every process of this machine that bears it

    def begin(*, run_id: str = own, **arguments) -> Processes:
        folder = str(tmp_path / "artifacts")
        driver = Driver(package=packaged("train"), run_id=run_id, arguments=arguments, folder=folder)
        begun.append(Processes(driver=driver, home=tmp_path / "home"))
        return begun[-1]

    yield begin
    for run in begun:
        run.run("release")
    nothing_left(tmp_path / "home")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A whole run with a name that only people can read."""
    folder = tmp_path_factory.mktemp("trained")
    arguments = SHORT | {"job_name": "Zahlen lernen — 数字 №1"}
    driver = Driver(
        package=packaged("train"),
        run_id=f"run-{uuid.uuid4()}",
        arguments=arguments,
        folder=str(folder / "artifacts"),
    )
    run = Processes(driver=driver, home=folder / "home", extra={"GANGPLAN_REVISION": "4f2a"})
    return run, run.run_until("release"), folder / "home"


def test_every_step_is_green_and_takes_what_the_driver_makes(trained):
    _, ended, home = trained
    assert list(ended) == [
        *("prepare-data", "admit", "launch-tfjob", "evaluate", "report", "conclude", "release")
    ]
    assert {task: step.code for task, step in ended.items()} == dict.fromkeys(ended, 0)
    assert ended["launch-tfjob"].outputs["outcome"] == "Succeeded"
    assert ended["evaluate"].outputs["Output"] > 0.2
    assert ended["release"].outputs["Output"] == "Succeeded"
    nothing_left(home)


def test_a_name_with_spaces_and_signs_becomes_a_label(trained):
    _, _, home = trained
    (record,) = records(home)
    assert record.name.startswith("zahlen-lernen-1-")


def test_whole_numbers_stay_whole_in_the_manifest(trained):
    run, _, _ = trained
    manifest = yaml.safe_load(run.artifact("admit", "job"))
    assert manifest["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] == 1
    assert manifest["spec"]["runPolicy"]["activeDeadlineSeconds"] == 3600


@pytest.mark.parametrize(
    ("task", "key", "wanted"),
    [
        ("prepare-data", "dataset", {"digest", "train_images", "test_images", "classes", "path"}),
        (
            "launch-tfjob",
            "model",
            {
                *("data_digest", "signature", "framework", "framework_version", "git_revision", "placement"),
                *("tfjob", "run_id", "path", "accuracy"),
            },
        ),
    ],
)
def test_metadata_are_texts_and_numbers(trained, task, key, wanted):
    run, _, _ = trained
    metadata = run.driver.artifact(task, key)["metadata"]
    assert wanted <= set(metadata)
    assert {type(value) for value in metadata.values()} <= {str, int, float}
    assert all(value != "" for value in metadata.values())


def test_the_model_names_its_origin(trained):
    run, _, _ = trained
    metadata = run.driver.artifact("launch-tfjob", "model")["metadata"]
    assert (metadata["framework"], metadata["git_revision"]) == ("tensorflow", "4f2a")
    assert metadata["data_digest"] == run.driver.artifact("prepare-data", "dataset")["metadata"]["digest"]
    assert list(json.loads(metadata["placement"])) == ["worker-0"]


def test_what_kubeflow_draws_is_there(trained):
    run, _, _ = trained
    classes = run.driver.artifact("evaluate", "classes")["metadata"]
    assert {"confusionMatrix", "confidenceMetrics"} <= set(classes)
    assert {"accuracy", "loss", "images"} <= set(run.driver.artifact("evaluate", "metrics")["metadata"])
    assert run.artifact("report", "page").lstrip().startswith("<!")
    assert "Succeeded" in run.artifact("report", "summary")
    assert "may start" in run.artifact("admit", "explanation")


def test_tensorboard_is_told_at_the_start_and_offered_to_the_pages(trained):
    run, ended, home = trained
    told = ended["launch-tfjob"].log
    assert told.index("gangplan tensorboard zahlen-lernen-1-") < told.index("worker-0 on ")
    (offered,) = json.loads(run.artifact("launch-tfjob", "mlpipeline_ui_metadata"))["outputs"]
    assert offered["type"] == "tensorboard"
    assert list(Path(offered["source"]).rglob("events.out.tfevents.*")), "where the event files are"
    assert Path(offered["source"]).is_relative_to(home)


@pytest.fixture
def failed(new_run):
    """A run whose job fails, up to conclude."""
    code = "import sys; sys.stdout.buffer.write(b'loss \\xff\\xfe\\n'); sys.exit(3)"
    run = new_run(tfjob_yaml=job(Worker=python(code)))
    return run, run.run_until("conclude")


def test_all_before_conclude_is_green_and_conclude_is_red_with_the_reason(failed):
    run, ended = failed
    codes = {task: step.code for task, step in ended.items()}
    assert codes.pop("conclude") == 1
    assert set(codes.values()) == {0}
    assert ended["launch-tfjob"].outputs["outcome"] == "Failed"
    assert ended["conclude"].outputs == {}
    assert "JobFailed: Failed: worker-0" in ended["conclude"].log
    assert "exit code 3" in ended["conclude"].log
    assert "loss \ufffd" in run.artifact("launch-tfjob", "logs"), "bytes that are no text are kept as signs"
    assert "exit code 3" in run.artifact("report", "summary")


def test_outputs_that_nothing_wrote_are_no_surprise(failed):
    """A job that failed leaves no model and no curves; nothing was judged."""
    run, ended = failed
    assert ended["evaluate"].outputs["Output"] == -1
    assert "path" not in json.loads(run.artifact("launch-tfjob", "model"))
    assert not Path(run.driver.artifact("evaluate", "metrics")["uri"]).exists()
    assert ended["report"].code == 0


def test_retry_in_the_pages_repeats_only_the_red_step(failed):
    """It keeps the run's id, and takes what the green steps have published."""
    run, ended = failed
    again = run.run("conclude")
    assert again.code == 1
    assert again.error == ended["conclude"].error
    assert "clone the run" in again.log


def test_a_gang_that_is_refused_makes_the_run_red_with_what_would_help(new_run):
    run = new_run(role_worker_count=4000, gang_wait_seconds=0)
    ended = run.run_until("conclude")
    assert {task: step.code for task, step in ended.items() if step.code} == {"conclude": 1}
    assert ended["admit"].outputs["outcome"] == "NotAdmitted"
    assert "JobFailed: NotAdmitted: " in ended["conclude"].log
    assert "cpu" in run.artifact("admit", "explanation")


def test_a_gang_that_is_refused_may_be_a_skip(new_run):
    run = new_run(role_worker_count=4000, gang_wait_seconds=0, gang_skip_if_not_admitted=True)
    ended = [run.run(task) for task in ("admit", "launch-tfjob", "conclude")]
    assert [step.code for step in ended] == [0, 0, 0]
    assert ended[-1].outputs["Output"] == "NotAdmitted"


def test_skipping_forgives_no_other_end(new_run):
    run = new_run(tfjob_yaml=job(Worker=python("raise SystemExit(1)")), gang_skip_if_not_admitted=True)
    assert [run.run(task).code for task in ("admit", "launch-tfjob", "conclude")] == [0, 0, 1]


def test_a_step_that_runs_twice_says_the_same_and_starts_nothing(new_run, tmp_path):
    run = new_run(tfjob_yaml=job(Worker=python("print('once')")))
    run.run("admit")
    first = run.run("launch-tfjob").outputs
    status = run.artifact("launch-tfjob", "status")
    again = run.run("launch-tfjob")
    assert (again.code, again.outputs) == (0, first), again.log
    assert run.artifact("launch-tfjob", "status") == status
    (record,) = records(tmp_path / "home")
    assert record.outcome == "Succeeded"


def test_two_runs_of_one_name_have_nothing_in_common(new_run, tmp_path):
    own = job(Worker=python("pass"))
    for run in (new_run(run_id=name, tfjob_yaml=own, job_name="same") for name in ("a", "b")):
        run.run("admit")
        assert run.run("launch-tfjob").outputs["outcome"] == "Succeeded"
    assert len({record.name for record in records(tmp_path / "home")}) == 2


def test_a_waiting_step_has_a_second_after_sigterm(new_run, tmp_path):
    """Its gang leaves the queue; what it does not get done is done by release, which runs also then."""
    run = new_run(role_worker_count=4000, gang_wait_if_impossible=True)
    run.run("prepare-data")
    started = run.start("admit")
    until(lambda: "at position 1" in started.log, "it waits")
    started.terminate()
    assert run.run("release").outputs["Output"] == "Canceled"
    nothing_left(tmp_path / "home")


def test_a_launching_step_has_a_second_after_sigterm(new_run, tmp_path):
    held = tmp_path / "held"
    sleeper = python(f"open({str(held)!r}, 'w').close(); import time; time.sleep(600)")
    run = new_run(tfjob_yaml=job(Worker=sleeper))
    run.run("admit")
    started = run.start("launch-tfjob")
    until(held.exists, "the replica runs")
    started.terminate()
    assert run.run("release").outputs["Output"] in {"Canceled", "Failed"}
    nothing_left(tmp_path / "home")


def test_release_is_told_no_state_of_the_run():
    """Kubeflow says COMPLETE of a success and RUNNING of a run that was terminated; only the gang itself knows."""
    spec = next(yaml.safe_load_all(packaged("train").read_text()))
    wanted = spec["components"]["comp-release"]["inputDefinitions"]["parameters"]
    assert set(wanted) == {"run_id", "job_name", "volume"}
    assert {item["parameterType"] for item in wanted.values()} == {"STRING"}


@pytest.mark.parametrize(
    ("last", "arguments", "outcome"),
    [
        ("launch-tfjob", {"tfjob_yaml": job(Worker=python("pass"))}, "Succeeded"),
        ("launch-tfjob", {"tfjob_yaml": job(Worker=python("raise SystemExit(3)"))}, "Failed"),
        ("admit", {"tfjob_yaml": job(Worker=python("pass"))}, "Canceled"),
        ("prepare-data", {}, ""),
    ],
)
def test_release_says_how_the_gang_ended(last, arguments, outcome, new_run):
    run = new_run(**arguments)
    run.run_until(last)
    assert [run.run("release").outputs["Output"] for _ in range(2)] == [outcome, outcome]


def test_missing_optional_inputs_have_their_defaults(new_run):
    """A pipeline of one's own, compiled before conclude could skip, does not name it."""
    run = new_run(tfjob_yaml=job(Worker=python("raise SystemExit(1)")))
    spec = next(yaml.safe_load_all(packaged("train").read_text()))
    wanted = spec["components"]["comp-conclude"]["inputDefinitions"]["parameters"]
    assert wanted["skip_if_not_admitted"]["isOptional"] is True
    run.run("admit")
    run.run("launch-tfjob")
    assert "Failed" in run.run("conclude").log


def test_what_is_set_on_the_step_is_what_the_replicas_have(new_run):
    run = new_run(**SHORT)
    run.run("prepare-data")
    config = {
        "resources": {"limits": {"cpu": "500m"}},
        "env": [{"name": "GREETING", "value": "hello"}],
        "nodeSelector": {},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
    }
    admitted = run.run("admit", config=config)
    assert admitted.code == 0, admitted.log
    manifest = yaml.safe_load(run.artifact("admit", "job"))
    pod = manifest["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    assert pod["tolerations"] == config["tolerations"]
    (container,) = pod["containers"]
    assert container["resources"]["limits"]["cpu"] == "500m"
    assert container["resources"]["requests"]["cpu"] == "500m"
    assert {"name": "GREETING", "value": "hello"} in container["env"]


def test_what_is_set_on_the_launching_step_is_added_or_refused(new_run):
    run = new_run(
        tfjob_yaml=job(Worker=python("import os; raise SystemExit(os.environ['GREETING'] != 'hello')"))
    )
    run.run("admit")
    refused = run.run("launch-tfjob", config={"resources": {"limits": {"cpu": "4"}}})
    assert refused.code == 1
    assert "resources: decides where the gang has room: set it on the step admit" in refused.log
    launched = run.run("launch-tfjob", config={"env": [{"name": "GREETING", "value": "hello"}]})
    assert launched.outputs["outcome"] == "Succeeded", launched.log


def test_what_is_set_on_the_step_and_said_otherwise_by_the_manifest_is_refused(new_run):
    own = yaml.safe_load(job(Worker=python("pass")))
    pod = own["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    pod["nodeSelector"] = {"zone": "a"}
    pod["containers"][0]["env"] = [{"name": "MODE", "value": "fast"}]
    run = new_run(tfjob_yaml=yaml.safe_dump(own))
    run.run("prepare-data")
    config = {"nodeSelector": {"zone": "b"}, "env": [{"name": "MODE", "value": "slow"}]}
    refused = run.run("admit", config=config)
    assert refused.code == 1
    assert "env: MODE" in refused.log
    assert "nodeSelector: zone" in refused.log


def test_an_argument_as_long_as_a_step_can_bear_arrives_whole(new_run):
    """Linux takes 128 KiB for one argument, and everything that a step is given is one."""
    own = yaml.safe_load(job(Worker=python("pass")))
    own["metadata"]["annotations"] = {"example.com/note": "x" * 90_000}
    run = new_run(tfjob_yaml=yaml.safe_dump(own))
    run.run("prepare-data")
    assert run.run("admit").outputs["outcome"] == "Admitted"
    assert "x" * 90_000 in run.artifact("admit", "job")


def test_a_reason_that_is_longer_than_an_argument_is_cut_on_its_way(new_run):
    run = new_run(tfjob_yaml=job(Worker=python("import sys; print('y' * 300_000); sys.exit(1)")))
    run.run("admit")
    launched = run.run("launch-tfjob")
    assert launched.outputs["outcome"] == "Failed"
    assert len(launched.outputs["reason"]) < 100_000
    assert run.run("conclude").code == 1
