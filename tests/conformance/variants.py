"""Cases like the committed ones but not among them: rows in another order, amounts, counts and needs changed."""

import copy
import random
from collections.abc import Callable
from typing import Any

Case = dict[str, Any]
Change = Callable[[Case, random.Random], None]


def variant(case: Case, chance: random.Random) -> Case:
    """One to four changes; nothing is stated of the right answer any more, nobody is evicted."""
    changed = copy.deepcopy(dict(case))
    changed["expect"] = {}
    for _ in range(chance.randint(1, 4)):
        chance.choice(CHANGES)(changed, chance)
    return changed


def amounts(case: Case, chance: random.Random) -> None:
    """A node offers one unit more or less of something; never less than is in use."""
    offered = chance.choice(case["cluster"]["nodes"])["allocatable"]
    resource = chance.choice(sorted(offered) or ["cpu"])
    if offered.get(resource, "").isdigit():
        offered[resource] = str(max(0, int(offered[resource]) + chance.choice((-2, -1, 1, 2))))


def replicas(case: Case, chance: random.Random) -> None:
    """A role has some replicas more."""
    role = _role(case, chance)
    role["replicas"] += chance.choice((1, 1, 2, 3))
    if "min" in role and chance.random() < 0.5:
        role["min"] = role["replicas"]


def fewer(case: Case, chance: random.Random) -> None:
    """A role may start with fewer."""
    role = _role(case, chance)
    role["min"] = chance.randint(0, role["replicas"])


def elastic(case: Case, chance: random.Random) -> None:
    """A gang has one minimum over its roles, and its roles have none."""
    gang = chance.choice(case["gangs"])
    for role in gang["roles"]:
        role.pop("min", None)
    gang["min_member"] = chance.randint(1, sum(role["replicas"] for role in gang["roles"]) or 1)


def requests(case: Case, chance: random.Random) -> None:
    """A replica asks for one unit more."""
    asked = _role(case, chance).get("requests")
    if asked:
        resource = chance.choice(sorted(asked))
        if asked[resource].isdigit():
            asked[resource] = str(max(0, int(asked[resource]) + chance.choice((-1, 1, 1))))


def level(case: Case, chance: random.Random) -> None:
    """A gang or a role is required, or prefers, to be in one domain, or no longer is."""
    levels = case["cluster"].get("topology", {}).get("levels", [])
    holder = chance.choice([chance.choice(case["gangs"]), _role(case, chance)])
    if levels and chance.random() < 0.8:
        asked = holder.setdefault("topology", {})
        asked.pop("required", None)
        asked[chance.choice(("required", "preferred"))] = chance.choice(levels)
    else:
        holder.pop("topology", None)


def slices(case: Case, chance: random.Random) -> None:
    """A role or gang is cut into slices."""
    levels = case["cluster"].get("topology", {}).get("levels", [])
    if levels:
        holder = chance.choice([chance.choice(case["gangs"]), _role(case, chance)])
        holder.setdefault("topology", {})["slices"] = [
            {"level": chance.choice(levels), "size": chance.choice((2, 2, 3, 4))}
        ]


def broken_node(case: Case, chance: random.Random) -> None:
    """A node is not ready, or cordoned."""
    chance.choice(case["cluster"]["nodes"]).update(chance.choice(({"ready": False}, {"unschedulable": True})))


def limit(case: Case, chance: random.Random) -> None:
    """A queue has a limit, or is closed."""
    if case["queues"]:
        queue = chance.choice(case["queues"])
        if chance.random() < 0.15:
            queue["open"] = False
        else:
            resource = chance.choice(sorted(_role(case, chance).get("requests") or {"cpu": "1"}))
            queue.setdefault("limit", {})[resource] = str(chance.randint(0, 9))


def priority(case: Case, chance: random.Random) -> None:
    """A gang comes first."""
    chance.choice(case["gangs"])["priority"] = chance.randint(-5, 200)


def avoid(case: Case, chance: random.Random) -> None:
    """Replicas of a role avoid each other, or seek each other, on a node or in a domain."""
    nodes = case["cluster"]["nodes"]
    keys = sorted(set.intersection(*(set(node.get("labels", {})) for node in nodes)))
    if not keys:
        return
    role = _role(case, chance)
    role.setdefault("labels", {})["who"] = role["name"]
    role.setdefault("pod_affinity", []).append(
        {
            "anti": chance.random() < 0.7,
            "required": True,
            "topology_key": chance.choice(keys),
            "match_labels": {"who": chance.choice([role["name"], _role(case, chance)["name"]])},
        }
    )


def order(case: Case, chance: random.Random) -> None:
    """Rows come in another order."""
    for rows in (case["cluster"]["nodes"], case["gangs"], case["queues"], case["cluster"].get("running", [])):
        chance.shuffle(rows)


def _role(case: Case, chance: random.Random) -> dict[str, Any]:
    return chance.choice(chance.choice(case["gangs"])["roles"])


CHANGES: tuple[Change, ...] = (
    amounts, amounts, replicas, fewer, elastic, requests, level, slices, broken_node, limit, priority, avoid, order,
)  # fmt: skip
