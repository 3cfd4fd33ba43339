"""Volcano's task topology on a TFJob: which roles lie near to each other, and which apart; both are wishes there.

Groups of roles are separated by ``;``, roles by ``,``. One role alone means its own replicas, several mean all pairs. Roles
are the replica types in lower case (``ps``, ``worker``, ``master``).
"""

from collections.abc import Iterator, Mapping
from itertools import combinations

from gangplan.closeness import ReplicaAffinity
from gangplan.errors import Problem
from gangplan.kube.names import (
    GANG_LABEL,
    ROLE_LABEL,
    VOLCANO_AFFINITY,
    VOLCANO_ANTI_AFFINITY,
    VOLCANO_ORDER,
)
from gangplan.kube.paths import below
from gangplan.snapshot import Traffic

Notes = Mapping[str, str]
Kinds = Mapping[str, str]
"""Replica types of a job, in lower case → its roles."""


def traffic(notes: Notes, kinds: Kinds) -> tuple[Traffic, ...] | None:
    """Who talks, as the affinity says it; None if it says nothing."""
    if not notes.get(VOLCANO_AFFINITY):
        return None
    return tuple(Traffic(a=a, b=b) for a, b in sorted(_pairs(notes[VOLCANO_AFFINITY], kinds)))


def company(notes: Notes, kinds: Kinds, gang: str) -> dict[str, tuple[ReplicaAffinity, ...]]:
    """Role → whom it rather keeps apart from, on nodes of their own.

    Args:
        notes: Annotations of the job.
        kinds: Its replica types.
        gang: Name of its gang.
    """
    found: dict[str, list[ReplicaAffinity]] = {}
    for a, b in sorted(_pairs(notes.get(VOLCANO_ANTI_AFFINITY) or "", kinds)):
        for role, other in {(a, b), (b, a)}:
            labels = {GANG_LABEL: gang, ROLE_LABEL: other}
            apart = ReplicaAffinity(level="node", match_labels=labels, anti=True, required=False)
            found.setdefault(role, []).append(apart)
    return {role: tuple(rules) for role, rules in found.items()}


def _pairs(text: str, kinds: Kinds) -> set[tuple[str, str]]:
    pairs = set()
    for group in text.split(";"):
        roles = [kinds[word] for word in map(str.strip, group.split(",")) if word in kinds]
        pairs |= (
            {(a, b) for a, b in combinations(roles, 2) if a != b}
            if len(roles) > 1
            else {(a, a) for a in roles}
        )
    return pairs


def problems(notes: Notes, kinds: Kinds) -> Iterator[Problem]:
    """What Volcano would drop all of it for, without a word."""
    for key in (VOLCANO_AFFINITY, VOLCANO_ANTI_AFFINITY, VOLCANO_ORDER):
        path = below("$.metadata.annotations", key)
        for group in (notes.get(key) or "").split(";") if notes.get(key) else ():
            words = [word.strip() for word in group.split(",")]
            for word in sorted({word for word in words if word not in kinds}):
                wanted = f"names {word!r}; the job has {', '.join(sorted(kinds))}, in lower case"
                yield Problem(path, "UNKNOWN_NAME", wanted)
            if len({*words}) < len(words):
                yield Problem(path, "DUPLICATE_NAME", f"names a role twice in {group.strip()!r}")
