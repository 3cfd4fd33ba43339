"""The moment in which the command line is loaded."""

import subprocess
import sys

PRESS = """
import signal, sys
from gangplan.cli import exits, start

class Press:
    def find_spec(self, name, *_):
        if name == "gangplan.cli.main":
            signal.raise_signal(signal.SIGINT)

assert start.INTERRUPTED == exits.INTERRUPTED
sys.meta_path.insert(0, Press())
start.main()
"""


def test_ctrl_c_while_the_command_line_is_loaded_ends_it_with_a_word():
    done = subprocess.run([sys.executable, "-c", PRESS], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


def test_the_command_line_starts():
    start = "import sys; from gangplan.cli import start; sys.argv[1:] = ['version']; start.main()"
    done = subprocess.run([sys.executable, "-c", start], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "gangplan" in done.stdout
