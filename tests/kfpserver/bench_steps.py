"""``python -m kfpserver.bench_steps``: how long the steps of a pipeline take beside their own work, and a whole run here.

A JSON line for each row, as `make bench` has them. The calibration is a Python that imports what every step of KFP imports;
``step.conclude`` and ``step.release`` have next to no work of their own.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from runs import environment, gangplan, job, python

from gangplan.pipeline import packaged
from kfpserver.driver import Driver
from kfpserver.process import Processes

MOST_STEP_S, MOST_TRAIN_S = 1.0, 45.0


def main() -> None:
    """Measure; ends with 1 if something is slower than it must be."""
    parser = argparse.ArgumentParser(prog="bench-steps")
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gangplan-") as folder:
        rows = [_steps(Path(folder) / str(number), number) for number in range(given.runs)]
        figures = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
        figures["train.local"] = _train(Path(folder) / "train")
    failed = False
    for name, value in figures.items():
        must = {"calibration": None, "train.local": MOST_TRAIN_S}.get(name, MOST_STEP_S)
        ok = must is None or value <= must
        failed |= not ok
        line = {"id": name, "value": round(value, 3), "unit": "s", "better": "lower", "must": must, "ok": ok}
        line["of_calibration"] = round(value / figures["calibration"], 2)
        sys.stdout.write(json.dumps(line) + "\n")
    sys.exit(failed)


def _steps(folder: Path, number: int) -> dict[str, float]:
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import kfp.dsl.executor"], env=environment(folder), check=True)
    calibration = time.monotonic() - began
    driver = Driver(
        package=packaged("train"),
        run_id=f"run-{number}",
        arguments={"tfjob_yaml": job(Worker=python("pass"))},
        folder=str(folder / "artifacts"),
    )
    run = Processes(driver=driver, home=folder / "home")
    seconds = {
        f"step.{task}": run.run(task).seconds for task in ("admit", "launch-tfjob", "conclude", "release")
    }
    return {"calibration": calibration} | seconds


def _train(home: Path) -> float:
    began = time.monotonic()
    done = gangplan(home, "run", "--local", "--quiet", timeout_s=600.0)
    assert done.returncode == 0, done.stderr
    return time.monotonic() - began


if __name__ == "__main__":
    main()
