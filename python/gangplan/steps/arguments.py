"""Arguments of the pipelines that we know, judged before a run starts as its steps will judge them."""

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from gangplan.config import Settings
from gangplan.errors import InvalidInput, Problem
from gangplan.kube.volumes import Mount, parse_mounts
from gangplan.pipeline import parameters, read_arguments
from gangplan.snapshot import Snapshot
from gangplan.steps import comparison_request, place_only, scaling_request, sweep_request, training
from gangplan.steps.parameters import joined
from gangplan.steps.preview import check_parameters, preview, unborn

KNOWN = (
    scaling_request.PARAMETERS,
    sweep_request.PARAMETERS,
    comparison_request.PARAMETERS,
    place_only.PARAMETERS,
    training.PARAMETERS,
)
"""Parameters of each pipeline that are judged, those that have others among them first."""

VOLUME: Final = "/training"
"""Where the pipelines mount the shared volume on a cluster."""

Judge = Callable[[Mapping[str, Any]], None]
"""Raises InvalidInput for values of all parameters of a pipeline, if some of them are wrong."""

_OF_OUR_JOBS: Final = (
    "role_",
    "train_",
    "study_batch_size",
    "study_image_pixels",
    "study_steps",
    "study_warmup_steps",
    "study_threads",
)
"""How the names of parameters begin that describe a job of ours: of a TFJob of the user's own the manifest says it."""


def judged(known: Collection[str]) -> frozenset[str]:
    """Parameters that :func:`see_that_they_are_sound` judges; none for a pipeline that we do not know.

    Args:
        known: All parameters of the pipeline.
    """
    return frozenset(names_of(known) or ())


def names_of(known: Collection[str]) -> Mapping[str, str] | None:
    """Parameters of the pipeline that are judged, with the names by which its step knows them; None: we do not know it."""
    return next((names for names in KNOWN if set(names) <= set(known)), None)


def read_sound(
    package: Path, given: Mapping[str, str], *, judge: Judge, local: bool = True
) -> dict[str, Any]:
    """Turn arguments from a command line into values, and judge them: all that is wrong is told at once.

    Args:
        package: The compiled pipeline.
        given: The arguments as they were written.
        judge: Judges the values of all its parameters.
        local: As for :func:`gangplan.pipeline.read_arguments`.

    Raises:
        InvalidInput: Names are unknown or values wrong; all of them are named.
    """
    known = parameters(package)
    defaults = {name: item.default for name, item in known.items()}
    later = judged(known)
    try:
        arguments = read_arguments(package, given, local=local, judged_later=later)
    except InvalidInput as error:
        wrong = {problem.path for problem in error.problems}
        rest = {name: text for name, text in given.items() if name not in wrong}
        try:
            judge(defaults | read_arguments(package, rest, local=local, judged_later=later))
        except InvalidInput as other:
            # What could not be read has its default meanwhile, and that contradicts nobody.
            more = [
                each for each in other.problems if each.path not in wrong and each.code != "CONTRADICTION"
            ]
            if more:
                raise joined(error.problems, InvalidInput(more, other.source)) from error
        raise
    judge(defaults | arguments)
    return arguments


def see_that_they_are_sound(
    values: Mapping[str, Any], *, chosen: Settings, cluster: Snapshot | None = None
) -> None:
    """Judge the arguments of a run on this machine.

    Args:
        values: All parameters of its pipeline.
        chosen: The settings.
        cluster: Virtual nodes; None: those of the store, or this machine divided.

    Raises:
        InvalidInput: Parameters are wrong; all of them are named.
    """
    if names_of(values) is training.PARAMETERS:
        preview(values, chosen=chosen, cluster=cluster)
    else:
        _judge(values, chosen)


def see_that_they_are_sound_on_kubeflow(values: Mapping[str, Any], *, chosen: Settings) -> None:
    """Judge the arguments of a run on Kubeflow, as far as that can be done without its cluster.

    Args:
        values: All parameters of its pipeline.
        chosen: The settings.

    Raises:
        InvalidInput: Parameters are wrong; all of them are named.
    """
    if names_of(values) is None:
        return
    problems: list[Problem] = []
    mounts = parse_mounts([f"training:{VOLUME}"], source="volume_claim")
    if not values.get("volume_claim", "training"):
        message = "must name the claim of the volume that the steps and all replicas mount"
        problems.append(Problem("volume_claim", "MISSING_FIELD", message))
    text = str(values.get("cluster_snapshot", ""))
    if text.strip() and "\n" not in text and "{" not in text:
        message = "must be the snapshot itself: the step sees no file of this machine"
        problems.append(Problem("cluster_snapshot", "BAD_VALUE", message))
        values = {**values, "cluster_snapshot": "", "cluster_source": "live"}
    try:
        _judge(values, chosen, mounts)
    except InvalidInput as error:
        raise joined(problems, error) from error
    if problems:
        raise InvalidInput(problems, "run parameters")


def not_looked_at(given: Iterable[str], values: Mapping[str, Any]) -> tuple[str, ...]:
    """Parameters that were given and say nothing, since the run has a TFJob of the user's own.

    Args:
        given: Names of the parameters that were given.
        values: All parameters of the pipeline.
    """
    if not str(values.get("tfjob_yaml") or "").strip():
        return ()
    return tuple(sorted(name for name in given if name.startswith(_OF_OUR_JOBS)))


def _judge(values: Mapping[str, Any], chosen: Settings, mounts: tuple[Mount, ...] = ()) -> None:
    names = names_of(values)
    if names is None:
        return
    run = unborn(values, chosen)
    given = {inner: values[outer] for outer, inner in names.items()}
    if names is scaling_request.PARAMETERS:
        scaling_request.asked(run, given, mounts=mounts)
    elif names is sweep_request.PARAMETERS:
        sweep_request.asked(run, given | {"data_seed": values["data_seed"]}, mounts=mounts)
    elif names is comparison_request.PARAMETERS:
        comparison_request.asked(run, given)
    elif names is place_only.PARAMETERS:
        place_only.asked(run, given)
    else:
        check_parameters(values, run_id=run.run_id, chosen=chosen, mounts=mounts)
