"""Whether the levels of the cluster's network are where a gang can use them."""

from collections.abc import Iterator

from gangplan.kube.doctor.exam import Exam
from gangplan.kube.doctor.finding import Finding, ok, warning
from gangplan.kube.kinds import GANG_TOPOLOGY
from gangplan.kube.topology import levels_of

_SHOWN = 3


def levels(exam: Exam) -> Iterator[Finding]:
    """Every node stands in a domain of every level of the GangTopology that counts."""
    if not exam.is_served(GANG_TOPOLOGY):
        return  # said already
    own = exam.all(GANG_TOPOLOGY)
    if not own:
        yield ok("levels", "there is no GangTopology: the only level of our own is the node")
        return
    known = levels_of(own)
    if known.unknown:
        yield warning(
            "levels",
            known.unknown,
            why="a gang that requires a level is refused",
            cure="kubectl edit gangtopologies",
        )
        return
    whole = True
    for key in known.keys:
        without = [
            node["metadata"]["name"]
            for node in exam.nodes
            if not (
                {**(node["metadata"].get("labels") or {}), **known.of_node(node["metadata"]["name"])}
            ).get(key)
        ]
        if not without:
            continue
        whole = False
        some = ", ".join(sorted(without)[:_SHOWN]) + (", …" if len(without) > _SHOWN else "")
        yield warning(
            "levels",
            f"{len(without)} of {len(exam.nodes)} nodes have no {key} ({some})",
            why=f"a gang that requires the level {key} never lies on them",
            cure=f"kubectl label nodes {min(without)} {key}=DOMAIN    # each node with the domain that it stands in",
        )
    if whole:
        yield ok("levels", f"levels: {', '.join(known.keys)}")
