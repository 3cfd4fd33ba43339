"""Levels of a cluster's network, as GangTopology objects tell them, or those of peers where there is none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from gangplan.documents import encode
from gangplan.errors import InvalidInput, Problem
from gangplan.kube.camel import from_map
from gangplan.kube.hyper_nodes import tree_of
from gangplan.kube.names import HOSTNAME
from gangplan.kube.objects import NodeObject
from gangplan.kube.resources import GangTopologySpec, TopologyDomain
from gangplan.snapshot import Snapshot
from gangplan.solver import validate

DEFAULT = "default"
"""Name of the GangTopology that counts where there are several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """The levels, and where nodes stand in them.

    Attributes:
        keys: Keys of node labels, from coarse to fine.
        labels: Node → labels that the topology gives it; those of a topology by labels are on the nodes already.
        unknown: Why there are no levels although something tells of some; empty: it does not.
    """

    keys: tuple[str, ...] = ()
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    unknown: str = ""

    def of_node(self, name: str) -> Mapping[str, str]:
        """The labels that the topology gives a node."""
        return self.labels.get(name, {})


def levels_of(
    own: Sequence[Mapping[str, Any]],
    hyper_nodes: Sequence[Mapping[str, Any]] = (),
    keyed: Mapping[str, Sequence[Mapping[str, Any]]] = MappingProxyType({}),
    nodes: Sequence[NodeObject] = (),
) -> Levels:
    """The levels of the cluster.

    Those of the only GangTopology, or of the one that is named ``default``; where there is none, those that a peer
    knows. Where several say different things there are none, with the reason.

    Args:
        own: GangTopology objects.
        hyper_nodes: HyperNodes of Volcano.
        keyed: Whose they are → Topology objects of Kueue and KAI, whose levels are labels of nodes.
        nodes: The nodes.
    """
    if own:
        return _own(own)
    found = {}
    if hyper_nodes:
        problems: list[str] = []
        keys, labels = tree_of(hyper_nodes, nodes, problems)
        known = Levels(keys=keys, labels=labels)
        found["HyperNodes of Volcano"] = Levels(unknown="; ".join(problems)) if problems else known
    for whose, topologies in keyed.items():
        for topology in topologies:
            found[f"{whose} Topology {topology['metadata']['name']}"] = _keyed(topology)
    if len({repr(levels) for levels in found.values()}) <= 1:
        return next(iter(found.values()), Levels())
    message = f"there are several topologies ({', '.join(sorted(found))}): make a GangTopology of the levels that count"
    return Levels(unknown=message)


def _own(own: Sequence[Mapping[str, Any]]) -> Levels:
    by_name = {topology["metadata"]["name"]: topology for topology in own}
    chosen = by_name.get(DEFAULT) or (own[0] if len(own) == 1 else None)
    if chosen is None:
        names = ", ".join(sorted(by_name))
        message = f"there are several GangTopology objects ({names}): name the one that counts {DEFAULT!r}"
        return Levels(unknown=message)
    source = f"GangTopology {chosen['metadata']['name']}"
    try:
        spec = from_map(GangTopologySpec, chosen["spec"])
        labels = _labels(spec, source) if spec.domains else {}
        _distinct(spec.levels, source)
    except InvalidInput as error:
        return Levels(unknown=_told(source, error))
    return Levels(keys=spec.levels, labels=labels)


def _keyed(topology: Mapping[str, Any]) -> Levels:
    """Levels by labels, as Kueue and KAI write them; the finest is mostly the node itself, which is always there."""
    levels = (topology.get("spec") or {}).get("levels") or ()
    keys = tuple(str(level.get("nodeLabel") or "") for level in levels)
    keys = keys[:-1] if keys and keys[-1] == HOSTNAME else keys
    source = f"Topology {topology['metadata']['name']}"
    try:
        _distinct(keys, source)
    except InvalidInput as error:
        return Levels(unknown=_told(source, error))
    return Levels(keys=keys)


def _told(source: str, error: InvalidInput) -> str:
    """What is wrong, in a line."""
    return f"{source}: {'; '.join(f'{problem.path}: {problem.message}' for problem in error.problems)}"


def _distinct(keys: tuple[str, ...], source: str) -> None:
    if problems := validate("snapshot", encode(Snapshot(topology=keys))):
        raise InvalidInput(problems, source)


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
