"""Compile every pipeline into ``pipelines/compiled`` (``make pipelines``); the files are committed.

``gangplan pipeline compile`` starts this with a folder of its own.
"""

import sys
from pathlib import Path

from gangplan.pipeline import compile_pipeline
from gangplan.steps.scaling_request import TOLD_OF, TRAINERS
from gangplan.steps.sweep_request import METRICS
from gangplan.steps.training import STRATEGIES
from gangplan.steps.what_if import SOURCES
from pipelines.compare_placements import compare_placements
from pipelines.scaling_study import scaling_study
from pipelines.sweep import sweep
from pipelines.train import train
from pipelines.what_if import what_if

PIPELINES = {
    "compare_placements": compare_placements,
    "scaling_study": scaling_study,
    "sweep": sweep,
    "train": train,
    "what_if": what_if,
}

CHOICES = {
    "cluster_source": SOURCES,
    "role_chief_count": (0, 1),
    "study_throughput_of": TOLD_OF,
    "study_trainer": TRAINERS,
    "sweep_metric": METRICS,
    "train_strategy": STRATEGIES,
}
"""All values of the parameters that have few, in whichever pipeline: drop-downs in the run form."""


def compile_all(folder: Path) -> None:
    """Compile every pipeline into a folder, a YAML file each."""
    for name, function in PIPELINES.items():
        compile_pipeline(function, folder / f"{name}.yaml", choices=CHOICES)


if __name__ == "__main__":
    compile_all(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent / "compiled")
