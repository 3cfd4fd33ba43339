"""What the server answers, and what it is sent, as our own data; nothing here asks it."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gangplan.kubeflow.run import Run, steps_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A pipeline, a version or a schedule.

    Attributes:
        id: Its id.
        name: Its name.
        created: When it was created.
        about: What else is told in a list: a schedule's times and state.
        pipeline: Id of the pipeline that a schedule starts runs of.
    """

    id: str
    name: str
    created: datetime | None = None
    about: str = ""
    pipeline: str = ""


def named(name: str) -> str:
    """A filter for what has this display name."""
    return json.dumps({"predicates": [{"operation": "EQUALS", "key": "display_name", "stringValue": name}]})


def order(
    name: str,
    pipeline: Entry,
    version: Entry,
    arguments: dict[str, Any],
    experiment: str,
    service_account: str,
) -> dict[str, Any]:
    """What a run is asked for by, and each run of a schedule."""
    wanted = {
        "display_name": name,
        "experiment_id": experiment,
        "pipeline_version_reference": {"pipeline_id": pipeline.id, "pipeline_version_id": version.id},
        "runtime_config": {"parameters": arguments},
    }
    return wanted | ({"service_account": service_account} if service_account else {})


def pipeline_of(item: Any) -> Entry:
    """A pipeline."""
    return Entry(id=item.pipeline_id, name=item.name or item.display_name, created=item.created_at)


def version_of(item: Any) -> Entry:
    """A version of a pipeline."""
    return Entry(id=item.pipeline_version_id, name=item.name or item.display_name, created=item.created_at)


def schedule_of(item: Any) -> Entry:
    """A schedule."""
    cron, every = item.trigger.cron_schedule, item.trigger.periodic_schedule
    when = f"cron {cron.cron}" if cron else f"every {every.interval_second}s" if every else ""
    state = str(item.status or "").lower()
    return Entry(
        id=item.recurring_run_id,
        name=item.display_name,
        created=item.created_at,
        about=f"{when}, {state}" if state else when,
        pipeline=reference.pipeline_id if (reference := item.pipeline_version_reference) else "",
    )


def run_of(item: Any) -> Run:
    """A run; with its steps where the server told them."""
    told = item.to_dict()
    finished = told.get("finished_at")
    state = told.get("state") or "PENDING"
    return Run(
        id=told["run_id"],
        name=told.get("display_name") or "",
        state=state,
        created=told.get("created_at"),
        finished=finished if finished and finished.year > 1970 else None,
        reason=((told.get("error") or {}).get("message") or "").strip(),
        states=tuple(past["state"] for past in told.get("state_history") or () if past.get("state")),
        steps=steps_of((told.get("run_details") or {}).get("task_details") or ()),
    )
