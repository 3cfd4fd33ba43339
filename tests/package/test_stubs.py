"""The stub of the Rust core says what the binary has: names, parameters, their kinds."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_stub_matches_the_binary():
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "gangplan._core", "--mypy-config-file", os.devnull],
        cwd=ROOT / "python",
        env={**os.environ, "MYPYPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no issues found in 1 module" in done.stdout
