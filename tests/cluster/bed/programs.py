"""The programs of the cluster: built from the modules beside this package, once for each content of them."""

import functools
import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

MODULES = Path(__file__).parent.parent / "programs"
KUBERNETES = "1.34.4"
OPERATOR = "github.com/kubeflow/training-operator"


@dataclass(frozen=True, slots=True)
class Program:
    """A program and how it is built.

    Attributes:
        name: Name of its module's folder, and of the binary.
        package: What is built.
        flags: Further flags of the linker.
    """

    name: str
    package: str
    flags: str = ""

    @property
    def module(self) -> Path:
        """Folder of its module."""
        return MODULES / self.name

    def key(self) -> str:
        """What its content depends on, as a short text."""
        digest = hashlib.sha256(f"{self.package} {self.flags} {_go('env', 'GOVERSION')}".encode())
        for file in sorted(self.module.iterdir()):
            digest.update(file.name.encode() + file.read_bytes())
        return digest.hexdigest()[:16]

    @functools.cache  # noqa: B019 - there are three programs
    def path(self) -> Path:
        """Where the binary is, or will be."""
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return caches / "gangplan-bed" / self.key() / self.name

    def build(self) -> Path:
        """Build it unless it is there.

        Raises:
            subprocess.CalledProcessError: It cannot be built; the compiler has said why.
        """
        path = self.path()
        if path.exists():
            return path
        sys.stderr.write(f"building {self.name} (some minutes, once) …\n")
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}")
        flags = f"-s -w {self.flags}".strip()
        command = ["go", "build", "-trimpath", "-ldflags", flags, "-o", str(fresh), self.package]
        # Plain builds: whatever the machine sets for others does not decide what we get.
        environment = os.environ | {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false -mod=readonly"}
        subprocess.run(command, cwd=self.module, env=environment, check=True)
        fresh.rename(path)
        return path


def _go(*arguments: str, module: Path = MODULES) -> str:
    return subprocess.run(["go", *arguments], cwd=module, check=True, capture_output=True, text=True).stdout


def _version_flags() -> str:
    # Without these the server and its nodes say that they are v0.0.0-master.
    major, minor, _ = KUBERNETES.split(".")
    known = {"gitVersion": f"v{KUBERNETES}", "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    return " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in known.items())


KUBE = Program("kube", ".", _version_flags())
TRAINING_OPERATOR = Program("operator", f"{OPERATOR}/cmd/training-operator.v1")
KWOK = Program("kwok", "sigs.k8s.io/kwok/cmd/kwok")
ALL = (KUBE, TRAINING_OPERATOR, KWOK)


def module_folder(program: Program, module: str) -> Path:
    """The unpacked source of a module that a program is built from: its manifests lie there.

    The program may have been built long ago, and the module's source be gone since; then it is fetched again.
    """
    described = json.loads(_go("mod", "download", "-json", module, module=program.module))
    return Path(described["Dir"])


def main() -> None:
    """Build all programs that are not built yet."""
    for program in ALL:
        program.build()


if __name__ == "__main__":
    main()
