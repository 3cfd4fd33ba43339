"""What a sweep is to train: trials that differ in some parameters, checked, and the TFJob of each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any, Final

from gangplan.errors import InvalidInput, Problem
from gangplan.kube.volumes import Mount
from gangplan.steps import training
from gangplan.steps.admit import wanted_manifest
from gangplan.steps.gangs import Patience
from gangplan.steps.parameters import Checker
from gangplan.steps.run import MOST_GANGS, Run, one_of

METRICS: Final = ("accuracy", "loss", "images_per_s")
"""By what the best model is chosen: the highest accuracy, the lowest loss, or the most images a second."""

PARAMETERS: Final = {
    **training.PARAMETERS,
    "gang_wait_seconds": "wait_seconds",
    "gang_wait_if_impossible": "wait_if_impossible",
    "sweep_trials": "trials",
    "sweep_grid": "grid",
    "sweep_metric": "metric",
}
"""Parameters of the pipeline that are judged → what :func:`asked` calls them."""

VARIED: Final = frozenset(training.PARAMETERS) - {"image"}
"""Parameters of the pipeline in which trials may differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRequest:
    """What is to be trained, sound.

    Attributes:
        trials: In what each trial differs, by names of the pipeline's parameters.
        manifests: The TFJob of each.
        metric: One of :data:`METRICS`.
        patience: How long each gang waits.
    """

    trials: tuple[Mapping[str, Any], ...]
    manifests: tuple[dict[str, Any], ...]
    metric: str
    patience: Patience


def asked(run: Run, given: Mapping[str, Any], *, mounts: Sequence[Mount] = ()) -> SweepRequest:
    """Check what is to be trained.

    Args:
        run: The run.
        given: The values of :data:`PARAMETERS`, by their second names; ``data_seed`` may be left out.
        mounts: What every replica mounts.

    Raises:
        InvalidInput: Parameters are wrong; all of them are named, those of a trial with its number, from 0.
    """
    check = Checker()
    metric = check.choice("sweep_metric", given["metric"], METRICS)
    seconds = check.whole("gang_wait_seconds", given["wait_seconds"], at_least=0)
    check.whole("data_seed", given.get("data_seed", 0), at_least=0)
    if not given["trials"] and not given["grid"]:
        message = "must have values to try, or sweep_trials trials: one training alone is the pipeline train"
        check.contradiction("sweep_grid", message)
    base = {outer: given[inner] for outer, inner in training.PARAMETERS.items()}
    problems = [*check.problems(), *_misshapen(given["trials"], given["grid"], base)]
    if problems:
        raise InvalidInput(problems, "run parameters")
    count = max(1, len(given["trials"])) * prod(len(values) for values in given["grid"].values())
    if count > MOST_GANGS:
        message = f"makes {count} gangs together with sweep_grid; a run may have {MOST_GANGS} at most"
        raise InvalidInput([Problem("sweep_trials", "OUT_OF_RANGE", message)], "run parameters")
    trials = tuple(_expanded(given["trials"], given["grid"]))
    manifests: list[dict[str, Any]] = []
    for index, trial in enumerate(trials):
        values = {inner: (base | dict(trial))[outer] for outer, inner in training.PARAMETERS.items()}
        try:
            manifests.append(wanted_manifest(one_of(run, index), "", values, mounts=mounts))
        except InvalidInput as error:
            problems += [_of_trial(problem, index, trial) for problem in error.problems]
    if problems:
        raise InvalidInput(list(dict.fromkeys(problems)), "run parameters")
    return SweepRequest(
        trials=trials,
        manifests=tuple(manifests),
        metric=metric,
        patience=Patience(seconds=seconds, if_impossible=given["wait_if_impossible"]),
    )


def _of_trial(problem: Problem, index: int, trial: Mapping[str, Any]) -> Problem:
    """What a trial does not say itself is wrong for all of them."""
    return replace(problem, path=f"trial {index}: {problem.path}") if problem.path in trial else problem


def _misshapen(trials: Sequence[Any], grid: Mapping[str, Any], base: Mapping[str, Any]) -> Iterator[Problem]:
    for place, trial in enumerate(trials):
        path = f"sweep_trials[{place}]"
        if not isinstance(trial, Mapping):
            yield Problem(path, "WRONG_TYPE", 'must be a mapping such as {"train_epochs": 3}')
            continue
        for name, value in trial.items():
            yield from _unfit(f"{path}.{name}", name, value, base)
        for name in sorted(trial.keys() & grid.keys()):
            yield Problem(f"{path}.{name}", "CONTRADICTION", "is in sweep_grid too")
    for name, values in grid.items():
        if not isinstance(values, list) or not values:
            yield Problem(f"sweep_grid.{name}", "WRONG_TYPE", "must be a list of values such as [1, 2]")
            continue
        for place, value in enumerate(values):
            yield from _unfit(f"sweep_grid.{name}[{place}]", name, value, base)


def _unfit(path: str, name: str, value: Any, base: Mapping[str, Any]) -> Iterator[Problem]:
    if name not in VARIED:
        known = ", ".join(sorted(VARIED))
        yield Problem(path, "UNKNOWN_NAME", f"trials cannot differ in it; they can in: {known}")
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(base[name], str) and not isinstance(value, str):
        yield Problem(path, "WRONG_TYPE", f"must be a text, not {value!r}")
    elif not isinstance(base[name], str) and not is_number:
        yield Problem(path, "WRONG_TYPE", f"must be a number, not {value!r}")


def _expanded(
    trials: Sequence[Mapping[str, Any]], grid: Mapping[str, Sequence[Any]]
) -> Iterator[dict[str, Any]]:
    """Each trial with each combination of the grid; without trials the grid, without a grid the trials."""
    names = sorted(grid)
    for trial in trials or ({},):
        for chosen in product(*(grid[name] for name in names)):
            merged = {**trial, **dict(zip(names, chosen, strict=True))}
            yield {name: _plain(value) for name, value in sorted(merged.items())}


def _plain(value: Any) -> Any:
    """KFP's local runner gives 3 in a list as 3.0."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53
    return int(value) if whole else value


def in_words(trial: Mapping[str, Any]) -> str:
    """In what a trial differs: ``train_epochs=3, train_seed=1``."""
    return ", ".join(f"{name}={value}" for name, value in trial.items())
