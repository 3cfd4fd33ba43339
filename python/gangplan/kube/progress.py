"""Progress of a launch, for people who watch it."""

from collections.abc import Callable

from gangplan.kube import volcano
from gangplan.kube.actions import Seen
from gangplan.kube.outcome import exit_code, replica_name, troubles
from gangplan.record import GangRecord
from gangplan.snapshot import Gang


def leader_of(gang: Gang) -> str | None:
    """The replica whose words are those of the job, ``chief-0``; None if none leads."""
    roles = {role.name for role in gang.roles}
    return next((f"{role}-0" for role in ("chief", "worker") if role in roles), None)


def waiting(record: GangRecord) -> str:
    """Where a gang stands, why, and the first change that would help."""
    place = f" at position {record.position}" if record.position else ""
    changes = record.rejection.changes if record.rejection is not None else ()
    helps = f"; it would start with: {changes[0].text}" if changes else ""
    return f"{record.name}: {record.phase}{place}: {record.reason}{helps}"


class Told:
    """Tells how replicas come along, each change once."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        """Tell.

        Args:
            tell: Gets a line for each change.
        """
        self._tell = tell
        self._last: dict[str, str] = {}

    def __call__(self, seen: Seen) -> None:
        """Look at a job, its pods, and what Volcano says while there is none."""
        if seen.group is not None and not seen.pods:
            self._say("PodGroup", f"Volcano has its PodGroup {volcano.state(seen.group)}")
        if seen.refused:
            self._say("refused", f"its pods are refused: {seen.refused}")
        for stray in volcano.strays(seen.pods, seen.record):
            self._say(stray, stray)
        for pod in seen.pods:
            name, status = replica_name(pod), pod.get("status") or {}
            code = exit_code(pod)
            now = (status.get("phase") or "Pending") + ("" if code is None else f" (exit code {code})")
            node = pod["spec"].get("nodeName")
            why = "".join(f": {trouble.text}" for trouble in troubles([pod])[:1])
            line = f"{name}{f' on {node}' if node else ''}: {now}{why}"
            self._say(name, line)

    def _say(self, about: str, line: str) -> None:
        if self._last.get(about) != line:
            self._last[about] = line
            self._tell(line)
