"""How many neighbours by rank are apart."""

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.judge.outcome import Outcome


def crossings(outcome: Outcome, wanted: list[Mapping[str, Any]]) -> Iterator[str]:
    for fact in wanted:
        gang, role = fact["of"].split("/")
        spec = outcome.world.roles[gang, role]
        where = {place.pod.index: place.node for place in outcome.of_gang(gang, {role})}
        last = spec["replicas"] - 1
        links = [(rank, rank + 1) for rank in range(last)]
        if spec["ranks"] == "ring" and last > 1:
            links.append((last, 0))
        domain = outcome.world.domain
        found = sum(
            1
            for a, b in links
            if a in where
            and b in where
            and domain(where[a], fact.get("level")) != domain(where[b], fact.get("level"))
        )
        if found > fact["max"]:
            yield f"{fact['of']}: {found} neighbours by rank are apart, at most {fact['max']} should be"


FACTS = {"crossings": crossings}
