"""The log file of a replica: its last words, and its lines as they come."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

LAST_LINES = 12
"""How many lines of a failed replica's log are kept: the end of a Python traceback fits."""

_TAIL_BYTES = 1 << 16
_LINE_CHARS = 300
_NOISE = re.compile(
    r"""^(
        [IWE]\d{4}\ \d\d:\d\d                               # glog, gRPC: "E0000 00:00:17… file.cc:1] …"
        | \d{4}-\d\d-\d\d\ [\d:.]+:\ [IWE]\                   # TensorFlow's C++ log
        | WARNING:\ All\ log\ messages\ before\ absl
        | :?\{"created":|Additional\ GRPC\ error\ information
        | \s*$
    )""",
    re.VERBOSE,
)


def last_lines(path: Path, count: int = LAST_LINES) -> tuple[str, ...]:
    """Give the last lines of a log that say something, oldest first.

    Lines of gRPC and of TensorFlow's C++ log are left out, unless there are no others. Long lines are cut.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return ()
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if not _NOISE.match(line)] or lines
    return tuple(
        line if len(line) <= _LINE_CHARS else f"{line[: _LINE_CHARS - 1]}…" for line in telling[-count:]
    )


def read_lines(path: Path, more: Callable[[], bool]) -> Iterator[str]:
    """Yield the lines of a log as they are written, without line ends.

    Args:
        path: The log; it need not be there yet.
        more: Asked when all that is there was read: waits a moment and tells whether to look again.
    """
    offset, partial, last = 0, b"", False
    while True:
        try:
            with path.open("rb") as file:
                file.seek(offset)
                chunk = file.read(1 << 20)
        except OSError:
            chunk = b""
        if chunk:
            offset += len(chunk)
            *whole, partial = (partial + chunk).split(b"\n")
            yield from (line.rstrip(b"\r").decode(errors="replace") for line in whole)
        elif last:
            break
        else:
            # What was written just before the end is read in one more round.
            last = not more()
    if partial:
        yield partial.decode(errors="replace")
