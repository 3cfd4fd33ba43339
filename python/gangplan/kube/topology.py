"""Levels of a cluster's network, as GangTopology objects tell them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gangplan.errors import InvalidInput, Problem
from gangplan.kube.camel import from_map
from gangplan.kube.resources import GangTopologySpec, TopologyDomain

DEFAULT = "default"
"""Name of the GangTopology that counts where there are several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """The levels, and where nodes stand in them.

    Attributes:
        keys: Keys of node labels, from coarse to fine.
        labels: Node → labels that the topology gives it; those of a topology by labels are on the nodes already.
    """

    keys: tuple[str, ...] = ()
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def of_node(self, name: str) -> Mapping[str, str]:
        """The labels that the topology gives a node."""
        return self.labels.get(name, {})


def levels_of(found: Sequence[Mapping[str, Any]]) -> Levels:
    """The levels of the cluster: those of the only GangTopology, or of the one that is named ``default``.

    Raises:
        InvalidInput: There are several and none of that name, or its domains are no tree.
    """
    if not found:
        return Levels()
    chosen = found[0] if len(found) == 1 else None
    for topology in found:
        if topology["metadata"]["name"] == DEFAULT:
            chosen = topology
    if chosen is None:
        names = ", ".join(topology["metadata"]["name"] for topology in found)
        message = f"there are several ({names}): name the one that counts {DEFAULT!r}"
        raise InvalidInput([Problem("$.metadata.name", "CONTRADICTION", message)], "GangTopology")
    spec = from_map(GangTopologySpec, chosen["spec"])
    labels: dict[str, Mapping[str, str]] = {}
    if spec.domains:
        labels = _labels(spec, f"GangTopology {chosen['metadata']['name']}")
    return Levels(keys=spec.levels, labels=labels)


def _labels(spec: GangTopologySpec, source: str) -> dict[str, Mapping[str, str]]:
    """Node → level → domain, by an explicit tree; all that is wrong with the tree at once."""
    known = {(domain.level, domain.name): domain for domain in spec.domains}
    problems = []
    labels: dict[str, Mapping[str, str]] = {}
    for place, domain in enumerate(spec.domains):
        path = f"$.spec.domains[{place}]"
        if known[domain.level, domain.name] is not domain:
            problems.append(
                Problem(f"{path}.name", "DUPLICATE_NAME", f"there is another {domain.level} {domain.name!r}")
            )
        above = _above(spec, known, domain)
        if above is None:
            coarser = spec.levels[: spec.levels.index(domain.level)]
            wanted = (
                f"must be a domain of {coarser[-1]}"
                if coarser
                else "must be left out: this level is the coarsest"
            )
            problems.append(Problem(f"{path}.parent", "UNKNOWN_NAME", f"{wanted}, not {domain.parent!r}"))
            continue
        for at, node in enumerate(domain.nodes):
            if node in labels:
                problems.append(
                    Problem(f"{path}.nodes[{at}]", "DUPLICATE_NAME", f"{node} stands in another domain too")
                )
            labels[node] = above
    if problems:
        raise InvalidInput(problems, source)
    return labels


def _above(
    spec: GangTopologySpec, known: Mapping[tuple[str, str], TopologyDomain], domain: TopologyDomain
) -> Mapping[str, str] | None:
    """Level → domain, from a domain up to the coarsest; None if a parent is missing."""
    found = {domain.level: domain.name}
    for coarser in reversed(spec.levels[: spec.levels.index(domain.level)]):
        parent = known.get((coarser, domain.parent or ""))
        if parent is None:
            return None
        found[coarser] = parent.name
        domain = parent
    return found if domain.parent is None else None
