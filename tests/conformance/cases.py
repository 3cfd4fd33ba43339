"""Case files: every JSON file below a folder that holds a list of cases."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Case = Mapping[str, Any]


def read(folder: Path) -> list[Case]:
    """All cases below a folder, by file name, in the order of the files.

    Raises:
        ValueError: There is none, two have one id, or a file holds something else.
    """
    found = list(_read(folder))
    names = [case["id"] for case in found]
    if not found:
        raise ValueError(f"{folder}: no case here")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"{folder}: more than one case is called {', '.join(twice)}")
    return found


def _read(folder: Path) -> Iterator[Case]:
    for path in sorted(folder.rglob("*.json")) if folder.is_dir() else [folder]:
        held = json.loads(path.read_text())
        for case in held if isinstance(held, list) else [held]:
            if not isinstance(case, dict) or "id" not in case:
                raise ValueError(f"{path}: not a list of cases")
            yield case


def listed(case: Case, given: Mapping[str, Any]) -> dict[str, Any]:
    """A whole answer from one that a case lists, which may give counts of pods per node after the decision.

    Pods that run and are not evicted stay; the lowest other indexes take what the counts have more. A pod too many
    gets an index that does not exist.
    """
    gone = set(given.get("evicted", ()))
    placements = dict(given.get("placements", {}))
    dead = {node["name"] for node in case["cluster"]["nodes"] if not node.get("ready", True)}
    replaces = "replace" in case["policy"]["actions"]
    stays: dict[str, str] = {}
    taken = set()
    for row in case["cluster"].get("running", ()):
        if row.get("terminating"):
            taken.add(row["name"])
        elif row["name"] not in gone and not (replaces and row["node"] in dead):
            stays[row["name"]] = row["node"]
    for role, counts in given.get("node_counts", {}).items():
        index = 0
        for node, count in counts.items():
            held = sum(
                1 for name, where in stays.items() if name.rpartition("/")[0] == role and where == node
            )
            for _ in range(count - held):
                while (name := f"{role}/{index}") in stays or name in taken or name in placements:
                    index += 1
                placements[name] = node
    return {
        "placements": placements,
        "evicted": list(given.get("evicted", ())),
        "rejected": list(given.get("rejected", ())),
    }
