"""The pipeline scaling_study on this machine: what more workers bring, and what becomes of gangs that cannot tell."""

import json
import re
from pathlib import Path
from statistics import median

import pytest
from runs import gangplan, interrupt, job, nothing_left, python, records, start, train, until

from gangplan.steps.run import gang_name

STEP_S, STEPS, BATCH = 0.02, 5, 32
STAND_IN = python(
    "import json, os, time\n"
    "workers = len(json.loads(os.environ.get('TF_CONFIG') or '{}').get('cluster', {}).get('worker', [0]))\n"
    "began = time.perf_counter()\n"
    f"[time.sleep({STEP_S} * (1 + 0.25 * (workers - 1))) for _ in range({STEPS})]\n"
    f"print('total images/sec: %.2f' % ({STEPS} * {BATCH} * workers / (time.perf_counter() - began)))"
)
"""A trainer of known step cost: each further worker makes a step a quarter of a step longer for all."""


def perfect(workers: int) -> float:
    """What it would print if sleep took no longer than it is told to."""
    return BATCH * workers / (STEP_S * (1 + 0.25 * (workers - 1)))


def study(home: Path, *words: str, **parameters: object) -> tuple[int, dict, str]:
    given = {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in parameters.items()
    }
    flags = [word for name, value in given.items() for word in ("-p", f"{name}={value}")]
    return train(home, "scaling_study", *flags, *words)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Gangs of 1, 2 and 4 stand-ins, two of each."""
    home = tmp_path_factory.mktemp("study")
    own = job(Worker=STAND_IN)
    code, result, told = study(
        home, study_trainer="tfjob", tfjob_yaml=own, study_worker_counts=[4, 1, 2], study_repeats=2
    )
    assert code == 0, told
    return home, result, told


def test_the_table_is_what_the_trainers_have_said(measured):
    """Read again from the logs, with the arithmetic done here: medians, speed-up, efficiency."""
    home, result, _ = measured
    said: dict[int, list[float]] = {1: [], 2: [], 4: []}
    for record in records(home):
        (log,) = home.glob(f"jobs/{record.name}/*/worker-0.log")
        (workers,) = (role.replicas for role in record.gang.roles)
        said[workers] += [float(found) for found in re.findall(r"total images/sec: (\S+)", log.read_text())]
    assert [len(found) for found in said.values()] == [2, 2, 2]
    middle = {workers: median(found) for workers, found in said.items()}
    found = result["found"]
    assert [row[0] for row in found["rows"]] == ["1", "2", "4"]
    for row, (workers, images) in zip(found["rows"], middle.items(), strict=True):
        gain = images / middle[1]
        spread = f"{min(said[workers]):,.1f} – {max(said[workers]):,.1f}"
        assert row == [
            str(workers),
            f"{images:,.1f}",
            spread,
            f"{gain:.2f}",
            f"{gain / workers:.0%}",
            "2 of 2",
            "",
        ]
        assert found["metrics"][f"images_per_s_{workers}"] == pytest.approx(images)
        assert found["metrics"][f"efficiency_{workers}"] == pytest.approx(gain / workers, abs=1e-3)
        assert images <= perfect(workers), "no trainer is faster than its steps allow"


def test_table_chart_and_figures_are_artifacts(measured):
    home, result, _ = measured
    (outputs,) = home.glob("outputs/*/report-study")
    assert (outputs / "table").read_text().startswith("| workers | images/s |")
    page = (outputs / "page").read_text()
    assert page.count("<svg") == 2
    assert page == Path(result["report"]).read_text()
    published = json.loads((outputs / "executor_output.json").read_text())["artifacts"]["metrics"]
    assert published["artifacts"][0]["metadata"] == result["found"]["metrics"]


def test_gangs_of_one_run_have_names_of_their_own_and_leave_nothing(measured):
    home, result, _ = measured
    found = records(home)
    slug, _, digest = gang_name("scaling", result["run_id"]).rpartition("-")
    assert [record.name for record in found] == [f"{slug}-{index:02}-{digest}" for index in range(6)]
    assert {(record.run_id, record.outcome) for record in found} == {(result["run_id"], "Succeeded")}
    nothing_left(home)


def test_the_command_prints_the_table(tmp_path):
    (tmp_path / "own.yaml").write_text(job(Worker=STAND_IN))
    given = ("--tfjob", str(tmp_path / "own.yaml"), "-p", "study_repeats=1")
    done = gangplan(
        tmp_path / "h", "run", "--local", "scaling_study", *given, "-p", "study_worker_counts=[1]"
    )
    assert done.returncode == 0, done.stderr
    head, *_ = (line for line in done.stdout.splitlines() if line.strip())
    assert head.split()[:2] == ["WORKERS", "IMAGES/S"]
    assert "Succeeded" in done.stdout


def test_our_network_is_measured_with_one_and_two_workers(tmp_path):
    """Real TensorFlow, forked after one import: a worker alone, then two that mirror their weights."""
    code, result, told = study(
        tmp_path / "h", study_trainer="classifier", study_repeats=1, study_steps=2, study_warmup_steps=1
    )
    assert code == 0, told
    assert [row[0] for row in result["found"]["rows"]] == ["1", "2"]
    assert all(result["found"]["metrics"][f"images_per_s_{workers}"] > 0 for workers in (1, 2))
    assert told.count("images/s\n") == 2
    nothing_left(tmp_path / "h")


def test_what_cannot_be_measured_is_told_and_makes_the_run_red(tmp_path):
    """Three workers fail, four hundred have no room: the sizes around them are measured all the same."""
    fails_with_three = python(
        "import json, os, sys\n"
        "workers = len(json.loads(os.environ.get('TF_CONFIG') or '{}').get('cluster', {}).get('worker', [0]))\n"
        "print('total images/sec: 1,000.5') if workers < 3 else sys.exit('out of memory')"
    )
    code, result, told = study(
        tmp_path / "h",
        study_trainer="tfjob",
        tfjob_yaml=job(Worker=fails_with_three),
        study_worker_counts=[1, 3, 400],
        study_repeats=1,
    )
    assert code == 5
    assert result["outcome"] == "Failed"
    assert "3 workers, repeat 1: Failed:" in result["reason"]
    assert "out of memory" in result["reason"]
    one, three, many = result["found"]["rows"]
    assert one[1] == "1,000.5"
    assert (three[1], three[5]) == ("–", "0 of 1")
    assert "NotAdmitted" in many[6]
    assert "cannot fit this cluster" in many[6]
    assert "Task 'report-study' finished with status SUCCESS" in told
    assert "Task 'conclude' finished with status FAILURE" in told
    nothing_left(tmp_path / "h")


def test_a_trainer_that_says_nothing_to_the_pattern_has_failed(tmp_path):
    code, result, _ = study(
        tmp_path / "h",
        study_trainer="tfjob",
        tfjob_yaml=job(Worker=python("print('images/sec: fast')")),
        study_worker_counts=[1],
        study_repeats=1,
    )
    assert code == 5
    assert "no line in the log of chief or worker has a figure where" in result["reason"]


def test_figures_of_workers_are_added_up(tmp_path):
    both = {"replicas": 1, "command": python("print('50 examples/s'); print('60 examples/s')")}
    own = job(Worker=both).replace(
        "spec:\n  tfReplicaSpecs", "spec:\n  successPolicy: AllWorkers\n  tfReplicaSpecs", 1
    )
    code, result, told = study(
        tmp_path / "h",
        study_trainer="tfjob",
        tfjob_yaml=own,
        study_worker_counts=[3],
        study_repeats=1,
        study_throughput_pattern="([0-9]+) examples/s",
        study_throughput_of="worker",
    )
    assert code == 0, told
    assert result["found"]["metrics"]["images_per_s_3"] == 180.0


def test_all_wrong_parameters_are_named_before_anything_starts(tmp_path):
    given = {
        "study_worker_counts": '[0, 2.5, "x"]',
        "study_repeats": "0",
        "study_trainer": "lenet",
        "study_throughput_of": "job",
        "study_steps": "0",
        "role_worker_cpu": "many",
        "gang_wait_seconds": "-1",
        "tfjob_yaml": "kind: TFJob",
    }
    flags = [word for name, value in given.items() for word in ("-p", f"{name}={value}")]
    done = gangplan(tmp_path / "h", "run", "--local", "scaling_study", *flags)
    assert done.returncode == 3
    assert not (tmp_path / "h").exists()
    for name in (
        "study_worker_counts[0]",
        "study_worker_counts[1]",
        "study_worker_counts[2]",
        *list(given)[1:],
    ):
        assert f"  {name}: " in done.stderr, name
    own = ("-p", "study_trainer=tfjob", "-p", "tfjob_yaml=" + job(PS=STAND_IN))
    done = gangplan(
        tmp_path / "h",
        "run",
        "--local",
        "scaling_study",
        *own,
        "-p",
        "study_throughput_pattern=(a)(b",
        "-p",
        "study_repeats=40",
    )
    assert done.returncode == 3
    assert "must have a replica type Worker" in done.stderr
    assert "must be a regular expression" in done.stderr
    assert "a run may have 64 at most" in done.stderr


def test_a_study_that_is_interrupted_leaves_nothing(tmp_path):
    home = tmp_path / "h"
    own = job(Worker=python("import time; time.sleep(60)"))
    given = ("-p", "study_trainer=tfjob", "-p", f"tfjob_yaml={own}")
    process = start(home, "run", "--local", "scaling_study", *given, log=tmp_path / "run")
    until(lambda: any(record.phase == "Bound" for record in records(home)), "the first gang's start")
    interrupt(process)
    assert process.wait(timeout=20) == 130
    nothing_left(home)
