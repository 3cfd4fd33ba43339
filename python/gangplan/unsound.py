"""Unsound gangs: those that ask for what this cluster does not have, told apart from what is wrong with the cluster."""

import re
from collections.abc import Iterable

from gangplan.errors import Problem
from gangplan.snapshot import Snapshot
from gangplan.store import Gaps

_GANG_PATH = re.compile(r"\$\.gangs\[(\d+)\]\.?(.*)")


def at_fault(snapshot: Snapshot, problems: Iterable[Problem], gaps: Gaps) -> dict[str, str]:
    """Gangs of a snapshot that are wrong, and what is wrong with each.

    Args:
        snapshot: The snapshot.
        problems: What is wrong with it.
        gaps: What of the cluster could not be understood: it may be why a gang names what is not there.
    """
    found: dict[str, list[str]] = {}
    for problem in problems:
        if (match := _GANG_PATH.fullmatch(problem.path)) is not None:
            gang, place = snapshot.gangs[int(match[1])], f"{match[2]}: " if match[2] else ""
            text = place + problem.message
            if match[2] == "queue" and gang.queue is not None and gang.queue in gaps.queues:
                text = f"queue {gang.queue} cannot be understood: {gaps.queues[gang.queue]}"
            elif problem.code == "UNKNOWN_NAME" and "topology." in match[2]:
                text += f"; {gaps.levels or _known_levels(snapshot)}"
            found.setdefault(gang.name, []).append(text)
    return {name: "; ".join(texts) for name, texts in found.items()}


def _known_levels(snapshot: Snapshot) -> str:
    return f"the levels of this cluster are {', '.join((*snapshot.topology, 'node'))}"
