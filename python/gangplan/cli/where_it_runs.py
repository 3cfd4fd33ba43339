"""Where the replicas of a job are, in a line."""

from collections.abc import Mapping

TOLD_REPLICAS = 8
"""Replicas whose nodes are told in a line; ``gangplan get`` has them all."""


def where_it_runs(namespace: str, name: str, placement: Mapping[str, tuple[str, ...]]) -> str:
    """Tell where the replicas of a job are, and how to go on from here.

    Args:
        namespace: Namespace of the job.
        name: Its name.
        placement: Role → nodes by index.
    """
    places = [
        f"{role}-{index} on {node}" for role, nodes in placement.items() for index, node in enumerate(nodes)
    ]
    more = len(places) - TOLD_REPLICAS
    where = ", ".join(places[:TOLD_REPLICAS]) + (f" and {more} more" if more > 0 else "")
    return f"{namespace}/{name} runs: {where}; follow it with gangplan logs -f {name} -n {namespace}"
