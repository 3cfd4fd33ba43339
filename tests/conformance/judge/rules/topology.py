"""Required levels and slices hold for all of a gang that something new was added to."""

from collections import Counter
from collections.abc import Iterator

from conformance.judge.outcome import Outcome


def broken(outcome: Outcome) -> Iterator[str]:
    world = outcome.world
    for gang in sorted({place.pod.gang or "" for place in outcome.fresh.values()} & world.gangs.keys()):
        for name, holder, roles in world.units(gang):
            asked = holder.get("topology") or {}
            pods = outcome.of_gang(gang, roles)
            if "required" in asked:
                found = {world.domain(place.node, asked["required"]) for place in pods}
                if len(found) > 1:
                    yield f"{name}: in {len(found)} domains of {asked['required']}, one is required"
            for layer in asked.get("slices", ()):
                counts = Counter(world.domain(place.node, layer["level"]) for place in pods)
                for domain, count in sorted(counts.items(), key=str):
                    if count % layer["size"]:
                        yield f"{name}: {count} pods in {domain}, not a multiple of {layer['size']}"
