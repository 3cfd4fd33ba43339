"""From a case to an answer in the format's form: solve, as often as its rounds ask, and translate the plan back."""

import json
from collections.abc import Mapping
from typing import Any

import gangplan as gp
from conformance import document

Answer = dict[str, Any]
ROUNDS = 1000
"""A decision that has not settled after so many repetitions never will."""


def solved(case: Mapping[str, Any]) -> Answer:
    """Solve a case.

    Raises:
        document.Unsaid: The case cannot be said as a snapshot.
        gangplan.GangplanError: The solver refuses the documents, or failed.
        RuntimeError: The decision does not settle.
    """
    options = gp.load(json.dumps(document.options(case)).encode(), gp.SolveOptions)
    stated = document.snapshot(case)
    placements: dict[str, str] = {}
    for _ in range(ROUNDS):
        snapshot = gp.load(json.dumps(stated).encode())
        plan = gp.solve(snapshot, options)
        gp.check(snapshot, plan)
        new = placed(stated, plan)
        placements |= new
        if not new or case["policy"].get("rounds") != "settled":
            return {"placements": placements, "evicted": [], "rejected": rejected(stated, plan)}
        stated = with_running(stated, new)
    raise RuntimeError(f"{case['id']}: not settled after {ROUNDS} rounds")


def placed(stated: Mapping[str, Any], plan: gp.Plan) -> dict[str, str]:
    """New placements by pod name: a role's nodes are for its lowest indexes that nothing holds."""
    taken = {row["name"] for row in stated.get("running", ())}
    found = {}
    for gang in stated["gangs"]:
        for role in gang["roles"]:
            names = (f"{gang['name']}/{role['name']}/{index}" for index in range(role["replicas"]))
            nodes = plan.placements.get(gang["name"], {}).get(role["name"], ())
            waiting = [name for name in names if name not in taken]
            found |= dict(zip(waiting[: len(nodes)], nodes, strict=True))
    return found


def with_running(stated: Mapping[str, Any], new: Mapping[str, str]) -> dict[str, Any]:
    """The snapshot once the placements hold."""
    rows = [
        {"name": name, "node": node, "gang": gang, "role": role, "index": int(index)}
        for name, node in new.items()
        for gang, role, index in [name.split("/")]
    ]
    return {**stated, "running": [*stated.get("running", ()), *rows]}


def rejected(stated: Mapping[str, Any], plan: gp.Plan) -> list[dict[str, Any]]:
    """Refusals with the changes that the format has a form for: all of them there are tried as things stand."""
    gangs = {gang["name"]: gang for gang in stated["gangs"]}
    return [
        {"gang": gang, "stage": said.stage}
        | {
            key: value
            for key in ("resource", "needs", "has", "at")
            if (value := getattr(said, key)) is not None
        }
        | {
            "changes": [
                form
                for change in said.changes
                if not change.alone and (form := _form(gangs[gang], change)) is not None
            ]
        }
        for gang, said in plan.rejections.items()
    ]


def _form(gang: Mapping[str, Any], change: gp.Change) -> dict[str, Any] | None:
    """The change in the format's words; a change of level names nobody there, it means the first required level."""
    match change.kind:
        case "replicas":
            assert change.to is not None
            return {"kind": "replicas", "role": change.role, "to": int(change.to)}
        case "level" if (change.group, change.role) == _first_required(gang):
            wanted = {} if change.to == "cluster" else {"to": change.to}
            return {"kind": "level", **wanted}
        case "limit" if change.queue is not None:
            return {"kind": "limit", "queue": change.queue, "resource": change.resource, "to": change.to}
        case "free":
            return {"kind": "free", "resource": change.resource, "amount": change.amount, "at": change.at}
        case _:
            return None


def _first_required(gang: Mapping[str, Any]) -> tuple[str | None, str | None] | None:
    """Group and role whose required level comes first: both None for that of the gang itself."""
    holders = [
        (None, None, gang),
        *((group["name"], None, group) for group in gang.get("groups", ())),
        *((None, role["name"], role) for role in gang["roles"]),
    ]
    found = ((group, role) for group, role, holder in holders if holder.get("topology", {}).get("required"))
    return next(found, None)
