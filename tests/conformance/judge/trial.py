"""Whether a change that a refusal offers admits its gang, found by trying placements as things stand."""

import copy
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from conformance.judge.outcome import Outcome, outcome
from conformance.judge.quantity import amount, total
from conformance.judge.rules import broken
from conformance.judge.rules.minimums import shortfalls
from conformance.judge.world import Place, Pod, World

TRIED = {"replicas", "level", "limit"}
SIZES = 20_000
STEPS = 200_000
"""Nodes looked at before a trial is given up; the cases are small."""


def useless(after: Outcome) -> Iterator[str]:
    """Offered changes that do not admit their gang, as a sentence each."""
    for item in after.rejected:
        for change in item.get("changes", ()) if isinstance(item, Mapping) else ():
            if change["kind"] in TRIED and not admits(after, item["gang"], change):
                yield f"{item['gang']}: the change {change} does not admit it"


def admits(after: Outcome, gang: str, change: Mapping[str, Any]) -> bool:
    return fits(World(changed(after, gang, change)), gang) is True


def fits(world: World, gang: str, steps: int = STEPS) -> bool | None:
    """Whether the gang can reach its minimums in this world; None if the search was given up."""
    search = _Search(world, gang, steps)
    if any(search.fits(counts) for counts in _sizes(world, gang)):
        return True
    return None if search.steps < 0 else False


NOTHING: Mapping[str, Any] = {"kind": "nothing"}
"""The change that leaves the case as it stands."""


def without_debtors(world: World) -> World:
    """The same world in which a node that offers less than is in use takes nothing at all."""
    used = {
        node: total(*(p.pod.asks for p in world.running.values() if p.node == node)) for node in world.nodes
    }
    case = copy.deepcopy(dict(world.case))
    for node in case["cluster"]["nodes"]:
        offered = world.allocatable[node["name"]]
        if any(
            amount_used > offered.get(name, 0)
            for name, amount_used in used[node["name"]].items()
            if name != "pods" or name in offered
        ):
            node["unschedulable"] = True
    return World(case)


def changed(after: Outcome, gang: str, change: Mapping[str, Any]) -> dict[str, Any]:
    """The case as things stand after the answer, with the change made."""
    case = copy.deepcopy(dict(after.world.case))
    rows = {row["name"]: row for row in case["cluster"].get("running", ())}
    case["cluster"]["running"] = [
        *(row for name, row in rows.items() if name in after.world.leaving),
        *(_row(rows, place) for place in after.standing.values()),
    ]
    (spec,) = (item for item in case["gangs"] if item["name"] == gang)
    match change["kind"]:
        case "nothing":
            pass
        case "replicas":
            _shrink(spec, change["role"], int(change["to"]))
        case "level":
            asked = first_required(spec) or spec.setdefault("topology", {})
            asked.pop("required", None)
            if "to" in change:
                asked["required"] = change["to"]
        case "limit":
            (queue,) = (item for item in case["queues"] if item["name"] == change["queue"])
            queue.setdefault("limit", {})[change["resource"]] = change["to"]
    return case


def _row(rows: Mapping[str, Any], place: Place) -> dict[str, Any]:
    if place.pod.name in rows:
        return {**rows[place.pod.name], "node": place.node}
    return {"name": place.pod.name, "node": place.node, "gang": place.pod.gang, "role": place.pod.role}


