"""The main job on this machine: the compiled pipeline with real TensorFlow processes."""

import json
import re
import subprocess
import sys
import textwrap
from html.parser import HTMLParser
from pathlib import Path

import pytest
from runs import GANGPLAN, environment, gangplan, job, left_behind, nothing_left, python, records, train

import gangplan as gp
from gangplan.pipeline import packaged


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """One run with all defaults: 1 chief, 1 parameter server, 2 workers on the bundled digits."""
    home = tmp_path_factory.mktemp("digits")
    code, result, told = train(home)
    assert code == 0, told
    return home, result, told


def test_the_run_learns_digits_that_it_never_saw(digits):
    _, result, _ = digits
    assert result["outcome"] == "Succeeded"
    assert result["accuracy"] >= 0.93


def test_four_real_processes_did_it(digits):
    _, result, _ = digits
    replicas = {(item["role"], item["index"]): item for item in result["replicas"]}
    assert set(replicas) == {("chief", 0), ("ps", 0), ("worker", 0), ("worker", 1)}
    assert len({item["pid"] for item in replicas.values()}) == 4
    assert replicas["chief", 0]["exit_code"] == 0
    assert all(Path(item["log"]).read_text() for item in replicas.values())


def test_nothing_is_left_behind(digits):
    home, _, _ = digits
    nothing_left(home)
    (record,) = records(home)
    assert (record.phase, record.outcome) == ("Finished", "Succeeded")
    assert [event.phase for event in record.history] == ["Pending", "Reserved", "Bound", "Finished"]


def test_the_plan_passes_the_checker(digits):
    home, result, _ = digits
    (snapshot,) = home.glob("outputs/*/admit/snapshot")
    (plan,) = home.glob("outputs/*/admit/plan")
    gp.check(gp.load(snapshot.read_bytes()), gp.load(plan.read_bytes(), gp.Plan))
    assert json.loads(plan.read_text())["placements"] == result["plan"]["placements"]


def test_model_and_events_are_where_the_result_says(digits):
    _, result, _ = digits
    assert (Path(result["model"]) / "saved_model.pb").is_file()
    assert list(Path(result["events"]).rglob("events.out.tfevents.*"))


def test_the_report_holds_everything_in_one_file(digits):
    _, result, _ = digits
    page = Path(result["report"]).read_text()
    for part in ("Admission and placement", "Gangs over time", "Training", "Evaluation", "Model", "Replicas"):
        assert f"{part}</h2>" in page, part
    assert page.count("<svg") >= 5
    loads = []

    class Loads(HTMLParser):
        def handle_starttag(self, tag, attrs):
            loads.extend(
                value
                for name, value in attrs
                if name in {"src", "href", "data"} and value and value[0] != "#"
            )

    Loads().feed(page)
    assert loads == [], "a self-contained page loads nothing"
    assert str(result["replicas"][0]["node"]) in page


def test_the_artifacts_carry_flat_metadata(digits):
    home, _, _ = digits
    (outputs,) = home.glob("outputs/*")
    model = json.loads((outputs / "launch-tfjob/model").read_text())
    assert {"tfjob", "run_id", "placement", "signature", "tensorflow", "data_digest", "path"} <= set(model)
    assert all(isinstance(value, str | int | float) for value in model.values())
    metadata = json.loads((outputs / "launch-tfjob/executor_output.json").read_text())["artifacts"]["model"]
    assert metadata["artifacts"][0]["metadata"]["signature"] == model["signature"]
    classes = json.loads((outputs / "evaluate/executor_output.json").read_text())["artifacts"]["classes"]
    assert {"confusionMatrix", "confidenceMetrics"} <= set(classes["artifacts"][0]["metadata"])


def test_progress_is_told_while_it_runs(digits):
    _, _, told = digits
    assert re.search(r"Executing task 'admit'", told)
    assert re.search(r"chief-0 \| step \d+/\d+ loss", told)
    assert "TensorFlow servers listen on all network interfaces" in told
    assert told.count("listen on all network interfaces") == 1


