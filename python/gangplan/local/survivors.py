"""Processes that should be gone: found by the run id in their environment, wherever they went."""

import os
import time
from pathlib import Path

from gangplan.local.process import GANG, RUN_ID, Identity, stat_fields

_PATIENCE_S = 5.0
_PAUSE_S = 0.02


def survivors(run_id: str, gang: str | None = None) -> list[Identity]:
    """Find every process of this machine that carries a run id, ordered by number.

    The calling process and those above it are never among them, nor are processes of other users whose
    environment may not be read.

    Args:
        run_id: Value of ``GANGPLAN_RUN_ID``.
        gang: Only those of this gang; None: of all.
    """
    wanted = {f"{RUN_ID}={run_id}".encode()}
    if gang is not None:
        wanted.add(f"{GANG}={gang}".encode())
    spared = _ancestry(os.getpid())
    found = []
    for pid in _processes():
        identity = Identity.of(pid)
        if identity is None or pid in spared:
            continue
        try:
            environ = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
        if wanted <= set(environ.split(b"\0")) and identity.alive:
            found.append(identity)
    return sorted(found)


def end_survivors(run_id: str, gang: str | None = None) -> int:
    """Kill every process that carries a run id, until none is left.

    Returns:
        How many were killed.
    """
    killed: set[Identity] = set()
    deadline = time.monotonic() + _PATIENCE_S
    while left := survivors(run_id, gang):
        killed.update(identity for identity in left if identity.kill())
        if time.monotonic() > deadline:
            break
        time.sleep(_PAUSE_S)
    return len(killed)


def descendants(ancestor: int) -> list[Identity]:
    """Find all processes below a process, the remains of ended ones left out."""
    children: dict[int, list[int]] = {}
    for pid in _processes():
        fields = stat_fields(pid)
        if fields is not None:
            children.setdefault(int(fields[1]), []).append(pid)
    found: list[Identity] = []
    left = [ancestor]
    while left:
        below = children.get(left.pop(), [])
        left.extend(below)
        found.extend(identity for pid in below if (identity := Identity.of(pid)) is not None)
    return sorted(found)


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _ancestry(pid: int) -> set[int]:
    found = set()
    while pid > 0 and pid not in found:
        found.add(pid)
        fields = stat_fields(pid)
        pid = int(fields[1]) if fields else 0
    return found
