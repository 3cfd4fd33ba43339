"""Compile every pipeline into ``pipelines/compiled`` (``make pipelines``); the files are committed."""

from pathlib import Path

from gangplan.pipeline import compile_pipeline
from pipelines.train import train

PIPELINES = {"train": train}


def compile_all(folder: Path) -> None:
    """Compile every pipeline into a folder, a YAML file each."""
    for name, function in PIPELINES.items():
        compile_pipeline(function, folder / f"{name}.yaml")


if __name__ == "__main__":
    compile_all(Path(__file__).parent / "compiled")