def test_kfp_alone_runs_the_same_pipeline(tmp_path):
    """A user's own script with kfp.local, without our command."""
    script = tmp_path / "run.py"
    script.write_text(
        textwrap.dedent(f"""
        import sys
        from kfp import components, local
        local.init(runner=local.SubprocessRunner(use_venv=False), pipeline_root={str(tmp_path / "outputs")!r})
        pipeline = components.load_component_from_file({str(packaged("train"))!r})
        pipeline(tfjob_yaml=sys.argv[1], job_name="by kfp alone")
        """)
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), job(Worker=(python("print('ok')"), 2))],
        env=environment(tmp_path / "home"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (record,) = records(tmp_path / "home")
    assert record.outcome == "Succeeded"
    assert record.name.startswith("by-kfp-alone-")
    assert left_behind(tmp_path / "home") == []


def test_two_runs_at_once_share_one_store(tmp_path):
    """The second waits in the queue for the room of the first, and both succeed."""
    (tmp_path / "cluster.yaml").write_text("nodes: [{name: n1, allocatable: {cpu: '2'}}]\n")
    sleeper = {"replicas": 2, "command": python("import time; time.sleep(2)")}
    text = job(Worker=sleeper).replace("cpu: 100m", "cpu: '1'")
    words = ["run", "--local", "--cluster", str(tmp_path / "cluster.yaml"), "-p", f"tfjob_yaml={text}"]
    home = tmp_path / "home"
    processes = [
        subprocess.Popen(
            [*GANGPLAN, *words, "-p", f"job_name=run-{number}"],
            env=environment(home),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    ended = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], ended
    bound = {}
    for record in records(home):
        times = {event.phase: event.at for event in record.history}
        bound[record.name] = (times["Bound"], times["Finished"])
    (first, second) = sorted(bound.values())
    assert first[1] <= second[0] + 0.001, "the gangs never held the two cores at once"


def test_a_dry_run_tells_the_placement_and_writes_nothing(tmp_path):
    home = tmp_path / "home"
    done = gangplan(home, "run", "--local", "--dry-run", "-p", "role_worker_count=3")
    assert done.returncode == 0, done.stderr
    assert "may start" in done.stdout
    assert not home.exists()


def test_it_runs_in_a_pod_too(tmp_path):
    """A notebook in a cluster, or CI in pods, is one machine like any other."""
    done = subprocess.run(
        [*GANGPLAN, "run", "--local", "-p", "tfjob_yaml=" + job(Worker=python("pass"))],
        env=environment(tmp_path / "home") | {"KUBERNETES_SERVICE_HOST": "10.0.0.1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_temporary_files_go_with_the_run(tmp_path):
    """KFP makes a folder for each step, TensorFlow files for each function that it compiles."""
    (tmp_path / "outer").mkdir()
    done = subprocess.run(
        [*GANGPLAN, "run", "--local", "-p", "train_epochs=1"],
        env=environment(tmp_path / "home") | {"TMPDIR": str(tmp_path / "outer")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "outer").iterdir()) == []
    assert list((tmp_path / "home" / "tmp").iterdir()) == []


def test_files_in_the_working_folder_do_not_shadow_libraries(tmp_path):
    """Steps run as `python -m`, which looks into the working folder first unless told not to."""
    (tmp_path / "queue.py").write_text("raise SystemExit('this is not the queue you are looking for')")
    (tmp_path / "mine.py").write_text("print('my own trainer')")
    own = job(Worker=["python", "-m", "mine"])
    done = subprocess.run(
        [*GANGPLAN, "run", "--local", "-o", "json", "-p", f"tfjob_yaml={own}"],
        env=environment(tmp_path / "home") | {"PYTHONSAFEPATH": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in {0, 5}, done.stderr
    replica = json.loads(done.stdout)["replicas"][0]
    assert "queue you are looking for" not in done.stderr
    assert "my own trainer" in Path(replica["log"]).read_text()


@pytest.mark.parametrize("text", ["", "a: [", "kind: Pod", "root: 1"])
def test_a_file_that_is_no_pipeline_is_refused(text, tmp_path):
    (tmp_path / "many.yaml").write_text(text)
    done = gangplan(tmp_path / "home", "run", str(tmp_path / "many.yaml"), "--local")
    assert done.returncode == 3
    assert "many.yaml" in done.stderr
    assert not (tmp_path / "home").exists()


def test_a_refused_dry_run_is_a_correct_no(tmp_path):
    done = gangplan(tmp_path / "home", "run", "--local", "--dry-run", "-p", "role_worker_count=4000")
    assert done.returncode == 1
    assert "cannot fit" in done.stdout


def test_a_users_own_job_takes_queue_and_levels_from_the_parameters(tmp_path):
    own = "tfjob_yaml=" + job(Worker=python("pass"))
    done = gangplan(tmp_path / "home", "run", "--local", "-p", own, "-p", "gang_queue=nosuch")
    assert done.returncode == 3
    assert "nosuch" in done.stderr
