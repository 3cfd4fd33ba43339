"""Progress of a launch, for people who watch it."""

from collections.abc import Callable
from itertools import pairwise

from gangplan.kube import volcano
from gangplan.kube.actions import Object, Seen
from gangplan.kube.cleaning import cleaned
from gangplan.kube.launch import refused
from gangplan.kube.outcome import Trouble, exit_code, replica_name, troubles
from gangplan.plan import Rejection
from gangplan.record import WAITING, GangRecord
from gangplan.snapshot import Gang


def leader_of(gang: Gang) -> str | None:
    """The replica whose words are those of the job, ``chief-0``; None if none leads."""
    roles = {role.name for role in gang.roles}
    return next((f"{role}-0" for role in ("chief", "worker") if role in roles), None)


def waiting(record: GangRecord) -> str:
    """Where a gang stands, why, and the first change that would help."""
    place = f" at position {record.position}" if record.position else ""
    helps = "".join(f"; {change}" for change in helping(record.rejection)[:1])
    return f"{record.name}: {record.phase}{place}: {record.reason}{helps}"


def helping(rejection: Rejection | None) -> tuple[str, ...]:
    """The changes that would help, a sentence each."""
    changes = () if rejection is None else rejection.changes
    return tuple(f"it {'could' if change.alone else 'would'} start with: {change.text}" for change in changes)


def why_again(record: GangRecord) -> str:
    """Why a gang that had room waits for it again, or did last; empty if it never had to."""
    steps = [after for before, after in pairwise(record.history) if before.phase not in WAITING]
    return next((event.reason for event in reversed(steps) if event.phase == "Pending"), "")


class Told:
    """Tells how a gang and its replicas come along, each change once."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        """Tell.

        Args:
            tell: Gets a line for each change.
        """
        self._tell = tell
        self._last: dict[str, str] = {}
        self._attempt = 0
        self._deleted: set[str] = set()

    def stands(self, record: GangRecord) -> None:
        """Look at the record of a gang that had room once: whether it waits for it again, and how long."""
        before, self._attempt = self._attempt, record.attempt
        why = why_again(record)
        if 0 < before < record.attempt:
            stands = "waits for room" if record.phase in WAITING else "has room"
            self._tell(f"{record.name}: {why}; attempt {record.attempt} {stands}")
        if record.attempt > 1 and record.phase in WAITING | {"Reserved"} and record.reason != why:
            self._say(f"attempt {record.attempt}", waiting(record))

    def __call__(self, seen: Seen) -> None:
        """Look at a job, its pods, and what Volcano says while there is none."""
        if seen.group is not None and not seen.pods:
            self._say("PodGroup", f"Volcano has its PodGroup {volcano.state(seen.group)}")
        if seen.refused:
            self._say("refused", f"its pods are refused: {refused(seen.refused)}")
        for stray in volcano.strays(seen.pods, seen.record):
            self._say(stray, stray)
        removed = cleaned(seen.job, seen.pods)
        deleted_before, self._deleted = self._deleted, set()
        for pod in seen.pods:
            uid, trouble = pod["metadata"]["uid"], next(iter(troubles([pod])), None)
            if trouble is not None and trouble.cause == "Deleted" and uid not in removed:
                self._deleted.add(uid)
                if uid not in deleted_before:
                    continue  # its job was looked at before it, and may have ended in between
            self._replica(pod, trouble, removed.get(uid))

    def _replica(self, pod: Object, trouble: Trouble | None, removed: str | None) -> None:
        """Where a replica stands. One that only has no node yet is not told: its gang has room, which was."""
        node, code = pod["spec"].get("nodeName"), exit_code(pod)
        phase = (pod.get("status") or {}).get("phase") or "Pending"
        now = phase if code is None else f"ended with exit code {code}"
        if trouble is None and node is None and now == "Pending":
            return
        name = replica_name(pod)
        if removed is not None:
            self._say(name, f"{name}{f' on {node}' if node else ''}: removed: {removed}")
            return
        why = "" if trouble is None or trouble.text == f"it {now}" else f": {trouble.text}"
        line = f"{name}{f' on {node}' if node else ''}: {now}{why}"
        # A kubelet words the same trouble in turns.
        self._say(name, line, state=f"{now} {node} {'' if trouble is None else trouble.cause}")

    def _say(self, about: str, line: str, *, state: str = "") -> None:
        """Tell a line, unless it, or the state that it is about, is what was told last."""
        if self._last.get(about) != (state or line):
            self._last[about] = state or line
            self._tell(line)
