"""Arguments of the pipelines that we know, judged before a run starts as its steps will judge them."""

import uuid
from collections.abc import Collection, Mapping
from typing import Any

from gangplan.config import Settings
from gangplan.snapshot import Snapshot
from gangplan.steps import compare_placements, place_only, scaling_request, sweep_request, training
from gangplan.steps.preview import preview
from gangplan.steps.run import Run, gang_name

KNOWN = (
    scaling_request.PARAMETERS,
    sweep_request.PARAMETERS,
    compare_placements.PARAMETERS,
    place_only.PARAMETERS,
    training.PARAMETERS,
)
"""Parameters of each pipeline that are judged, those that have others among them first."""


def judged(known: Collection[str]) -> frozenset[str]:
    """Parameters that :func:`see_that_they_are_sound` judges; none for a pipeline that we do not know.

    Args:
        known: All parameters of the pipeline.
    """
    return frozenset(next((names for names in KNOWN if set(names) <= set(known)), ()))


def see_that_they_are_sound(
    values: Mapping[str, Any], *, chosen: Settings, cluster: Snapshot | None = None
) -> None:
    """Judge the arguments of a run.

    Args:
        values: All parameters of its pipeline.
        chosen: The settings.
        cluster: Virtual nodes; None: those of the store, or this machine divided.

    Raises:
        InvalidInput: Parameters are wrong; all of them are named.
    """
    names = next((names for names in KNOWN if set(names) <= set(values)), None)
    if names is None:
        return
    given = {inner: values[outer] for outer, inner in names.items()}
    if names is scaling_request.PARAMETERS:
        scaling_request.asked(_run(values, chosen), given)
    elif names is sweep_request.PARAMETERS:
        sweep_request.asked(_run(values, chosen), given | {"data_seed": values["data_seed"]})
    elif names is compare_placements.PARAMETERS:
        compare_placements.asked(_run(values, chosen), given)
    elif names is place_only.PARAMETERS:
        place_only.asked(_run(values, chosen), given)
    else:
        preview(values, chosen=chosen, cluster=cluster)


def _run(values: Mapping[str, Any], chosen: Settings) -> Run:
    run_id = str(uuid.uuid4())
    name = gang_name(values["job_name"], run_id)
    return Run(run_id=run_id, name=name, folder=chosen.volume / name, settings=chosen)