def first_required(gang: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a change of level is about: the first required level of the gang, its groups, its roles."""
    holders = (gang, *gang.get("groups", ()), *gang["roles"])
    found = (holder["topology"] for holder in holders if holder.get("topology", {}).get("required"))
    return next(found, None)


def _shrink(spec: dict[str, Any], name: str, to: int) -> None:
    """Fewer replicas; the role's minimum comes down to them, that of the gang by as many."""
    (role,) = (item for item in spec["roles"] if item["name"] == name)
    if "min" in role:
        role["min"] = min(role["min"], to)
    if "min_member" in spec:
        spec["min_member"] = max(0, spec["min_member"] - (role["replicas"] - to))
    role["replicas"] = to


def _sizes(world: World, gang: str) -> Iterator[dict[str, int]]:
    """New pods by role that would lift the gang to its minimums, fewest first; not more than ``SIZES`` are tried."""
    spec = world.gangs[gang]
    relaxed = "min_member" in spec or "min_groups" in spec
    stand, wait, least = {}, {}, {}
    for role in spec["roles"]:
        name = role["name"]
        stand[name] = sum(
            1 for place in world.running.values() if (place.pod.gang, place.pod.role) == (gang, name)
        )
        wait[name] = sum(1 for pod in world.waiting.values() if (pod.gang, pod.role) == (gang, name))
        least[name] = max(0, role.get("min", 0 if relaxed else role["replicas"]) - stand[name])
    for group in spec.get("groups", ()) if "min_groups" not in spec else ():
        roles = world.roles_in(gang, group["name"])
        if len(roles) == 1:
            (name,) = roles
            least[name] = max(least[name], group.get("min", 0) - stand[name])
    if any(least[name] > wait[name] for name in wait):
        return
    slack = [wait[name] - least[name] for name in wait]
    every = (extra for more in range(sum(slack) + 1) for extra in _parts(more, slack))
    for extra in islice(every, SIZES):
        new = {name: least[name] + add for name, add in zip(wait, extra, strict=True)}
        counts = {name: stand[name] + new[name] for name in new}
        if any(new.values()) and not any(True for _ in shortfalls(world, gang, counts)):
            yield new


def _parts(left: int, bounds: list[int]) -> Iterator[tuple[int, ...]]:
    """Every way to hand out ``left`` within the bounds."""
    if not bounds:
        if left == 0:
            yield ()
        return
    for first in range(max(0, left - sum(bounds[1:])), min(left, bounds[0]) + 1):
        for rest in _parts(left - first, bounds[1:]):
            yield (first, *rest)


class _Search:
    """Spreads given numbers of pods over nodes, role by role, every way that capacity and required levels allow."""

    def __init__(self, world: World, gang: str, steps: int) -> None:
        self.world, self.gang = world, gang
        self.units = [
            (name, holder.get("topology", {}).get("required"), roles)
            for name, holder, roles in world.units(gang)
        ]
        standing = world.running.values()
        self.free = {
            node: {
                name: offered.get(name, amount("0")) - used.get(name, amount("0"))
                for name in {*offered, *used}
                if name in offered or name != "pods"
            }
            for node, offered in world.allocatable.items()
            for used in [total(*(place.pod.asks for place in standing if place.node == node))]
        }
        self.steps = steps

    def fits(self, counts: Mapping[str, int]) -> bool:
        fixed = {}
        for name, level, roles in self.units:
            for place in self.world.running.values():
                if level and place.pod.gang == self.gang and place.pod.role in roles:
                    fixed[name] = self.world.domain(place.node, level)
        left = [(role, count) for role, count in counts.items() if count]
        return self._spread(left, sorted(self.world.nodes), {}, fixed)

    def _spread(
        self,
        left: list[tuple[str, int]],
        nodes: list[str],
        chosen: dict[str, str],
        fixed: Mapping[str, Any],
    ) -> bool:
        if not left:
            answer = {"placements": chosen}
            return not any(True for _ in broken(outcome(self.world, answer)))
        (role, count), *rest = left
        if count == 0:
            return self._spread(rest, sorted(self.world.nodes), chosen, fixed)
        pods = [
            pod
            for pod in self.world.waiting.values()
            if (pod.gang, pod.role) == (self.gang, role) and pod.name not in chosen
        ]
        if sum(self._most(pods[0], node, count) for node in nodes) < count:
            return False
        mine = [(name, level) for name, level, roles in self.units if level and role in roles]
        for at, node in enumerate(nodes):
            self.steps -= 1
            if self.steps < 0:
                return False
            domains = {name: self.world.domain(node, level) for name, level in mine}
            if any(fixed.get(name, domain) != domain for name, domain in domains.items()):
                continue
            for size in range(self._most(pods[0], node, count), 0, -1):
                self._take(pods[0], node, size)
                more = {pod.name: node for pod in pods[:size]}
                done = self._spread(
                    [(role, count - size), *rest], nodes[at + 1 :], chosen | more, {**fixed, **domains}
                )
                self._take(pods[0], node, -size)
                if done:
                    return True
        return False

    def _most(self, pod: Pod, node: str, count: int) -> int:
        free = self.free[node]
        for resource, asked in pod.asks.items():
            if asked and (resource in free or resource != "pods"):
                count = min(count, int(free.get(resource, amount("0")) // asked))
        return max(count, 0)

    def _take(self, pod: Pod, node: str, size: int) -> None:
        for resource, asked in pod.asks.items():
            if resource in self.free[node]:
                self.free[node][resource] -= asked * size
