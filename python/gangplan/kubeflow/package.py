"""Compiled pipelines as files: compiled anew from a checkout, or those that the package carries."""

import hashlib
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from gangplan.errors import ConfigError, InvalidInput, Problem
from gangplan.extras import require
from gangplan.pipeline import packaged

_IMAGE = re.compile(r"[a-z0-9][a-z0-9._/:@-]*[a-z0-9]", re.IGNORECASE)
_DEFAULT = re.compile(r"(?P<before>^      image:\n        defaultValue: )(?P<image>.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A compiled pipeline.

    Attributes:
        name: What we call it: ``train``.
        text: Its YAML.
    """

    name: str
    text: str

    @property
    def title(self) -> str:
        """What Kubeflow calls it."""
        return str(_spec(self)["pipelineInfo"]["name"])

    @property
    def description(self) -> str:
        """What it does, in a sentence."""
        return str(_spec(self)["pipelineInfo"].get("description", ""))

    @property
    def version(self) -> str:
        """Name of its version: the same for the same bytes, and for no others."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]


def checkout() -> Path | None:
    """The folder of the sources that this package runs from, if it does."""
    folder = Path(str(files("gangplan"))).resolve().parents[1]
    return folder if (folder / "pipelines" / "compile.py").is_file() else None


def compiled(names: tuple[str, ...], *, image: str | None = None) -> list[Package]:
    """Compile pipelines anew; without a checkout, read those that the package carries.

    Args:
        names: Their names; none: all.
        image: The image that steps and replicas run in unless a run says otherwise; None: as it is written.

    Raises:
        ConfigError: KFP is not installed, or the compiler failed.
        InvalidInput: There is no pipeline of a name, or the image is no name of an image.
    """
    if (root := checkout()) is None:
        folder = Path(str(files("gangplan") / "compiled"))
        chosen = names or tuple(sorted(path.stem for path in folder.glob("*.yaml")))
        found = {name: packaged(name).read_text(encoding="utf-8") for name in chosen}
    else:
        fresh = _compile(root)
        for name in names:
            if name not in fresh:
                known = ", ".join(fresh)
                message = f"there is no {name!r}; known: {known}"
                raise InvalidInput([Problem("pipeline", "UNKNOWN_NAME", message)], "pipeline")
        found = {name: fresh[name] for name in names or fresh}
    packages = [Package(name=name, text=text) for name, text in found.items()]
    return packages if image is None else [with_image(package, image) for package in packages]


def _compile(root: Path) -> dict[str, str]:
    """In a process of its own: the components read their image when they are imported."""
    require("pipelines")
    path = os.pathsep.join([str(root / "python"), str(root)])
    environment = {name: value for name, value in os.environ.items() if name != "GANGPLAN_IMAGE"}
    with TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "pipelines.compile", folder],
            cwd=root,
            env=environment | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise ConfigError(f"the pipelines of {root} do not compile:\n{done.stderr.strip()}")
        return {file.stem: file.read_text(encoding="utf-8") for file in sorted(Path(folder).glob("*.yaml"))}


def with_image(package: Package, image: str) -> Package:
    """The pipeline with another default of its parameter ``image``, as if it had been compiled with it.

    Raises:
        InvalidInput: This is no name of an image, or the pipeline has no such parameter.
    """
    if not _IMAGE.fullmatch(image):
        message = f"must be the name of an image such as registry.example/gangplan/python:1, not {image!r}"
        raise InvalidInput([Problem("image", "BAD_VALUE", message)], "arguments")
    found = _DEFAULT.search(package.text)
    if found is None:
        raise InvalidInput([Problem("image", "UNKNOWN_NAME", "is no parameter of it")], package.name)
    old = yaml.safe_load(found["image"])
    scalar = yaml.safe_dump(image, width=10_000).partition("\n")[0]
    text = _DEFAULT.sub(lambda match: match["before"] + scalar, package.text, count=1)
    header = f"#    image: str [Default: '{old}']"
    return Package(name=package.name, text=text.replace(header, f"#    image: str [Default: '{image}']", 1))


def _spec(package: Package) -> dict[str, Any]:
    return next(yaml.load_all(package.text, Loader=yaml.CSafeLoader))
