"""A case in the words of a snapshot: every name is translated, nothing is sorted, left out or worked out.

What only matters for actions that a snapshot does not know yet (evictions, parts of GPUs) is listed as such; a key
that stands in neither list is an error, so that no case is judged on half of what it says.
"""

from collections.abc import Callable, Mapping
from typing import Any

Translate = Callable[[Any], Any]


class Unsaid(ValueError):
    """A case says something that a snapshot has no word for."""


def same(value: Any) -> Any:
    return value


def each(translate: Translate) -> Translate:
    return lambda values: [translate(value) for value in values]


def words(
    what: str, names: Mapping[str, tuple[str, Translate] | str], unused: frozenset[str] = frozenset()
) -> Translate:
    """Make a translation of an object: key → new key, or new key and how to translate the value."""

    def translate(given: Mapping[str, Any]) -> dict[str, Any]:
        said: dict[str, Any] = {}
        for key, value in given.items():
            if key in unused:
                continue
            if key not in names:
                raise Unsaid(f"{what}.{key}")
            entry = names[key]
            name, inner = (entry, same) if isinstance(entry, str) else entry
            said[name] = inner(value)
        return said

    return translate


def plain(*keys: str) -> dict[str, str]:
    return {key: key for key in keys}


container = words("container", plain("requests", "limits", "sidecar"))
pod = words(
    "pod",
    {
        "containers": ("containers", each(container)),
        "init_containers": ("init_containers", each(container)),
        **plain("overhead"),
    },
)
expression = words("expression", {"op": "operator", **plain("key", "values")})
term = each(expression)
closeness = words(
    "topology",
    {
        **plain("required", "preferred", "balanced"),
        "slices": ("slices", each(words("slice", plain("level", "size")))),
    },
)
node = words(
    "node",
    {
        **plain("name", "allocatable", "labels", "unschedulable", "ready", "zones"),
        "taints": ("taints", each(words("taint", plain("key", "value", "effect")))),
    },
    unused=frozenset({"gpu_memory_mib"}),  # of parts of GPUs
)
queue = words(
    "queue",
    plain("name", "parent", "priority", "created", "weight", "deserved", "limit", "guarantee", "open"),
)
group = words(
    "group", {**plain("name", "roles", "parent", "min", "set"), "topology": ("topology", closeness)}
)
toleration = words("toleration", {"op": "operator", **plain("key", "value", "effect")})
companion = words("pod_affinity", {"topology_key": "level", **plain("match_labels", "anti", "required")})
liked = words("preferred", {**plain("weight"), "match": ("expressions", term)})


def role(given: Mapping[str, Any]) -> dict[str, Any]:
    """A role; its node affinity is two fields of a snapshot's role."""
    affinity = words(
        "node_affinity",
        {
            "required": ("node_affinity", each(lambda tests: {"expressions": term(tests)})),
            "preferred": ("preferred_node_affinity", each(liked)),
        },
    )
    names = {
        **plain(
            "name",
            "replicas",
            "min",
            "requests",
            "labels",
            "node_selector",
            "priority",
            "ranks",
            "single_zone",
        ),
        "pod": ("pod", pod),
        "tolerations": ("tolerations", each(toleration)),
        "pod_affinity": ("replica_affinity", each(companion)),
        "topology": ("topology", closeness),
    }
    unused = frozenset({"node_affinity", "may_preempt"})  # the second is of evictions
    return words("role", names, unused)(given) | affinity(given.get("node_affinity", {}))


gang = words(
    "gang",
    {
        **plain(
            "name", "queue", "priority", "created", "preemptible", "min_member", "min_groups", "runtime_s"
        ),
        "roles": ("roles", each(role)),
        "topology": ("topology", closeness),
        "groups": ("groups", each(group)),
    },
)


def running(given: Mapping[str, Any]) -> dict[str, Any]:
    """A pod that holds a place; the index of a gang's pod is the end of its name."""
    names = {
        **plain("name", "node", "gang", "role", "requests", "queue", "priority", "preemptible"),
        **plain("terminating", "zone", "ends_s", "labels"),
        "pod": ("pod", pod),
    }
    said: dict[str, Any] = words("running", names)(given)
    return said | ({"index": int(given["name"].rsplit("/", 1)[1])} if "gang" in given else {})


def snapshot(case: Mapping[str, Any]) -> dict[str, Any]:
    """The case's cluster, queues and gangs as a snapshot document.

    Raises:
        Unsaid: The case says something that a snapshot has no word for.
    """
    cluster = words(
        "cluster",
        {
            "nodes": ("nodes", each(node)),
            "topology": ("topology", lambda given: given["levels"]),
            "running": ("running", each(running)),
        },
    )
    return cluster(case["cluster"]) | {
        "queues": each(queue)(case["queues"]) or bare_queues(case),
        "gangs": each(gang)(case["gangs"]),
    }


def bare_queues(case: Mapping[str, Any]) -> list[dict[str, str]]:
    """Where a case lists no queue, those that it names: nothing is accounted in them."""
    named = [*case["gangs"], *case["cluster"].get("running", ())]
    return [{"name": name} for name in dict.fromkeys(row["queue"] for row in named if "queue" in row)]


def options(case: Mapping[str, Any]) -> dict[str, Any]:
    """The case's policy as options of a solve; ``rounds`` is for whoever repeats solves."""
    return words(
        "policy",
        plain("placement", "fair_share", "bypass", "finish_broken_first", "nonpreemptible_within_deserved"),
        unused=frozenset({"actions", "rounds", "gpu_placement"}),
    )(case["policy"])
