"""What a machine must have for the test cluster; run as a module, it names what is missing."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

# Program → the Debian package that has it.
COMMANDS = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "busybox": "busybox-static",
    "ip": "iproute2",
    "unshare": "util-linux",
}
PLUGINS = Path("/usr/lib/cni")
# Newer versions, where a module asks for one, Go fetches itself.
GO = (1, 24)


def missing() -> list[str]:
    """What the machine lacks, each as a phrase; empty: nothing."""
    lacking = [] if os.geteuid() == 0 else ["root (it makes namespaces, bridges and containers)"]
    packages = {package for command, package in COMMANDS.items() if shutil.which(command) is None}
    if not (PLUGINS / "bridge").exists():
        packages.add("containernetworking-plugins")
    lacking += [f"the package {package}" for package in sorted(packages)]
    if not lacking and not _may_make_namespaces():
        lacking.append("the right to make namespaces (this looks like a container without privileges)")
    if _go_version() < GO:
        lacking.append(f"Go {'.'.join(map(str, GO))} or newer")
    return lacking


def _may_make_namespaces() -> bool:
    tried = ["unshare", "--net", "--mount", "--pid", "--fork", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(tried, check=False, capture_output=True).returncode == 0


def _go_version() -> tuple[int, ...]:
    if shutil.which("go") is None:
        return (0,)
    said = subprocess.run(["go", "version"], check=True, capture_output=True, text=True).stdout
    found = re.search(r"go(\d+)\.(\d+)", said)
    return tuple(map(int, found.groups())) if found else (0,)


def main() -> None:
    """Print what is missing, in one line; exit code 1 if anything is."""
    lacking = missing()
    if lacking:
        sys.exit(", ".join(lacking))


if __name__ == "__main__":
    main()
